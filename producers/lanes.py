"""What a task runs for one source partition: its stream and its cutter, opened at the committed position.

Here also stands what a task tells those who keep its status, metrics and log.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Protocol, Self, runtime_checkable

from wrackline.producers import going_on
from wrackline.producers.asking import Asking, Channel
from wrackline.producers.batching import Control, Cutter, Policy, Publication
from wrackline.producers.changes import Batch, Commit, Fault, Position, Saved
from wrackline.producers.existing_rows import ExistingRows
from wrackline.producers.first_reads import FirstReads
from wrackline.producers.going_on import UNPROVEN, Kept
from wrackline.producers.message_filter import MESSAGES_REFUSED
from wrackline.producers.own_topics import OwnTopics
from wrackline.producers.pace import Moments
from wrackline.producers.part import Record
from wrackline.producers.plugin import LogStream, Renewing, Source
from wrackline.producers.readers import Readers
from wrackline.producers.receipt_book import NO_RECEIPTS, Receipts
from wrackline.producers.snapshot import keys
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.requests import Snapshot
from wrackline.producers.snapshot.state import saved
from wrackline.producers.snapshot.tables import BoundOf
from wrackline.producers.snapshot.work import Limits as SnapshotLimits
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import Json, canonical
from wrackline.schemas.table import SourcePartition, TableId, TableSchema

OVERRIDE_UNUSED = define(
    "snapshot.override_unused",
    OperatorNeeded,
    "the statement for the first read of {table} is used by no table that is captured",
    hint="name a captured table as schema.table, as the database writes it, in"
    " snapshot.select.statement.overrides; they are listed by: wrackline snapshot status <pipeline.toml>",
)


@dataclass(frozen=True, slots=True)
class Lane:
    """One source partition under way."""

    partition: SourcePartition
    stream: LogStream
    cutter: Cutter
    existing: ExistingRows
    refused: Sequence[Fault] = ()  # tables that can't be published from the start on
    ends: bool = False  # once rows are read

    def due(self, *, publishes: bool) -> float:
        """The moment from which there may be something to do; to publish, if that can be."""
        return min(self.cutter.due() if publishes else inf, self.existing.due())

    def confirm(self, position: Position | None) -> None:
        """Tell the database what Kafka has; None where there is nothing new to tell."""
        if position is not None:
            self.stream.confirm(position)

    def tell(self, witness: "Witness", faults: Sequence[Fault]) -> None:
        """Tell of tables and rows that are set aside."""
        for fault in faults:
            witness.fault(self.partition, fault)

    @property
    def over(self) -> bool:
        """Whether it has done what it was there for; asked while no transaction is under way."""
        return self.ends and self.existing.over

    def close(self) -> None:
        """Give the log back, and let the readers go."""
        self.existing.close()
        self.stream.close()


@dataclass(frozen=True, slots=True)
class Flight:
    """A Kafka transaction under way; its result is the moment of its commit."""

    publications: Sequence[Publication]
    future: Future[float]
    began: float

    def bytes_of(self, lane: Lane) -> int:
        """What it holds of one lane."""
        return sum(p.size for p in self.publications if p.partition == lane.partition)

    def confirmable_of(self, lane: Lane) -> Position | None:
        """What one lane's database may forget once it is committed; None: nothing new."""
        return next((p.confirmable for p in self.publications if p.partition == lane.partition), None)


class Lanes(Protocol):
    """Opens what belongs to each source partition."""

    def partitions(self) -> Sequence[SourcePartition]:
        """The source partitions of this task."""
        ...

    def open(self, partition: SourcePartition, state: State) -> Lane:
        """Open its log where its committed position is, or from now on."""
        ...

    def over(self, state: State) -> bool:
        """Whether there is nothing left to do, so that no log need be opened."""
        ...

    def refuse(self, topic: str, error: WracklineError) -> None:
        """Leave out the table, or the messages, of a topic that Kafka refuses when its log is opened next.

        An error of any other topic is the whole task's, and raised.
        """
        ...

    def begins_anew(self, error: WracklineError) -> bool:
        """Whether the log that this error says is lost is begun anew when it is opened next."""
        ...


class Health(Enum):
    """How a task is; that it stopped or failed, it says by ending."""

    STARTING = "starting"  # fencing, reading its positions
    RUNNING = "running"
    RECOVERING = "recovering"  # with the error, before the next try
    COMPLETED = "completed"  # all rows are read, and that is all it was to do: it ends


class Witness(Protocol):
    """Is told what happens, on the task's own thread."""

    def health(self, health: Health, error: Exception | None) -> None:
        """The task is in another state."""
        ...

    def resumed(self, state: State) -> None:
        """This is what was committed, with what does not fit in it."""
        ...

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """A table or row is set aside; told before the position moves past it."""
        ...

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Kafka has these, and the databases know."""
        ...


@runtime_checkable
class QueueWitness(Protocol):
    """A witness that also wants to know how much waits."""

    def queue(self, queued: Callable[[], int]) -> None:
        """This is how to ask for the bytes that were read and not yet given to Kafka."""
        ...


@runtime_checkable
class NoticeWitness(Protocol):
    """A witness that also wants to know what does not work beside the stream; on any thread."""

    def notice(self, error: WracklineError) -> None:
        """This does not work, and nothing stops for it."""
        ...


@runtime_checkable
class ShapeWitness(Protocol):
    """A witness that also wants to know how tables are written; on any thread."""

    def shaped(self, table: TableSchema, topic: str) -> None:
        """The schemas of this shape are registered; a shape may be told again."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """How existing rows are read."""

    first: FirstReads = field(default_factory=FirstReads)
    limits: SnapshotLimits = field(default_factory=SnapshotLimits)
    bound_of: BoundOf = keys.bound_of
    channel_of: Callable[[SourcePartition], Channel | None] = lambda _: None
    signal_rows: bool = True
    tell: Callable[[WracklineError], None] = lambda _: None  # of what does not work, and nothing stops for it
    receipts_of: Callable[[SourcePartition], Receipts] = lambda _: NO_RECEIPTS  # as Kafka has them now


class SourceLanes:
    """Lanes over a source plug-in."""

    def __init__(
        self,
        source: Source,
        connector: str,
        policy: Policy,
        reading: Reading,
        *,
        topics: OwnTopics,
        control_of: Callable[[SourcePartition], Control],
        moments: Moments,
    ) -> None:
        self._source, self._connector, self._policy, self._reading = source, connector, policy, reading
        self._topics, self._control_of, self._moments = topics, control_of, moments
        self._partitions = tuple(source.partitions())
        self._start = self._named()  # with `always` rows are read once a start, however often a log is opened
        self._opened: dict[SourcePartition, Cutter] = {}
        self._refused: dict[str, WracklineError] = {}
        self._positions: dict[SourcePartition, Saved | None] = {}  # where each log was opened last
        self._lost: dict[SourcePartition, _Lost] = {}
        self._unused: set[str] = set()  # statements that nobody uses, told once

    @property
    def queued(self) -> int:
        """Bytes that were read and not yet given to a Kafka transaction; any thread may ask."""
        return sum(cutter.ahead for cutter in self._opened.copy().values())

    def busy(self, partition: SourcePartition) -> float | None:
        """When a change of this log was last cut; None while it is not open. Any thread may ask."""
        cutter = self._opened.get(partition)
        return None if cutter is None else cutter.busy

    def partitions(self) -> Sequence[SourcePartition]:
        """The source partitions of this task."""
        return self._partitions

    def refuse(self, topic: str, error: WracklineError) -> None:
        """Leave out the table, or the messages, of a topic that Kafka refuses when its log is opened next."""
        cutters = self._opened.values()
        if any(topic in cutter.message_topics for cutter in cutters):
            self._reading.tell(MESSAGES_REFUSED(topic=topic, reason=error.sentence, code=error.code))
        elif not any(topic in cutter.topics for cutter in cutters):
            raise error
        self._refused[topic] = error

    def over(self, state: State) -> bool:
        """Whether all rows were read that are to be read, where the pipeline ends then."""
        return self._reading.first.mode.ends and all(self._over(one, state) for one in self._partitions)

    def begins_anew(self, error: WracklineError) -> bool:
        """Take note that a log is lost, if the settings have it begun anew and it was not just begun so."""
        if not self._reading.first.mode.mends or not isinstance(self._source, Renewing):
            return False
        partition = self._source.lost(error)
        position = None if partition is None else self._positions.get(partition)
        if partition is None or position is None:
            return False
        before, self._lost[partition] = self._lost.get(partition), _Lost(error, position)
        return before is None or before.position != position

    def open(self, partition: SourcePartition, state: State) -> Lane:
        """Open a log where its committed position is, or from now on, without tables that are set aside."""
        tables = self._source.tables(partition)
        kept = self._kept(partition, state, tables)
        self._positions[partition] = kept.position
        lost = self._lost.get(partition)
        anew = lost is not None and lost.position == kept.position  # nothing was published since
        if lost is not None and anew:
            kept = self._renewed(partition, kept, lost.error)
        met, aside = kept.met, kept.aside
        own = [table for table in tables if table not in aside]
        wrote = {t for t in own if t in met and kept.states[t].shape is not None}  # or was about to
        named = [t for t in own if t in met and t not in wrote]  # a newcomer that was refused, perhaps
        refused = self._topics.settle(wrote, named, [t for t in own if t not in met])
        tables = [table for table in tables if table not in refused]
        listed = [table for table in tables if table not in aside]
        reading, clock, now_ms = self._reading, self._moments.monotonic, self._moments.now_ms
        book = reading.receipts_of(partition)
        machine = self._machine(kept, book)
        asked = self._asked(tables, kept, anew=anew)
        if asked is not None:
            machine.request(asked)
        cutter = self._cutter(partition, kept, _Keeper(machine, book))
        asking = Asking(
            machine,
            tables,
            reading.tell,
            reading.channel_of(partition),
            book=book,
            rows=reading.signal_rows,
            first=reading.first,
        )
        try:  # last: it holds the log
            fresh = () if asked is None else asked.tables
            stream = self._source.stream(partition, listed, kept.position, (*aside, *refused), fresh)
        except BaseException:
            asking.close()
            raise
        readers = Readers(self._source, partition, reading.limits.readers, clock, stream.wake)
        existing = ExistingRows(machine, readers, stream, cutter, asking, clock=clock, now_ms=now_ms)
        if kept.gone:  # their changes are in no topic from here on
            cutter.save(dict.fromkeys(kept.gone, going_on.left()), clock())
        found = existing.feed(Batch(tuple(Fault(table, error) for table, error in refused.items()), 0))
        return Lane(partition, stream, cutter, existing, found, reading.first.mode.ends)

    def _cutter(self, partition: SourcePartition, kept: Kept, keeper: "_Keeper") -> Cutter:
        cutter = self._opened[partition] = Cutter(
            partition,
            self._policy,
            self._topics.wished,
            self._control_of(partition),
            opened=self._moments.monotonic(),
            fresh=kept.position is None,
            cut=kept.cut,
            keeper=keeper,
            refused=self._refused,
        )
        return cutter

    def _machine(self, kept: Kept, book: Receipts) -> Machine:
        """Go on with the tables' states; of what is captured no more it knows that its log has a gap."""
        states = {table: saved(state) for table, state in kept.states.items()}
        return Machine(
            states | dict.fromkeys(kept.away, going_on.left()),
            self._reading.limits,
            self._named(),
            bound_of=self._reading.bound_of,
            streamed=[Commit(name, _Passed(), 0) for name in kept.unproven],
            receipts=book.known,
        )

    def _asked(self, tables: Sequence[TableId], kept: Kept, *, anew: bool) -> Snapshot | None:
        """Ask for the rows of tables that are new, or of all."""
        first = self._reading.first
        for table in {*first.unused(tables)} - self._unused:
            self._unused.add(table)
            self._reading.tell(OVERRIDE_UNUSED(table=table))
        if anew:
            return first.mended(tables, going_on.mending_request(self._named()))
        return first.asked(tables, kept.met, self._start)

    def _renewed(self, partition: SourcePartition, kept: Kept, error: WracklineError) -> Kept:
        """Begin another log; a log that is lost before the last loss is made good asks for somebody."""
        if kept.position is None or kept.mending or not isinstance(self._source, Renewing):
            raise error
        position = self._source.renewed(partition, kept.position, error)
        self._reading.tell(
            going_on.READ_ANEW(
                database=partition.database,
                count=len(self._source.tables(partition)),
                reason=error.sentence,
                code=error.code,
            )
        )
        return kept.anew(position)

    def _over(self, partition: SourcePartition, state: State) -> bool:
        tables = self._source.tables(partition)
        kept = self._kept(partition, state, tables)
        return kept.over(self._reading.first.asked(tables, kept.met, self._start))

    def _kept(self, partition: SourcePartition, state: State, tables: Sequence[TableId]) -> Kept:
        """What Kafka has, as the settings of now mean it."""
        kept = Kept.of(state, self._connector, partition, tables)
        return kept.corrected_by(self._reading.first.condition)

    def _named(self) -> str:
        """Make a name that no other start has."""
        return f"{int(self._moments.chance() * (1 << 32)):08x}"


@dataclass(frozen=True, slots=True)
class _Lost:
    """A log that does not go on where it was left."""

    error: WracklineError
    position: Saved


class _Keeper:
    """Keeps the tables' states as the machine says, beside the position what readers must see first."""

    def __init__(self, machine: Machine, book: Receipts) -> None:
        self._machine, self._book = machine, book

    def aside(self, fault: Fault) -> Mapping[TableId, Json]:
        """Tell the machine of a table's fault; what it keeps of tables since."""
        self._machine.step(fault)
        unsaved = self._machine.unsaved()
        self._book.take(unsaved.receipts)
        return unsaved.states

    def records(self) -> Sequence[Record]:
        """What the receipts of these states say."""
        return self._book.records()

    def beside(self) -> Json | None:
        """The transactions that a reader must see after a restart: rows may be asked for only then."""
        names = [commit.transaction for commit in self._machine.unproven()]
        return canonical({UNPROVEN: names}) if names else None


@dataclass(frozen=True, slots=True)
class _Passed:
    """The place of a transaction that ended before the start: nobody compares it."""

    def __lt__(self, other: Self, /) -> bool:
        return False

    def __le__(self, other: Self, /) -> bool:
        return True

    def saved(self) -> Saved:
        """It is not where anything is resumed."""
        return {}
