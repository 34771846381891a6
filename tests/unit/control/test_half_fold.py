"""A source half of several tasks, as readers of its board know it."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from wrackline.control.cli.terminal.database_text import StatusStyle
from wrackline.control.cli.terminal.status_text import heads, page
from wrackline.control.console.pipeline_page import pipeline_page
from wrackline.control.console.pipelines_page import ListedPipeline
from wrackline.control.console.table_layout import TableChoice, table_layout
from wrackline.control.runtime.board.board_changes import BoardChanges, HalfLook
from wrackline.control.runtime.board.board_progress import progress_of
from wrackline.control.runtime.board.board_summary import summarise
from wrackline.control.runtime.board.tasks.half_fold import TASK_MISSING, TASK_SILENT, half_of
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.notices.notice_rules import conditions
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState, state_of_tasks
from wrackline.control.runtime.services.status import pipeline_status
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import (
    Board,
    BoardKey,
    Half,
    HalfBoard,
    HalfState,
    encode,
    parse_key,
)
from wrackline.schemas.kafka.past.error_days import DAY_MS, ErrorCount, ErrorDay

NOW = 1_800_000_000_000
ERROR = {"code": "pg.unreachable", "kind": "Transient", "sentence": "away", "hint": "look"}


def report(
    state: str, *databases: str, deal: int = 7, tasks: int = 2, error: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    known = {name: {"behind_bytes": 5, "through_ms": NOW - 1000} for name in databases}
    return {
        "state": state,
        "error": error,
        "events": 10,
        "databases": known,
        "deal": {"number": deal, "tasks": tasks},
    }


def board(*reports: dict[str, Any] | None, heard: Mapping[int, int] | None = None) -> Board:
    """What the tasks have reported; one that is None has not."""
    made = Board()
    for task, one in enumerate(reports):
        if one is not None:
            key = BoardKey("shop", Half.SOURCE, task=task).encode()
            at_ms = (heard or {}).get(task, NOW)
            made.apply(key, encode(one, NOW), at_ms)
            for name in one["databases"]:
                of = BoardKey("shop", Half.SOURCE, f"{name}.public.t", task=task).encode()
                made.apply(of, encode({"state": "streaming", "reason": None}, NOW), at_ms)
    return made


def source(made: Board) -> HalfBoard:
    return half_of(made, "shop", Half.SOURCE, NOW)


def test_a_half_of_one_task_is_its_task() -> None:
    made = board(report("running", "a", tasks=1))
    assert source(made) is made.tasks("shop", Half.SOURCE)[0]
    assert half_of(Board(), "shop", Half.SOURCE, NOW).state is None


def test_a_half_has_the_databases_tables_and_events_of_all_its_tasks() -> None:
    half = source(board(report("running", "a", "c"), report("running", "b")))
    assert half.state is HalfState.RUNNING
    assert (list(half.report["databases"]), half.report["events"]) == (["a", "c", "b"], 20)
    assert sorted(half.tables) == ["a.public.t", "b.public.t", "c.public.t"]
    assert [(one["task"], one["state"], one["databases"]) for one in half.report["tasks"]] == [
        (0, "running", ["a", "c"]),
        (1, "running", ["b"]),
    ]


def test_a_failed_task_is_the_trouble_of_its_databases_and_of_no_other() -> None:
    half = source(board(report("running", "a"), report("failed", "b", error=ERROR)))
    assert (half.state, half.report["error"]) == (HalfState.RUNNING, None)
    assert [one.get("error") for one in half.report["databases"].values()] == [None, {**ERROR, "frames": []}]
    halves = {Half.SOURCE: half, Half.TARGET: HalfBoard()}
    status = pipeline_status("shop", halves, NOW, has_target=False)
    assert status.exit is not Exit.OK
    assert (summarise(halves, NOW).error or {})["code"] == "pg.unreachable"
    shown = [line.plain for line in heads(status, StatusStyle(None, NOW))]
    assert [line for line in shown if line.startswith("task")] == [
        "task 0  running: a, pid 0 on ",
        "task 1  failed: b",
    ]
    assert any("failed: " in line and "away" in line for line in shown), "below its database"
    both = source(board(report("failed", "a", error=ERROR), report("failed", "b", error=ERROR)))
    assert (both.state, both.report["error"]["code"]) == (HalfState.FAILED, "pg.unreachable")


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([("running", False), ("stopped", False)], Exit.TRANSIENT),
        ([("running", False), ("stopped", True)], Exit.OK),
        ([("running", False), ("completed", False)], Exit.OK),
        ([("completed", False), ("stopped", True)], Exit.OK),
        ([("completed", False), ("stopped", False)], Exit.TRANSIENT),
    ],
)
def test_a_task_that_has_ended_is_trouble_unless_it_should_rest(
    ends: Sequence[tuple[str, bool]], code: Exit
) -> None:
    half = source(board(*({**report(state), "wished": wished} for state, wished in ends)))
    halves = {Half.SOURCE: half, Half.TARGET: HalfBoard()}
    assert pipeline_status("shop", halves, NOW, has_target=False).exit is code


def test_a_silent_task_is_named_and_the_half_is_not_silent() -> None:
    half = source(board(report("running", "a"), report("running", "b"), heard={1: NOW - 60_000}))
    assert not half.is_silent(NOW)
    assert half.report["databases"]["b"]["error"]["code"] == TASK_SILENT.code
    assert "task 1 of shop" in half.report["tasks"][1]["error"]["sentence"]
    assert half.report["databases"]["a"].get("error") is None


def test_a_task_that_has_not_reported_yet_is_missing_and_nothing_is_known_to_be_complete() -> None:
    whole = board(report("running", "a"), report("running", "b"))
    assert progress_of(source(whole)) is not None
    half = source(board(report("running", "a"), None))
    assert half.report["tasks"][1]["error"]["code"] == TASK_MISSING.code
    assert progress_of(half) is None, "task 1 may have a database that is behind"
    status = pipeline_status("shop", {Half.SOURCE: half, Half.TARGET: HalfBoard()}, NOW, has_target=False)
    assert status.exit is not Exit.OK


def test_tasks_of_an_earlier_deal_do_not_count() -> None:
    old = report("running", "b", deal=6, tasks=2)
    half = source(board(report("running", "a", "b", deal=8, tasks=1), old))
    assert (list(half.report["databases"]), sorted(half.tables)) == (["a", "b"], ["a.public.t", "b.public.t"])
    assert "tasks" not in half.report
    moved = source(board(report("running", "a", deal=8), old))
    assert [one["state"] for one in moved.report["tasks"]] == ["running", None]
    assert "b.public.t" not in moved.tables


def test_counts_of_errors_add_up() -> None:
    made, day = board(report("running", "a"), report("running", "b")), ErrorDay(NOW // DAY_MS, "x.y")
    for task, (first, last) in enumerate([(5, 9), (3, 7)]):
        key = BoardKey("shop", Half.SOURCE, errors=day, task=task).encode()
        made.apply(key, ErrorCount(2, first, last, "Transient", f"of {task}").encode(), NOW)
    assert dict(source(made).errors.items()) == {day: ErrorCount(4, 3, 9, "Transient", "of 0")}


def test_the_first_task_removes_what_tasks_have_left_that_there_are_no_more() -> None:
    keys = [BoardKey("shop", Half.SOURCE, table, task=task) for task in range(3) for table in (None, "t")]
    left = BoardChanges("shop", Half.SOURCE, 0, 2)
    left.reported_before(keys)
    look = HalfLook({"state": "running"}, {"t": {"state": "streaming"}})
    gone = {key for key, value in left.due(look, 0, NOW, whole=True) if value is None}
    assert gone == {key.encode() for key in keys if key.task == 2}
    second = BoardChanges("shop", Half.SOURCE, 1, 2)
    second.reported_before(keys)
    gone = {key for key, value in second.due(look._replace(tables={}), 0, NOW, whole=True) if value is None}
    assert gone == {BoardKey("shop", Half.SOURCE, "t", task=1).encode()}, "its own table that is gone"


@pytest.mark.parametrize("half", ["source-0", "source-01", "source-128", "source-", "source-x", "source--1"])
def test_a_task_that_there_never_is_is_refused(half: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_key(orjson.dumps(["shop", half]))


def test_a_key_names_its_task() -> None:
    for task, named in ((0, "source"), (3, "source-3")):
        key = BoardKey("shop", Half.SOURCE, "t", task=task)
        assert (orjson.loads(key.encode())[1], parse_key(key.encode())) == (named, key)


def test_a_page_shows_each_task_and_what_may_be_wished_for_it() -> None:
    half = source(board(report("running", "a", tasks=3), None, report("failed", "c", tasks=3, error=ERROR)))
    halves = {Half.SOURCE: half, Half.TARGET: HalfBoard()}
    states = [TaskState.RUNNING, TaskState.PAUSED, TaskState.FAILED]
    standing = state_of_tasks([ConnectorState(one, worker=f"w{n}") for n, one in enumerate(states)], None)
    one = ListedPipeline("shop", "postgres", None, standing, summarise(halves, NOW), (), "here")
    page = pipeline_page(one, halves, table_layout(halves, TableChoice(), NOW), TableChoice(), NOW)
    assert [(row.number, row.badge.word, row.databases, row.worker, row.verbs) for row in page.tasks] == [
        (0, "running", "a", "w0", ("pause", "restart")),
        (1, "paused", "\u2013", "w1", ("resume",)),
        (2, "failed", "c", "w2", ("pause", "restart")),
    ]
    assert [(trouble.where, trouble.error["code"]) for trouble in page.troubles] == [
        ("task 1", TASK_MISSING.code), ("task 2", "pg.unreachable"),
    ]  # fmt: skip
    assert page.badge.word == "failed", "it needs somebody, although the half runs"


def test_a_task_that_failed_is_notified_as_that_task() -> None:
    half = source(board(report("running", "a"), report("failed", "b", error=ERROR)))
    found = conditions("shop", {Half.SOURCE: half, Half.TARGET: HalfBoard()}, NOW)
    assert [one.about for one in found] == ["source task 1"]


def text_of(made: Board, width: int | None = None) -> list[str]:
    """What `wrackline status` prints above the tables."""
    status = pipeline_status(
        "shop", {Half.SOURCE: source(made), Half.TARGET: HalfBoard()}, NOW, has_target=False
    )
    return [line for text in page(status, StatusStyle(width, NOW)) for line in text.plain.splitlines()]


def test_what_a_paused_task_reads_is_not_shown_as_streaming() -> None:
    shown = text_of(board(report("running", "a"), {**report("stopped", "b"), "wished": True}))
    assert "task 1  stopped, as somebody wished: b" in shown
    assert any(line.startswith("log     b: ") and line.endswith("; its task is stopped") for line in shown)
    states = {line.split()[0]: line.split()[1] for line in shown if ".public.t " in line}
    assert states == {"a.public.t": "streaming", "b.public.t": "-"}


def test_one_of_200_databases_that_is_down_is_the_first_and_the_others_are_one_line() -> None:
    names = [f"tenant_{number:03}" for number in range(200)]
    one = report("running", *names, tasks=1)
    one["databases"]["tenant_107"] |= {"state": "failed", "error": {**ERROR, "sentence": "it is away " * 9}}
    one["databases"]["tenant_042"]["behind_bytes"] = 7_000
    shown = text_of(board(one), 80)
    assert [line for line in shown if line.startswith("log")] == [
        "log     tenant_107: 5 B behind",
        "log     199 other databases: tenant_042 is the furthest, 7.0 kB behind",
    ]
    assert shown[1].startswith("        failed: [pg.unreachable] it is away")
    assert all(len(line) <= 80 for line in shown[:5]), "no word is cut at the terminal's edge"
    assert "        hint: look" in shown
    assert len([line for line in text_of(board(one)) if line.startswith("log")]) == 200, "for grep"
    for name in names:
        one["databases"][name] |= {"state": "failed", "error": ERROR}
    shown = text_of(board(one), 80)
    assert len([line for line in shown if line.startswith("log")]) == 11
    assert "log     190 more databases: [pg.unreachable]" in shown


def test_databases_of_a_task_that_failed_still_say_why() -> None:
    failed = report("failed", "a", "b", tasks=1, error=ERROR)
    failed["databases"]["b"] |= {"state": "failed", "error": {**ERROR, "code": "pg.slot_missing"}}
    shown = text_of(board(failed))
    assert shown[0] == "log     unknown: [pg.unreachable] away"
    assert "        b failed: [pg.slot_missing] away" in shown
