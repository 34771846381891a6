"""What a task runs for one source partition: its stream and its cutter, opened at the committed position.

Here also stands what a task tells those who keep its status, metrics and log.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol, Self, runtime_checkable

import orjson

from wrackline.producers import set_aside
from wrackline.producers.asking import Asking, Channel
from wrackline.producers.batching import Control, Cutter, CutTransaction, Policy, Publication, Record
from wrackline.producers.changes import Batch, Commit, Fault, Position, Saved
from wrackline.producers.existing_rows import ExistingRows
from wrackline.producers.first_reads import FirstReads
from wrackline.producers.own_topics import OwnTopics
from wrackline.producers.pace import Moments
from wrackline.producers.plugin import LogStream, Source
from wrackline.producers.readers import Readers
from wrackline.producers.receipt_book import NO_RECEIPTS, Receipts
from wrackline.producers.snapshot import keys
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.state import parse
from wrackline.producers.snapshot.tables import BoundOf
from wrackline.producers.snapshot.work import Limits as SnapshotLimits
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import Json, Offset, canonical
from wrackline.schemas.table import SourcePartition, TableId

_UNPROVEN: Final = "unproven"


@dataclass(frozen=True, slots=True)
class Lane:
    """One source partition under way."""

    partition: SourcePartition
    stream: LogStream
    cutter: Cutter
    existing: ExistingRows
    refused: Sequence[Fault] = ()  # tables that can't be published from the start on

    def due(self) -> float:
        """The moment from which there may be something to do."""
        return min(self.cutter.due(), self.existing.due())

    def confirm(self, position: Position | None) -> None:
        """Tell the database what Kafka has; None where there is nothing new to tell."""
        if position is not None:
            self.stream.confirm(position)

    def tell(self, witness: "Witness", faults: Sequence[Fault]) -> None:
        """Tell of tables and rows that are set aside."""
        for fault in faults:
            witness.fault(self.partition, fault)

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

    def refuse(self, topic: str, error: WracklineError) -> None:
        """Leave out the table of a topic that Kafka refuses when its log is opened next.

        An error of any other topic is the whole task's, and raised.
        """
        ...


class Health(Enum):
    """How a task is; that it stopped, it says by ending."""

    STARTING = "starting"  # fencing, reading its positions
    RUNNING = "running"
    RECOVERING = "recovering"  # with the error, before the next try


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


@dataclass(frozen=True, slots=True)
class Reading:
    """How existing rows are read."""

    first: FirstReads = field(default_factory=FirstReads)
    limits: SnapshotLimits = field(default_factory=SnapshotLimits)
    bound_of: BoundOf = keys.bound_of
    channel_of: Callable[[SourcePartition], Channel | None] = lambda _: None
    signal_rows: bool = True
    tell: Callable[[WracklineError], None] = lambda _: None  # of a request that is not obeyed
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
        self._start = (
            self._named()
        )  # `snapshot.mode=always` reads once a start, however often a log is opened
        self._opened: dict[SourcePartition, Cutter] = {}
        self._refused: dict[str, WracklineError] = {}

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
        """Leave out the table of a topic that Kafka refuses when its log is opened next."""
        if not any(topic in cutter.topics for cutter in self._opened.values()):
            raise error
        self._refused[topic] = error

    def open(self, partition: SourcePartition, state: State) -> Lane:
        """Open a log where its committed position is, or from now on, without tables that are set aside."""
        offset = state.resume(self._connector, partition)
        begun = state if offset is not None else State({}, {}, ())  # without a position nothing was read
        known = {t: kept.snapshot for t, kept in begun.tables_of(self._connector, partition).items()}
        tables = self._source.tables(partition)
        gone = known.keys() - set(tables)
        known = {table: kept for table, kept in known.items() if table not in gone}
        aside = [table for table in set_aside.of(begun, self._connector, partition) if table in known]
        own = [table for table in tables if table not in aside]
        wrote = {t for t in own if t in known and parse(known[t]).shape is not None}  # or was about to
        named = [t for t in own if t in known and t not in wrote]  # a newcomer that was refused, perhaps
        refused = self._topics.settle(wrote, named, [t for t in own if t not in known])
        tables = [table for table in tables if table not in refused]
        book = self._reading.receipts_of(partition)
        machine = self._machine(tables, known, offset, book)
        cutter = Cutter(
            partition,
            self._policy,
            self._topics.wished,
            self._control_of(partition),
            opened=self._moments.monotonic(),
            fresh=offset is None,
            cut=None if offset is None or offset.cut is None else CutTransaction.parse(offset.cut),
            keeper=_Keeper(machine, book),
            refused=self._refused,
        )
        self._opened[partition] = cutter
        listed = [table for table in tables if table not in aside]
        saved = None if offset is None else orjson.loads(offset.position)
        reading, clock, now_ms = self._reading, self._moments.monotonic, self._moments.now_ms
        channel = reading.channel_of(partition)
        rows, first = reading.signal_rows, reading.first
        asking = Asking(machine, tables, reading.tell, channel, book=book, rows=rows, first=first)
        try:
            stream = self._source.stream(
                partition, listed, saved, (*aside, *refused)
            )  # last: it holds the log
        except BaseException:
            asking.close()
            raise
        readers = Readers(self._source, partition, reading.limits.readers, clock)
        existing = ExistingRows(machine, readers, stream, cutter, asking, clock=clock, now_ms=now_ms)
        if gone:  # their changes are in no topic from here on: a table that comes back is read anew
            cutter.save(dict.fromkeys(gone), clock())
        found = existing.feed(Batch(tuple(Fault(table, error) for table, error in refused.items()), 0))
        return Lane(partition, stream, cutter, existing, found)

    def _machine(
        self,
        tables: Sequence[TableId],
        known: Mapping[TableId, Json],
        offset: Offset | None,
        book: Receipts,
    ) -> Machine:
        """Go on with the tables' states, and ask for the rows of those that are new."""
        beside = None if offset is None or offset.snapshot is None else orjson.loads(offset.snapshot)
        streamed = [Commit(name, _Passed(), 0) for name in (beside or {}).get(_UNPROVEN, ())]
        reading = self._reading
        run = self._named()
        machine = Machine(
            known,
            reading.limits,
            run,
            bound_of=reading.bound_of,
            streamed=streamed,
            receipts=book.under_way,
        )
        if (asked := reading.first.asked(tables, known, self._start)) is not None:
            machine.request(asked)
        return machine

    def _named(self) -> str:
        """Make a name that no other start has."""
        return f"{int(self._moments.chance() * (1 << 32)):08x}"


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
        return canonical({_UNPROVEN: names}) if names else None


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
