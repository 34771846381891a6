"""`wrackline status`: what it shows of both sides, what it asks the consumer, and what it ends with."""

import json
import os
import re
import signal
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from rich.console import Console
from rich.text import Text

from wrackline.consumers.batch.report import BatchReport, Step
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts, LatestChange
from wrackline.consumers.contract.plan import Applied, NewestChange
from wrackline.consumers.contract.target import UpkeepRemoval, UpkeepResult
from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.drive.upkeep_worker import UpkeepOutcome
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.control.cli.terminal.database_text import StatusStyle
from wrackline.control.cli.terminal.status_text import (
    details,
    heads,
    lines,
    page,
    reads_under_way,
    unknown_tables,
)
from wrackline.control.cli.terminal.status_watch import picture, watch
from wrackline.control.runtime.board.board_changes import LookScope
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.control.runtime.board.target_report import TargetReport
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.services import requests
from wrackline.control.runtime.services.status import PipelineStatus, pipeline_status
from wrackline.control.runtime.services.status_documents import lag_document, status_document, tables_document
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.observe.status_document import databases_document
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka.board_records import Half, HalfBoard, HalfState
from wrackline.schemas.kafka.receipts import Receipt, ReceiptKey, RequestState, ScanStatus, TableProgress
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import SourcePartition, TableId

BUSY = Transient("test.busy", "a wall", "lean on it")
MEND = OperatorNeeded("test.fix", "it does not fit", "make it wider")
GONE = Definite("test.gone", "it is gone", "read it again")
GOING: Mapping[str, Any] = {
    "state": "streaming", "requests": [], "rows": 0, "expected": None, "percent": None, "seconds_left": None,
    "letters": {}, "nulls": {},
    "reason": None,
}  # fmt: skip
NOW = 100_000


def halves(source: HalfBoard | None = None, target: HalfBoard | None = None) -> dict[Half, HalfBoard]:
    return {Half.SOURCE: source or HalfBoard(), Half.TARGET: target or HalfBoard()}


def half(state: HalfState, heard_ms: int = NOW, **more: object) -> HalfBoard:
    process = {"host": "db7", "pid": 42, "began_ms": 0, "since_ms": 9_000, "error": None, "databases": {}}
    return HalfBoard({"state": state.value, **process, **more}, heard_ms)


def consumer(*wrong: WracklineError, outage: WracklineError | None = None) -> Mapping[str, Any]:
    """What a consumer of one table for each error, and one that continues, would answer."""
    figures = ConsumerFigures("s", lambda: 0.0)
    tables = ["orders", *(f"bad_{number}" for number in range(len(wrong)))]
    figures.take_ends({f"s.shop.public.{table}": {0: 9000} for table in tables})
    figures.batch(
        BatchReport(
            BatchRange("s.shop.public.orders", {0: 0}, {0: 7766}),
            Applied(newest=NewestChange("0a0b", 1, 2)),
            BatchCounts({"c": 7000, "r": 766}, LatestChange("0a0b", 1000, 1200)),
            {Step.READ: 0.25, Step.APPLY: 1.5},
            4200,
            60_000,
        )
    )
    for number, error in enumerate(wrong):
        stopped = not isinstance(error, Transient)
        figures.stands(f"s.shop.public.bad_{number}", TableRetryState(error, 1, stopped=stopped))
    figures.tended(
        UpkeepOutcome("s.shop.public.orders", 2.0, None, UpkeepResult({UpkeepRemoval.FILES: 1200}, 3))
    )
    figures.went(outage)
    report = TargetReport("iceberg", figures, HalfStanding(), SloFigures(None, figures))
    report.begins()
    half, found, *_ = report.look(LookScope.ALL)
    aged = {name: {**(table or {}), "freshness_ms": None} for name, table in found.items()}
    aged["shop.public.orders"]["freshness_ms"] = 2_400
    told: Mapping[str, Any] = orjson.loads(orjson.dumps({**half, "began_ms": 0, "tables": aged}))
    return told


SLOT = LogState("slot", None, 5_000_000, 1_250_000, 2_000_000, None, None)


def worker(log: LogState = SLOT) -> Mapping[str, Any]:
    """What a worker of one database would answer."""
    here = SourcePartition("s", "shop")
    measures = TaskMeasures(0, "postgres", [here], 1, monotonic=lambda: 0.0, now_ms=lambda: NOW)
    measures.health(Health.RUNNING, None)
    measures.log_state(here, log)
    return reported(measures)


def reported(measures: TaskMeasures) -> Mapping[str, Any]:
    """What a task's half is shown as once it has reported."""
    told = orjson.loads(orjson.dumps(databases_document(measures)))
    source = half(HalfState.RUNNING, databases=told)
    found = pipeline_status("shop", halves(source), NOW, has_target=False).log
    assert isinstance(found, Mapping)
    return found


def status(*wrong: WracklineError, outage: WracklineError | None = None) -> PipelineStatus:
    return PipelineStatus("shop", {"shop.public.orders": GOING}, worker(), consumer(*wrong, outage=outage))


def shown(found: PipelineStatus, width: int | None = 80) -> list[str]:
    return "\n".join(
        line.plain
        for line in (*heads(found, StatusStyle(width, NOW)), *lines(found, StatusStyle(width, NOW)))
    ).splitlines()


def test_a_line_for_each_table_fits_the_terminal() -> None:
    said = shown(status(BUSY))
    assert said[0] == "log     shop: 1.2 MB behind"
    assert said[1].startswith("shop into iceberg: the consumer runs, pid ")
    head = said.index(next(line for line in said if line.startswith("table")))
    assert said[head + 1].split() == ["public.bad_0", "-", "waiting", "-", "-", "-"]
    assert said[head + 2].split() == ["public.orders", "streaming", "going", "1,234", "59", "s", "40", "s"]
    assert max(len(line) for line in said[head : head + 3]) <= 80
    assert said[-2:] == ["shop.public.bad_0: [test.busy] a wall", "  hint: lean on it"]


def test_a_log_that_goes_by_its_age_says_when() -> None:
    aged = LogState("binary log", None, 9, 5, None, None, None, kept_s=86_400, expires_s=5400.0)
    said = next(iter(heads(PipelineStatus("shop", {}, worker(aged), None), StatusStyle(80, NOW))))
    assert said.plain == "log     shop: 5 B behind; what is not read is lost in 90 min"


@pytest.mark.parametrize(
    ("through", "words"),
    [(NOW - 2_300, "at most 2.3 s behind"), (None, "how far behind is unknown")],
)
def test_a_log_without_bytes_is_behind_by_time(through: int | None, words: str) -> None:
    told = databases_document(
        TaskMeasures(
            0, "postgres", [SourcePartition("s", "shop")], 1, monotonic=lambda: 0.0, now_ms=lambda: NOW
        )
    )
    told["shop"]["through_ms"] = through
    source = half(HalfState.RUNNING, databases=told)
    found = pipeline_status("shop", halves(source), NOW, has_target=False)
    said = next(iter(heads(found, StatusStyle(80, NOW))))
    assert said.plain == f"log     shop: {words}"


def test_a_long_name_is_shortened_for_a_terminal_alone() -> None:
    name = f"shop.public.{'x' * 80}_end"
    found = PipelineStatus("shop", {name: GOING}, BUSY, None)
    row = shown(found)[-1]
    assert len(row) <= 80
    assert row.startswith("…x")
    assert "_end " in row
    assert "x" * 80 in shown(found, None)[-1]


def test_all_that_is_known_of_one_table() -> None:
    said = [line.plain for line in details(status(), "shop.public.orders", StatusStyle(80, NOW))]
    assert said == [
        "shop.public.orders",
        "  source   streaming",
        "  target   going; 1,234 offsets behind",
        "  fresh    complete as the database was 2.4 s ago",
        "  lag      59 s: 200 ms to Kafka, 3.0 s until read, 56 s to merge",
        "  merged   1 batch, the newest 40 s ago: 7,000 inserted, 766 read",
        "  reached  0a0b; next offsets 0: 7766",
        "  time     read 250 ms, apply 1.5 s",
        "  upkeep   1 done, 0 failed, in 2.0 s; removed 1,200 files",
        "  lacking  3 rows are hidden from readers: each lacks a value until its next full image",
    ]


@pytest.mark.parametrize("state", ["queued", "snapshotting", "refreshing", "streaming"])
def test_work_is_not_shown_as_under_way_while_no_worker_answers(state: str) -> None:
    """T-C06."""
    table = {"shop.public.orders": {**GOING, "state": state}}
    dead, alive = (
        PipelineStatus("shop", table, BUSY, consumer()),
        PipelineStatus("shop", table, worker(), consumer()),
    )
    assert shown(dead)[-1].split()[:3] == ["public.orders", "-", "going"]
    assert shown(alive)[-1].split()[:3] == ["public.orders", state, "going"]
    said = [line.plain for line in details(dead, "shop.public.orders", StatusStyle(80, NOW))]
    assert said[1] == f"  source   unknown; last known: {state}"


@pytest.mark.parametrize("state", ["paused", "failed", "gone"])
def test_what_holds_without_a_worker_too_is_said(state: str) -> None:
    found = PipelineStatus("shop", {"shop.public.orders": {**GOING, "state": state}}, BUSY, consumer())
    assert shown(found)[-1].split()[:2] == ["public.orders", state]


def test_colours_are_for_a_terminal() -> None:
    plain, coloured = Console(force_terminal=False), Console(force_terminal=True, color_system="standard")
    for console, there in ((plain, False), (coloured, True)):
        with console.capture() as kept:
            for line in lines(status(MEND), StatusStyle(80, NOW)):
                console.print(line)
        assert ("\x1b[" in kept.get()) == there


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (status(), Exit.OK),
        (status(BUSY), Exit.TRANSIENT),
        (status(BUSY, MEND), Exit.OPERATOR),
        (status(GONE, MEND), Exit.DEFINITE),
        (status(outage=BUSY), Exit.TRANSIENT),
        (PipelineStatus("shop", BUSY, worker(), None), Exit.TRANSIENT),
        (PipelineStatus("shop", {}, worker(), MEND), Exit.OPERATOR),
        (PipelineStatus("shop", {}, GONE, None), Exit.DEFINITE),
        (
            PipelineStatus("shop", {"shop.public.t": {**GOING, "reason": MEND.document()}}, BUSY, None),
            Exit.OPERATOR,
        ),
    ],
)
def test_the_exit_code_is_what_is_hardest_to_repair(found: PipelineStatus, code: Exit) -> None:
    assert found.exit == code


def test_one_side_is_shown_where_the_other_does_not_answer() -> None:
    said = "\n".join(shown(PipelineStatus("shop", {"shop.public.orders": GOING}, MEND, BUSY)))
    assert "[test.busy] a wall" in said
    assert "public.orders" in said
    assert "log     unknown: [test.fix] it does not fit" in said
    assert "a wall" in "\n".join(shown(PipelineStatus("shop", BUSY, BUSY, consumer())))


def test_a_board_that_can_not_be_read_is_said_once() -> None:
    assert shown(PipelineStatus("shop", BUSY, BUSY, BUSY)) == f"shop  unknown: {BUSY}".splitlines()


def test_a_worker_that_recovers_says_from_what_and_a_script_hears_it() -> None:
    report = {"state": "recovering", "error": BUSY.document(), "databases": {}}
    found = PipelineStatus("shop", {"shop.public.orders": GOING}, report, None)
    assert shown(found)[0] == "source  recovering: [test.busy] a wall"
    assert found.exit is Exit.TRANSIENT


def test_what_both_halves_report_is_put_together() -> None:
    source, target = half(HalfState.RUNNING), half(HalfState.RUNNING, target="iceberg")
    source.tables["shop.public.orders"] = GOING
    target.tables["shop.public.orders"] = {"at_ms": NOW - 3_000, "behind": 5, "behind_s": 2.0, "held_s": 0}
    found = pipeline_status("shop", halves(source, target), NOW, has_target=True)
    assert found.of_source("shop.public.orders") is GOING
    assert isinstance(found.log, Mapping)
    assert isinstance(found.target, Mapping)
    assert found.target["tables"]["shop.public.orders"]["behind_s"] == 5.0, "the time since the report counts"
    assert found.target["tables"]["shop.public.orders"]["held_s"] == 0
    assert pipeline_status("shop", halves(source), NOW, has_target=False).target is None


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (HalfBoard(), r"status\.no_report.*consumer of shop has never reported\n.*wrackline consume"),
        (half(HalfState.STOPPED), r"status\.has_ended.*consumer of shop is stopped since 1970-01-01"),
        (half(HalfState.FAILED, error=MEND.document()), r"test\.fix.*it does not fit"),
        (
            half(HalfState.RUNNING, NOW - 15_001),
            r"status\.silent.*nothing since 1970-01-01 00:01:24Z\n.*42 on db7",
        ),
    ],
)
def test_a_half_that_is_not_known_to_run_says_why(known: HalfBoard, says: str) -> None:
    found = pipeline_status("shop", halves(half(HalfState.RUNNING), known), NOW, has_target=True)
    assert isinstance(found.target, WracklineError)
    assert re.search(says, str(found.target))
    assert isinstance(found.log, Mapping)


def test_a_silent_worker_keeps_its_tables_and_not_its_log() -> None:
    source = half(HalfState.RUNNING, NOW - 20_000)
    source.tables["shop.public.orders"] = GOING
    found = pipeline_status("shop", halves(source), NOW, has_target=False)
    assert found.tables == ["shop.public.orders"]
    assert isinstance(found.log, WracklineError)
    assert found.exit == Exit.TRANSIENT
    never = pipeline_status("shop", halves(), NOW, has_target=False)
    assert isinstance(never.source, WracklineError)
    assert never.exit == Exit.TRANSIENT


ENDS = [
    (half(HalfState.STOPPED), Exit.TRANSIENT),
    (half(HalfState.STOPPED, wished=True), Exit.OK),
    (half(HalfState.COMPLETED), Exit.OK),
    (half(HalfState.RUNNING, NOW - 20_000), Exit.TRANSIENT),
    (half(HalfState.RUNNING, NOW - 20_000, wished=True), Exit.OK),  # it was killed while it stopped
    (half(HalfState.FAILED, error=MEND.document()), Exit.OPERATOR),
    (half(HalfState.FAILED, error=MEND.document(), wished=True), Exit.OPERATOR),
]


@pytest.mark.parametrize(("known", "code"), ENDS)
@pytest.mark.parametrize("of", Half)
def test_a_half_that_has_ended_is_trouble_unless_it_should_rest(
    known: HalfBoard, code: Exit, of: Half
) -> None:
    both = {half_: half(HalfState.RUNNING) for half_ in Half} | {of: known}
    assert pipeline_status("shop", both, NOW, has_target=True).exit is code


def test_with_little_room_the_tables_that_need_attention_come_first() -> None:
    going = dict.fromkeys((f"shop.public.t{number}" for number in range(9)), GOING)
    reads = {**GOING, "requests": ["r"], "percent": 42}
    wrong = {**GOING, "reason": MEND.document()}
    found = PipelineStatus("shop", {**going, "shop.public.x": reads, "shop.public.y": wrong}, BUSY, None)
    said = [line.plain for line in lines(found, StatusStyle(80, NOW, 3))]
    assert [line.split()[0] for line in said[1:5]] == ["public.y", "public.x", "public.t0", "and"]
    assert said[4] == "and 8 more tables"
    assert len(list(lines(found, StatusStyle(80, NOW, 11)))) == 1 + 11 + 2, "all have room"


def test_a_table_that_is_read_has_a_bar_on_a_terminal() -> None:
    reads = {**GOING, "requests": ["r"], "state": "reading", "rows": 420, "expected": 1000, "percent": 42}
    found = PipelineStatus("shop", {"shop.public.x": reads, "shop.public.y": GOING}, BUSY, None)
    assert list(reads_under_way(found)) == [
        ("shop.public.x", 42, "reading  420 of about 1,000 rows read  42%"),
    ]
    console = Console(force_terminal=True, width=110, color_system=None)
    with console.capture() as kept:
        console.print(picture(found, [], 2.0))
    (line,) = (one for one in kept.get().splitlines() if "━" in one)
    assert line.startswith("shop.public.x")
    assert "42%" in line


class Looks:
    """What is asked: these answers, and then Ctrl-C is pressed."""

    def __init__(self, *found: PipelineStatus) -> None:
        self.found = list(found)

    def __call__(self) -> PipelineStatus:
        if not self.found:
            raise KeyboardInterrupt
        return self.found.pop(0)


def test_each_look_is_an_object_a_line_and_the_last_one_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(Looks(status(), status(MEND)), page, 0.0, json=True) == Exit.OPERATOR
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [set(one) for one in told] == [{"ts_ms", "pipeline", "source", "first_read", "log", "target"}] * 2
    assert watch(Looks(status(MEND), status()), page, 0.0, json=True) == Exit.OK
    assert watch(Looks(), page, 0.0, json=True) == Exit.LEFT, "nothing was seen yet"


def test_without_a_terminal_each_look_is_a_block(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    watch(Looks(status(), status()), page, 0.0, json=False)
    said = capsys.readouterr().out
    assert said.count("public.orders") == 2
    assert "\x1b[?25l" not in said, "no live picture in a pipe, whatever the colours"


def test_sigterm_ends_it_as_ctrl_c_does(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def ask() -> PipelineStatus:
        if calls.pop():
            os.kill(os.getpid(), signal.SIGTERM)
        return status()

    calls = [True, False]
    assert watch(ask, page, 0.0, json=True) == Exit.OK
    assert signal.getsignal(signal.SIGTERM) is before
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_rest_reports_both_sides_of_a_table_in_one_place() -> None:
    told = tables_document(status(BUSY))
    assert told["tables"]["shop.public.orders"] == {
        "source": "streaming", "percent": None, "target": "going", "seq": "0a0b", "behind": 1234, "held": 0,
        "lag_ms": 59_000, "freshness_ms": 2_400, "dead_letters": 0, "errors": [],
    }  # fmt: skip
    assert told["tables"]["shop.public.bad_0"]["source"] is None
    assert [error["code"] for error in told["tables"]["shop.public.bad_0"]["errors"]] == ["test.busy"]
    assert told["errors"] == {}
    apart = tables_document(PipelineStatus("shop", MEND, GONE, consumer(outage=BUSY)))
    assert {side: error["code"] for side, error in apart["errors"].items()} == {
        "source": "test.fix", "log": "test.gone", "target": "test.busy",
    }  # fmt: skip
    assert orjson.loads(orjson.dumps(apart)) == apart


def test_rest_reports_how_far_behind_each_step_is() -> None:
    told = lag_document(status())
    assert told["databases"]["shop"]["behind_bytes"] == 1_250_000
    assert told["tables"]["shop.public.orders"]["behind"] == 1234
    assert told["tables"]["shop.public.orders"]["lag_ms"]["whole"] == 59_000
    assert told["tables"]["shop.public.orders"]["freshness_ms"] == 2_400
    silent = lag_document(PipelineStatus("shop", {"shop.public.orders": GOING}, GONE, None))
    assert (silent["databases"], silent["tables"], set(silent["errors"])) == ({}, {}, {"log"})


def test_it_says_how_far_the_first_read_is_and_what_is_not_captured() -> None:
    done = {
        "state": "succeeded",
        "tables": 12,
        "read": 12,
        "rows": 1234,
        "at_ms": 0,
        "empty": ["shop.public.a"],
        "given_up": [],
    }
    here = SourcePartition("s", "shop")
    measures = TaskMeasures(0, "postgres", [here], 1, monotonic=lambda: 0.0, now_ms=lambda: NOW)
    many = {TableId("shop", "public", f"t{number}"): UncapturedReason.NO_GRANT for number in range(11)}
    measures.left_out(here, {**many, TableId("shop", "public", "x"): UncapturedReason.FILTERS})
    log = reported(measures)
    found = PipelineStatus("shop", {}, log, None, {"shop": done})
    said = [line.plain for line in heads(found, StatusStyle(None, NOW))]
    assert said[1:-1] == [
        "        not captured, left out by the filters: shop.public.x",
        f"        not captured, not granted: {', '.join(f'shop.public.t{n}' for n in range(10))} and 1 more",
        "rows    shop: 12 of 12 tables read, 1,234 rows; finished at 1970-01-01 00:00:00Z",
        "        without rows, so without a topic yet: shop.public.a",
    ]
    under_way = PipelineStatus("shop", {}, log, None, {"shop": {**done, "state": "running", "read": 5}})
    assert "rows    shop: 5 of 12 tables read, 1,234 rows" in shown(under_way)
    assert status_document(found)["first_read"] == {"shop": done}


def test_the_first_read_is_the_newest_that_was_begun_for_all_tables() -> None:
    def receipt(
        name: str, at_ms: int, state: RequestState, *scans: ScanStatus | None
    ) -> tuple[ReceiptKey, Receipt]:
        lines = tuple(TableProgress(f"shop.public.t{at}", 5, scan=scan) for at, scan in enumerate(scans))
        return ReceiptKey("shop", "s", "shop", name), Receipt(
            name, state, SnapshotKind.INCREMENTAL, at_ms, tables=lines
        )

    found = dict(
        [
            receipt("lost-7", 20, RequestState.RUNNING, ScanStatus.SUCCEEDED, None),
            receipt("initial", 10, RequestState.SUCCEEDED, ScanStatus.SUCCEEDED, ScanStatus.EMPTY),
            receipt("mine", 30, RequestState.SUCCEEDED, ScanStatus.SUCCEEDED),
        ]
    )
    first = requests.first_reads(found)["shop"]
    assert (first["state"], first["tables"], first["read"], first["rows"]) == ("running", 2, 1, 10)
    del found[ReceiptKey("shop", "s", "shop", "lost-7")]
    first = requests.first_reads(found)["shop"]
    assert (first["state"], first["empty"], first["at_ms"]) == ("succeeded", ["shop.public.t1"], 10)


def test_a_first_read_that_failed_is_no_trouble_once_its_tables_have_come_back() -> None:
    lines = (
        TableProgress("shop.public.a", 5, scan=ScanStatus.SUCCEEDED),
        TableProgress("shop.public.b", 1, scan=ScanStatus.SQL_EXCEPTION),
    )
    receipt = Receipt("initial", RequestState.FAILED, SnapshotKind.INCREMENTAL, 0, tables=lines)
    read = requests.first_reads({ReceiptKey("shop", "s", "shop", "initial"): receipt})["shop"]
    assert read["given_up"] == ["shop.public.b"]
    left = requests.still_given_up
    back = {**GOING, "table": "shop.public.b", "state": "streaming", "requests": [], "reason": None}
    for not_yet in ({"state": "failed"}, {"requests": ["mine"]}, {"reason": {"code": "x"}}):
        assert left(read["given_up"], {"shop.public.b": {**back, **not_yet}}) == ["shop.public.b"]
    assert left(read["given_up"], {"shop.public.b": back}) == []

    def line(given_up: list[str]) -> Text:
        found = PipelineStatus("shop", {}, BUSY, None, {"shop": {**read, "given_up": given_up}})
        return next(one for one in heads(found, StatusStyle(None, NOW)) if one.plain.startswith("rows"))

    failed = "rows    shop: 2 of 2 tables read, 6 rows; failed at 1970-01-01 00:00:00Z"
    assert line(["shop.public.b"]).plain == failed
    assert line([]).plain == f"{failed}, and all of its tables have come back"
    red = [any("red" in str(span.style) for span in line(left).spans) for left in (["shop.public.b"], [])]
    assert red == [True, False]
    assert not requests.has_come_back({**read, "given_up": [], "tables": 0}), "it was refused as a whole"


def test_a_table_is_shown_by_its_own_name_and_found_by_any_spelling() -> None:
    own = "shop.Sales Dept.na\xefve"
    found = PipelineStatus("shop", {"shop.Sales_Dept.na_ve": {**GOING, "table": own}}, BUSY, None)
    assert shown(found)[-1].startswith("Sales Dept.na\xefve  ")
    for given in ("Sales Dept.na\xefve", "Sales_Dept.na_ve", '"Sales Dept"."na\xefve"', "na\xefve"):
        said = [line.plain for line in page(found, StatusStyle(80, NOW), [given])]
        assert (own in said, unknown_tables(found, [given])) == (True, [])
    assert unknown_tables(found, ["public.na_ve"]) == ["public.na_ve"]
