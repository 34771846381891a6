"""How open pages are renewed: nothing is sent while nothing has changed, and only renewals are compressed."""

import gzip
import json
import re
from html import unescape
from http.client import HTTPConnection, HTTPResponse

from tests.unit.console.made import RUNS, MadeCrew, MadeViews, busy, served, source_table
from wrackline.control.console.page_renewal import MARK, MARK_HEADER
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK
from wrackline.schemas.kafka.board_records import Half

PATH = "/console/lineage"


def renewed(port: int, page: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    """Ask as the script of this page does."""
    connection = HTTPConnection(LOOPBACK, port, timeout=30)
    found = re.search(r'hx-headers="([^"]+)"', page)
    own = json.loads(unescape(found[1])) if found else {}
    connection.request("GET", PATH, headers={"Accept-Encoding": "gzip", **own, **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_nothing_is_sent_until_something_has_changed() -> None:
    views = MadeViews({"shop": busy(3)})
    with served(MadeCrew({"shop": RUNS}), views) as door:
        page = renewed(door.port, "")[1].decode()
        same, nothing = renewed(door.port, page, **{"HX-Request": "true"})
        assert (same.status, nothing) == (204, b"")
        views.boards["shop"].halves[Half.SOURCE].tables["shop.public.new"] = source_table("shop.public.new")
        changed, body = renewed(door.port, page, **{"HX-Request": "true"})
        assert changed.status == 200
        main = gzip.decompress(body).decode()
        assert "shop.public.new" in main
        assert main.startswith("<main")
        assert renewed(door.port, main, **{"HX-Request": "true"})[0].status == 204


def test_a_page_that_anybody_may_have_asked_for_is_whole_and_plain() -> None:
    with served(MadeCrew({"shop": RUNS}), MadeViews({"shop": busy(3)})) as door:
        page = renewed(door.port, "")[1].decode()
        assert MARK not in page
        again, body = renewed(door.port, page)
        assert again.status == 200
        assert again.getheader("Content-Encoding") is None
        assert body.decode() == page


def test_a_renewal_by_what_reads_no_gzip_is_plain() -> None:
    with served(MadeCrew({"shop": RUNS}), MadeViews({"shop": busy(3)})) as door:
        plain, body = renewed(door.port, "", **{"HX-Request": "true", "Accept-Encoding": "identity"})
        assert plain.getheader("Content-Encoding") is None
        assert MARK_HEADER in body.decode()
