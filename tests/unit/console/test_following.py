"""Pages that follow: events and lines that come are added on top, each once; without scripts a link asks."""

import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.unit.console import made_events, made_lines
from tests.unit.console.made import HOSTILE, MadeViews, crowd, served
from tests.unit.console.test_pages import Page
from tests.unit.console.visitor import Answer, Visitor, users
from wrackline.control.console.lines.lines_page import LineQuestion, lines_page, read_line_question
from wrackline.control.console.page_frame import HEADERS
from wrackline.control.runtime.events.event_looks import EventLook, EventQuestion
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.schemas.errors import Transient, define

AWAY = define("test.away", Transient, "no answer <b>", hint="wait")
RENEWS: Mapping[str, str] = {"HX-Request": "true"}
EVENTS = "/console/p/shop/events"
LOGS = "/console/p/shop/logs"


def cursor(html: str) -> str:
    [path] = re.findall(r'<tr id="cursor"[^>]* hx-get="([^"]+)" hx-trigger="every 2s"', html)
    return unescape(path)


def follow(visitor: Visitor, path: str) -> Answer:
    return visitor.ask("GET", path, headers=RENEWS)


def look(*offsets: int, newer: str, more: str = "") -> EventLook:
    events = [made_events.row(offset, "c", None, {"id": offset}) for offset in offsets]
    return EventLook(["t"], "b:9092", events, len(events), more, newer)


def test_events_that_come_are_asked_for_behind_the_end_and_added_once(
    visitor: Visitor, views: MadeViews
) -> None:
    views.look = lambda: replace(made_events.some(), newer="0:107")
    page = visitor.ask("GET", f"{EVENTS}?table=t&op=c&key=id%3D7&live=on")
    assert "hx-get" not in re.findall(r"<main[^>]*>", page.html)[0], "rows are added, the page stays"
    first = cursor(page.html)
    assert first == "?table=t&from=0%3A107&limit=50&op=c&key=id%3D7&live=on"
    assert 'id="event"' not in page.html
    views.look = lambda: look(107, 108, newer="0:109")
    came = follow(visitor, EVENTS + first)
    assert (came.status, came.headers["content-security-policy"]) == (200, HEADERS["Content-Security-Policy"])
    assert "<main" not in came.html
    assert re.findall(r"offset 0:(\d+)", came.html) == ["108", "107"], "the newest on top"
    assert cursor(came.html) == first.replace("107", "109")
    assert views.asked[-1] == EventQuestion("t", "0:107", 500, "c", "id=7")
    views.look = lambda: look(newer="0:109")
    nothing = follow(visitor, EVENTS + cursor(came.html))
    assert (nothing.status, nothing.html) == (204, "")


def test_what_does_not_fit_moves_the_place_too(visitor: Visitor, views: MadeViews) -> None:
    views.look = lambda: look(newer="0:7000")
    moved = follow(visitor, f"{EVENTS}?table=t&from=0%3A9&op=d&live=on")
    assert moved.status == 200
    assert "from=0%3A7000" in cursor(moved.html)


def test_more_than_a_page_takes_is_named_and_can_be_seen(visitor: Visitor, views: MadeViews) -> None:
    views.look = lambda: look(7, 8, newer="0:9000", more="0:9")
    came = follow(visitor, f"{EVENTS}?table=t&from=0%3A7&live=on")
    assert "from=0%3A9000" in cursor(came.html)
    between = came.html.index("More events came than this page adds at once")
    assert between < came.html.index("offset 0:8")
    assert 'href="?table=t&amp;from=0%3A9&amp;limit=50"' in came.html


def test_a_kafka_that_is_away_is_said_until_it_answers(visitor: Visitor, views: MadeViews) -> None:
    def away() -> EventLook:
        nothing = AWAY()
        raise nothing

    views.look = away
    refused = follow(visitor, f"{EVENTS}?table=t&from=0%3A7&live=on")
    assert refused.status == 200
    assert "no answer &lt;b&gt;" in refused.html
    assert '<tr id="cursor" hidden' not in refused.html
    assert "from=0%3A7&" in cursor(refused.html), "it asks from the same place"
    views.look = lambda: look(newer="0:7")
    again = follow(visitor, EVENTS + cursor(refused.html))
    assert (again.status, "no answer" in again.html) == (200, False)
    assert follow(visitor, EVENTS + cursor(again.html)).status == 204


def test_without_scripts_a_page_leads_to_what_is_newer(visitor: Visitor, views: MadeViews) -> None:
    views.look = lambda: replace(made_events.some(), newer="0:107")
    html = visitor.ask("GET", f"{EVENTS}?table=t").html
    assert 'href="?table=t&amp;from=0%3A107&amp;limit=50"' in html
    assert 'href="?table=t&amp;from=newest&amp;limit=50&amp;live=on"' in html
    assert "tail.js" not in html
    views.look = lambda: look(newer="0:107")
    none = visitor.ask("GET", f"{EVENTS}?table=t&from=0%3A107").html
    assert "No event: there is none" in none
    assert 'href="?table=t&amp;from=0%3A107&amp;limit=50"' in none
    logs = visitor.ask("GET", LOGS).html
    assert 'href="?level=info&amp;after=57"' in logs
    assert "None has come since" in visitor.ask("GET", f"{LOGS}?after=57").html


def test_rows_of_a_page_that_follows_take_the_same_permission(tmp_path: Path, views: MadeViews) -> None:
    views.look = lambda: look(107, newer="0:108")
    file = users(tmp_path, vic='role = "viewer"', ann='role = "viewer"\ndata = true')
    with served(crowd()[0], views, RestSettings(0, users=file)) as door:
        vic, ann = Visitor(door.port), Visitor(door.port)
        vic.log_in("vic")
        ann.log_in("ann")
        path = f"{EVENTS}?table=t&from=0%3A7&live=on"
        assert follow(vic, path).status == 403
        assert follow(Visitor(door.port), path).to.startswith("/console/login")
        assert views.asked == []
        assert "offset 0:107" in ann.ask("GET", path).html
        assert vic.ask("GET", LOGS).status == 200, "lines have no values of rows"


def test_lines_that_come_are_added_once(visitor: Visitor, views: MadeViews) -> None:
    assert views.log is not None
    page = visitor.ask("GET", f"{LOGS}?level=warning&live=on")
    assert len(re.findall(r'class="when"', page.html)) == 2
    path = LOGS + cursor(page.html)
    assert path.endswith("?level=warning&after=57&live=on")
    assert follow(visitor, path).status == 204
    views.log += [made_lines.line(58, "info", "source", "x", "not meant")]
    moved = follow(visitor, path)
    assert (moved.status, "not meant" in moved.html) == (200, False)
    views.log += [
        made_lines.line(59, "error", "target", "x", "first"),
        made_lines.line(60, "error", "target", "x", "second"),
    ]
    came = follow(visitor, LOGS + cursor(moved.html))
    assert came.html.index("second") < came.html.index("first")
    assert "after=60" in cursor(came.html)


@pytest.mark.parametrize(
    ("question", "places"),
    [
        (LineQuestion(), [57, 56, 55, 54, 53, 52, 51, 50]),
        (LineQuestion(level="error"), [57]),
        (LineQuestion(half="target"), [57, 54, 53]),
        (LineQuestion(text="KAFKA AT"), [52]),
        (LineQuestion(text="items_004"), [57]),
        (LineQuestion(after=55), [57, 56]),
    ],
)
def test_lines_are_chosen_by_level_half_and_words(question: LineQuestion, places: list[int]) -> None:
    page = lines_page("shop", question, made_lines.some())
    assert [row.place for row in page.rows] == places
    assert page.newest == 57
    few = lines_page("shop", question, made_lines.some(), most=1)
    assert ([row.place for row in few.rows], few.more) == (places[:1], len(places) - 1)


def test_a_log_that_is_off_or_empty_says_so(visitor: Visitor, views: MadeViews) -> None:
    views.log = []
    assert "No line matches" in visitor.ask("GET", LOGS).html
    assert cursor(visitor.ask("GET", f"{LOGS}?live=on").html) == "?level=info&after=-1&live=on"
    views.log = None
    assert "logs.topic" in visitor.ask("GET", LOGS).html
    assert visitor.ask("GET", "/console/p/none/logs").status == 404
    assert read_line_question("loud", "both", " x ", -7) == LineQuestion(text="x")


def test_texts_of_others_are_text(visitor: Visitor, views: MadeViews) -> None:
    views.log = made_lines.hostile(HOSTILE)
    views.look = lambda: replace(made_events.hostile(HOSTILE), newer="0:4")
    odd = quote(HOSTILE)
    for path in (LOGS, f"{LOGS}?q={odd}&level={odd}&half={odd}&live=on", f"{EVENTS}?table={odd}&live=on"):
        for answer in (visitor.ask("GET", path), follow(visitor, path)):
            page = Page(answer.html)
            assert answer.status in (200, 204)
            assert not [one for one in page.elements if one[1].get("src") == "x"], path
            assert "onerror" not in {name for _, attributes in page.elements for name in attributes}
    assert HOSTILE in "".join(Page(visitor.ask("GET", LOGS).html).words)
