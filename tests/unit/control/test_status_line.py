"""The status line: what it says, when it is due, and that other lines never run into it."""

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TextIO, cast

import pytest

from tests.fakes.place import Place
from wrackline.control.cli.terminal.screen import Screen
from wrackline.control.runtime.logs.lines import log_to
from wrackline.control.runtime.running.status_line import Narration, Pulse, StatusLine
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.contract.steps import Fault
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.cutter import Publication, PublicationTally, States
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.snapshot.table_state import Job, Outcome, render_state
from wrackline.producers.snapshot.table_state import TableState as SnapshotState
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import Definite, Transient, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Json, SavedTableState, TableKey
from wrackline.schemas.tables.table import SourcePartition, TableId

PARTITION = SourcePartition("shop1", "shop")
ORDERS = TableId("shop", "public", "orders")
LOST = define("test.status_lost", Transient, "a try failed", hint="none")


class Clock:
    """Moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def ended(outcome: Outcome) -> Json:
    """A state after the first read."""
    return render_state(SnapshotState(ended={"initial": outcome}))


def made(clock: Clock) -> TaskMeasures:
    return TaskMeasures(0, "postgres", [PARTITION], 1, monotonic=clock, now_ms=lambda: 5_000)


def publication(count: int, states: States = MappingProxyType({})) -> Publication:
    tally = PublicationTally({(ORDERS, "c"): count}, 1, 4_988)
    return Publication(PARTITION, [], 1, 0, (), Place(0, 7), None, states, None, tally)


def test_the_line_says_rate_lag_and_position() -> None:
    clock = Clock()
    measures = made(clock)
    line = StatusLine(measures, lambda _, saved: f"place {saved['lsn']}", clock)
    assert line()[0] == "0 events/s  0 in all  lag -  at -"
    measures.published([publication(3000)], 0.1)
    measures.log_state(PARTITION, LogState("slot", None, 9, 1_234_567, None, None, None))
    clock.now += 2
    text, told = line()
    assert text == "1,500 events/s  3,000 in all  lag 1.2 MB, 12 ms  at place 7"
    place = {"database": "shop", "behind_bytes": 1_234_567, "lag_ms": 12, "position": "place 7"}
    assert told == {"events": 3000, "events_per_s": 1500.0, "databases": [place]}
    clock.now += 2
    assert line()[0].startswith("0 events/s  3,000 in all")


def test_a_log_whose_bytes_nobody_counts_has_a_lag_in_time_alone() -> None:
    measures = made(Clock())
    measures.published([publication(1)], 0.1)
    assert StatusLine(measures, lambda *_: "there", Clock())()[0].endswith("lag 12 ms  at there")


def test_off_a_terminal_it_is_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    texts = iter(["now", "now", "at last"])
    pulse = Pulse(lambda: (next(texts), {}), log_to(sys.stdout, for_programs=False), clock)
    for _ in range(25):
        clock.now += 1
        pulse()
    pulse(last=True)
    assert capsys.readouterr().out == "now\nnow\nat last\n"


def test_on_a_terminal_the_status_line_is_last_and_other_lines_are_above_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock, screen = Clock(), Screen()
    log = log_to(cast("TextIO", screen), for_programs=False)
    pulse = Pulse(lambda: ("now", {}), log, clock, screen.draw)
    pulse()  # too soon
    clock.now += 1
    pulse()
    log.info("said", line="said")
    screen.close()
    assert capsys.readouterr().out == "\r\x1b[2Know\x1b[K\r\x1b[2Ksaid\nnow\n"


def test_the_same_error_is_reported_once_in_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    measures = made(clock)
    narration = Narration(
        measures, log_to(sys.stdout, for_programs=False), clock, lambda _health, _error: None
    )
    for _ in range(12):
        narration.health(Health.RECOVERING, LOST())
        clock.now += 1
    narration.health(Health.RUNNING, None)
    assert capsys.readouterr().out.count("[test.status_lost] a try failed") == 2
    assert measures.running


def test_a_start_names_the_tables_that_stay_set_aside_or_unread(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    failed = Job(
        "initial", Purpose.INITIAL, failed=FaultReason("test.unread", "it has no key", "give it one")
    )
    states = {
        ORDERS: table_fault.fault_state(Fault(ORDERS, LOST())),
        ORDERS._replace(name="read"): render_state(SnapshotState()),
        ORDERS._replace(name="unread"): render_state(SnapshotState(jobs=(failed,))),
        ORDERS._replace(name="excluded"): render_state(SnapshotState(jobs=(failed,))),
    }
    captured = [table for table in states if table.name != "excluded"]
    of = {
        TableKey("c", SourcePartition("shop1", "shop"), table): SavedTableState(1, state)
        for table, state in states.items()
    }
    log = log_to(sys.stdout, for_programs=False)
    narration = Narration(made(clock), log, clock, lambda _health, _error: None)
    narration.sees(PARTITION, captured)
    narration.resumed(OffsetsState({}, of, ()))
    assert capsys.readouterr().out == (
        "shop.public.orders is still set aside: [test.status_lost] a try failed\n  hint: none\n"
        "shop.public.unread is still without all of its rows: [test.unread] it has no key\n"
        "  hint: give it one\n"
    )


def test_tables_with_errors_are_handed_on_when_they_change(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Mapping[str, FaultReason]] = []
    log = log_to(sys.stdout, for_programs=False)
    narration = Narration(
        made(Clock()), log, Clock(), lambda _health, _error: None, wrong=lambda _, now: told.append(now)
    )
    lost, unread = (
        FaultReason("test.status_lost", "a try failed", "none"),
        FaultReason("test.unread", "no", "none"),
    )
    other = ORDERS._replace(name="other")
    narration.sees(PARTITION, [ORDERS, other])
    key = TableKey("c", PARTITION, other)
    narration.resumed(
        OffsetsState({}, {key: SavedTableState(1, table_fault.fault_state(Fault(other, LOST())))}, ())
    )
    assert told == [{str(other): lost}]
    narration.fault(PARTITION, Fault(ORDERS, LOST()))
    assert len(told) == 1, "it is not committed yet"
    reading = render_state(SnapshotState(jobs=(Job("again", Purpose.REQUESTED),)))
    failed = render_state(SnapshotState(jobs=(Job("initial", Purpose.INITIAL, failed=unread),)))
    for states, now in (
        ({ORDERS: table_fault.fault_state(Fault(ORDERS, LOST()))}, {other: lost, ORDERS: lost}),
        ({ORDERS: table_fault.fault_state(Fault(ORDERS, LOST()))}, None),
        ({other: reading}, {ORDERS: lost}),
        ({ORDERS: reading}, {}),
        ({ORDERS: failed}, {ORDERS: unread}),
        ({other: render_state(SnapshotState())}, None),
        ({ORDERS: None}, {}),
    ):
        narration.published([publication(0, states)], 0.01)
        assert told[1:] == ([] if now is None else [{str(table): reason for table, reason in now.items()}])
        del told[1:]
    assert "shop.public.other has come back" in capsys.readouterr().out


def test_a_start_says_once_that_no_table_has_errors() -> None:
    told: list[Mapping[str, FaultReason]] = []
    log = log_to(sys.stdout, for_programs=False)
    narration = Narration(
        made(Clock()), log, Clock(), lambda _health, _error: None, wrong=lambda _, now: told.append(now)
    )
    for _ in range(2):
        narration.resumed(OffsetsState({}, {}, ()))
    assert told == [{}], "a report of the process before may come late"


def test_a_table_that_is_whole_again_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    log = log_to(sys.stdout, for_programs=False)
    narration = Narration(made(clock), log, clock, lambda _health, _error: None)
    narration.fault(PARTITION, Fault(ORDERS, LOST()))
    told = "shop.public.orders is set aside: [test.status_lost] a try failed\n  hint: none\n"
    assert capsys.readouterr().out == told
    reading = SnapshotState(jobs=(Job("again", Purpose.REQUESTED),))
    for state, said in (
        (reading, ""),
        (SnapshotState(), "shop.public.orders has come back: all of its rows are read\n"),
        (SnapshotState(), ""),
    ):
        narration.published([publication(0, {ORDERS: render_state(state)})], 0.01)
        assert capsys.readouterr().out == said


def test_the_end_of_the_first_read_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    log = log_to(sys.stdout, for_programs=False)
    narration = Narration(made(clock), log, clock, lambda _health, _error: None)
    reads, read = (
        render_state(SnapshotState(jobs=(Job("initial", Purpose.INITIAL),))),
        ended(Outcome.SUCCEEDED),
    )
    other = ORDERS._replace(name="other")
    for states, said in (
        ({other: read}, ""),
        ({ORDERS: reads, other: reads}, ""),
        ({other: read}, ""),
        ({ORDERS: read}, "the existing rows of all tables are read\n"),
        ({ORDERS: read}, ""),
    ):
        narration.published([publication(1, states)], 0.1)
        assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    "left",
    [render_state(SnapshotState(gap=True)), render_state(SnapshotState()), None, ended(Outcome.CANCELLED)],
)
def test_a_first_read_that_ended_without_its_rows_is_not_reported_as_complete(
    left: Json | None, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    log = log_to(sys.stdout, for_programs=False)
    narration = Narration(made(clock), log, clock, lambda _health, _error: None)
    reads = render_state(SnapshotState(jobs=(Job("initial", Purpose.INITIAL),)))
    other = ORDERS._replace(name="other")
    for states in ({ORDERS: reads, other: reads}, {ORDERS: left}, {other: ended(Outcome.SUCCEEDED)}):
        narration.published([publication(1, states)], 0.1)
    assert capsys.readouterr().out == ""


def test_databases_that_are_not_read_are_handed_on_when_that_changes() -> None:
    told: list[dict[str, dict[str, str]]] = []
    narration = Narration(
        made(Clock()),
        log_to(sys.stdout, for_programs=False),
        Clock(),
        lambda _health, _error: None,
        wrong=lambda what, now: told.append({what: {name: one.code for name, one in now.items()}}),
    )
    lost, name = LOST(), PARTITION.database
    narration.database(PARTITION, Health.RUNNING, None)
    narration.health(Health.RUNNING, None)
    assert told == [], "a process that starts has none"
    for _ in range(2):  # of 200 databases each would be a record of Kafka
        narration.database(PARTITION, Health.RECOVERING, lost)
    assert told == [{"database": {name: lost.code}}]
    narration.database(PARTITION, Health.RUNNING, None)
    assert told[1:] == [{"database": {}}]
    for _ in range(2):
        narration.health(Health.RECOVERING, lost)
    narration.health(Health.RUNNING, None)
    assert told[2:] == [{"database": {name: lost.code}}, {"database": {}}], "the only one is what its task is"


def test_the_error_of_one_of_several_databases_starts_only_that_one_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measures = made(Clock())
    narration = Narration(measures, log_to(sys.stdout, for_programs=False), Clock(), lambda _h, _e: None)
    gone = Definite("test.gone", "it went", "start over: wrackline offsets reset <pipeline.toml>")
    narration.database(PARTITION, Health.FAILED, gone)
    command = f"wrackline offsets reset <pipeline.toml> --database {PARTITION.database}"
    assert command in capsys.readouterr().out
    shown = measures.figures()[PARTITION].error
    assert shown is not None
    assert command in shown.hint, "so status shows it"
