"""Chunks of existing rows: one SELECT between two keys, whose cells go through the log's encoder.

The server compares keys, in its own collations (`key_order.py`).  A statement that waits for a lock longer than
its session allows, or that loses to another in a deadlock, fails as Transient, and the chunk is read again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Final, TypeAlias

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings, WholeRead, WriterIds
from wrackline.producers.contract.steps import Position
from wrackline.producers.kit.reads.chunk_reads import WORTH_PARTS, ChunkReads, ColumnGoneError, ReadDeadline
from wrackline.producers.sources.sqlserver.chunks import chunk_sql
from wrackline.producers.sources.sqlserver.chunks.key_values import SqlServerKeyColumn
from wrackline.producers.sources.sqlserver.chunks.marks import SqlServerMarks
from wrackline.producers.sources.sqlserver.chunks.slicing import SqlServerSlicing
from wrackline.producers.sources.sqlserver.connect.quoting import table_name
from wrackline.producers.sources.sqlserver.discover.discover import SqlServerCatalogue, SqlServerTableFacts
from wrackline.producers.sources.sqlserver.discover.types import WireType
from wrackline.producers.sources.sqlserver.log.lsn import Lsn, previous_lsn
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.rows.answers import python_rows
from wrackline.producers.sources.sqlserver.rows.cell_forms import cell_forms
from wrackline.producers.sources.sqlserver.rows.cell_values import text_of
from wrackline.producers.sources.sqlserver.rows.packed_row import pack_row, unpack_row
from wrackline.producers.sources.sqlserver.rows.rows import SqlServerRowDecoder
from wrackline.producers.sources.sqlserver.rows.source_record import SqlServerSourceLabels, source_record
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.seq import snapshot_prefix
from wrackline.schemas.tables.table import TableId

KEY_HIDDEN = define(
    "sqlserver.key_hidden",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}, because a chunk's bounds are saved in"
    " Kafka and the settings hide this column",
    hint="order the snapshot by columns that are not hidden: surrogate-key in its request; or make such"
    " columns the key: message.key.columns = '{table}:<columns>'",
)

_WHOLE_NUMBERS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_NO_COLUMN: Final = "207"
_AT_ONCE: Final = 1000  # rows between two looks at the clock
_NO_REF: Final = 0  # the ref of a table in changes: a chunk's rows have none

SqlServerReader: TypeAlias = ChunkReads[SqlServerMarks]
BeginWhole: TypeAlias = Callable[[TableId, Event], WholeRead]


@dataclass(frozen=True, slots=True)
class SqlServerReadSession:
    """A reader's own connection, and the parts that use it."""

    session: TdsSession
    catalogue: SqlServerCatalogue
    marks: SqlServerMarks
    versions: bool = False  # whether it reads versions


@dataclass(frozen=True, slots=True)
class SqlServerRowOrigin:
    """Where rows of a table come from; the rows of a read at a place of its own have that place."""

    labels: SqlServerSourceLabels
    table: TableId
    place: Lsn | None = None

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
        """Return the `source` record, and the beginning of the seq."""
        if not isinstance(released_at, SqlServerPosition):
            raise TypeError("a chunk is released at a position of its own source")
        at = released_at.lsn if self.place is None else self.place
        source = source_record(self.labels, self.table, at, ts_ms=ts_ms, snapshot=snapshot)
        if self.place is None:
            return source, released_at.row_seq()
        return source, snapshot_prefix(released_at.epoch, self.place)


class SqlServerRowQueries:
    """Asks about rows on a connection of its own."""

    def __init__(
        self,
        begin: Callable[[], SqlServerReadSession],
        labels: SqlServerSourceLabels,
        around: Surroundings,
        begin_whole: BeginWhole,
        given_up: Event,
    ) -> None:
        self._begin, self._labels, self._around = begin, labels, around
        self._begin_whole, self._given_up = begin_whole, given_up
        self.session = begin()

    @property
    def marks(self) -> SqlServerMarks:
        """The marks of the same connection."""
        return self.session.marks

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self.session.session.closed

    @contextmanager
    def asking(self, action: str, table: TableId) -> Iterator[None]:
        """Ask: errors of the server are ours already."""
        yield

    def describe(self, table: TableId) -> Projection:
        """Return the table's current shape."""
        return self.session.catalogue.describe(table)

    @contextmanager
    def hold(self, table: TableId) -> Iterator[Callable[[], None]]:
        """Read with one statement, which is a transaction of its own."""
        yield lambda: None

    def read(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        """Read the slices, and whether the range holds no more."""
        facts = self.session.catalogue.facts(request.table)
        ids = self._around.register(shape.table)
        sql = chunk_sql.rows(request, shape, key_columns(facts), versions=self.session.versions)
        taking: SqlServerSlicing | None = None
        for batch in self._stream(sql, f"read a chunk of {request.table}"):
            if taking is None:
                taking = chunk_slicing(request, shape, ids, [column.type for column in batch.columns])
            rows = packed_rows(batch)
            if taking.fill(rows) < len(rows) or (taking.full or late.passed(taking.count)):
                break
        if taking is None:
            return (), True
        complete = not taking.full and taking.count < request.most_rows and not late.passed(taking.count)
        return taking.end(), complete
