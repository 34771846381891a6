"""A source partition's steps, cut into the content of Kafka transactions.

    Begin Rows Commit | Begin Rows Commit | Begin Rows . . . . .  Rows . . Commit
    '----------- a publication -----------' '-- cut: too large --' '-- the rest --'

Pure: no Kafka, no clock (`now` is an argument).  Why it is right: records keep the order of the steps, and
a publication's position is that of the last step it holds, so a task that resumes there gets exactly what
follows.  It ends at a source commit unless that transaction by itself exceeds the limit; it is then cut after
a row, at the place that the source gave for it.  What the database may drop never ends inside a transaction.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol, TypeAlias

from wrackline.producers.contract.row_chunks import Halves
from wrackline.producers.contract.steps import (
    Appeared,
    Batch,
    Begin,
    Coming,
    Commit,
    Fault,
    Found,
    Message,
    Misfit,
    Position,
    Progress,
    Renamed,
    Reshaped,
    Rows,
    Saved,
    Shape,
    Signal,
    Truncate,
    UnfitRow,
    Vanished,
)
from wrackline.producers.cutting.record_buffer import RecordBuffer, Unfitting
from wrackline.producers.cutting.skipped_changes import SkippedChanges, SkippedOf
from wrackline.producers.cutting.split_transaction import SplitTransaction
from wrackline.producers.cutting.table_fault import FaultKeeper, StateKeeper
from wrackline.producers.cutting.unpublishable import SizeBounds, UnpublishableTables
from wrackline.producers.rows.row_records import Headed, Record
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.tables.table import SourcePartition, TableId

States: TypeAlias = Mapping[TableId, Json | None]  # None: nothing is known of the table anymore

QUIET = 10.0


@dataclass(frozen=True, slots=True)
class CutPolicy:
    """How large a Kafka transaction grows, how long it waits, and what is left out."""

    most_bytes: int = 8 << 20
    most_events: int = 200_000
    linger: float = 0.002  # seconds that a finished source transaction waits for others
    quiet: float = QUIET  # seconds after which only the position is published
    heartbeat: float = 0.0  # seconds between two such publications with a heartbeat; 0: no heartbeats
    tombstones: bool = True
    skipped: frozenset[str] = frozenset()
    skipped_of: SkippedOf = lambda _: frozenset()
    voids: bool = True  # whether a `t` that is not from the log goes out before rows that are read
    bounds: SizeBounds = field(default_factory=SizeBounds)


@dataclass(frozen=True, slots=True)
class PublicationTally:
    """The counts of a publication, only for metrics; a transaction counts where it ends."""

    events: Mapping[tuple[TableId, str], int] = field(default_factory=dict)  # by table and operation
    transactions: int = 0
    committed_ms: int | None = None  # when the database committed the last of them
    unfit: Mapping[Unfitting, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Publication:
    """What one source partition gives to one Kafka transaction."""

    partition: SourcePartition
    records: Sequence[Record | Headed]
    size: int
    checksum: int  # the sum of the values' CRC32
    topics: Sequence[str]  # topics that must exist before it; those of tables once, from their shape on
    position: Position  # after the last record
    confirmable: Position | None  # what the database may drop once this is committed
    states: States
    cut: SplitTransaction | None
    tally: PublicationTally = field(default_factory=PublicationTally)
    beside: Json | None = None  # what the keeper saves with the position


class ControlRecordMaker(Protocol):
    """Makes the records beside the rows; None for what is not published."""

    def heartbeat(self) -> Record:
        """The position moves, and nothing else changes."""
        ...

    @property
    def counts(self) -> bool:
        """Whether transactions' BEGIN and END are published."""
        ...

    def begin(self, transaction: str, ts_ms: int) -> Record:
        """A source transaction has its first event."""
        ...

    def end(self, transaction: str, ts_ms: int, counts: Mapping[TableId, int]) -> Record:
        """A source transaction has had its last event; `counts` are its published events by table.

        They are counted like Debezium's: a changed key is two events, a tombstone is not counted.
        """
        ...

    def message(self, step: Message, ts_ms: int) -> Record | None:
        """A logical message."""
        ...

    def unfit(
        self, table: TableId, misfit: Misfit, place: Saved, chunk: str | None, ts_ms: int
    ) -> Record | None:
        """A row with values that do not fit: its dead letter, or None if it is published with nulls."""
        ...

    def shape(self, step: Shape, ts_ms: int) -> Record | None:
        """A table has a new shape."""
        ...

    def coming(self, step: Coming, ts_ms: int) -> Record | None:
        """A table came, went, was altered or has another name."""
        ...


@dataclass(slots=True)
class _OpenTransaction:
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
        policy: CutPolicy,
        topic_of: Callable[[TableId], str],
        control: ControlRecordMaker,
        *,
        opened: float,
        fresh: bool,
        cut: SplitTransaction | None = None,
        keeper: StateKeeper | None = None,
        refused: MutableMapping[str, WracklineError] | None = None,
    ) -> None:
        """Take the keeper of the tables' states, and the topics that Kafka has refused."""
        self._partition, self._policy, self._topic_of, self._control = partition, policy, topic_of, control
        self.fresh = fresh  # no position was ever taken: the first one gets a transaction at once
        self._cut, self._keeper = cut, keeper or FaultKeeper()
        self._last = self._now = self.busy = self._beaten = opened
        self._tables: dict[int, TableId] = {}
        self._topics: dict[int, str] = {}
        self._table_of: dict[str, TableId] = {}
        self._new_topics: dict[str, None] = {}
        self._finished, self._unfinished = RecordBuffer(), RecordBuffer()
        self._states: dict[TableId, Json | None] = {}
        self._sealed_saves = self._sealed_size = self._batch_size = 0
        self.saves = self.saves_taken = 0  # how often table states were given to it, and taken from it
        self._since: float | None = None  # when the oldest finished record came
        self._open: _OpenTransaction | None = None
        self._ended_ms = 0
        self._place: Position | None = None  # after the last record that may be given out
        self._confirmable: Position | None = None  # the last place outside a transaction
        self._sealed: deque[tuple[Publication, int]] = deque()  # with the number of saves up to it
        self._refused = {} if refused is None else refused
        self._left_out = UnpublishableTables(policy.bounds, self._refused, policy.skipped, policy.skipped_of)
        self.message_topics: set[str] = set()  # topics that logical messages were written to
        self._skipped = SkippedChanges(policy.skipped_of)
        self._faults: list[Fault] = []
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            Begin: self._begin,
            Rows: self._rows,
            Commit: self._commit,
            Shape: self._shape,
            UnfitRow: self._unfit,
            Truncate: self._truncate,
            Message: self._message,
            Progress: lambda step: self._reach(step.position),
            Signal: lambda _: None,  # and shapes to compare: they are for the snapshot engine
            Fault: self._fault,
            Appeared: self._coming,
            Vanished: self._coming,
            Renamed: self._coming,
            Reshaped: self._coming,
            Found: lambda _: None,
        }

    @property
    def ahead(self) -> int:
        """Bytes that could be published now; what is unfinished has a bound of its own."""
        return self._sealed_size + self._finished.size

    @property
    def settled(self) -> Position | None:
        """Where the log is, if all that came before, also states of tables, was taken; else None."""
        return None if self._sealed or self._since is not None else self.outside

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
        """The topics of tables that occurred so far."""
        return self._table_of.keys()

    def feed(self, batch: Batch, now: float) -> Sequence[Fault]:
        """Take the next steps of the log; return the faults of tables that are set aside."""
        self._now, self._batch_size = now, batch.size
        for step in self._skipped.leave(batch.steps):
            self._handlers[type(step)](step)
        return self._take_faults()

    def insert(
        self,
        table: TableId,
        rows: Halves,
        states: States,
        now: float,
        op: str = "r",
    ) -> Sequence[Fault]:
        """Put rows and table states that are not from the log between two source transactions.

        A `t` goes out whatever is skipped, or the copy would keep rows that are gone; it is left out only if
        the policy says that no copy of ours reads it.  Return the faults that were found.
        """
        if self._open is not None:
            raise ValueError("a source transaction is open: insert between two of them")
        if op == "t" and not self._policy.voids:
            self.save(states, now)
            return self._take_faults()
        self._give(states, now)
        topic = self._topic_of(table)
        self._table_of[topic] = table
        part = RecordBuffer()
        part.put_rows(rows, topic)
        refused = self._left_out.meets(table, topic)
        taken, too_large = self._left_out.takes(table, op, part.records, part.size)
        for fault in (refused, too_large):
            if fault is not None:
                self._fault(fault)  # after the states: it is the table's last word
        if taken:
            self._new_topics[topic] = None
            part.count(topic, op, len(rows))
            for misfit in rows.misfits:
                self._tell_unfit(part, table, misfit, self._place, rows.chunk)
            self._finished.take_over(part)
        self._finish()
        return self._take_faults()

    def save(self, states: States, now: float) -> None:
        """Publish table states with the next publication."""
        self._give(states, now)
        if self._open is None:
            self._finish()

    def _give(self, states: States, now: float) -> None:
        self._now = now
        self.saves += 1
        self._states |= states

    def _take_faults(self) -> Sequence[Fault]:
        faults, self._faults = self._faults, []
        return faults

    def due(self) -> float:
        """Return the moment from which `take` returns something."""
        if self._sealed:
            return -inf
        if self._place is None:
            return inf
        if self._since is not None:
            return self._since + self._policy.linger
        return -inf if self.fresh else self._last + self._policy.quiet

    def take(self, now: float) -> Publication | None:
        """Return the next publication, if one is due."""
        return None if self.due() > now else self._take(now)

    def join(self, now: float) -> Publication | None:
        """Return the position of a quiet log for a transaction that goes out anyway, if it is half due."""
        is_quiet = not self._sealed and self._since is None and self._place is not None
        return self._take(now) if is_quiet and self._last + self._policy.quiet / 2 <= now else None

    def _take(self, now: float) -> Publication:
        self._last, self.fresh = now, False
        if not self._sealed:
            if self._since is None:
                self._beat(now)
            self._seal()
        made, self.saves_taken = self._sealed.popleft()
        self._sealed_size -= made.size
        return made

    def _beat(self, now: float) -> None:
        """Put a heartbeat beside a position that goes out by itself, when one is due."""
        if 0 < self._policy.heartbeat <= now - self._beaten:
            self._beaten = now
            self._put(self._control.heartbeat(), self._finished)

    def _shape(self, step: Shape) -> None:
        topic = self._topic_of(step.table.id)
        self._tables[step.ref], self._topics[step.ref] = step.table.id, topic
        self._table_of[topic] = step.table.id
        if (fault := self._left_out.meets(step.table.id, topic, step.ref)) is not None:
            self._fault(fault)
        if not self._left_out.publishes(step.ref, step.table):
            return
        self._new_topics[topic] = None
        self._add(self._control.shape(step, self._moment()))

    def _begin(self, step: Begin) -> None:
        counts: Counter[TableId] = Counter()
        announced = step.first > 0
        if announced and self._cut is not None and self._cut.transaction == step.id:
            counts.update(self._cut.counts)
            announced = self._cut.announced
        self._open = _OpenTransaction(step.id, step.committed_ms, counts, announced)

    def _rows(self, step: Rows) -> None:
        policy, part = self._policy, self._unfinished
        self._announce()
        rows, faults = self._left_out.split_rows(step.rows, self._batch_size)
        for fault in faults:
            self._fault(fault)
        counts = part.put_changes(rows, self._topics, tombstones=policy.tombstones, skipped=policy.skipped)
        for (ref, op), times in counts.items():
            part.count(self._topics[ref], op, times)
            if self._control.counts and self._open is not None:
                self._open.counts[self._tables[ref]] += times
        self._cut_if_large(step.upto)

    def _unfit(self, step: UnfitRow) -> None:
        """Put a dead letter before the position passes its row; the rows behind it may end the part."""
        if self._left_out.takes_unfit(step.ref, step.misfit) and step.misfit.op not in self._policy.skipped:
            self._tell_unfit(self._unfinished, self._tables[step.ref], step.misfit, step.upto, None)

    def _tell_unfit(
        self, part: RecordBuffer, table: TableId, misfit: Misfit, at: Position | None, chunk: str | None
    ) -> None:
        part.count_unfit(table, misfit)
        record = self._control.unfit(table, misfit, {} if at is None else at.saved(), chunk, self._moment())
        if record is not None:
            self._put(record, part)

    def _truncate(self, step: Truncate) -> None:
        if "t" not in self._policy.skipped and step.ref not in self._left_out:
            self._announce()
            if self._open is not None:
                self._open.counts[self._tables[step.ref]] += 1
            self._unfinished.count(self._topics[step.ref], "t", 1)
            self._left_out.emptied(self._tables[step.ref])
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

    def _fault(self, step: Fault) -> None:
        """Report that a table is set aside, at the latest with the position that moves past its rows."""
        self._faults.append(step)
        self._states |= self._keeper.aside(step)

    def _coming(self, step: Coming) -> None:
        self._left_out.emptied(*((step.old, step.new) if isinstance(step, Renamed) else (step.table,)))
        self._add(self._control.coming(step, self._moment()))

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

    def _put(self, record: Record, part: RecordBuffer) -> None:
        self._new_topics[record[0]] = None
        part.put(record)

    def _reach(self, position: Position) -> None:
        """Note that the log is at a place outside a transaction."""
        self._place = self._confirmable = position
        self._finished.take_over(self._unfinished)
        self._unfinished = RecordBuffer()
        self._finish()

    def _finish(self) -> None:
        given = self._states or self.saves > self._sealed_saves  # receipts may come with no state
        if self._since is None and (self._finished.records or given):
            self._since = self._now
        if self._place is not None and self._full(self._finished):
            self._seal()

    def _cut_if_large(self, upto: Position) -> None:
        """Cut the open transaction if it is large; what was finished before it goes out first, by itself."""
        if not self._full(self._unfinished):
            return
        if self._since is not None and self._place is not None:
            self._seal()
        self._finished.take_over(self._unfinished)
        self._unfinished = RecordBuffer()
        self._place = upto
        self._seal()

    def _full(self, part: RecordBuffer) -> bool:
        return part.size >= self._policy.most_bytes or len(part.records) >= self._policy.most_events

    def _seal(self) -> None:
        """Make a publication of all that is finished, at the place that was reached."""
        if self._place is None:
            raise RuntimeError("nothing has been read yet")
        part, transaction = self._finished, self._open
        if part.unfit:
            self._states |= self._keeper.counted(part.unfit)
        for record in self._keeper.records():
            self._put(record, part)
        cut = None
        if transaction is not None and self._place is not self._confirmable and self._control.counts:
            cut = SplitTransaction(transaction.id, dict(transaction.counts), transaction.announced)
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
            self._tally(part),
            self._keeper.beside(),
        )
        self._sealed.append((made, self.saves))
        self._sealed_size += part.size
        self._finished, self._states, self._new_topics = RecordBuffer(), {}, {}
        self._since, self._sealed_saves = None, self.saves

    def _tally(self, part: RecordBuffer) -> PublicationTally:
        events = {(self._table_of[topic], op): times for (topic, op), times in part.events.items()}
        if events:
            self.busy = self._now
        ended = self._moment() or None if part.transactions else None
        return PublicationTally(events, part.transactions, ended, part.unfit)
