"""The page of existing rows: receipts, the ranges of tables under way, and a form that asks for more."""

import re
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlencode

import orjson
import pytest

from tests.unit.console.made import (
    HOSTILE,
    RUNS,
    MadeCrew,
    MadeViews,
    busy,
    crowd,
    requests,
    served,
    source_table,
)
from tests.unit.console.test_pages import Page, asked
from wrackline.control.console.draw.range_bar import WIDTH, range_bar
from wrackline.control.console.rows.request_form import form_of
from wrackline.control.console.rows.rows_page import rows_page
from wrackline.control.runtime.rest.server.endpoint import RestEndpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK
from wrackline.schemas.kafka.board_records import Half, HalfBoard
from wrackline.schemas.kafka.receipts import RequestState


@pytest.fixture
def views() -> MadeViews:
    return crowd()[1]


@pytest.fixture
def door(views: MadeViews) -> Iterator[RestEndpoint]:
    with served(crowd()[0], views) as endpoint:
        yield endpoint


def posted(door: RestEndpoint, path: str, **fields: str) -> tuple[int, str, str]:
    connection = HTTPConnection(LOOPBACK, door.port, timeout=30)
    try:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", f"/console{path}", urlencode(fields), headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("location", ""), answer.read().decode()
    finally:
        connection.close()


def test_a_table_under_way_shows_its_ranges_and_the_requests_their_receipts(door: RestEndpoint) -> None:
    html = asked(door, "GET", "/p/shop/snapshot")[2]
    text = Page(html).text
    assert "4,200,000 of about 10,000,000 rows · 2 min left" in text
    assert html.count('class="frame"') == 8
    assert "range 4 of 8: 61 % released, 30,000 rows held, 1 chunk being read" in html
    assert re.search(r"a chunk waits for the log to pass its mark, for [\d.]+ m?s", text)
    assert "no captured table is named public.ordres snapshot.no_such_table" in text
    assert re.search(r"reading initial read rows shop.public.items_002 4,200,000", text)
    assert "GET /connectors/shop/requests" in text


def test_where_nothing_is_under_way_it_says_when_all_rows_were_read(door: RestEndpoint) -> None:
    text = Page(asked(door, "GET", "/p/warehouse/snapshot")[2]).text
    assert "No rows are being read. Ask for some below." in text
    assert "No table has been reported yet" in asked(door, "GET", "/p/new-one/snapshot")[2]
    source = HalfBoard(tables={"a": source_table("a")})
    done = [one for one in requests() if one.state is RequestState.SUCCEEDED]
    assert re.match(r"All rows were read on 20\d\d-", rows_page("shop", source, done, 1).idle)


def test_a_request_is_sent_as_the_command_line_writes_it(door: RestEndpoint, views: MadeViews) -> None:
    status, location, _ = posted(door, "/p/shop/snapshot", tables="public.a\npublic.b", where="id > 7")
    assert status == 303
    [(name, body)] = views.sent
    told = orjson.loads(body)
    assert (name, told["type"]) == ("shop", "execute-snapshot")
    assert told["data"] == {
        "type": "incremental",
        "data-collections": ["public.a", "public.b"],
        "additional-conditions": [
            {"data-collection": "public.a", "filter": "id > 7"},
            {"data-collection": "public.b", "filter": "id > 7"},
        ],
    }
    assert posted(door, "/p/shop/snapshot", tables="public.a", first="7", last="[9]")[0] == 303
    assert orjson.loads(views.sent[1][1])["data"]["key-range"] == {"from": [7], "to": [9]}
    assert location == f"/console/p/shop/snapshot?sent={told['id']}"
    assert f"{told['id']} is in Kafka" in Page(asked(door, "GET", location.removeprefix("/console"))[2]).text


def test_what_the_task_would_refuse_is_said_beside_the_form_and_what_was_typed_stays(
    door: RestEndpoint, views: MadeViews
) -> None:
    status, _, html = posted(door, "/p/shop/snapshot", tables="public.orders", where="id >> (")
    assert (status, views.sent) == (400, [])
    page = Page(html)
    assert "signal.bad_field" in page.text
    assert any(attributes.get("value") == "id >> (" for _, attributes in page.elements)
    main = next(attributes for tag, attributes in page.elements if tag == "main")
    assert "hx-get" not in main, "else the page renews itself, and what is said is gone"
    status, _, html = posted(door, "/p/shop/snapshot", tables="", where=HOSTILE)
    assert status == 400
    assert not [one for one in Page(html).elements if one[1].get("src") == "x"]


@pytest.mark.parametrize("verb", ["pause", "resume", "stop"])
def test_reads_are_paused_resumed_and_stopped(door: RestEndpoint, views: MadeViews, verb: str) -> None:
    assert posted(door, f"/p/shop/snapshot/do/{verb}")[0] == 303
    [(name, body)] = views.sent
    assert (name, orjson.loads(body)["type"]) == ("shop", f"{verb}-snapshot")


def test_what_there_is_not_is_not_asked(door: RestEndpoint, views: MadeViews) -> None:
    assert posted(door, "/p/shop/snapshot/do/drop")[0] == 404
    assert posted(door, "/p/none/snapshot/do/pause")[0] == 404
    assert posted(door, "/p/none/snapshot", tables="public.a")[0] == 404
    assert asked(door, "GET", "/p/none/snapshot")[0] == 404
    assert views.sent == []


def test_paused_reads_can_be_resumed_and_running_ones_paused() -> None:
    views = MadeViews({"shop": busy(3), "idle": busy(2)})
    source = views.boards["shop"].halves[Half.SOURCE]
    source.tables["a"] = source_table("a", state="paused", requests=["x"])
    with served(MadeCrew({"shop": RUNS, "idle": RUNS}), views) as door:

        def verbs(name: str) -> list[str]:
            return re.findall(r"snapshot/do/(\w+)", asked(door, "GET", f"/p/{name}/snapshot")[2])

        assert verbs("shop") == ["resume", "stop"]
        source.tables["a"] = source_table("a", state="snapshotting", requests=["x"])
        assert verbs("shop") == ["pause", "stop"]
        assert verbs("idle") == []


def test_the_bar_of_a_table_is_whole_whatever_is_under_way() -> None:
    for percent, reading, held in [(0, 0, 0), (100, 0, 0), (99, 3, 10_000_000), (None, 1, 1), (50, 200, 0)]:
        one = {"percent": percent, "reading": reading, "held": held}
        for count in (1, 2, 64):
            bar = range_bar([one] * count, None, 1_000)
            last = bar.frames[-1]
            assert round(last[0] + last[1]) == WIDTH
            covered = sum(part.width for part in bar.segments)
            assert covered == pytest.approx(sum(width for _, width, _ in bar.frames), abs=count * 0.4)
            assert {"held", "reading"} - {part.kind for part in bar.segments} <= (
                ({"held"} if not held else set()) | ({"reading"} if not reading else set())
            )


def test_a_table_in_one_range_is_as_far_as_the_table() -> None:
    bar = range_bar([{"percent": None, "reading": 0, "held": 0}], 42, None)
    assert [(part.kind, part.width) for part in bar.segments] == [("released", 420.0), ("left", 580.0)]


def test_a_form_of_any_fields_is_read() -> None:
    form = form_of({"tables": " a.b \n\n c.d;e.f", "keys": "7\n[8, 9]\n", "more": "x"})
    assert form.wanted().tables == ["a.b", "c.d", "e.f"]
    assert form.wanted().data()["keys"] == [[7], [8, 9]]
    assert form_of({}).wanted().tables == []
