"""How open pages are renewed: nothing is sent while nothing has changed, else the sections that have."""

import gzip
import re
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import Request, Response
from markupsafe import Markup

from tests.unit.console.made import (
    HOSTILE,
    RUNS,
    MadeCrew,
    MadeViews,
    busy,
    hostile,
    served,
    source_table,
    target_table,
)
from tests.unit.console.visitor import users
from wrackline.control.console.page_renewal import (
    ASK_HEADER,
    MARK,
    MARK_HEADER,
    MadePage,
    PageVersion,
    Renewals,
    Section,
)
from wrackline.control.runtime.ground.times import SHOWN_S, now_ms
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK, RestSettings
from wrackline.control.runtime.worker.pipeline_views import ViewVersion
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import Half

LINEAGE = "/console/lineage"
SHOP = "/console/p/shop"
ASKS = {"HX-Request": "true"}


def renewed(port: int, page: str, path: str = LINEAGE, **headers: str) -> tuple[HTTPResponse, bytes]:
    """Ask as the script of this page does."""
    connection = HTTPConnection(LOOPBACK, port, timeout=30)
    found = re.search(r'data-mark="([^"]+)"', page)
    own = {MARK_HEADER: found[1]} if found else {}
    connection.request("GET", path, headers={"Accept-Encoding": "gzip", **own, **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_nothing_is_sent_until_something_has_changed() -> None:
    views = MadeViews({"shop": busy(3)})
    with served(MadeCrew({"shop": RUNS}), views) as door:
        page = renewed(door.port, "")[1].decode()
        same, nothing = renewed(door.port, page, **ASKS)
        assert (same.status, nothing) == (204, b"")
        views.boards["shop"].halves[Half.SOURCE].tables["shop.public.new"] = source_table("shop.public.new")
        changed, body = renewed(door.port, page, **ASKS)
        assert changed.status == 200
        main = gzip.decompress(body).decode()
        assert "shop.public.new" in main
        assert main.startswith("<main")
        assert renewed(door.port, main, **ASKS)[0].status == 204


def test_only_those_sections_are_sent_that_have_changed() -> None:
    views = MadeViews({"shop": busy(3)})
    tables = views.boards["shop"].halves[Half.TARGET].tables
    tables |= {name: target_table() for name in tables}  # nothing waits, so nothing grows later
    with served(MadeCrew({"shop": RUNS}), views) as door:
        page = renewed(door.port, "", SHOP)[1].decode()
        assert "<!--section" not in page
        tables["shop.public.orders"] = {**tables["shop.public.orders"], "events": {"u": 123_456}}
        sent = gzip.decompress(renewed(door.port, page, SHOP, **ASKS)[1]).decode()
        assert re.findall(r'<hx-partial id="([^"]+)"', sent) == ["mark", "row-shop.public.orders"]
        assert sent.count("<tr") == 1
        assert "123,456" in sent
        assert renewed(door.port, sent, SHOP, **ASKS)[0].status == 204
        del tables["shop.public.items_001"]
        del views.boards["shop"].halves[Half.SOURCE].tables["shop.public.items_001"]
        whole = gzip.decompress(renewed(door.port, sent, SHOP, **ASKS)[1]).decode()
        assert whole.startswith("<main"), "another row moves all rows"


def test_a_section_of_a_hostile_name_is_no_markup() -> None:
    views = MadeViews({"shop": hostile()})
    with served(MadeCrew({"shop": RUNS}), views) as door:
        page = renewed(door.port, "", SHOP)[1].decode()
        views.boards["shop"].halves[Half.TARGET].tables[HOSTILE] |= {"events": {"u": 5}}  # type: ignore[operator]
        sent = gzip.decompress(renewed(door.port, page, SHOP, **ASKS)[1]).decode()
        assert "row-&lt;img" in sent
        assert "<img" not in sent


def test_a_page_asks_for_itself_whatever_its_name_has_in_it(tmp_path: Path) -> None:
    name = "shop.public.a?b#c%41é"
    address = f"{SHOP}/t/{quote(name, safe='')}"
    views = MadeViews({"shop": busy(3)})
    views.boards["shop"].halves[Half.SOURCE].tables[name] = source_table(name)
    with served(MadeCrew({"shop": RUNS}), views) as door:
        page = renewed(door.port, "", address)[1].decode()
        found = re.search(r'<main id="main" hx-get="([^"]+)"', page)
        assert found is not None
        assert found[1] == address
    login = RestSettings(0, users=users(tmp_path, ann='role = "viewer"'))
    with served(MadeCrew({"shop": RUNS}), views, login) as door:
        to = renewed(door.port, "", f"{address}?x=1")[0].getheader("Location") or ""
        assert parse_qs(urlsplit(to).query)["next"] == [f"{address}?x=1"]


def test_a_page_of_the_same_board_is_not_made_again() -> None:
    crew, views = MadeCrew({"shop": RUNS}), MadeViews({"shop": busy(3)})
    views.still = ViewVersion(1, 1)
    tables = views.boards["shop"].halves[Half.TARGET].tables
    with served(crew, views) as door:
        for path in (SHOP, "/console/", f"{SHOP}/t/shop.public.orders"):
            page = renewed(door.port, "", path)[1].decode()
            count = tables["shop.public.orders"]["events"]["u"] + 1
            tables["shop.public.orders"] = {**tables["shop.public.orders"], "events": {"u": count}}
            assert renewed(door.port, page, path, **ASKS)[0].status == 204, "its version is the same"
            assert renewed(door.port, page, path)[0].status == 200, "who has not seen it yet gets it"
            assert renewed(door.port, 'data-mark="0"', path, **ASKS)[0].status == 200
        crew.standings["shop"] = replace(RUNS, state=TaskState.PAUSED)
        assert renewed(door.port, page, path, **ASKS)[0].status == 200
        page = renewed(door.port, "", SHOP)[1].decode()
        assert renewed(door.port, page, f"{SHOP}?q=items", **ASKS)[0].status == 200, "it is another page"
        views.still = ViewVersion(2, 1)
        tables["shop.public.orders"] = {**tables["shop.public.orders"], "behind": 77}
        assert renewed(door.port, page, SHOP, **ASKS)[0].status == 200


def test_what_was_sent_is_remembered_up_to_a_bound() -> None:
    renewals = Renewals()

    def request(mark: str = "") -> Request:
        headers = [(b"hx-request", b"true"), (MARK_HEADER.encode(), mark.encode())]
        return Request({"type": "http", "headers": headers})

    def answer(text: str, version: PageVersion) -> Response:
        html = f'<main><i id="mark" hidden data-mark="{MARK}"></i><!--section:0--></main>'
        made = MadePage(html, [Section("a", Markup("<p>{}</p>").format(text))], version)
        return renewals.answer(request(), made, 200, {})

    first = answer("1", ("shop", 1))
    mark = re.findall(r'data-mark="(\w+)"', bytes(first.body).decode())[0]
    assert renewals.is_same(request(mark), ("shop", 1))
    assert not renewals.is_same(request(mark), ("shop", 2))
    assert not renewals.is_same(request("0"), ("shop", 1))
    for number in range(200):
        answer(str(number + 2), ("shop", number))
    assert not renewals.is_same(request(mark), ("shop", 1)), "memory has a bound"


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
        plain, body = renewed(door.port, "", **ASKS, **{"Accept-Encoding": "identity"})
        assert plain.getheader("Content-Encoding") is None
        assert 'id="mark"' in body.decode()


def test_a_page_is_told_to_ask_again_right_after_new_figures_come() -> None:
    views = MadeViews({"shop": busy(3)})
    with served(MadeCrew({"shop": RUNS}), views) as door:
        for path, every_ms in ((SHOP, 1000), (LINEAGE, 2000)):
            page = renewed(door.port, "", path)[1].decode()
            assert f'data-every-ms="{every_ms}"' in page
            views.still = ViewVersion(1, 1)
            for _ in range(2):  # nothing to send as well
                answer, body = renewed(door.port, page, path, **ASKS)
                again_ms = now_ms() + int(answer.headers[ASK_HEADER])
                after_ms = (again_ms - int(SHOWN_S * 1000)) % every_ms
                assert min(after_ms, every_ms - after_ms) < 250, "the clock of figures, and the answer's way"
                page = gzip.decompress(body).decode() if body else page
