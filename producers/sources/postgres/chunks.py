"""Chunks of existing rows: one COPY of one SELECT between two keys, through the log's own decoder.

COPY takes no parameters, so here alone values enter SQL text: the bounds, quoted as literals by
psycopg and cast to their column's type.  Rows are compared as tuples, `(a, b) > (x, y)`, by the
server, in the columns' own order and collation (key_order.py).  The statement is its own
transaction, so it sees everything that was committed before it began, and holds nothing open after it.
A statement that is left before its end takes its connection along: a cancel could hit the next one.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Event
from typing import Any, TypeAlias, TypeVar

from psycopg import errors, pq, sql

from wrackline.producers.changes import Position
from wrackline.producers.chunks import Bound, Chunk, ChunkRequest, Slice, TailOf
from wrackline.producers.plugin import Surroundings, WholeRead
from wrackline.producers.sources.postgres import condition_sql
from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.copying import RefusedError, copied
from wrackline.producers.sources.postgres.discover import Catalogue
from wrackline.producers.sources.postgres.key_order import key_order
from wrackline.producers.sources.postgres.marks import PgMarks
from wrackline.producers.sources.postgres.names import identifier, table_name
from wrackline.producers.sources.postgres.origin import Labels, no_row, source_record
from wrackline.producers.sources.postgres.patience import Guarded, unhurried
from wrackline.producers.sources.postgres.position import PgPosition
from wrackline.producers.sources.postgres.rows import RowDecoder
from wrackline.producers.sources.postgres.slicing import Slicing
from wrackline.producers.sources.postgres.sqlstates import asking, explained_answer
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.frame import Frame
from wrackline.schemas.projection import Plain, Projection
from wrackline.schemas.seq import snapshot_prefix
from wrackline.schemas.table import TableId

KEY_HIDDEN = define(
    "pg.key_hidden",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}: a chunk's bounds are saved in Kafka, and the"
    " settings hide this column",
    hint="order the snapshot by columns that are not hidden: surrogate-key in its request; or make such"
    " columns the key: message.key.columns={table}:<columns>",
)


@dataclass(frozen=True, slots=True)
class PgTail:
    """Makes the second half of a chunk's values; with a head the whole, of a `t` event.

    Rows that were read at a place of their own say so, wherever they are released.
    """

    labels: Labels
    table: TableId
    op: str = "r"
    head: bytes = b""
    place: int | None = None

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
        """Return the tail of every row that is released at this place."""
        if not isinstance(released_at, PgPosition):
            raise TypeError("a chunk is released at a position of its own source")
        lsn = released_at.lsn if self.place is None else self.place
        source = source_record(self.labels, self.table, ts_ms=ts_ms, lsn=lsn, snapshot=snapshot)
        prefix = snapshot_prefix(released_at.epoch, lsn.to_bytes(8, "big"))
        return self.head + Frame(source, prefix, ts_ms=ts_ms, chunk=chunk).tail(self.op)


ROWS_HIDDEN = define(
    "pg.rows_hidden",
    OperatorNeeded,
    "policies of {table} hide rows from {role}, so its rows are not read: some would be missing",
    hint="as a superuser: ALTER ROLE {role} BYPASSRLS; then: wrackline snapshot start <pipeline.toml>"
    " '{table}'",
)
KEY_UNFIT = define(
    "pg.key_unfit",
    OperatorNeeded,
    "a key that was asked for does not fit {table}, whose rows are read in the order of {columns}",
    hint="give each key a value for each of these columns, in this order and without NUL, in a request with a"
    " new id",
)

# Of a table that nobody has looked at, PostgreSQL knows the size in pages alone.
_GUESS = """
SELECT sum(CASE WHEN pages = 0 THEN 0 WHEN relpages > 0 THEN greatest(reltuples, 0) * pages / relpages END),
    bool_and(pages = 0 OR relpages > 0)
FROM pg_class c, LATERAL (SELECT pg_relation_size(c.oid) / current_setting('block_size')::int AS pages) AS now
WHERE relkind = 'r'
AND (oid = %(table)s::regclass OR oid IN (SELECT relid FROM pg_partition_tree(%(table)s::regclass)))"""
_WORTH = 50_000  # rows from which a table is read in parts: fewer are about one chunk
_SAMPLE = 10_000  # rows that are looked at, by whole pages, so that a hundred pages or so are read
# The last of each part's keys, in the columns' own order: DISTINCT ON takes the first of those that go down.
_CUTS = """
SELECT {texts} FROM (
    SELECT DISTINCT ON ("its part") "its part", {columns} FROM (
        SELECT {columns}, ntile({parts}) OVER (ORDER BY {columns}) AS "its part"
        FROM {table} TABLESAMPLE SYSTEM ({percent}) WHERE {where}) AS sampled
    ORDER BY "its part", {down}) AS cut
ORDER BY "its part"
"""
_LOCKS = "SET lock_timeout = '10s'"  # a read that nobody waits for any more does not wait for ever


_NO_COLUMN = b"42703"

T = TypeVar("T")
BeginWhole: TypeAlias = Callable[[Catalogue, TableId, Event], WholeRead]


@dataclass(frozen=True, slots=True)
class Session:
    """A connection of a reader's own, and what looks through it."""

    connection: Guarded
    catalogue: Catalogue
    marks: PgMarks


class PgReader:
    """Reads chunks on one connection after another, of which none is shared."""

    def __init__(
        self, begin: Callable[[], Session], labels: Labels, around: Surroundings, whole: BeginWhole
    ) -> None:
        """Take how to connect, and how to begin the one read of a table without a key."""
        self._begin, self._labels, self._around, self._whole = begin, labels, around, whole
        self._given_up = Event()
        self._session = self._begun()

    @property
    def marks(self) -> PgMarks:
        """The marks of the same connection."""
        return self._session.marks

    def last_key(self, request: ChunkRequest) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        order = sql.SQL(", ").join(sql.SQL("{} DESC").format(sql.Identifier(name)) for name in request.key)
        connection, catalogue = self._session.connection, self._session.catalogue
        with asking(connection, f"find the last key of {request.table}", request.table):
            _see_that_none_is_hidden(request, catalogue.describe(request.table))

            def find() -> Sequence[object] | None:
                query = sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT 1").format(
                    _texts(request.key), own_rows(connection, request.table), self._where(request), order
                )
                with unhurried(connection):
                    return connection.execute(query).fetchone()

            found = _again_if_altered(find)
        return None if found is None else _bound_of(found)

    def cuts(self, request: ChunkRequest, parts: int) -> Sequence[Bound]:
        """Return the last key of each part of a sample but the last; none of a table that is small."""
        order = sql.SQL(", ").join(sql.Identifier(name) for name in request.key)
        down = sql.SQL(", ").join(sql.SQL("{} DESC").format(sql.Identifier(name)) for name in request.key)
        connection = self._session.connection
        with asking(connection, f"cut {request.table} into parts", request.table):
            rows = self._planned(request.table, sql.SQL("true"))
            if rows < _WORTH:
                return ()

            def cut() -> Sequence[Bound]:
                query = sql.SQL(_CUTS).format(
                    columns=order,
                    parts=sql.Literal(parts),
                    down=down,
                    texts=_texts(request.key),
                    table=own_rows(connection, request.table),
                    percent=sql.Literal(100 * _SAMPLE / rows),
                    where=self._where(request),
                )
                with unhurried(connection):
                    return [_bound_of(row) for row in connection.execute(query).fetchall()[:-1]]

            return _again_if_altered(cut)

    def expected(self, request: ChunkRequest) -> int | None:
        """Return how many rows there are by the table's size, of a part of it what the planner expects.

        None where some of the table was never analyzed or vacuumed.
        """
        connection = self._session.connection
        with asking(connection, f"estimate the rows of {request.table}", request.table):
            found = connection.execute(_GUESS, {"table": table_name(request.table)}).fetchone()
            if found is None or not found[1]:
                return None
            if request.after is None and request.upto is None and request.condition is None:
                return round(float(str(found[0])))
            return self._planned(request.table, self._where(request))

    def read(self, request: ChunkRequest) -> Chunk:
        """Read with one statement; a shape that changed meanwhile makes the read be made again."""
        with asking(self._session.connection, reading(request.table), request.table):
            shape = self._session.catalogue.describe(request.table)
            while True:
                _see_that_none_is_hidden(request, shape)
                read = self._copy(request, shape)
                now = self._session.catalogue.describe(request.table)
                if now == shape and read is not None:
                    return Chunk(shape.table, *read, PgTail(self._labels, request.table))
                shape = now

    def void(self, table: TableId) -> TailOf:
        """Return what makes a `t` event of our own."""
        connection = self._session.connection
        with asking(connection, f"describe {table}", table):
            shape = self._session.catalogue.describe(table)
        return PgTail(self._labels, table, "t", no_row(self._around.register(shape.table).value))

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        with asking(self._session.connection, reading(table), table):
            return self._whole(self._session.catalogue, table, self._given_up)

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self._session.connection.closed

    def give_up(self) -> None:
        """Let what is under way end soon, with an error; any thread may ask for it."""
        self._given_up.set()

    def close(self) -> None:
        """End the connection, and what the server still does for it."""
        self._session.connection.close()

    def _planned(self, table: TableId, where: sql.Composable) -> int:
        """Return how many rows the planner expects.

        It knows the table's size of now, also of one that was never analyzed; and partitions' together.
        """
        connection = self._session.connection
        rows = own_rows(connection, table)
        query = sql.SQL("EXPLAIN (FORMAT JSON) SELECT FROM {} WHERE {}").format(rows, where)
        explained: Any = connection.execute(query).fetchone()
        return int(explained[0][0]["Plan"]["Plan Rows"])

    def _begun(self) -> Session:
        session = self._begin()
        session.connection.given_up = self._given_up
        with asking(session.connection, "take a session's settings"):
            session.connection.execute(_LOCKS)
        return session

    def _copy(self, request: ChunkRequest, shape: Projection) -> tuple[tuple[Slice, ...], bool] | None:
        """Read the slices, and whether the range holds no more; None where the shape is not the table's."""
        ids = self._around.register(shape.table)
        connection = self._session.connection
        statement = self._statement(request, shape).as_string(connection).encode()
        decoder = RowDecoder(0, shape, ids.key or 0, ids.value)
        slicing = Slicing(decoder, [column.name for column in shape.source.columns], request)
        late = Late(self._around.monotonic, request.most_seconds)

        def ended() -> bool:
            return slicing.full or (slicing.count > 0 and late.now())

        try:
            # rows that a condition names may lie far apart, and the server is silent between them
            patient = nullcontext() if request.condition is None else unhurried(connection)
            with patient:
                whole = copied(connection, statement, slicing.fill, ended)
        except RefusedError as refused:
            altered = refused.answer.error_field(pq.DiagnosticField.SQLSTATE) == _NO_COLUMN
            if altered and self._session.catalogue.describe(request.table) != shape:
                return None
            raise self._explained(request.table, refused.answer) from None
        except WracklineError:
            connection.close()
            raise
        if not whole:
            connection.close()
            self._session = self._begun()
        return slicing.end(), whole and slicing.count < request.most_rows

    def _explained(self, table: TableId, answer: pq.abc.PGresult) -> WracklineError:
        return explained_answer(answer, reading(table), self._session.connection.info.user, table)

    def _statement(self, request: ChunkRequest, shape: Projection) -> sql.Composed:
        order = sql.SQL(", ").join(sql.Identifier(name) for name in request.key)
        return sql.SQL("COPY (SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT {}) TO STDOUT").format(
            columns_of(shape),
            own_rows(self._session.connection, request.table),
            self._where(request),
            order,
            sql.Literal(request.most_rows),
        )

    def _where(self, request: ChunkRequest) -> sql.Composable:
        """Write the range, the single keys and the additional condition."""
        _see_that_bounds_fit(request)
        connection = self._session.connection
        order = key_order(connection, request.table, request.key)
        parts: list[sql.Composable] = [sql.SQL("true")]
        if request.after is not None:
            parts.append(order.after(request.after))
        if request.upto is not None:
            parts.append(order.upto(request.upto))
        if request.only:
            parts.append(order.one_of(request.only))
        if request.condition is not None:
            shape = self._session.catalogue.describe(request.table)
            parts.append(condition_sql.where(connection, request.table, request.condition, shape.kept))
        return sql.SQL(" AND ").join(parts)


def _again_if_altered(ask: Callable[[], T]) -> T:
    """Ask, and once more where a column went while the question waited for who altered the table."""
    try:
        return ask()
    except errors.UndefinedColumn:
        return ask()


def _see_that_bounds_fit(request: ChunkRequest) -> None:
    """A bound may be what somebody asked for."""
    for bound in (request.after, request.upto, *request.only):
        if bound is not None and (
            len(bound) != len(request.key) or any("\0" in (part or "") for part in bound)
        ):
            raise KEY_UNFIT(table=request.table, columns=", ".join(request.key))


def columns_of(shape: Projection) -> sql.Composed:
    """Name the columns that are read, as many as the shape has."""
    return sql.SQL(", ").join(
        sql.SQL("NULL") if action is Plain.DROP else sql.Identifier(column.name)
        for column, action in zip(shape.source.columns, shape.actions, strict=True)
    )


class Late:
    """Whether a read has had its time: from its first row on, for what comes before is no progress."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._until: float | None = None

    def now(self) -> bool:
        """Look at the clock."""
        if self._until is None:
            self._until = self._clock() + self._seconds
        return self._clock() >= self._until


def _see_that_none_is_hidden(request: ChunkRequest, shape: Projection) -> None:
    """A bound is the key as the database has it, so what orders the rows must be allowed to leave."""
    for column, action in zip(shape.source.columns, shape.actions, strict=True):
        if column.name in request.key and action is not Plain.KEEP:
            raise KEY_HIDDEN(table=f"{request.table.schema}.{request.table.name}", column=column.name)


def reading(table: TableId) -> str:
    """What the server did not do, where it did not."""
    return f"read a chunk of {table}"


_STANDING = """
SELECT relkind = 'p', current_setting('row_security') = 'off' AND row_security_active(oid)
FROM pg_class WHERE oid = %s::regclass"""


def own_rows(connection: Connection, table: TableId) -> sql.Composable:
    """Name a table to read from, without those that inherit from it.

    The log tells the rows of these under their own names, but partitions' under their root's.
    """
    ((partitioned, hidden),) = connection.execute(_STANDING, [table_name(table)])
    if hidden:
        raise ROWS_HIDDEN(table=table, role=identifier(connection.info.user))
    name = sql.Identifier(table.schema, table.name)
    return name if partitioned else sql.SQL("ONLY {}").format(name)


def _texts(key: Sequence[str]) -> sql.Composable:
    """A key's columns as the server writes them; null stays null."""
    text = sql.SQL("CASE WHEN {0} IS DISTINCT FROM NULL THEN format('%s', {0}) END")
    return sql.SQL(", ").join(text.format(sql.Identifier(name)) for name in key)


def _bound_of(row: Sequence[object]) -> Bound:
    return tuple(None if part is None else str(part) for part in row)
