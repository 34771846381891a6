"""Opens a source partition at its committed position: its stream, its snapshot machine and its cutter.

In: what Kafka has of the partition, and the settings.  Out: a `PartitionRun`.  For a lost log, a new one is
begun if the settings say so; tables that are set aside, or have no topic of their own, are left out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, Self
from weakref import WeakValueDictionary

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.contract.optional_parts import Absence, Proving, Renewing, SharedWait
from wrackline.producers.contract.snapshot_requests import SnapshotRequest
from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.contract.steps import Batch, Commit, Fault, Saved
from wrackline.producers.cutting.cutter import ControlRecordMaker, CutPolicy, Cutter
from wrackline.producers.cutting.message_filter import MESSAGES_REFUSED
from wrackline.producers.cutting.record_buffer import Record, Unfitting
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.reading import resume_state
from wrackline.producers.reading.interleave import Interleaver
from wrackline.producers.reading.readers import Readers
from wrackline.producers.reading.receipt_records import NO_RECEIPTS, ReceiptWriter
from wrackline.producers.reading.request_intake import RequestChannel, RequestIntake
from wrackline.producers.reading.resume_state import ResumeState
from wrackline.producers.reading.shared_budget import ReaderTurns, WindowBytes
from wrackline.producers.snapshot import key_bounds
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.snapshot_table import BoundOf
from wrackline.producers.snapshot.table_state import render_state
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.producers.snapshot.work_items import SnapshotLimits
from wrackline.producers.task import background
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.producers.task.task_limits import Clocks
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Json
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition, TableId

OVERRIDE_UNUSED = define(
    "snapshot.override_unused",
    OperatorNeeded,
    "the statement for the first read of {table} is not used, because no captured table has this name",
    hint="name a captured table as schema.table, as the database writes it, in"
    " snapshot.select.statement.overrides; to list them: wrackline snapshot status <pipeline.toml>",
)
KEY_UNPROVEN = define(
    "snapshot.key_unproven",
    OperatorNeeded,
    "no unique index proves that {columns}, the key of {table} by message.key.columns, distinguish its rows:"
    " of two rows with the same key the copy would keep one",
    hint="make the columns NOT NULL and unique in the database; the SQL, and whether two rows have the same"
    " key now: wrackline check <pipeline.toml>",
)


class PartitionOpener(Protocol):
    """Opens what belongs to each source partition."""

    def partitions(self) -> Sequence[SourcePartition]:
        """The source partitions of this task."""
        ...

    def open(self, partition: SourcePartition, state: OffsetsState) -> PartitionRun:
        """Open its log at its committed position, or from now on."""
        ...

    def over(self, state: OffsetsState) -> bool:
        """Return whether there is nothing left to do, so that no log has to be opened."""
        ...

    def refuse(self, topic: str, error: WracklineError) -> None:
        """Leave out the table, or the messages, of a topic that Kafka refuses when its log is opened next.

        An error of any other topic concerns the whole task, and is raised.
        """
        ...

    def begins_anew(self, partition: SourcePartition, error: WracklineError) -> bool:
        """Return whether the next opening begins a new log, because this error says that the log is lost."""
        ...

    def closed(self, partition: SourcePartition) -> None:
        """Forget what was read of a partition and not given to Kafka: its log was closed."""
        ...


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """How existing rows are read."""

    first: FirstReads = field(default_factory=FirstReads)
    limits: SnapshotLimits = field(default_factory=SnapshotLimits)
    bound_of: BoundOf = key_bounds.bound_of
    channel_of: Callable[[SourcePartition], RequestChannel | None] = lambda _: None
    signal_rows: bool = True
    tell: Callable[[WracklineError], None] = lambda _: None  # reports errors that stop nothing
    receipts_of: Callable[[SourcePartition], ReceiptWriter] = lambda _: NO_RECEIPTS  # as Kafka has them now


class SourcePartitionOpener:
    """Opens the partitions of a source plug-in."""

    def __init__(
        self,
        source: Source,
        connector: str,
        policy: CutPolicy,
        reading: SnapshotOptions,
        *,
        topics: TableTopics,
        control_of: Callable[[SourcePartition], ControlRecordMaker],
        moments: Clocks,
    ) -> None:
        self._source, self._connector, self._policy, self._reading = source, connector, policy, reading
        self._topics, self._control_of, self._moments = topics, control_of, moments
        self._partitions = tuple(source.partitions())
        several = len(self._partitions) > 1
        self._turns = ReaderTurns(reading.limits.readers, moments.monotonic) if several else None
        self._windows = WindowBytes()
        self._start = self._named()  # with `always` rows are read once a start, however often a log is opened
        self._opened: dict[SourcePartition, Cutter] = {}
        self._closed: dict[SourcePartition, tuple[Collection[str], Collection[str]]] = {}  # what it wrote to
        self._interleavers = WeakValueDictionary[SourcePartition, Interleaver]()  # their windows are large
        self._refused: dict[str, WracklineError] = {}
        self._positions: dict[SourcePartition, Saved | None] = {}  # where each log was last opened
        self._lost: dict[SourcePartition, _LostLog] = {}
        self._unused: set[str] = set()  # statements that are not used, reported once
        self._unproven: set[TableId] = set()  # tables whose keys may not be unique, reported once

    @property
    def queued(self) -> int:
        """Bytes that were read and not yet given to a Kafka transaction; any thread may call."""
        return sum(cutter.ahead for cutter in self._opened.copy().values())

    @property
    def reads(self) -> Sequence[ReadUnderWay]:
        """Chunks of existing rows that are being read or held; any thread may call."""
        return [read for one in self._interleavers.copy().values() for read in one.reads]

    def busy(self, partition: SourcePartition) -> float | None:
        """Return when a change of this log was last cut; None while it is not open. Any thread may call."""
        cutter = self._opened.get(partition)
        return None if cutter is None else cutter.busy

    def partitions(self) -> Sequence[SourcePartition]:
        """The source partitions of this task."""
        return self._partitions

    def refuse(self, topic: str, error: WracklineError) -> None:
        """Leave out the table, or the messages, of a topic that Kafka refuses when its log is opened next."""
        known = [*self._closed.values()]
        known += ((one.message_topics, one.topics) for one in self._opened.copy().values())
        if any(topic in messages for messages, _ in known):
            self._reading.tell(MESSAGES_REFUSED(topic=topic, reason=error.sentence, code=error.code))
        elif not any(topic in topics for _, topics in known):
            raise error
        self._refused[topic] = error

    def over(self, state: OffsetsState) -> bool:
        """Return whether the pipeline ends after reading rows, and all of them were read."""
        if not self._reading.first.mode.ends:
            return False
        answers = background.ask_each(partial(self._is_over, state), self._partitions, "over")
        return all(answer.done() and answer.result() for answer in answers.values())

    def closed(self, partition: SourcePartition) -> None:
        """Forget what was read of a partition and not given to Kafka: its log was closed."""
        self._windows.beside(partition, 0)
        cutter = self._opened.pop(partition, None)
        if cutter is not None:  # a commit that runs may still be refused because of them
            self._closed[partition] = (frozenset(cutter.message_topics), frozenset(cutter.topics))

    def begins_anew(self, partition: SourcePartition, error: WracklineError) -> bool:
        """Note that a log is lost, if the settings then begin a new one and it was not just begun so."""
        source, position = self._source, self._positions.get(partition)
        if not self._reading.first.mode.recovers or not isinstance(source, Renewing) or position is None:
            return False
        if not source.lost(partition, error):
            return False
        before, self._lost[partition] = self._lost.get(partition), _LostLog(error, position)
        return before is None or before.position != position

    def open(self, partition: SourcePartition, state: OffsetsState) -> PartitionRun:
        """Open a log at its committed position, or from now on, without tables that are set aside."""
        tables = self._source.tables(partition)
        kept = self._resume_state(partition, state, tables)
        self._positions[partition] = kept.position
        lost = self._lost.get(partition)
        anew = lost is not None and lost.position == kept.position  # nothing was published since
        if lost is not None and anew:
            kept = self._renew_log(partition, kept, lost.error)
        met, aside = kept.met, kept.aside
        own = [table for table in tables if table not in aside]
        wrote = {t for t in own if t in met and kept.states[t].shape is not None}  # or was about to
        named = [t for t in own if t in met and t not in wrote]  # perhaps a new table that was refused
        refused = self._topics.settle(wrote, named, [t for t in own if t not in met])
        tables = [table for table in tables if table not in refused]
        self._report_unproven(partition, tables)
        listed = [table for table in tables if table not in aside]
        reading, clock, now_ms = self._reading, self._moments.monotonic, self._moments.now_ms
        book = reading.receipts_of(partition)
        machine = self._machine(kept, book)
        asked = self._first_request(tables, kept, anew=anew)
        if asked is not None:
            machine.request(asked)
        cutter = self._cutter(partition, kept, _MachineKeeper(machine, book, self._topics.naming))
        asking = RequestIntake(
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
        readers = Readers(self._source, partition, reading.limits.readers, clock, stream.wake, self._turns)
        existing = Interleaver(machine, readers, stream, cutter, asking, clock=clock, now_ms=now_ms)
        existing.beside = partial(self._windows.beside, partition)
        self._interleavers[partition] = existing
        if kept.gone:  # their changes are in no topic from here on
            cutter.save(self._gone_states(partition, kept.gone), clock())
        found = existing.feed(Batch(tuple(Fault(table, error) for table, error in refused.items()), 0))
        shared = stream if isinstance(stream, SharedWait) else None
        return PartitionRun(partition, stream, cutter, existing, found, reading.first.mode.ends, shared)

    def _gone_states(self, partition: SourcePartition, gone: Collection[TableId]) -> Mapping[TableId, Json]:
        """Return what is kept of tables that went while nobody looked.

        A name that is absent may be a rename, after which only the old copy has the rows that nobody reads.
        """
        source, reads = self._source, self._reading.first.reads_every_new_table
        absent = source.absent(partition, gone) if isinstance(source, Absence) and reads else ()
        return {table: resume_state.uncaptured_state(dropped=table in absent) for table in gone}

    def _report_unproven(self, partition: SourcePartition, tables: Sequence[TableId]) -> None:
        """Say which keys nothing keeps unique: what the log and the reads do not show, nobody sees."""
        if isinstance(self._source, Proving):
            unseen = [table for table in tables if table not in self._unproven]
            for table, columns in self._source.unproven(partition, unseen).items():
                self._unproven.add(table)
                self._reading.tell(KEY_UNPROVEN(table=table, columns=", ".join(columns)))

    def _cutter(self, partition: SourcePartition, kept: ResumeState, keeper: "_MachineKeeper") -> Cutter:
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

    def _machine(self, kept: ResumeState, book: ReceiptWriter) -> Machine:
        """Continue with the tables' states; tables that are no longer captured have a gap in their log."""
        states = {table: render_state(state) for table, state in kept.states.items()}
        return Machine(
            states | dict.fromkeys(kept.away, resume_state.uncaptured_state()),
            self._reading.limits,
            self._named(),
            bound_of=self._reading.bound_of,
            streamed=[Commit(name, _PassedPosition(), 0) for name in kept.unproven],
            receipts=book.known,
        )

    def _first_request(
        self, tables: Sequence[TableId], kept: ResumeState, *, anew: bool
    ) -> SnapshotRequest | None:
        """Request the rows of tables that are new, or of all tables."""
        first = self._reading.first
        for table in {*first.unused_statements(tables)} - self._unused:
            self._unused.add(table)
            self._reading.tell(OVERRIDE_UNUSED(table=table))
        if anew:
            return first.request_after_gap(tables, resume_state.recovery_request(self._named()))
        return first.request_at_start(tables, kept.met, self._start)

    def _renew_log(self, partition: SourcePartition, kept: ResumeState, error: WracklineError) -> ResumeState:
        """Begin another log; if a log is lost before the last loss is repaired, an operator is needed."""
        if kept.position is None or kept.recovering or not isinstance(self._source, Renewing):
            raise error
        position = self._source.renewed(partition, kept.position, error)
        self._reading.tell(
            resume_state.READ_ANEW(
                database=partition.database,
                count=len(self._source.tables(partition)),
                reason=error.sentence,
                code=error.code,
            )
        )
        return kept.anew(position)

    def _is_over(self, state: OffsetsState, partition: SourcePartition) -> bool:
        try:
            tables = self._source.tables(partition)
        except WracklineError:
            if len(self._partitions) == 1:
                raise
            return False  # its own lane meets the error, and the others need not wait
        kept = self._resume_state(partition, state, tables)
        return kept.over(self._reading.first.request_at_start(tables, kept.met, self._start))

    def _resume_state(
        self, partition: SourcePartition, state: OffsetsState, tables: Sequence[TableId]
    ) -> ResumeState:
        """Return what Kafka has, as the current settings interpret it."""
        kept = ResumeState.of(state, self._connector, partition, tables)
        return kept.named(self._topics.naming).corrected_by(self._reading.first.condition)

    def _named(self) -> str:
        """Make a name that no other start has."""
        return f"{int(self._moments.chance() * (1 << 32)):08x}"


@dataclass(frozen=True, slots=True)
class _LostLog:
    """A log that does not continue where it was left."""

    error: WracklineError
    position: Saved


class _MachineKeeper:
    """Keeps the machine's table states and, beside the position, what readers must see first."""

    def __init__(self, machine: Machine, book: ReceiptWriter, naming: Naming) -> None:
        self._machine, self._book, self._naming = machine, book, naming

    def aside(self, fault: Fault) -> Mapping[TableId, Json]:
        """Pass a table's fault to the machine; return the states that changed."""
        self._machine.step(fault)
        unsaved = self._machine.unsaved()
        self._book.take(unsaved.receipts)
        return unsaved.states

    def counted(self, unfit: Mapping[Unfitting, int]) -> Mapping[TableId, Json]:
        """Add to the counts in the tables' states."""
        self._machine.counted(unfit)
        unsaved = self._machine.unsaved()
        self._book.take(unsaved.receipts)
        return unsaved.states

    def records(self) -> Sequence[Record]:
        """Return the receipts of these states as records."""
        return self._book.records()

    def beside(self) -> Json | None:
        """Return the transactions that a reader must see after a restart before it may read rows."""
        names = [commit.transaction for commit in self._machine.unproven()]
        return resume_state.saved_companion(self._naming, names)


@dataclass(frozen=True, slots=True)
class _PassedPosition:
    """The place of a transaction that ended before the start; it is never compared."""

    def __lt__(self, other: Self, /) -> bool:
        return False

    def __le__(self, other: Self, /) -> bool:
        return True

    def saved(self) -> Saved:
        """Return nothing: no log is resumed here."""
        return {}
