"""A machine and its inputs from a test: short words for steps, chunks and what came out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.fakes.place import Place
from tests.unit.producers.snapshot.history import chunk_of, fold, read_back
from tests.unit.producers.snapshot.shop import ENCODER, INT, TABLE, TAIL, Fence, Row, bound_of, key_of
from wrackline.producers.contract.snapshot_requests import SnapshotRequest
from wrackline.producers.contract.steps import Begin, Commit, Position, RowChange, Rows, Shape, Step, Unsent
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import (
    KeySpan,
    Plan,
    Read,
    Release,
    SnapshotLimits,
    Unsaved,
    Void,
    Work,
)
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.tables.table import Column, TableId, TableSchema

LOST = define("test.desk_lost", Transient, "the connection was lost", hint="wait")
REFUSED = define("test.desk_refused", OperatorNeeded, "permission denied", hint="grant it")
ID = TABLE.id
OTHER = replace(TABLE, id=TableId("d", "public", "other"))
ASK = SnapshotRequest("ask", (ID,))
ROWS = {number: (number, number, f"b{number}") for number in range(1, 7)}


def full(number: int, version: int, op: str = "u") -> RowChange:
    return (1, op, key_of(number), ENCODER.head(None, (number, version, f"B{version}")) + TAIL, None)


def delete(number: int) -> RowChange:
    return (1, "d", key_of(number), ENCODER.head((number, 0, None), None) + TAIL, None)


def partial(number: int, version: int) -> RowChange:
    value = ENCODER.head(None, (number, version, None)) + TAIL
    return (1, "u", key_of(number), value, Unsent(("big",)))


def moved(old: int, new: int, version: int) -> tuple[RowChange, RowChange]:
    """A changed key whose `big` was not sent."""
    value = ENCODER.head(None, (new, version, None)) + TAIL
    gone = ENCODER.head((old, version, None), None) + TAIL
    return (
        (1, "d", key_of(old), gone, Unsent(("big",), key_of(new))),
        (1, "c", key_of(new), value, Unsent(("big",), key_of(old))),
    )


def with_column(*, nullable: bool = True, generated: bool = False) -> TableSchema:
    added = Column("more", 4, INT, nullable, generated)
    return replace(TABLE, columns=(*TABLE.columns, added))


def void(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
    del released_at, ts_ms, snapshot, chunk
    return b"void"


class Desk:
    """One machine; its receipts are folded as they come, so an illegal one raises."""

    def __init__(
        self,
        kept: Mapping[TableId, Json] | None = None,
        *,
        run: str = "run",
        limits: SnapshotLimits | None = None,
        told: Mapping[str, receipts.Receipt] | None = None,
    ) -> None:
        limits = limits or SnapshotLimits(readers=4, chunk_rows=3, slice_rows=2, first_wait=1.0, most_tries=3)
        self.receipts = dict(told or {})
        known = receipts.fold(self.receipts.values())
        self.machine = Machine(kept or {}, limits, run, bound_of=bound_of, receipts=known)
        self.kept: dict[TableId, Json] = dict(kept or {})
        self.at = 0
        self.voids: list[int] = []  # where `t` events went out
        self.step(Shape(1, TABLE, None))

    def save(self, unsaved: Unsaved) -> None:
        self.kept |= unsaved.states
        for change in unsaved.receipts:
            fold(self.receipts, change)

    def step(self, step: Step) -> None:
        self.machine.step(step)
        self.save(self.machine.unsaved())

    def transaction(self, *rows: RowChange, steps: Sequence[Step] = ()) -> None:
        """A whole transaction goes by."""
        self.step(Begin(f"x{self.at}", 0))
        for step in steps:
            self.step(step)
        if rows:
            self.step(Rows(rows, Place(0, self.at, 1)))
        self.at += 1
        self.step(Commit(f"x{self.at - 1}", Place(0, self.at), 0))

    def ask(self, asked: SnapshotRequest = ASK, *spans: KeySpan, now: float = 0.0) -> None:
        """Ask, and plan at once."""
        self.machine.request(asked)
        self.plan(*spans, now=now)

    def plan(self, *spans: KeySpan, now: float = 0.0) -> None:
        (plan,) = self.work(now)
        assert isinstance(plan, Plan)
        self.machine.planned(plan.ticket, ("id",), spans or [KeySpan(None, ("6",))])
        self.save(self.machine.unsaved())

    def work(self, now: float = 0.0) -> list[Work]:
        made = list(self.machine.work(now))
        self.save(self.machine.unsaved())
        return made

    def read(self, now: float = 0.0) -> Read:
        """The one read that is wanted."""
        (read,) = self.work(now)
        assert isinstance(read, Read)
        return read

    def arrive(self, read: Read, rows: Mapping[int, Row] = ROWS, mark: int = 0) -> None:
        """A chunk of these rows, with a mark so many transactions ahead."""
        self.machine.chunk(read.ticket, chunk_of(read.request, rows), Fence(read.ticket, self.at + mark))
        self.save(self.machine.unsaved())

    def release(self) -> Release | None:
        made = self.machine.release(Place(0, self.at), 7)
        if made is not None:
            self.save(made.unsaved)
        return made

    def out(self) -> list[tuple[int, int, str | None]]:
        """All that may go out now, as id, version, big."""
        found = []
        while (made := self.release()) is not None:
            if made.op == "t":
                assert made.rows.whole() == [(None, b"void")]
                self.voids.append(self.at)
            else:
                found += [read_back(key, value)[1:] for key, value in made.rows.whole()]
        return found

    def voided(self, work: Work) -> None:
        """A reader has made a table's `t` event."""
        assert isinstance(work, Void)
        self.machine.voided(work.ticket, void)
        self.save(self.machine.unsaved())

    def finish(self) -> list[tuple[int, int, str | None]]:
        """Read all there is, as the table stands in ROWS."""
        found = []
        for _ in range(100):
            for work in self.work():
                if isinstance(work, Void):
                    self.voided(work)
                elif isinstance(work, Plan):
                    self.machine.planned(work.ticket, ("id",), [KeySpan(None, ("6",))])
                elif isinstance(work, Read):
                    self.arrive(work)
            self.transaction()
            found += self.out()
        return found

    def status(self) -> TableStatus | None:
        return self.machine.status(ID)

    def state_of(self, request: str) -> receipts.RequestState:
        return self.receipts[request].state

    def again(self, run: str = "again") -> "Desk":
        """The machine after a crash: it starts from what was saved."""
        made = Desk(self.kept, run=run, told=self.receipts)
        made.at = self.at
        return made
