"""The way back to an earlier position: who may go it, what it says before, and what it takes to do it."""

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from urllib.parse import quote

import pytest

from tests.unit.console.made import HOSTILE, PAST_MS, RUNS, MadeCrew, MadeViews, busy, past, served
from tests.unit.console.test_pages import Page
from tests.unit.console.visitor import Answer, Visitor, users
from wrackline.control.console.log.rewind_page import RewindLook, RewindQuestion, rewind_page
from wrackline.control.runtime.ground.times import parse_moment
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.control.runtime.services.offsets import PastPosition
from wrackline.producers.connect.restart_policy import TaskState

STOPPED = ConnectorState(TaskState.STOPPED, worker=RUNS.worker)
PATH = "/console/p/shop/rewind"
THERE = past()[60].time


@pytest.fixture
def crew() -> MadeCrew:
    """A group in which `shop` is stopped, and `busy` runs."""
    made = MadeCrew({"shop": ConnectorState(STOPPED.state, target=STOPPED), "busy": RUNS})
    made.group = [GroupMember(made.worker, 64, 0, "1")]
    return made


@pytest.fixture
def visitor(crew: MadeCrew) -> Iterator[Visitor]:
    with served(crew, MadeViews({"shop": busy(3), "busy": busy(3)})) as door:
        yield Visitor(door.port)


def text_of(answer: Answer) -> str:
    return Page(answer.html).text


def to(moment: str, **more: str) -> str:
    return "?" + "&".join(f"{name}={quote(text)}" for name, text in {"to": moment, **more}.items())


def test_it_says_what_comes_again_and_changes_nothing_before_the_name_is_typed(
    visitor: Visitor, crew: MadeCrew
) -> None:
    listed = visitor.ask("GET", PATH)
    assert listed.status == 200
    assert len(re.findall(r'<th scope="row">', listed.html)) == 50
    assert "page 1 of 2, 90 positions" in text_of(listed)
    assert "Go back" not in text_of(listed)
    [first] = re.findall(rf'href="{PATH}(\?to=[^"]+)" title', listed.html)[:1]
    preview = visitor.ask("GET", f"{PATH}{first}".replace("&amp;", "&"))
    text = text_of(preview)
    assert "Would continue at shop 6F/1A2B3C4D (epoch 2) 6F/19000000 (epoch 2)" in text
    assert re.search(r"Back to where it was \d+ (s|min) ago", text)
    assert "Targets ignore the events that they have" in text
    for typed in ("", "Shop", "busy", " "):
        refused = visitor.ask("POST", PATH, {"to": THERE, "name": typed})
        assert (refused.status, "the name that was typed is not shop" in text_of(refused)) == (409, True)
    assert crew.rewound == []
    done = visitor.ask("POST", PATH, {"to": THERE, "name": " shop "})
    assert (done.status, done.to.partition("?")[0]) == (303, "/console/p/shop/positions")
    assert crew.rewound == [("shop", parse_moment(THERE), False)]
    assert "continues where it was at" in text_of(visitor.ask("GET", done.to))


def test_events_that_count_as_new_are_named_so(visitor: Visitor, crew: MadeCrew) -> None:
    text = text_of(visitor.ask("GET", f"{PATH}{to(THERE, as_new='true')}"))
    assert "It comes in a new epoch, so targets apply all of it once more" in text
    visitor.ask("POST", PATH, {"to": THERE, "as_new": "true", "name": "shop"})
    assert crew.rewound == [("shop", parse_moment(THERE), True)]


def test_a_pipeline_that_runs_is_not_changed(visitor: Visitor, crew: MadeCrew) -> None:
    page = visitor.ask("GET", f"/console/p/busy/rewind{to(THERE)}")
    assert "The pipeline is not stopped" in text_of(page)
    assert 'name="name"' not in page.html
    assert "/console/p/busy/do/stop" in page.html
    refused = visitor.ask("POST", "/console/p/busy/rewind", {"to": THERE, "name": "busy"})
    assert (refused.status, "rest.not_stopped" in refused.html) == (409, True)
    assert crew.rewound == []


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01", "x" * 90, "2020-01-01T00:00:00Z"])
def test_a_time_that_is_none_or_has_no_position_is_refused(
    visitor: Visitor, crew: MadeCrew, moment: str
) -> None:
    page = visitor.ask("GET", f"{PATH}{to(moment)}")
    assert page.status == 409
    assert "console.no_moment" in page.html or "offsets.not_kept" in page.html
    assert visitor.ask("POST", PATH, {"to": moment, "name": "shop"}).status == 409
    assert visitor.ask("GET", f"{PATH}{to('x' * 101)}").status == 400
    assert crew.rewound == []


def test_the_files_of_a_worker_are_not_changed_and_the_command_is_named(crew: MadeCrew) -> None:
    crew.group = [GroupMember(crew.worker, None, 0, "1")]
    with served(crew, MadeViews({"shop": busy(3)})) as door:
        page, as_new = (
            Visitor(door.port).ask("GET", f"{PATH}{to(THERE, as_new=one)}") for one in ("false", "true")
        )
    assert page.status == 200
    command = f"wrackline offsets rewind pipeline.toml --to {THERE}"
    assert command in text_of(page)
    assert f"{command} --as-new" not in text_of(page)
    assert f"{command} --as-new" in text_of(as_new)
    assert 'method="post"' not in page.html.partition("<main")[2]


def test_only_an_administrator_sees_and_does_it(crew: MadeCrew, tmp_path: Path) -> None:
    file = users(tmp_path, ann='role = "admin"', opal='role = "operator"\ndata = true')
    with served(crew, MadeViews({"shop": busy(3)}), RestSettings(0, users=file)) as door:
        opal, ann = Visitor(door.port), Visitor(door.port)
        opal.log_in("opal")
        ann.log_in("ann")
        for answer in (
            opal.ask("GET", f"{PATH}{to(THERE)}"),
            opal.press("/console/p/shop/positions", PATH, to=THERE, name="shop"),
        ):
            assert answer.status == 403
        assert PATH not in opal.ask("GET", "/console/p/shop/positions").html
        assert PATH in ann.ask("GET", "/console/p/shop/positions").html
        assert ann.ask("POST", PATH, {"to": THERE, "name": "shop"}).status == 403, "no token"
        assert crew.rewound == []
        assert ann.press(f"{PATH}{to(THERE)}", PATH, name="shop").status == 303
    assert len(crew.rewound) == 1


def test_a_source_that_does_not_answer_keeps_no_page_waiting(
    crew: MadeCrew, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Event()
    monkeypatch.setattr("wrackline.control.console.log.rewind_routes.PATIENCE_S", 0.1)
    monkeypatch.setattr(crew, "offset_history", lambda _: held.wait(60))
    with served(crew, MadeViews({"shop": busy(3)})) as door:
        try:
            answer = Visitor(door.port).ask("GET", PATH)
        finally:
            held.set()
    assert (answer.status, "rest.still_looking" in answer.html) == (409, True)


def test_texts_of_others_are_text(visitor: Visitor, crew: MadeCrew) -> None:
    crew.past = past(HOSTILE)
    odd = f"/console/p/shop/positions?rewound={quote(HOSTILE)}"
    assert "continues where it was" not in visitor.ask("GET", odd).html
    for path in (f"{PATH}{to(HOSTILE)}", f"{PATH}{to(THERE)}", odd):
        page = Page(visitor.ask("GET", path).html)
        assert not [one for one in page.elements if one[1].get("src") == "x"]
        assert "onerror" not in {name for _, attributes in page.elements for name in attributes}
    assert visitor.ask("GET", "/console/p/none/rewind").status == 404


def test_each_database_goes_back_to_its_last_position_before() -> None:
    kept = [
        PastPosition(f"2026-05-01T12:0{minute}:00.123+00:00", database, {}, f"{database}{minute}", 1)
        for minute, database in enumerate(["a", "b", "a", "b"])
    ]
    look = RewindLook(kept, [], stopped=True, grouped=True, error=None)

    def chosen(moment: str) -> list[str]:
        page = rewind_page("shop", RewindQuestion(moment), look, PAST_MS)
        return [row.place for row in page.rows if row.chosen]

    assert chosen("2026-05-01T12:02:00.123+00:00") == ["a2", "b1"]
    assert chosen("2026-05-01T12:02:00") == ["b1", "a0"]
    assert chosen("2026-05-01T12:00:00") == []
    assert chosen("") == chosen("soon") == []
    empty = RewindLook([], [], stopped=True, grouped=True, error=None)
    assert rewind_page("shop", RewindQuestion(), empty, PAST_MS, page=7).page == 1
