"""The readers of the snapshot machine: a few threads that plan and read, each on a connection of its own.

    Plan --> key columns, spans              Read --> gate, open mark, SELECT, close mark --> chunk
    VisibilityCheck --> what is hidden of the transactions streamed lately
    Void --> what makes a table's `t` event

In: work, never waited for.  Out: outcomes, taken by the task's thread at any time.  Why it is right: gate,
marks and SELECT of one read happen in this order on one connection, and an outcome is handed over only
after its close mark was set.  A connection that failed is closed, and the next work opens another.  An error
concerns one read: its request fails, while the log and the other tables continue.  The databases of a task
share its turns (`shared_budget.py`): a connection that another database wants is closed between two works.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final, TypeAlias

from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest, Mark, TailOf
from wrackline.producers.contract.source_plugin import ChunkReader, Edge, MarkKind, Source, Whole
from wrackline.producers.contract.steps import Commit
from wrackline.producers.failpoints import reach
from wrackline.producers.reading.key_ranges import cut_ranges, estimate_rows
from wrackline.producers.reading.shared_budget import ReaderTurn, ReaderTurns
from wrackline.producers.reading.whole_reads import WholeReads
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, Ticket, VisibilityCheck, Void, Work
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define, fault_text
from wrackline.schemas.tables.table import SourcePartition, TableId

GATE_SHUT = define(
    "snapshot.gate_shut",
    Transient,
    "{count} transactions that the log contains are still not visible to readers after {seconds:.0f} s",
    hint="check in the database whether commits wait for a standby that does not answer; the chunk is"
    " retried automatically",
)
NO_KEY = define(
    "snapshot.no_key",
    OperatorNeeded,
    "{table} has no key, so its existing rows can't be read in parallel with the log",
    hint="give it a primary key or a unique index over NOT NULL columns; or name columns that identify its"
    " rows: message.key.columns",
)
NO_PART = define(
    "snapshot.no_part",
    OperatorNeeded,
    "{table} has no key, so it can only be read as a whole, not by a condition or by keys",
    hint="request all its rows: wrackline snapshot start <pipeline.toml> '{table}'; or name columns that"
    " identify its rows: message.key.columns",
)
NO_SURROGATE = define(
    "snapshot.no_surrogate",
    OperatorNeeded,
    "{table} has no column {column}, or the settings leave it out, so it can't order the rows",
    hint="send the request again, with a column that exists and is published: wrackline snapshot start"
    " <pipeline.toml> '{table}' --surrogate-key <column>",
)
READ_BROKEN = define(
    "snapshot.read_broken",
    OperatorNeeded,
    "the rows of {table} could not be read: {fault}",
    hint="check that the request's keys are right, or report it as a bug of Wrackline; then send the"
    " request again: wrackline snapshot start <pipeline.toml> '{table}'",
)

_LOOK: Final = 0.005  # seconds between two looks at the gate
_TURN: Final = 0.1  # seconds between two looks of an idle reader whether another one wants its turn
_SHARE: Final = 1.0  # seconds that a turn is kept though others wait: to connect costs a part of it
_IDLE: Final = 10.0  # seconds without work, after which a reader that shares turns closes its connection
_PATIENCE: Final = 30.0  # seconds for the gate, before it is reported to the machine
_LEAVE: Final = 5.0  # seconds for all readers to end; one that takes longer ends when its server answers


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """A table's key columns, the parts it is read in, and the mark of a plan that has one."""

    ticket: Ticket
    key: Sequence[str]
    spans: Sequence[KeySpan]
    mark: Mark | None
    expected: int | None = None  # rows; None: nobody knows


@dataclass(frozen=True, slots=True)
class ChunkOutcome:
    """A chunk, and its mark: all that the chunk has seen is in the log before it."""

    ticket: Ticket
    chunk: Chunk
    mark: Mark


@dataclass(frozen=True, slots=True)
class VoidOutcome:
    """What makes a table's `t` event."""

    ticket: Ticket
    void: TailOf


@dataclass(frozen=True, slots=True)
class VisibilityOutcome:
    """What is not visible to readers yet."""

    ticket: Ticket
    hidden: Sequence[Commit]


@dataclass(frozen=True, slots=True)
class FailureOutcome:
    """Work that did not succeed; `hidden` is what kept the gate shut, None if it was not that."""

    ticket: Ticket
    error: WracklineError
    hidden: Sequence[Commit] | None = None


Outcome: TypeAlias = PlanOutcome | ChunkOutcome | VoidOutcome | VisibilityOutcome | FailureOutcome


class _Ended(Exception):  # noqa: N818 - not an error: the readers are being closed
    """Nobody waits for the outcome anymore."""


class _Shut(Exception):  # noqa: N818 - it becomes an outcome
    """These transactions kept the gate shut."""

    def __init__(self, hidden: Sequence[Commit]) -> None:
        super().__init__()
        self.hidden = hidden


@dataclass(slots=True)
class _Seat:
    """What one thread has from one work to the next."""

    turn: ReaderTurn | None = None
    reader: ChunkReader | None = None


class Readers:
    """Up to `most` threads over one source partition; they start with the first work."""

    def __init__(
        self,
        source: Source,
        partition: SourcePartition,
        most: int,
        clock: Callable[[], float],
        tell: Callable[[], None] = lambda: None,
        turns: ReaderTurns | None = None,
    ) -> None:
        """Take a callback for a reader's thread when there is an outcome, and turns that others share."""
        self._source, self._partition, self._most, self._clock = source, partition, most, clock
        self._tell, self._turns = tell, turns
        self._wanted: SimpleQueue[Work | None] = SimpleQueue()
        self._done: SimpleQueue[Outcome] = SimpleQueue()
        self._threads: list[Thread] = []
        self._opened: list[ChunkReader] = []  # one a thread at most
        self._whole = WholeReads(clock)
        self._ending = Event()

    def begin(self, work: Work) -> None:
        """Have the work done; the machine bounds how much is under way."""
        if len(self._threads) < self._most:
            thread = Thread(target=self._serve, name="reader", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._wanted.put(work)

    def outcomes(self) -> Sequence[Outcome]:
        """Take what is done; never waits."""
        taken: list[Outcome] = []
        while not self._done.empty():
            taken.append(self._done.get())
        return taken

    def close(self) -> None:
        """End what is under way, and wait a little for it, so that no reader stays behind a lock."""
        self._ending.set()
        for _ in self._threads:
            self._wanted.put(None)
        for reader in tuple(self._opened):
            reader.give_up()
        self._whole.give_up()
        until = self._clock() + _LEAVE
        for thread in self._threads:
            thread.join(max(0.0, until - self._clock()))
        self._whole.close()

    def _serve(self) -> None:
        seat = _Seat()
        while (work := self._next_work(seat)) is not None and not self._ending.is_set():
            try:
                self._put(self._perform(self._seated(seat), work))
            except _Ended:
                break
            except _Shut as shut:
                error = GATE_SHUT(count=len(shut.hidden), seconds=_PATIENCE)
                self._put(FailureOutcome(work.ticket, error, shut.hidden))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is one read's
                self._leave(seat)
                self._put(FailureOutcome(work.ticket, _failure(error, work)))
        self._leave(seat)

    def _next_work(self, seat: _Seat) -> Work | None:
        """Wait for work; give the turn up where another reader wants it, or there is no work for long.

        A whole read has a connection of its own from its first piece to its last, so its turn is kept too: or
        each database would begin one, and all would be open.
        """
        if (turn := seat.turn) is not None and self._turns is not None:
            turn.working, idle_since = None, self._clock()
            wanted = self._turns.wanted and not self._whole.is_ours()
            while not (wanted and self._clock() - turn.since >= _SHARE):
                try:
                    return self._wanted.get(timeout=_TURN)
                except Empty:
                    wanted = self._turns.wanted and not self._whole.is_ours()
                    if wanted or self._clock() - idle_since > _IDLE:
                        break
            self._leave(seat)
        return self._wanted.get()

    def _seated(self, seat: _Seat) -> ChunkReader:
        """Take a turn where others share them, and open a connection."""
        if self._turns is not None:
            if seat.turn is None:
                seat.turn = self._turns.take(self._partition, self._ending.is_set)
            if seat.turn is None:
                raise _Ended
            seat.turn.working = self._clock()
        if seat.reader is None:
            seat.reader = self._open()
        return seat.reader

    def _put(self, outcome: Outcome) -> None:
        self._done.put(outcome)
        self._tell()

    def _open(self) -> ChunkReader:
        reader = self._source.reader(self._partition)
        self._opened.append(reader)
        if self._ending.is_set():  # too late to be given up by `close`
            reader.give_up()
        return reader

    def _leave(self, seat: _Seat) -> None:
        """Close the connection, then give the turn back."""
        reader, turn, seat.reader, seat.turn = seat.reader, seat.turn, None, None
        try:
            if reader is not None:
                self._opened.remove(reader)
                reader.close()
        finally:
            if turn is not None and self._turns is not None:
                self._turns.give(turn)

    def _perform(self, reader: ChunkReader, work: Work) -> Outcome:
        self._whole.tidy()
        if isinstance(work, VisibilityCheck):
            return VisibilityOutcome(work.ticket, reader.marks.unseen(work.streamed))
        if isinstance(work, Read):
            reach("before_gate", work.request)
        self._wait_at_the_gate(reader, work.streamed)
        if isinstance(work, Void):
            return VoidOutcome(work.ticket, reader.void(work.table))
        if isinstance(work, Plan):
            return self._plan(reader, work)
        return self._read(reader, work)

    def _read(self, reader: ChunkReader, work: Read) -> ChunkOutcome:
        if not work.request.key:
            chunk = self._whole.piece(self._able(reader, work.request.table), work)
            return ChunkOutcome(work.ticket, chunk, chunk.mark or reader.marks.set(work.ticket, Edge.CLOSE))
        reach("after_gate", work.request)
        if reader.marks.kind is MarkKind.SIGNAL:
            reader.marks.set(work.ticket, Edge.OPEN)
        reach("before_select", work.request)
        chunk = reader.read(work.request)
        reach("after_select", work.request)
        mark = chunk.mark or reader.marks.set(work.ticket, Edge.CLOSE)
        reach("after_close_mark", work.request)
        return ChunkOutcome(work.ticket, chunk, mark)

    def _plan(self, reader: ChunkReader, work: Plan) -> PlanOutcome:
        table = self._source.describe(self._partition, work.table)
        if not table.key:
            self._able(reader, work.table)
            if work.condition is not None or work.keys or (work.low, work.high) != (None, None):
                raise NO_PART(table=work.table)
            return PlanOutcome(work.ticket, (), (KeySpan(),), None)
        key = table.key
        if work.surrogate_key is not None:  # its values may repeat: the key distinguishes their rows
            if all(column.name != work.surrogate_key for column in table.columns):
                raise NO_SURROGATE(table=work.table, column=work.surrogate_key)
            key = (work.surrogate_key, *(name for name in table.key if name != work.surrogate_key))
        if reader.marks.kind is MarkKind.SIGNAL and not work.keys:
            reader.marks.set(work.ticket, Edge.OPEN)  # or a row that is hidden until then is in no span
        parts = () if work.keys else cut_ranges(reader, work, key, self._most)
        mark = reader.marks.set(work.ticket, Edge.CLOSE) if work.marked else None
        return PlanOutcome(work.ticket, key, parts, mark, estimate_rows(reader, work, key, parts))

    @staticmethod
    def _able(reader: ChunkReader, table: TableId) -> Whole:
        if not isinstance(reader, Whole):
            raise NO_KEY(table=table)
        return reader

    def _wait_at_the_gate(self, reader: ChunkReader, streamed: Sequence[Commit]) -> None:
        """Return when a SELECT would see all of these."""
        until = self._clock() + _PATIENCE
        while streamed := reader.marks.unseen(streamed):
            if self._clock() > until:
                raise _Shut(streamed)
            if self._ending.wait(_LOOK):
                raise _Ended


def _failure(error: Exception, work: Work) -> WracklineError:
    """Say why a read failed; an unforeseen error is named by its place: its message may hold a value."""
    if isinstance(error, WracklineError):
        return error
    match work:
        case Plan(table=named) | Void(table=named) | Read(request=ChunkRequest(table=named)):
            table = str(named)
        case VisibilityCheck():
            table = "any table"
    return READ_BROKEN(table=table, fault=fault_text(error))
