"""The status line: what it says, when it is due, and that other lines never run into it."""

import sys
from types import MappingProxyType
from typing import TextIO, cast

import pytest

from tests.fakes.place import Place
from wrackline.control.logs.lines import log_to
from wrackline.control.status_line import Narration, Pulse, Screen, StatusLine
from wrackline.producers import set_aside
from wrackline.producers.batching import Publication, States, Tally
from wrackline.producers.changes import Fault
from wrackline.producers.lanes import Health
from wrackline.producers.metrics import Measures
from wrackline.producers.plugin import LogState
from wrackline.producers.set_aside import Reason
from wrackline.producers.snapshot.requests import Purpose
from wrackline.producers.snapshot.state import Job, saved
from wrackline.producers.snapshot.state import TableState as SnapshotState
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import TableKey, TableState
from wrackline.schemas.table import SourcePartition, TableId

PARTITION = SourcePartition("shop1", "shop")
ORDERS = TableId("shop", "public", "orders")
LOST = define("test.status_lost", Transient, "a try failed", hint="none")


class Clock:
    """Moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def made(clock: Clock) -> Measures:
    return Measures(0, "postgres", [PARTITION], 1, monotonic=clock, now_ms=lambda: 5_000)


def publication(count: int, states: States = MappingProxyType({})) -> Publication:
    tally = Tally({(ORDERS, "c"): count}, 1, 4_988)
    return Publication(PARTITION, [], 1, 0, (), Place(0, 7), None, states, None, tally)


def test_the_line_says_rate_lag_and_position() -> None:
    clock = Clock()
    measures = made(clock)
    line = StatusLine(measures, lambda saved: f"place {saved['lsn']}", clock)
    assert line()[0] == "0 events/s  0 in all  lag -, -  at -"
    measures.published([publication(3000)], 0.1)
    measures.looked(PARTITION, LogState("slot", None, 9, 1_234_567, None, None, None))
    clock.now += 2
    text, told = line()
    assert text == "1,500 events/s  3,000 in all  lag 1.2 MB, 12 ms  at place 7"
    place = {"database": "shop", "behind_bytes": 1_234_567, "lag_ms": 12, "position": "place 7"}
    assert told == {"events": 3000, "events_per_s": 1500.0, "databases": [place]}
    clock.now += 2
    assert line()[0].startswith("0 events/s  3,000 in all")


def test_off_a_terminal_it_is_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    texts = iter(["now", "now", "at last"])
    pulse = Pulse(lambda: (next(texts), {}), log_to(sys.stdout, for_programs=False), clock)
    for _ in range(25):
        clock.now += 1
        pulse()
    pulse(last=True)
    assert capsys.readouterr().out == "now\nnow\nat last\n"


def test_on_a_terminal_it_stands_last_and_other_lines_above_it(
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


def test_the_same_error_is_told_once_in_a_while(capsys: pytest.CaptureFixture[str]) -> None:
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
    failed = Job("initial", Purpose.INITIAL, failed=Reason("test.unread", "it has no key", "give it one"))
    states = {
        ORDERS: set_aside.saved(Fault(ORDERS, LOST())),
        ORDERS._replace(name="read"): saved(SnapshotState()),
        ORDERS._replace(name="unread"): saved(SnapshotState(jobs=(failed,))),
        ORDERS._replace(name="excluded"): saved(SnapshotState(jobs=(failed,))),
    }
    captured = [table for table in states if table.name != "excluded"]
    of = {
        TableKey("c", SourcePartition("shop1", "shop"), table): TableState(1, state)
        for table, state in states.items()
    }
    log = log_to(sys.stdout, for_programs=False)
    narration = Narration(made(clock), log, clock, lambda _health, _error: None)
    narration.sees(PARTITION, captured)
    narration.resumed(State({}, of, ()))
    assert capsys.readouterr().out == (
        "shop.public.orders stays set aside: [test.status_lost] a try failed\n  hint: none\n"
        "shop.public.unread stays without all of its rows: [test.unread] it has no key\n  hint: give it one\n"
    )


def test_a_table_that_is_whole_again_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
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
        narration.published([publication(0, {ORDERS: saved(state)})], 0.01)
        assert capsys.readouterr().out == said
