"""A source partition's steps, cut into what one Kafka transaction carries.

    Begin Rows Commit | Begin Rows Commit | Begin Rows . . . . .  Rows . . Commit
    '----------- a publication -----------' '-- cut: too large --' '-- the rest --'

Pure: no Kafka, no clock (`now` is an argument).  Why it is right: records keep the order of the steps, and
a publication's position is that of the last step it holds, so whoever resumes there gets exactly what
follows.  It ends at a source commit unless that transaction alone exceeds the limit; it is then cut after
a row, at the place that the source gave for it.  What the database may forget never lies inside a
transaction.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, Self, TypeAlias

import orjson

from wrackline.producers.changes import (
    Appeared,
    Batch,
    Begin,
    Coming,
    Commit,
    Fault,
    Found,
    Message,
    Position,
    Progress,
    Renamed,
    Reshaped,
    Rows,
    Shape,
    Signal,
    Truncate,
    Vanished,
)
from wrackline.producers.chunks import Halves
from wrackline.producers.left_out import Bounds, LeftOut
from wrackline.producers.part import Part, Record
from wrackline.producers.set_aside import Keeper, SetAside
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.offsets import Json, canonical
from wrackline.schemas.table import SourcePartition, TableId

States: TypeAlias = Mapping[TableId, Json | None]  # None: nothing is known of the table any more

QUIET = 10.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How large a Kafka transaction grows, how long it waits, and what is left out."""

    most_bytes: int = 8 << 20
    most_events: int = 200_000
    linger: float = 0.002  # seconds that a finished source transaction waits for company
    quiet: float = QUIET  # seconds after which the position alone is published
    heartbeat: float = 0.0  # seconds between two such publications that carry a heartbeat; 0: none does
    tombstones: bool = True
    skipped: frozenset[str] = frozenset()
    voids: bool = True  # whether a `t` that is not the log's goes out before rows that are read
    bounds: Bounds = field(default_factory=Bounds)


@dataclass(frozen=True, slots=True)
class CutTransaction:
    """A source transaction of which a part is published: what its END will need."""

    transaction: str
    counts: Mapping[TableId, int]
    announced: bool = True  # its BEGIN is out; not so where only messages are

    def saved(self) -> Json:
        """Render it for the offsets record."""
        counts = [[*table, count] for table, count in self.counts.items()]
        return canonical({"transaction": self.transaction, "counts": counts, "announced": self.announced})

    @classmethod
    def parse(cls, saved: Json) -> Self:
        """Read back what `saved` wrote."""
        read = orjson.loads(saved)
        counts = {TableId(*names): count for *names, count in read["counts"]}
        return cls(read["transaction"], counts, read["announced"])


@dataclass(frozen=True, slots=True)
class Tally:
    """What is counted of a publication, for metrics alone; a transaction counts where it ends."""

    events: Mapping[tuple[TableId, str], int] = field(default_factory=dict)  # by table and operation
    transactions: int = 0
    committed_ms: int | None = None  # when the database committed the last of them


@dataclass(frozen=True, slots=True)
class Publication:
    """What one source partition gives to one Kafka transaction."""

    partition: SourcePartition
    records: Sequence[Record]
    size: int
    checksum: int  # the sum of the values' CRC32
    topics: Sequence[str]  # that must be there before it; those of tables once, from their shape on
    position: Position  # after the last record
    confirmable: Position | None  # what the database may forget once this is committed
    states: States
    cut: CutTransaction | None
    tally: Tally = field(default_factory=Tally)
    beside: Json | None = None  # what the keeper wants saved with the position


class Control(Protocol):
    """Makes the records beside the rows; None for what is not published."""

    def heartbeat(self) -> Record:
        """The position moves on, and nothing else does."""
        ...

    @property
    def counts(self) -> bool:
        """Whether transactions' BEGIN and END are published."""
        ...

    def begin(self, transaction: str, ts_ms: int) -> Record:
        """A source transaction has its first event."""
        ...

    def end(self, transaction: str, ts_ms: int, counts: Mapping[TableId, int]) -> Record:
        """A source transaction has had its last event; published are so many of each table.

        As Debezium counts: a changed key is two events, a tombstone is none.
        """
        ...

    def message(self, step: Message, ts_ms: int) -> Record | None:
        """A logical message."""
        ...

    def shape(self, step: Shape, ts_ms: int) -> Record | None:
        """A table has a new shape."""
        ...

    def coming(self, step: Coming, ts_ms: int) -> Record | None:
        """A table came, went, was altered or has another name."""
        ...


@dataclass(slots=True)
class _Open:
    """The source transaction that the log is in."""

    id: str
    committed_ms: int
    counts: Counter[TableId]
    announced: bool  # its BEGIN is out


class Cutter:
    """Cuts one source partition's log; its caller publishes what `take` gives, in that order."""

    def __init__(  # noqa: PLR0913 - whose log, where it begins, and what is asked of others
        self,
        partition: SourcePartition,
        policy: Policy,
        topic_of: Callable[[TableId], str],
        control: Control,
        *,
        opened: float,
        fresh: bool,
        cut: CutTransaction | None = None,
        keeper: Keeper | None = None,
        refused: MutableMapping[str, WracklineError] | None = None,
    ) -> None:
        """Take who keeps the tables' states, and which topics Kafka has refused."""
        self._partition, self._policy, self._topic_of, self._control = partition, policy, topic_of, control
        self.fresh = fresh  # no position was taken yet, now or ever: the first is worth a transaction at once
        self._cut, self._keeper = cut, keeper or SetAside()
        self._last = self._now = self.busy = self._beaten = opened
        self._tables: dict[int, TableId] = {}
        self._topics: dict[int, str] = {}
        self._table_of: dict[str, TableId] = {}
        self._new_topics: dict[str, None] = {}
        self._finished, self._unfinished = Part(), Part()
        self._states: dict[TableId, Json | None] = {}
        self._saves = self._saves_taken = self._sealed_saves = 0
        self._since: float | None = None  # when the oldest finished record came
        self._open: _Open | None = None
        self._ended_ms = 0
        self._place: Position | None = None  # after the last record that may be given out
        self._confirmable: Position | None = None  # the last place outside a transaction
        self._sealed: deque[tuple[Publication, int]] = deque()  # with the saves that it holds the last of
        self._sealed_size = 0
        self._refused = {} if refused is None else refused
        self._left_out = LeftOut(policy.bounds, self._refused)
        self.message_topics: set[str] = set()  # that logical messages were written to
        self._batch_size = 0
        self._faults: list[Fault] = []
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            Begin: self._begin,
            Rows: self._rows,
            Commit: self._commit,
            Shape: self._shape,
            Truncate: self._truncate,
            Message: self._message,
            Progress: self._progress,
            Signal: self._elsewhere,
            Fault: self._fault,
            Appeared: self._coming,
            Vanished: self._coming,
            Renamed: self._coming,
            Reshaped: self._coming,
            Found: self._elsewhere,
        }

    @property
    def ahead(self) -> int:
        """Bytes that could be published now; what is unfinished has a bound of its own."""
        return self._sealed_size + self._finished.size

    @property
    def saves(self) -> int:
        """How often table states were given to it."""
        return self._saves

    @property
    def saves_taken(self) -> int:
        """How many of these are in what was taken."""
        return self._saves_taken

    @property
    def inside(self) -> bool:
        """Whether the log is inside a source transaction."""
        return self._open is not None

    @property
    def outside(self) -> Position | None:
        """Where the log is, if it is between two source transactions."""
        return None if self._open is not None else self._place

    @property
    def topics(self) -> Collection[str]:
        """The topics of tables that were met."""
        return self._table_of.keys()

    def feed(self, batch: Batch, now: float) -> Sequence[Fault]:
        """Take the next steps of the log; return what was found of tables that are set aside."""
        self._now, self._batch_size = now, batch.size
        for step in batch.steps:
            self._handlers[type(step)](step)
        return self._found()

    def insert(
        self, table: TableId, rows: Halves, states: States, now: float, op: str = "r"
    ) -> Sequence[Fault]:
        """Put rows and table states that are not the log's between two source transactions.

        A `t` goes out whatever is skipped, or the copy keeps rows that are gone; only where the policy says
        that no copy of ours reads it, it is left out.  Return what was found.
        """
        if self._open is not None:
            raise ValueError("a source transaction is open: insert between two of them")
        if op == "t" and not self._policy.voids:
            self.save(states, now)
            return self._found()
        self._give(states, now)
        topic = self._topic_of(table)
        self._table_of[topic] = table
        part = Part()
        part.put_rows(rows, topic)
        refused = self._left_out.meets(table, topic)
        taken, too_large = self._left_out.takes(table, part.records, part.size)
        for fault in (refused, too_large):
            if fault is not None:
                self._fault(fault)  # after the states: it is the table's last word
        if taken:
            self._new_topics[topic] = None
            part.count(topic, op, len(rows))
            self._finished.take_over(part)
        self._finish()
        return self._found()

    def save(self, states: States, now: float) -> None:
        """Publish table states with what comes next."""
        self._give(states, now)
        if self._open is None:
            self._finish()

    def _give(self, states: States, now: float) -> None:
        self._now = now
        self._saves += 1
        self._states |= states

    def _found(self) -> Sequence[Fault]:
        faults, self._faults = self._faults, []
        return faults

    def due(self) -> float:
        """The moment from which `take` gives something."""
        if self._sealed:
            return -inf
        if self._place is None:
            return inf
        if self._since is not None:
            return self._since + self._policy.linger
        return -inf if self.fresh else self._last + self._policy.quiet

    def take(self, now: float) -> Publication | None:
        """The next publication, if one is due."""
        if self.due() > now:
            return None
        self._last, self.fresh = now, False
        if not self._sealed:
            if self._since is None:
                self._beat(now)
            self._seal()
        made, self._saves_taken = self._sealed.popleft()
        self._sealed_size -= made.size
        return made

    def _beat(self, now: float) -> None:
        """The position goes out alone: put a heartbeat beside it when it is time for one."""
        if 0 < self._policy.heartbeat <= now - self._beaten:
            self._beaten = now
            self._put(self._control.heartbeat(), self._finished)

    def _shape(self, step: Shape) -> None:
        topic = self._topic_of(step.table.id)
        self._tables[step.ref], self._topics[step.ref] = step.table.id, topic
        self._table_of[topic] = step.table.id
        if (fault := self._left_out.meets(step.table.id, topic, step.ref)) is not None:
            self._fault(fault)
        if step.ref in self._left_out:
            return
        self._new_topics[topic] = None
        self._add(self._control.shape(step, self._moment()))

    def _begin(self, step: Begin) -> None:
        counts: Counter[TableId] = Counter()
        announced = step.first > 0
        if announced and self._cut is not None and self._cut.transaction == step.id:
            counts.update(self._cut.counts)
            announced = self._cut.announced
        self._open = _Open(step.id, step.committed_ms, counts, announced)

    def _rows(self, step: Rows) -> None:
        policy, part = self._policy, self._unfinished
        self._announce()
        rows, faults = self._left_out.kept(step.rows, self._batch_size)
        for fault in faults:
            self._fault(fault)
        if policy.skipped:
            rows = [row for row in rows if row[1] not in policy.skipped]
        counts = part.put_changes(rows, self._topics, tombstones=policy.tombstones)
        for (ref, op), times in counts.items():
            part.count(self._topics[ref], op, times)
            if self._control.counts and self._open is not None:
                self._open.counts[self._tables[ref]] += times
        self._cut_if_large(step.upto)

    def _truncate(self, step: Truncate) -> None:
        if "t" not in self._policy.skipped and step.ref not in self._left_out:
            self._announce()
            if self._open is not None:
                self._open.counts[self._tables[step.ref]] += 1
            self._unfinished.count(self._topics[step.ref], "t", 1)
            self._add((self._topics[step.ref], None, step.value))
        self._cut_if_large(step.upto)

    def _message(self, step: Message) -> None:
        record = self._control.message(step, self._moment())
        if record is not None and record[0] not in self._refused:
            self.message_topics.add(record[0])
            self._add(record)
        if self._open is None:
            self._reach(step.position)
        else:
            self._cut_if_large(step.position)

    def _commit(self, step: Commit) -> None:
        if self._open is not None and self._open.announced:
            self._unfinished.transactions += 1
            if self._control.counts:
                self._add(self._control.end(self._open.id, step.committed_ms, self._open.counts))
        self._open = self._cut = None
        self._ended_ms = step.committed_ms
        self._reach(step.position)

    def _progress(self, step: Progress) -> None:
        self._reach(step.position)

    def _fault(self, step: Fault) -> None:
        """Say of a table that it is set aside, at the latest with the position that moves past its rows."""
        self._faults.append(step)
        if step.row is None:
            self._states |= self._keeper.aside(step)

    def _coming(self, step: Coming) -> None:
        self._add(self._control.coming(step, self._moment()))

    def _elsewhere(self, step: Signal | Found) -> None:
        """Signals, and shapes to compare, are the snapshot engine's."""

    def _moment(self) -> int:
        return self._ended_ms if self._open is None else self._open.committed_ms

    def _announce(self) -> None:
        transaction = self._open
        if transaction is not None and not transaction.announced:
            transaction.announced = True
            if self._control.counts:
                self._add(self._control.begin(transaction.id, transaction.committed_ms))

    def _add(self, record: Record | None) -> None:
        if record is not None:
            self._put(record, self._unfinished)

    def _put(self, record: Record, part: Part) -> None:
        self._new_topics[record[0]] = None
        part.put(record)

    def _reach(self, position: Position) -> None:
        """The log is at a place outside a transaction."""
        self._place = self._confirmable = position
        self._finished.take_over(self._unfinished)
        self._unfinished = Part()
        self._finish()

    def _finish(self) -> None:
        given = self._states or self._saves > self._sealed_saves  # receipts may come with no state
        if self._since is None and (self._finished.records or given):
            self._since = self._now
        if self._place is not None and self._full(self._finished):
            self._seal()

    def _cut_if_large(self, upto: Position) -> None:
        """Cut the open transaction; what was finished before it goes first, by itself."""
        if not self._full(self._unfinished):
            return
        if self._since is not None and self._place is not None:
            self._seal()
        self._finished.take_over(self._unfinished)
        self._unfinished = Part()
        self._place = upto
        self._seal()

    def _full(self, part: Part) -> bool:
        return part.size >= self._policy.most_bytes or len(part.records) >= self._policy.most_events

    def _seal(self) -> None:
        """Make a publication of all that is finished, at the place that was reached."""
        if self._place is None:
            raise RuntimeError("nothing was read yet")
        part, transaction = self._finished, self._open
        for record in self._keeper.records():
            self._put(record, part)
        cut = None
        if transaction is not None and self._place is not self._confirmable and self._control.counts:
            cut = CutTransaction(transaction.id, dict(transaction.counts), transaction.announced)
        made = Publication(
            self._partition,
            part.records,
            part.size,
            part.checksum & 0xFFFF_FFFF,
            tuple(self._new_topics),
            self._place,
            self._confirmable,
            self._states,
            cut,
            self._tallied(part),
            self._keeper.beside(),
        )
        self._sealed.append((made, self._saves))
        self._sealed_size += part.size
        self._finished, self._states, self._new_topics = Part(), {}, {}
        self._since, self._sealed_saves = None, self._saves

    def _tallied(self, part: Part) -> Tally:
        events = {(self._table_of[topic], op): times for (topic, op), times in part.events.items()}
        if events:
            self.busy = self._now
        return Tally(events, part.transactions, self._moment() or None if part.transactions else None)
