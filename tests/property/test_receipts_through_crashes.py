"""Receipts through any history of requests, readings, failures and crashes.

Kafka has the states and receipts that were committed together.  Whatever happens, of one request only legal
moves follow each other there; a start finds nothing to write onto receipts whose tables are all still
captured; and what the newest receipts say is what the states say.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import LOST, REFUSED, ROWS
from tests.unit.producers.snapshot.history import chunk_of
from tests.unit.producers.snapshot.shop import TABLE, Fence, bound_of
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.producers.contract.steps import Fault, Progress, Reshaped, Shape, Vanished
from wrackline.producers.reading.receipt_records import ReceiptRecords
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import parse_state
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, SnapshotLimits, Work
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.kafka.receipts import MOVES, Receipt, RequestState, decode, fold
from wrackline.schemas.tables.table import SourcePartition, TableId

TABLES = tuple(TABLE.id._replace(name=name) for name in ("a", "b", "c"))
LIMITS = SnapshotLimits(readers=4, chunk_rows=7, slice_rows=3, first_wait=0.0, longest_wait=0.0, most_tries=2)


class World:
    """A task through its crashes: what Kafka has, and what the run under way has made."""

    def __init__(self) -> None:
        self.states: dict[TableId, Json] = {}
        self.topic: list[Receipt] = []
        self.wrong: list[WracklineError] = []
        self.now, self.starts, self.asked = 0.0, 0, 0
        self.start()

    def start(self) -> None:
        """Go on from what Kafka has."""
        self.starts += 1
        known = fold(self.topic)
        self.book = ReceiptRecords(
            "c",
            SourcePartition("s", "d"),
            "requests",
            known,
            clock=lambda: self.now,
            now_ms=lambda: 0,
            tell=self.wrong.append,
        )
        self.machine = Machine(
            self.states, LIMITS, f"run{self.starts}", bound_of=bound_of, receipts=self.book.known
        )
        self.given: dict[TableId, Json] = {}
        self.work: list[Work] = []
        self.at = 0
        for ref, table in enumerate(TABLES):
            if table in self.states and parse_state(self.states[table], table).set_aside is None:
                self.machine.step(Shape(ref, replace(TABLE, id=table), None))

    def keep(self) -> None:
        """What the machine made goes to the book and, with its receipts, into the next commit."""
        unsaved = self.machine.unsaved()
        self.book.take(unsaved.receipts)
        self.given |= unsaved.states

    def commit(self, _: int = 0) -> None:
        """All of it, or nothing."""
        self.keep()
        self.states |= self.given
        self.given = {}
        self.topic += [decode(value or b"", partition=0, offset=0) for _, _, value in self.book.records()]

    def crash(self, _: int) -> None:
        """What was not committed is lost; what was says the same in states and receipts."""
        self.start()
        assert not self.machine.unsaved().receipts
        self.same()

    def leave_out(self, pick: int) -> None:
        """The settings leave a table out at the next start."""
        self.states.pop(TABLES[pick % 3], None)
        self.start()
        self.commit()

    def ask(self, pick: int) -> None:
        """Somebody asks, perhaps for what was asked before."""
        self.asked += 1
        tables = tuple(table for place, table in enumerate(TABLES) if (pick >> place) & 1) or TABLES
        name = f"r{pick % 5}"
        self.machine.request(SnapshotRequest(name, tables))

    def first(self, pick: int) -> None:
        """A start asks for the tables that it does not know."""
        tables = tuple(table for table in TABLES[: 1 + pick % 3] if self.machine.status(table) is None)
        if tables:
            self.machine.request(SnapshotRequest("initial", tables, Purpose.INITIAL))

    def hold(self, pick: int) -> None:
        self.asked += 1
        how = (PauseRequest, ResumeRequest, StopRequest)[pick % 3]
        tables = (TABLES[pick % 2],) if pick % 4 == 0 else ()
        self.machine.request(how(f"how{self.asked}-{self.starts}", tables))

    def happens(self, pick: int) -> None:
        """Something happens to a table."""
        table = TABLES[pick % 3]
        if self.machine.status(table) is None:
            return
        if pick % 4 == 0:
            self.machine.step(Vanished(table))
        elif pick % 4 == 1:
            self.machine.step(Fault(table, REFUSED()))
        else:
            self.machine.step(Reshaped(table, refresh=True, shape=replace(TABLE, id=table)))

    def reads(self, pick: int) -> None:
        """Readers come back, in one way or another; rows go out behind their marks."""
        for place in range(1 + pick % 9):
            self.read(pick + place)

    def read(self, pick: int) -> None:
        self.now += 1.0
        self.work += self.machine.work(self.now)
        if self.work:
            self.back(self.work.pop(pick % len(self.work)), pick)
        self.at += 1
        self.machine.step(Progress(Place(0, self.at)))
        self.keep()
        while (made := self.machine.release(Place(0, self.at), 0)) is not None:
            self.book.take(made.unsaved.receipts)
            self.given |= made.unsaved.states

    def back(self, work: Work, pick: int) -> None:
        error = LOST() if pick % 7 == 0 else REFUSED() if pick % 11 == 0 else None
        if error is not None:
            self.machine.failed(work.ticket, error, self.now)
        elif isinstance(work, Plan):
            spans = [] if pick % 5 == 0 else [KeySpan(None, ("3",)), KeySpan(("3",), ("6",))]
            self.machine.planned(work.ticket, ("id",), spans, expected=pick)
        elif isinstance(work, Read):
            table = replace(TABLE, id=work.request.table)
            self.machine.chunk(work.ticket, chunk_of(work.request, ROWS, table), Fence(work.ticket, self.at))

    def same(self) -> None:
        """What the newest receipts say of states, the states say; only legal moves led there."""
        assert not self.wrong
        newest = {receipt.id: receipt for receipt in self.topic}
        for request in newest:
            of_it = [receipt for receipt in self.topic if receipt.id == request]
            for before, after in pairwise(of_it):
                assert after.state is before.state or after.state in MOVES[before.state]
        states = {table: parse_state(state, table) for table, state in self.states.items()}
        open_now = {job.id for state in states.values() for job in state.jobs if job.failed is None}
        assert open_now == {receipt.id for receipt in newest.values() if not receipt.over}
        for request in open_now:
            left = {
                str(t) for t, s in states.items() if any(j.id == request and not j.failed for j in s.jobs)
            }
            assert left == {line.name for line in newest[request].tables if line.scan is None}
            held = all(states[table].paused for table in states if str(table) in left)
            assert held == (newest[request].state is RequestState.PAUSED)


OPS: tuple[Callable[[World, int], None], ...] = (
    World.ask,
    World.first,
    World.hold,
    World.happens,
    World.reads,
    World.reads,
    World.commit,
    World.crash,
    World.leave_out,
)


@given(st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 700)), max_size=40))
def test_receipts_and_states_say_the_same_through_any_history(
    history: list[tuple[Callable[[World, int], None], int]],
) -> None:
    world = World()
    for happens, pick in history:
        happens(world, pick)
        world.keep()
    world.commit()
    world.same()
