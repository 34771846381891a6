"""Chunks of existing rows: one COPY of one SELECT between two keys, through the log's own decoder.

COPY takes no parameters, so only here do values enter SQL text: the bounds, quoted as literals by
psycopg and cast to their column's type.  Rows are compared as tuples, `(a, b) > (x, y)`, by the
server, in the columns' own order and collation (key_order.py).  The statement is its own
transaction, so it sees everything that was committed before it began, and holds nothing open after it.
A statement that is left before its end closes its connection: a cancel could hit the next statement.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeAlias, TypeVar

from psycopg import errors, pq, sql

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings, WholeRead, WriterIds
from wrackline.producers.contract.steps import Position
from wrackline.producers.kit.reads import chunk_sql
from wrackline.producers.kit.reads.chunk_reads import (
    WORTH_PARTS,
    ChunkReads,
    ColumnGoneError,
    ReadDeadline,
    read_action,
)
from wrackline.producers.sources.postgres.chunks import condition_sql, key_uniqueness
from wrackline.producers.sources.postgres.chunks.copy_lines import CopyRefusedError, copy_rows
from wrackline.producers.sources.postgres.chunks.key_order import DIALECT, key_order
from wrackline.producers.sources.postgres.chunks.marks import PgMarks
from wrackline.producers.sources.postgres.chunks.slicing import PgSlicing
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier, table_name
from wrackline.producers.sources.postgres.connect.server_errors import explain_answer, translate_errors
from wrackline.producers.sources.postgres.connect.timeouts import TimedConnection, without_timeout
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.producers.sources.postgres.log.position import PgPosition
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
from wrackline.producers.sources.postgres.rows.source_record import PgSourceLabels, source_record
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.seq import snapshot_prefix
from wrackline.schemas.tables.table import TableId, TableSchema

KEY_HIDDEN = define(
    "pg.key_hidden",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}, because a chunk's bounds are saved in"
    " Kafka and the settings hide this column",
    hint="order the snapshot by columns that are not hidden: surrogate-key in its request; or make such"
    " columns the key: message.key.columns = '{table}:<columns>'",
)


ROWS_HIDDEN = define(
    "pg.rows_hidden",
    OperatorNeeded,
    "policies of {table} hide rows from {role}, so its rows are not read, because some would be missing",
    hint="as a superuser: ALTER ROLE {role} BYPASSRLS; then: wrackline snapshot start <pipeline.toml>"
    " '{table}'",
)

# For a table that was never analyzed or vacuumed, PostgreSQL knows only the size in pages.
_GUESS = """
SELECT sum(CASE WHEN pages = 0 THEN 0 WHEN relpages > 0 THEN greatest(reltuples, 0) * pages / relpages END),
    bool_and(pages = 0 OR relpages > 0)
FROM pg_class c, LATERAL (SELECT pg_relation_size(c.oid) / current_setting('block_size')::int AS pages) AS now
WHERE relkind = 'r'
AND (oid = %(table)s::regclass OR oid IN (SELECT relid FROM pg_partition_tree(%(table)s::regclass)))"""
_SAMPLE = 10_000  # rows that are looked at, by whole pages, so that about a hundred pages are read
# The last key of each part, in the columns' own order: DISTINCT ON takes the first key in descending order.
_CUTS = """
SELECT {texts} FROM (
    SELECT DISTINCT ON ("its part") "its part", {columns} FROM (
        SELECT {columns}, ntile({parts}) OVER (ORDER BY {columns}) AS "its part"
        FROM {table} TABLESAMPLE SYSTEM ({percent}) WHERE {where}) AS sampled
    ORDER BY "its part", {down}) AS cut
ORDER BY "its part"
"""
_LOCKS = "SET lock_timeout = '10s'"  # a read that nobody needs any more does not wait for ever


_NO_COLUMN = b"42703"

T = TypeVar("T")
BeginWhole: TypeAlias = Callable[[PgCatalogue, TableId, Event], WholeRead]
PgReader: TypeAlias = ChunkReads[PgMarks]


@dataclass(frozen=True, slots=True)
class PgReadSession:
    """A reader's own connection, and the parts that use it."""

    connection: TimedConnection
    catalogue: PgCatalogue
    marks: PgMarks


@dataclass(frozen=True, slots=True)
class PgRowOrigin:
    """Where rows of a table come from; the rows of a read at a place of its own have that place."""

    labels: PgSourceLabels
    table: TableId
    place: int | None = None

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
        """Return the `source` record, and the beginning of the seq."""
        if not isinstance(released_at, PgPosition):
            raise TypeError("a chunk is released at a position of its own source")
        lsn = released_at.lsn if self.place is None else self.place
        committed = released_at.committed
        source = source_record(
            self.labels, self.table, ts_ms=ts_ms, lsn=lsn, committed=committed, snapshot=snapshot
        )
        return source, snapshot_prefix(released_at.epoch, lsn.to_bytes(8, "big"))


class PgRowQueries:
    """Asks about rows on one connection after another; no connection is shared."""

    def __init__(
        self,
        begin: Callable[[], PgReadSession],
        labels: PgSourceLabels,
        register: Callable[[TableSchema], WriterIds],
        begin_whole: BeginWhole,
        given_up: Event,
    ) -> None:
        """Take the functions that connect, and that begin the one read of a table without a key."""
        self._begin, self._labels, self._register, self._begin_whole = begin, labels, register, begin_whole
        self._given_up = given_up
        self.session = self._begin_session()

    @property
    def marks(self) -> PgMarks:
        """The marks of the same connection."""
        return self.session.marks

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self.session.connection.closed

    def asking(self, action: str, table: TableId) -> AbstractContextManager[None]:
        """Turn the server's errors into ours."""
        return translate_errors(self.session.connection, action, table)

    def describe(self, table: TableId) -> Projection:
        """Return the table's shape now."""
        return self.session.catalogue.describe(table)

    def hold(self, table: TableId) -> AbstractContextManager[Callable[[], None]]:
        """Hold nothing: a statement is its own transaction, and its place in the log is unknown."""
        del table
        return nullcontext(lambda: None)

    def last_key(self, request: ChunkRequest, shape: Projection) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        connection = self.session.connection

        def find() -> Sequence[object] | None:
            source, where = _source(connection, request.table), self._where(request, shape)
            query = DIALECT.select(
                _texts(request.key), source, where, key=request.key, descending=True, most=1
            )
            with without_timeout(connection):
                return connection.execute(query.encode()).fetchone()

        found = _again_if_altered(find)
        return None if found is None else _bound_of(found)

    def cuts(self, request: ChunkRequest, shape: Projection, parts: int) -> Sequence[Bound]:
        """Return the last key of each part of a sample, except the last part."""
        connection = self.session.connection
        rows = self._planned(request.table, DIALECT.always)
        if rows < WORTH_PARTS:
            return ()

        def cut() -> Sequence[Bound]:
            query = _CUTS.format(
                columns=DIALECT.named(request.key),
                parts=parts,
                down=DIALECT.ordered(request.key, descending=True),
                texts=_texts(request.key),
                table=_source(connection, request.table),
                percent=100 * _SAMPLE / rows,
                where=self._where(request, shape),
            )
            with without_timeout(connection):
                return [_bound_of(row) for row in connection.execute(query.encode()).fetchall()[:-1]]

        return _again_if_altered(cut)

    def expected(self, request: ChunkRequest) -> int | None:
        """Estimate the rows: of a whole table by its size, of a part of it by the planner.

        None where a part of the table was never analyzed or vacuumed.
        """
        found = self.session.connection.execute(_GUESS, {"table": table_name(request.table)}).fetchone()
        if found is None or not found[1]:
            return None
        if request.after is None and request.upto is None and request.condition is None:
            return round(float(str(found[0])))
        return self._planned(request.table, self._where(request, self.describe(request.table)))

    def read(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        """Read the slices with one COPY, and whether the range holds no more."""
        ids = self._register(shape.table)
        connection = self.session.connection
        columns = chunk_sql.columns_of(DIALECT, shape)
        source, where = _source(connection, request.table), self._where(request, shape)
        rows = DIALECT.select(columns, source, where, key=request.key, most=request.most_rows)
        decoder = PgRowDecoder(0, shape, ids.key or 0, ids.value)
        slicing = PgSlicing(decoder, [column.name for column in shape.source.columns], request)

        def ended() -> bool:
            return slicing.full or late.passed(slicing.count)

        try:
            # rows that match a condition may lie far apart, and the server is silent between them
            patient = nullcontext() if request.condition is None else without_timeout(connection)
            with patient:
                whole = copy_rows(connection, f"COPY ({rows}) TO STDOUT".encode(), slicing.fill, ended)
        except CopyRefusedError as refused:
            error = explain_answer(
                refused.answer, read_action(request.table), connection.info.user, request.table
            )
            if refused.answer.error_field(pq.DiagnosticField.SQLSTATE) == _NO_COLUMN:
                raise ColumnGoneError(error) from None
            raise error from None
        except WracklineError:
            connection.close()
            raise
        if not whole:
            connection.close()
            self.session = self._begin_session()
        return slicing.end(), whole and slicing.count < request.most_rows

    def rows_at(self, request: ChunkRequest, shape: Projection, bound: Bound) -> int:
        """Count the rows of one key, up to two."""
        del shape
        connection = self.session.connection
        same = key_order(connection, request.table, request.key).one_of([bound])
        rows = DIALECT.select("", _source(connection, request.table), same, most=2)
        with without_timeout(connection):
            ((found,),) = connection.execute(DIALECT.select("count(*)", f"({rows}) AS same").encode())
        return int(str(found))

    def count_doubled_keys(self, table: TableId, key: Sequence[str]) -> int | None:
        """Count the keys that several rows have, unless an index proves that there are none."""
        connection = self.session.connection
        if key_uniqueness.is_proven_unique(connection, table, key):
            return 0
        return key_uniqueness.count_duplicates(connection, own_rows(connection, table), key)

    def origin(self, table: TableId) -> PgRowOrigin:
        """Return where the table's rows come from."""
        return PgRowOrigin(self._labels, table)

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        return self._begin_whole(self.session.catalogue, table, self._given_up)

    def close(self) -> None:
        """End the connection, and the work that the server still does for it."""
        self.session.connection.close()

    def _planned(self, table: TableId, where: str) -> int:
        """Return how many rows the planner expects.

        It knows the current size, also of a table that was never analyzed, and the sum of all partitions.
        """
        connection = self.session.connection
        query = f"EXPLAIN (FORMAT JSON) {DIALECT.select('', _source(connection, table), where)}"
        explained: Any = connection.execute(query.encode()).fetchone()
        return int(explained[0][0]["Plan"]["Plan Rows"])

    def _begin_session(self) -> PgReadSession:
        session = self._begin()
        session.connection.given_up = self._given_up
        with translate_errors(session.connection, "take a session's settings"):
            session.connection.execute(_LOCKS)
        return session

    def _where(self, request: ChunkRequest, shape: Projection) -> str:
        """Write the range, the single keys and the additional condition."""
        connection = self.session.connection
        order, condition = key_order(connection, request.table, request.key), None
        if request.condition is not None:
            condition = condition_sql.where(connection, request.table, request.condition, shape.plain_columns)
        return chunk_sql.where(order, request, condition)


def chunk_reader(
    begin: Callable[[], PgReadSession], labels: PgSourceLabels, around: Surroundings, whole: BeginWhole
) -> PgReader:
    """Open a reader from functions that connect, and that begin the one read of a table without a key."""
    given_up = Event()
    queries = PgRowQueries(begin, labels, around.register, whole, given_up)
    return ChunkReads(queries, around, given_up, KEY_HIDDEN)


def _again_if_altered(ask: Callable[[], T]) -> T:
    """Ask, and ask again where a column was dropped while the query waited for an ALTER of the table."""
    try:
        return ask()
    except errors.UndefinedColumn:
        return ask()


_STANDING = """
SELECT relkind = 'p', current_setting('row_security') = 'off' AND row_security_active(oid)
FROM pg_class WHERE oid = %s::regclass"""


def own_rows(connection: Connection, table: TableId) -> sql.Composable:
    """Name a table to read from, without the tables that inherit from it.

    The log has their rows under their own names, but the rows of partitions under the name of their root.
    """
    ((partitioned, hidden),) = connection.execute(_STANDING, [table_name(table)])
    if hidden:
        raise ROWS_HIDDEN(table=table, role=identifier(connection.info.user))
    name = sql.Identifier(table.schema, table.name)
    return name if partitioned else sql.SQL("ONLY {}").format(name)


def _source(connection: Connection, table: TableId) -> str:
    """Write the same as text."""
    return own_rows(connection, table).as_string(connection)


def _texts(key: Sequence[str]) -> str:
    """Write a key's columns as the server writes their values; null stays null."""
    return ", ".join(
        f"CASE WHEN {name} IS DISTINCT FROM NULL THEN format('%s', {name}) END"
        for name in map(identifier, key)
    )


def _bound_of(row: Sequence[object]) -> Bound:
    return tuple(None if part is None else str(part) for part in row)
