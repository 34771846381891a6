"""What is asked of several pipelines at once."""

from dataclasses import replace

import pytest
from starlette.middleware import Middleware

from tests.unit.console.made import RUNS, MadeCrew, MadeViews, crowd, served
from tests.unit.console.test_pages import Page, asked
from tests.unit.console.test_rows import posted
from wrackline.control.console.page_frame import PageFrame
from wrackline.control.console.pipelines_page import SmallLines, bulk_note, pipelines_page
from wrackline.control.runtime.board.board_summary import PastMinute
from wrackline.control.runtime.rest.access.audit import Audit, AuditEntry
from wrackline.producers.connect.restart_policy import DesiredState


@pytest.mark.parametrize(("verb", "wish"), [("pause", DesiredState.PAUSE), ("resume", DesiredState.RUN)])
def test_the_chosen_pipelines_are_asked_and_what_became_of_it_is_said(verb: str, wish: DesiredState) -> None:
    crew, views = crowd()
    with served(crew, views) as door:
        fields = {"chosen:shop": "on", "chosen:stock": "on", "chosen:gone": "on", "other": "x"}
        status, location, _ = posted(door, f"/p/do/{verb}", **fields)
        assert status == 303
        assert crew.wished == [("shop", wish), ("stock", wish)]
        text = Page(asked(door, "GET", location.removeprefix("/console"))[2]).text
        assert f"{verb.capitalize()} was asked of 2 pipelines. 1 pipeline could not be asked." in text


def test_only_those_that_failed_are_restarted() -> None:
    crew, views = crowd()
    with served(crew, views) as door:
        chosen = {f"chosen:{name}": "on" for name in crew.names()}
        assert posted(door, "/p/do/restart", **chosen)[0] == 303
        assert crew.wished == [("billing", DesiredState.RESTART)]
        assert posted(door, "/p/do/drop", **chosen)[0] == 404
        assert posted(door, "/p/do/pause")[1].endswith("done=0&refused=0")
    assert len(crew.wished) == 1


def test_the_audit_names_the_pipelines_that_were_chosen() -> None:
    kept: list[AuditEntry] = []
    with served(*crowd(), within=[Middleware(Audit, put=kept.append)]) as door:
        posted(door, "/p/do/pause", **{"chosen:shop": "on", "chosen:\x1bb": "on"})
        posted(door, "/p/do/pause", **{f"chosen:p{number}": "on" for number in range(60)})
        posted(door, "/p/do/drop", **{"chosen:shop": "on"})
    assert kept[0]["line"] == "(no log-in): POST /console/p/do/pause of shop, ?b: 303"
    assert kept[1]["what"].endswith(" of " + ", ".join(f"p{number}" for number in range(50)) + " and 10 more")
    assert kept[2]["line"] == "(no log-in): POST /console/p/do/drop: 404"


def test_a_note_of_anything_else_is_none() -> None:
    assert bulk_note("<img>", 1, 0) == ""
    assert bulk_note("pause", 1, 0) == "Pause was asked of 1 pipeline."


def test_the_list_draws_the_last_day_where_it_is_known() -> None:
    views = MadeViews({"shop": crowd()[1].boards["shop"]})
    pages = PageFrame(MadeCrew({"shop": RUNS}), views)  # type: ignore[arg-type]  # it has what the frame uses
    [quarter] = pages.listed()
    day = [PastMinute(minute * 60_000, minute * 100, None, None, None) for minute in range(1_440)]
    lines = [
        pipelines_page([one], SmallLines()).rows[0].lines.rate
        for one in (quarter, replace(quarter, minutes=day))
    ]
    assert lines[0] != lines[1]
    assert len({point.split(",")[1] for point in lines[1].split()}) == 1, "an even rate is an even line"


def test_a_line_is_drawn_again_once_there_is_one_more_sample() -> None:
    views = MadeViews({"shop": crowd()[1].boards["shop"]})
    [one] = PageFrame(MadeCrew({"shop": RUNS}), views).listed()  # type: ignore[arg-type]  # as above
    late = [replace(one.summary, at_ms=at, late_ms=ms) for at, ms in ((1, 10), (2, 20), (3, 0))]
    lines = SmallLines()
    drawn = [lines.of([replace(one, history=late[:count])])["shop"].late for count in (2, 2, 3)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert lines.of([]) == {}
    assert lines.of([replace(one, history=late[1:])])["shop"].late != drawn[2], "what is gone is forgotten"
