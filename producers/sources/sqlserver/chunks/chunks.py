"""Chunks of existing rows: one SELECT between two keys, whose cells go through the log's encoder.

The server compares keys, in its own collations (`key_order.py`).  A statement that waits for a lock longer
than its session allows, or that loses to another in a deadlock, fails as Transient: the chunk is read
again.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, cast

from wrackline.producers.contract.row_chunks import KEY_GONE, Bound, ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings, WholeRead, WriterIds
from wrackline.producers.contract.steps import Position
from wrackline.producers.kit.reads.chunk_reads import ChunkReads, ColumnGoneError, GivenUp, ReadDeadline
from wrackline.producers.sources.sqlserver.chunks import chunk_sql
from wrackline.producers.sources.sqlserver.chunks.key_values import SqlServerKeyColumn
from wrackline.producers.sources.sqlserver.chunks.marks import SqlServerMarks
from wrackline.producers.sources.sqlserver.chunks.slicing import SqlServerSlicing
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.connect.server_errors import COLUMN_MISSING, SERVER_LOST
from wrackline.producers.sources.sqlserver.discover.discover import SqlServerCatalogue, SqlServerTableFacts
from wrackline.producers.sources.sqlserver.discover.types import WireType
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.rows.cell_forms import cell_forms
from wrackline.producers.sources.sqlserver.rows.cell_values import text_of
from wrackline.producers.sources.sqlserver.rows.packed_row import RowPacker, unpack_row
from wrackline.producers.sources.sqlserver.rows.rows import SqlServerRowDecoder
from wrackline.producers.sources.sqlserver.rows.source_record import SqlServerSourceLabels, source_record
from wrackline.producers.sources.sqlserver.wire.session import StatementCancelledError, TdsSession
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

VALUES_MASKED = define(
    "sqlserver.values_masked",
    OperatorNeeded,
    "the login sees masked values of {columns} of {table}, and the log has the values themselves",
    hint="as db_owner: USE {database}; GRANT UNMASK TO <user>; or leave the columns out: column.exclude.list;"
    " then: wrackline snapshot start <pipeline.toml> '{table}'",
)

AT_ONCE: Final = 1000  # rows between two looks at the clock
_NO_REF: Final = 0  # the ref of a table in changes: a chunk's rows have none

SqlServerReader: TypeAlias = ChunkReads[SqlServerMarks]
BeginWhole: TypeAlias = Callable[[TableId], WholeRead]


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
        session: SqlServerReadSession,
        labels: SqlServerSourceLabels,
        around: Surroundings,
        begin_whole: BeginWhole,
    ) -> None:
        self.session, self._labels, self._around, self._begin_whole = session, labels, around, begin_whole

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
        """Turn a cancellation into an error of ours; those of the server are ours already."""
        del table
        try:
            yield
        except StatementCancelledError:
            raise SERVER_LOST(doing=action, reason="it was given up") from None

    def describe(self, table: TableId) -> Projection:
        """Return the table's current shape."""
        return readable_shape(self.session.catalogue, table)

    @contextmanager
    def hold(self, table: TableId) -> Iterator[Callable[[], None]]:
        """Read with one statement, which is a transaction of its own."""
        del table
        yield lambda: None

    def read(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        """Read the slices, and whether the range holds no more."""
        facts = self.session.catalogue.described(request.table)
        ids = self._around.register(shape.table)
        sql = chunk_sql.rows(request, shape, key_columns(facts), versions=self.session.versions)
        try:
            return self._slices(sql, request, shape, ids, late)
        except OperatorNeeded as error:
            if error.code == COLUMN_MISSING.code:
                raise ColumnGoneError(error) from None
            raise

    def last_key(self, request: ChunkRequest, shape: Projection) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        columns = key_columns(self.session.catalogue.described(request.table))
        sql = chunk_sql.one_key(request, shape, columns, descending=True)
        try:
            found = self.session.session.rows(sql, f"find the last key of {request.table}")
        except OperatorNeeded as error:
            if error.code == COLUMN_MISSING.code:
                raise KEY_GONE(table=request.table, column=request.key[0]) from None
            raise
        types = [column.type for column in found.columns]
        return next((_bound(row, types) for row in found.rows), None)

    def cuts(self, request: ChunkRequest, shape: Projection, parts: int) -> Sequence[Bound]:
        """Return nothing: a table is read in one part."""
        del request, shape, parts
        return ()

    def expected(self, request: ChunkRequest) -> int | None:
        """Return nothing: the server's figures are not asked for."""
        del request
        return None

    def rows_at(self, request: ChunkRequest, shape: Projection, bound: Bound) -> int:
        """Count the rows of one key, up to two."""
        del shape
        columns = key_columns(self.session.catalogue.described(request.table))
        sql = chunk_sql.one_of(request, columns, bound, most=2)
        return len(self.session.session.rows(sql, f"look for a key of {request.table}").rows)

    def count_doubled_keys(self, table: TableId, key: Sequence[str]) -> int | None:
        """Return 0 if an index makes the key unique, else None: each chunk finds keys of several rows."""
        return 0 if is_proven_unique(self.session.catalogue.described(table), key) else None

    def origin(self, table: TableId) -> SqlServerRowOrigin:
        """Return where the table's rows come from."""
        return SqlServerRowOrigin(self._labels, table)

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        return self._begin_whole(table)

    def close(self) -> None:
        """End the connection."""
        self.session.session.close()

    def _slices(
        self, sql: str, request: ChunkRequest, shape: Projection, ids: WriterIds, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        taking: SqlServerSlicing | None = None
        stream = self.session.session.stream(sql, AT_ONCE, f"read a chunk of {request.table}")
        with closing(cast("Generator[TdsBatch, None, None]", stream)) as batches:
            for batch in batches:
                if taking is None:
                    taking = chunk_slicing(request, shape, ids, [column.type for column in batch.columns])
                rows = packed_rows(batch)
                if taking.fill(rows) < len(rows) or taking.full or late.passed(taking.count):
                    return taking.end(), False
        return ((), True) if taking is None else (taking.end(), taking.count < request.most_rows)


def chunk_reader(
    begin: Callable[[], SqlServerReadSession],
    labels: SqlServerSourceLabels,
    around: Surroundings,
    begin_whole: BeginWhole,
) -> SqlServerReader:
    """Open a reader from functions that connect, and that begin a read without a key."""
    given_up = GivenUp()
    queries = SqlServerRowQueries(begin(), labels, around, begin_whole)
    given_up.cancel = queries.session.session.cancel
    return ChunkReads(queries, around, given_up, KEY_HIDDEN)


def chunk_slicing(
    request: ChunkRequest,
    shape: Projection,
    ids: WriterIds,
    types: Sequence[WireType],
    bound_of: Callable[[bytes], Bound] | None = None,
) -> SqlServerSlicing:
    """Make what takes the rows of a SELECT of a table's columns."""
    decoder = SqlServerRowDecoder(_NO_REF, shape, cell_forms(shape, types), ids.key or 0, ids.value)
    names = [column.name for column in shape.source.columns]
    places = [names.index(name) for name in request.key]
    bound = bound_of or partial(_bound_of, places, [types[place] for place in places])
    return SqlServerSlicing(decoder.read, bound, request)


def readable_shape(catalogue: SqlServerCatalogue, table: TableId) -> Projection:
    """Return a table's shape; refuse one whose values a SELECT of ours would show masked."""
    shape = catalogue.describe(table)
    if masked := catalogue.described(table).masked(shape):
        database = identifier(table.database)
        raise VALUES_MASKED(table=table, database=database, columns=", ".join(masked))
    return shape


def packed_rows(batch: TdsBatch) -> list[bytes]:
    """Return each row of a batch in one piece."""
    return RowPacker().pack(batch)


def key_columns(facts: SqlServerTableFacts) -> dict[str, SqlServerKeyColumn]:
    """Return a table's columns as bounds are compared with them."""
    return {
        column.name: SqlServerKeyColumn(column.name, column.type, column.nullable, column.collation)
        for column in facts.columns
    }


def is_proven_unique(facts: SqlServerTableFacts, key: Sequence[str]) -> bool:
    """Whether a unique index over some of these columns, which are never null, proves it."""
    sure = {column.number for column in facts.columns if column.name in key and not column.nullable}
    return any(set(parts) <= sure for _, parts in facts.unique)


def _bound_of(places: Sequence[int], types: Sequence[WireType], row: bytes) -> Bound:
    cells = unpack_row(row)
    return _bound([cells[place] for place in places], types)


def _bound(cells: Sequence[bytes | None], types: Sequence[WireType]) -> Bound:
    pairs = zip(types, cells, strict=True)
    return tuple(None if cell is None else text_of(wire, cell) for wire, cell in pairs)
