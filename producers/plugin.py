"""The contract of a source: one folder below `sources/`, found by its name.

    PLUGIN --open--> Source --> LogStream    the log, polled by the task's one loop
                            --> ChunkReader  existing rows and marks, used by a reader's thread

Whoever calls never asks which database it is: what differs is data (`marks`, `source_fields`, findings)
or lives in the folder.  Errors are those of `schemas/errors.py`; after a Transient one the caller closes
what raised it and opens it again at the last saved position.  tests/contract/source_suite.py is this page,
executable.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol, cast, runtime_checkable

from wrackline.producers import sources
from wrackline.producers.changes import Batch, Commit, Position, Saved
from wrackline.producers.chunks import Bound, Chunk, ChunkRequest, Mark, TailOf
from wrackline.schemas import plugins
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.findings import ColumnSupport, Finding
from wrackline.schemas.setting import Declared
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableId, TableSchema


class MarkKind(Enum):
    """How a source makes a moment findable in its log; see the design's section 5."""

    SIGNAL = "signal"  # a row in the signal table; a window has an open and a close row
    MESSAGE = "message"  # a logical message of its own transaction
    FENCE = "fence"  # nothing is written: the log's place, read after the SELECT


class Edge(Enum):
    """Which end of a window a mark is."""

    OPEN = "open"
    CLOSE = "close"


class WriterIds(NamedTuple):
    """The registry's ids of a table's schemas; a table without a key has no key schema."""

    key: int | None
    value: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a source needs of its caller; time and identity come from here and from nowhere else."""

    monotonic: Callable[[], float]  # the clock of every deadline
    now_ms: Callable[[], int]  # the wall clock, for `ts_ms` alone
    register: Callable[[TableSchema], WriterIds]  # asked once a shape; an error is that table's Fault
    most_batch_bytes: int = 4 << 20


class Marks(Protocol):
    """Set marks, on the connection that reads the chunks: same server, same view of it."""

    @property
    def kind(self) -> MarkKind:
        """How these marks are made; only SIGNAL needs an open one."""
        ...

    def set(self, name: str, edge: Edge) -> Mark:
        """Make this moment findable.

        Whatever this server showed to a SELECT that ended before the call stands in the log before
        the mark.  The mark may come back through the log before this call returns.
        """
        ...

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Which of these streamed transactions a SELECT on this server would not see yet.

        The visibility gate: read a chunk when the answer is empty, or treat their keys as changed.
        Of one that was streamed before this start the name is known and not the place.
        Never waits.
        """
        ...


class ChunkReader(Protocol):
    """Read existing rows, on a connection of its own; calls may block, the log goes on beside them.

    Where the table has no column any more that a request's key names, they raise `KEY_GONE`.
    """

    @property
    def marks(self) -> Marks:
        """The marks of the same connection."""
        ...

    def last_key(self, request: ChunkRequest) -> Bound | None:
        """Return the greatest key of the request's range and condition, None when it holds no row."""
        ...

    def cuts(self, request: ChunkRequest, parts: int) -> Sequence[Bound]:
        """Return keys, in key order, that cut the range into so many parts of about one size.

        None where that is not worth it; a guess is good enough, but a wrong order is not.
        """
        ...

    def expected(self, request: ChunkRequest) -> int | None:
        """Guess how many rows the request's range and condition hold, as cheaply as the server can.

        None says that it has no grounds for a guess.
        """
        ...

    def read(self, request: ChunkRequest) -> Chunk:
        """Read with one statement in a fresh READ COMMITTED transaction; nothing stays open after it."""
        ...

    def void(self, table: TableId) -> TailOf:
        """Return what makes a `t` event that is not the log's: its whole value, with the seq of a read row.

        It says that whatever is older than its place is void.
        """
        ...

    def give_up(self) -> None:
        """Have what is under way end soon, with an error; any thread may ask.  Only `close` follows."""
        ...

    def close(self) -> None:
        """End it; twice is harmless."""
        ...


class WholeRead(Protocol):
    """One read of all rows of a table, as of one place of the log; it stays open between pieces."""

    def next(self, request: ChunkRequest) -> Chunk:
        """Return the next rows, as many as the request allows, in whatever order; its `piece` is there.

        What follows a complete piece is undefined.
        """
        ...

    def give_up(self) -> None:
        """Have what is under way end soon, with an error; any thread may ask.  Only `close` follows."""
        ...

    def close(self) -> None:
        """Hold nothing open any more; twice is harmless."""
        ...


@runtime_checkable
class Whole(ChunkReader, Protocol):
    """A reader that can read a table without a key; it may be left out."""

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read it, at a place that is exactly known; the read outlives the reader.

        It sees the transactions whose events have a lower seq than its rows, and no others.  No two reads are
        at one place, so the rows of the later one are newer.  OperatorNeeded where this server can't.
        """
        ...


class LogStream(Protocol):
    """One source partition's log, in order, from a saved position."""

    def poll(self, deadline: float) -> Batch | None:
        """Return what is there; wait for it until `deadline` at most, on the surroundings' clock, or `wake`.

        A deadline in the past means: do not wait.  None says that nothing came in time.  A stream
        on a quiet database says by itself where it stands (Progress), so that no window waits for
        a change.
        """
        ...

    def wake(self) -> None:
        """Have the poll that waits return, or the next one not wait; any thread may, also after the end."""
        ...

    def confirm(self, position: Position) -> None:
        """Tell the database that it may forget what lies before; never moves back, never waits.

        Called after Kafka has committed `position` (INV-1), and only then.
        """
        ...

    def keep_alive(self) -> None:
        """Answer what the server asks, without reading rows; never waits.

        Called often while Kafka is slow and the caller has no room for another batch: a server must
        not take a stream for dead because of it.
        """
        ...

    def ask(self) -> None:
        """Have the server say where it stands, as Progress in a later poll; never waits.

        Called while a window waits for its mark: on a quiet database nothing else would tell.
        """
        ...

    def close(self) -> None:
        """Give the log back, so that a successor can open it; twice is harmless."""
        ...


class Source(Protocol):
    """One server, with settings that were found good."""

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the databases to read; each has its own log, positions and snapshot."""
        ...

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the connector's user can see, partition leaves as their root."""
        ...

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        """Return a table's shape now; OperatorNeeded when it is not there or can't be told apart."""
        ...

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> LogStream:
        """Open the log after `saved`; None means from now on.

        All state comes from `saved`: the same events follow with the same seq, in whatever
        batches.  Definite when the database no longer has the log from there.  `tables` are those that
        the caller knows of; of a table that comes later it is told (`Appeared`).  `aside` are not
        captured, whatever they are called by the filters.  `fresh` are tables whose rows the caller asks for
        now anyway: that their log begins with this call need not be told (`Appeared`).
        """
        ...

    def reader(self, partition: SourcePartition) -> ChunkReader:
        """Open a connection for chunks; several may be open at once."""
        ...

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Say what stands in the way; changes nothing, and needs no more rights than to run."""
        ...

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say of every column how far it is carried."""
        ...

    def close(self) -> None:
        """End what is still open; twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class LogState:
    """One source partition's log as its server shows it; None is what the server does not say."""

    name: str  # what keeps the log for us, as "replication slot shop"
    held_by: str | None  # who reads our log now
    end: int  # up to where the log was written, in bytes
    behind: int | None  # bytes that are not confirmed
    retained: int | None  # bytes that the server keeps for us
    spare: int | None  # bytes that may be written before what we need is lost; None: no limit
    status: str | None  # the server's own word for it
    drop: str | None = None  # the statement that gives up what is kept
    kept_s: int | None = None  # for so many seconds the server keeps its log; None: by no time
    expires_s: float | None = None  # until what we need is that old; None: never, as things are


@runtime_checkable
class Attended(Protocol):
    """What operators ask of a source from outside its task; a source may leave it out."""

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> LogState | None:
        """Look at the log without reading it; None when nothing is kept for us yet.

        `confirmed` is what Kafka has, as far as the caller knows: not every server can say it by itself.
        """
        ...

    def place(self, saved: Saved) -> str:
        """Write a saved position as this database's people would; a faulty one raises."""
        ...

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Raise the error that a start at this position would end with; changes nothing."""
        ...

    def anew(self, saved: Saved | None, newest: Saved | None) -> Saved:
        """Return the position in an epoch after that of `newest`; None means wherever the log begins."""
        ...


@runtime_checkable
class Renewing(Protocol):
    """A source whose log can be begun anew where it is lost; it may be left out."""

    def lost(self, error: WracklineError) -> SourcePartition | None:
        """Return whose log does not go on where it was left, if that is what this error says."""
        ...

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Return the position of the log as it is from now on, in an epoch after that of `saved`.

        What the server keeps for the lost one is given up, if a new one could not be had beside it.  Twice
        is harmless, for nobody knows the new position before the first Kafka transaction that holds it.
        """
        ...


@runtime_checkable
class Surveying(Protocol):
    """A source that can say of many tables at once what they are; it may be left out."""

    def described(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the shape of each table now, or why it can't be described."""
        ...

    def left_out(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the connector's user can see and that are not captured."""
        ...


@runtime_checkable
class Beating(Protocol):
    """A source that can write something small into its log by itself; it may be left out."""

    def beat(self, partition: SourcePartition) -> None:
        """Write it, on a connection of its own; what comes of it passes the stream, and no row does."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that stands on a source's server for a pipeline."""

    name: str  # as "replication slot shop"
    drop: str  # the statement that takes it away by hand
    bytes: int | None = None  # how much the server keeps because of it
    held_by: str | None = None  # who uses it now
    left: str | None = None  # why nobody knows it to be this pipeline's own; None: it is


@runtime_checkable
class Removable(Protocol):
    """A source that makes something on its server, and can take it away; it may be left out."""

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[Kept]:
        """Return what is there, in the order in which it is removed: first what makes the server keep more.

        `saved` is the pipeline's position, the one sign that it has read from there.  Changes nothing.
        """
        ...

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Remove what of it is the pipeline's own; twice is harmless.

        An error where somebody uses it, and then nothing behind it in the order is removed.
        """
        ...


@runtime_checkable
class Unheld(Protocol):
    """A source whose server keeps nothing for a reader, so nothing there shows who reads; may be left out."""

    def log_reader(self, partition: SourcePartition) -> str | None:
        """Return who reads the pipeline's log now, None: nobody; an error where the server does not say."""
        ...


class SourcePlugin(Protocol):
    """What a source's folder offers as `PLUGIN`."""

    @property
    def kind(self) -> str:
        """The folder's name."""
        ...

    @property
    def connector(self) -> str:
        """`source.connector` in events, as Debezium names it."""
        ...

    @property
    def debezium_class(self) -> str | None:
        """The Debezium connector whose configuration this source also takes."""
        ...

    @property
    def settings(self) -> Declared:
        """What can be set about this source, declared once."""
        ...

    @property
    def source_fields(self) -> Sequence[Mapping[str, object]]:
        """Avro fields that this source adds to the envelope's `source` record."""
        ...

    @property
    def position_bytes(self) -> int:
        """How many bytes a position has in a `seq`."""
        ...

    def open(self, settings: Values, around: Surroundings) -> Source:
        """Check the settings and connect; OperatorNeeded before anything has changed on the server."""
        ...


def load(kind: str) -> SourcePlugin:
    """Find a source by its folder's name."""
    return cast("SourcePlugin", plugins.find(sources, kind, side="source"))
