"""The contract of a source: a folder below `sources/`, or another package's plug-in, found by its name.

    PLUGIN --open--> Source --> LogStream    the log, polled by the task's one loop
                            --> ChunkReader  existing rows and marks, used by a reader's thread

The caller never asks which database it is: what differs is data (`marks`, `source_fields`, findings)
or is in the folder.  Errors are those of `schemas/errors.py`; after a Transient error the caller closes
what raised it and opens it again at the last saved position.  testing/sources/source_suite.py is this page
as a test.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple, Protocol, cast, runtime_checkable

from wrackline.producers import sources
from wrackline.producers.contract.row_chunks import Bound, Chunk, ChunkRequest, Mark, TailOf
from wrackline.producers.contract.steps import Batch, Commit, Position, Saved
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.pipelines.plugin_finder import PluginSide, find
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema


class MarkKind(Enum):
    """How a source marks a moment so that it can be found in its log; see the design's section 5."""

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


class NeighbourPosition(NamedTuple):
    """A position that another pipeline has stored in the same Kafka."""

    pipeline: str
    topic: str
    saved: Saved


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a source needs from its caller; time and identity come only from here."""

    monotonic: Callable[[], float]  # the clock of every deadline
    now_ms: Callable[[], int]  # the wall clock, only for `ts_ms`
    register: Callable[[TableSchema], WriterIds]  # called once a shape; an error is that table's Fault
    most_batch_bytes: int = 4 << 20
    tell: Callable[[WracklineError], None] = lambda _: (
        None
    )  # reports what is passed over, and nothing stops for it
    neighbours: Callable[[], Sequence[NeighbourPosition]] = tuple  # read from Kafka when it is called
    share: Collection[str] | None = None  # of database.names, what this task reads; None: all


class Marks(Protocol):
    """Set marks, on the connection that reads the chunks: same server, same view of it."""

    @property
    def kind(self) -> MarkKind:
        """How these marks are made; only SIGNAL needs an open mark."""
        ...

    def set(self, name: str, edge: Edge) -> Mark:
        """Mark this moment, so that it can be found in the log.

        Whatever this server showed to a SELECT that ended before the call is in the log before
        the mark.  The mark may come back through the log before this call returns.
        """
        ...

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Return which of these streamed transactions a SELECT on this server would not see yet.

        The visibility gate: read a chunk when the answer is empty, or treat their keys as changed.
        Of a transaction that was streamed before this start, the name is known and the place is not.
        Never waits.
        """
        ...


class ChunkReader(Protocol):
    """Read existing rows, on a connection of its own; calls may block, the log continues beside them.

    If the table no longer has a column that a request's key names, they raise `KEY_GONE`.
    """

    @property
    def marks(self) -> Marks:
        """The marks of the same connection."""
        ...

    def last_key(self, request: ChunkRequest) -> Bound | None:
        """Return the greatest key of the request's range and condition, None when it holds no row."""
        ...

    def cuts(self, request: ChunkRequest, parts: int) -> Sequence[Bound]:
        """Return keys, in key order, that cut the range into this many parts of about the same size.

        No keys where that is not worth it; an estimate is good enough, but a wrong order is not.
        """
        ...

    def expected(self, request: ChunkRequest) -> int | None:
        """Estimate how many rows the request's range and condition hold, as cheaply as the server can.

        None: the server has nothing to estimate from.
        """
        ...

    def read(self, request: ChunkRequest) -> Chunk:
        """Read with one statement in a fresh READ COMMITTED transaction; nothing stays open after it."""
        ...

    def void(self, table: TableId) -> TailOf:
        """Return what makes a `t` event that is not from the log: its value, with the seq of a read row.

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
    """One read of all rows of a table, at one place of the log; it stays open between pieces."""

    def next(self, request: ChunkRequest) -> Chunk:
        """Return the next rows, as many as the request allows, in any order; the chunk has a `piece`.

        What follows a complete piece is undefined.
        """
        ...

    def give_up(self) -> None:
        """Have what is under way end soon, with an error; any thread may ask.  Only `close` follows."""
        ...

    def close(self) -> None:
        """Close what is open; twice is harmless."""
        ...


@runtime_checkable
class Whole(ChunkReader, Protocol):
    """A reader that can read a table without a key; it may be left out."""

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read the table, at a place that is exactly known; the read outlives the reader.

        It sees the transactions whose events have a lower seq than its rows, and no others.  No two reads are
        at one place, so the rows of the later read are newer.  OperatorNeeded if this server can't.
        """
        ...


class LogStream(Protocol):
    """One source partition's log, in order, from a saved position."""

    def poll(self, deadline: float) -> Batch | None:
        """Return what is there; wait at most until `deadline`, on the surroundings' clock, or `wake`.

        A deadline in the past means: do not wait.  None means that nothing came in time.  A stream
        on a quiet database reports its place by itself (Progress), so that no window waits for
        a change.
        """
        ...

    def wake(self) -> None:
        """Make the waiting poll return, or the next one not wait; any thread may call, also after the end."""
        ...

    def confirm(self, position: Position) -> None:
        """Report to the database that it may drop what lies before; never moves back, never waits.

        Called after Kafka has committed `position` (INV-1), and only then.
        """
        ...

    def keep_alive(self) -> None:
        """Answer the server's requests, without reading rows; never waits.

        Called often while Kafka is slow and the caller has no room for another batch, so that the server
        does not consider the stream dead.
        """
        ...

    def ask(self) -> None:
        """Make the server report its place, as Progress in a later poll; never waits.

        Called while a window waits for its mark: on a quiet database nothing else would show it.
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
        """Return a table's shape now; OperatorNeeded when it is not there or can't be distinguished."""
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

        All state comes from `saved`: the same events follow with the same seq, in any
        batches.  Definite when the database no longer has the log from there.  `tables` are those that
        the caller knows; a table that comes later is reported (`Appeared`).  `aside` are not
        captured, whatever the filters say.  `fresh` are tables whose rows the caller requests
        now anyway: that their log begins with this call need not be reported (`Appeared`).
        """
        ...

    def reader(self, partition: SourcePartition) -> ChunkReader:
        """Open a connection for chunks; several may be open at once."""
        ...

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return what prevents a run, as findings; changes nothing, and needs no more rights than to run."""
        ...

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say for every column how far it is supported."""
        ...

    def close(self) -> None:
        """End what is still open; twice is harmless."""
        ...


class SourcePlugin(Protocol):
    """What a source's folder offers as `PLUGIN`, and the entry point of another package as its object.

    One of another package also says with `contract` for which version of this contract it was made.
    """

    @property
    def kind(self) -> str:
        """The name of the folder or the entry point."""
        ...

    @property
    def connector(self) -> str:
        """`source.connector` in events, as Debezium names it."""
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


# The version rises when a plug-in that keeps the contract of today would not keep the new one.
SOURCES: Final = PluginSide(
    "source", sources, contract=1, parts=("connector", "source_fields", "position_bytes", "open")
)


def load(kind: str) -> SourcePlugin:
    """Find a source by its name."""
    return cast("SourcePlugin", find(SOURCES, kind))
