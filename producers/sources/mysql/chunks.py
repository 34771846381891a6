"""Chunks of existing rows: one SELECT between two keys, whose binary rows go through the log's encoder.

Rows are compared lexicographically by the server, in the columns' own order
and collation (`key_order.py`), along the key's own index, which is named where nothing else narrows the read:
the planner would else now and then sort the whole table for one chunk.

A chunk on MariaDB is read in a consistent snapshot and knows its own place, which is its fence; on MySQL the
fence is read after.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TypeAlias

from pymysql.cursors import DictCursor

from wrackline.producers.changes import Position
from wrackline.producers.chunks import Bound, Chunk, ChunkRequest, ChunkRow, Slice, TailOf
from wrackline.producers.plugin import MarkKind, Surroundings, WholeRead
from wrackline.producers.sources.mysql import chunk_sql
from wrackline.producers.sources.mysql.key_order import key_column
from wrackline.producers.sources.mysql.marks import Fence, MySqlMarks, Place, asked
from wrackline.producers.sources.mysql.names import table_name
from wrackline.producers.sources.mysql.origin import Labels, Whence, no_row, source_record
from wrackline.producers.sources.mysql.position import MySqlPosition
from wrackline.producers.sources.mysql.reading import Decoding, Session, end, fresh_transaction, settle
from wrackline.producers.sources.mysql.server_errors import asking, close
from wrackline.producers.sources.mysql.slicing import Slicing
from wrackline.producers.sources.mysql.statement_rows import (
    Connection,
    GivenUpError,
    LostError,
    RefusedError,
    ResultColumn,
    StatementRows,
)
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.frame import Frame
from wrackline.schemas.projection import Plain, Projection
from wrackline.schemas.seq import snapshot_prefix
from wrackline.schemas.table import TableId

KEY_HIDDEN = define(
    "mysql.key_hidden",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}: a chunk's bounds are saved in Kafka, and the"
    " settings hide this column",
    hint="order the snapshot by columns that are not hidden: surrogate-key in its request; or make such"
    " columns the key: message.key.columns={table}:<columns>",
)

_WORTH = 50_000  # rows from which a table is read in parts: fewer are about one chunk
_COUNTED = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
_NO_COLUMN, _NO_INDEX = 1054, 1176

BeginWhole: TypeAlias = Callable[[TableId, Event], WholeRead]


@dataclass(frozen=True, slots=True)
class MySqlTail:
    """Makes the second half of a chunk's values; with a head the whole, of a `t` event.

    Rows that were read at a place of their own say so, wherever they are released.
    """

    labels: Labels
    table: TableId
    op: str = "r"
    head: bytes = b""
    place: Place | None = None

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
        """Return the tail of every row that is released at this place."""
        if not isinstance(released_at, MySqlPosition):
            raise TypeError("a chunk is released at a position of its own source")
        at = released_at
        if self.place is not None:
            at = replace(at, file=self.place.file, offset=self.place.offset)
        source = source_record(self.labels, self.table, Whence(at.offset), ts_ms=ts_ms, snapshot=snapshot)
        prefix = snapshot_prefix(at.epoch, at.seq())
        return self.head + Frame(source, prefix, ts_ms=ts_ms, chunk=chunk).tail(self.op)


class MySqlReader:
    """Reads chunks on one connection after another, of which none is shared."""

    def __init__(
        self,
        begin: Callable[[], Session],
        connect: Callable[[], Connection],
        decoding: Decoding,
        labels: Labels,
        around: Surroundings,
        whole: BeginWhole,
    ) -> None:
        """Take how to connect, what decodes rows, and how to begin the one read of a table without a key."""
        self._begin, self._connect, self._decoding = begin, connect, decoding
        self._labels, self._around, self._whole = labels, around, whole
        self._given_up = Event()
        self._indexes: dict[tuple[TableId, tuple[str, ...]], str | None] = {}
        self._session = self._begun()

    @property
    def marks(self) -> MySqlMarks:
        """The marks of the same connection."""
        return self._session.marks

    def last_key(self, request: ChunkRequest) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        with asking(self._session.connection, f"find the last key of {request.table}", request.table):
            return self._key(request, self._described(request), descending=True)

    def cuts(self, request: ChunkRequest, parts: int) -> Sequence[Bound]:
        """Return keys that are there, next to equal steps of the first column from its least to its greatest.

        None where that is no whole number, for nobody can tell what lies halfway then, or of a small table.
        """
        with asking(self._session.connection, f"cut {request.table} into parts", request.table):
            shape = self._described(request)
            column = key_column(shape.source, request.key[0])
            if column.type.name not in _COUNTED or self._planned(request, shape) < _WORTH:
                return ()
            first, last = (self._key(request, shape, descending=down) for down in (False, True))
            if first is None or first[0] is None or last is None or last[0] is None:
                return ()
            low, high = int(first[0]), int(last[0])
            steps = (low + (high - low) * part // parts for part in range(1, parts))
            keys = [
                self._key(request, shape, descending=True, within=f"{column.sql} <= {step}") for step in steps
            ]
            # where a wide gap swallows several steps, they are one
            return list(dict.fromkeys(key for key in keys if key is not None and key != last))

    def expected(self, request: ChunkRequest) -> int | None:
        """Return how many rows the server's own figures say, of a part of it what the planner expects."""
        connection = self._session.connection
        with asking(connection, f"estimate the rows of {request.table}", request.table):
            if request.after is not None or request.upto is not None or request.condition is not None:
                return self._planned(request, self._described(request))
            question = (
                "SELECT table_rows FROM information_schema.tables WHERE (table_schema, table_name) = (%s, %s)"
            )
            found = asked(connection, question, request.table.schema, request.table.name)
            return None if not found or found[0][0] is None else int(found[0][0])

    def read(self, request: ChunkRequest) -> Chunk:
        """Read with one statement; a shape that changed meanwhile makes the read be made again."""
        with asking(self._session.connection, reading(request.table), request.table):
            shape = self._described(request)
            while True:
                with fresh_transaction(self._session) as place:
                    read = self._chunk(request, shape)
                    now = self._described(request)
                if now == shape and read is not None:
                    tail = MySqlTail(self._labels, request.table)
                    return Chunk(shape.table, *read, tail, self._mark(request.table, place))
                shape = now

    def void(self, table: TableId) -> TailOf:
        """Return what makes a `t` event of our own."""
        with asking(self._session.connection, f"describe {table}", table):
            shape = self._session.catalogue.describe(table)
        return MySqlTail(self._labels, table, "t", no_row(self._around.register(shape.table).value))

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        return self._whole(table, self._given_up)

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return not self._session.connection.open

    def give_up(self) -> None:
        """Let what is under way end soon, with an error; any thread may ask for it."""
        self._given_up.set()

    def close(self) -> None:
        """End the connection."""
        close(self._session.connection)

    def _begun(self) -> Session:
        session = self._begin()
        with asking(session.connection, "take a session's settings"):
            settle(session.connection)
        return session

    def _mark(self, table: TableId, place: Place | None) -> Fence | None:
        """Return the mark of a read that knows its own place; where marks are rows, one is written."""
        if place is None or self.marks.kind is not MarkKind.FENCE:
            return None
        return self.marks.at(f"read {table}", place)

    def _described(self, request: ChunkRequest) -> Projection:
        """Look up the table's shape; what orders the rows must be allowed to leave, for a bound is saved."""
        shape = self._session.catalogue.describe(request.table)
        for column, action in zip(shape.source.columns, shape.actions, strict=True):
            if column.name in request.key and action is not Plain.KEEP:
                raise KEY_HIDDEN(table=f"{request.table.schema}.{request.table.name}", column=column.name)
        return shape

    def _chunk(self, request: ChunkRequest, shape: Projection) -> tuple[tuple[Slice, ...], bool] | None:
        """Read the slices, and whether the range holds no more; None where the shape is not the table's."""
        ids = self._around.register(shape.table)
        late = Late(self._around.monotonic, request.most_seconds)

        def slicing(columns: tuple[ResultColumn, ...]) -> Slicing:
            bound_of = chunk_sql.bounds(shape.source, request.key, columns)
            return Slicing(self._decoding(shape, ids, columns), bound_of, request)

        try:
            statement = chunk_sql.rows(request, shape, self._index(request))
            taken, whole = self._rows(statement, slicing, late)
        except RefusedError as refused:
            if refused.number != _NO_COLUMN or self._described(request) == shape:
                raise
            return None
        return taken.end(), whole and taken.count < request.most_rows

    def _key(
        self, request: ChunkRequest, shape: Projection, *, descending: bool, within: str = "TRUE"
    ) -> Bound | None:
        """Return the first or the last key of a range."""
        one = ChunkRequest(request.table, request.key, most_rows=1)

        def slicing(columns: tuple[ResultColumn, ...]) -> Slicing:
            return Slicing(_AsItIs(), chunk_sql.bounds(shape.source, request.key, columns), one)

        index = self._index(request)
        statement = chunk_sql.one_key(request, shape, index, descending=descending, within=within)
        slices = self._rows(statement, slicing, None)[0].end()
        return slices[0].upto if slices else None

    def _rows(
        self, statement: str, slicing: Callable[[tuple[ResultColumn, ...]], Slicing], late: "Late | None"
    ) -> tuple[Slicing, bool]:
        """Run a statement; where it is left before its end, its connection ends with it."""
        connection = self._session.connection
        try:
            rows = StatementRows(connection, statement, self._given_up)
            taking = slicing(rows.columns)
            whole = rows.taken(taking, lambda: taking.full or (late is not None and late.now(taking.count)))
        except RefusedError as refused:
            if refused.number == _NO_INDEX:
                self._indexes.clear()
            raise
        except LostError as lost:
            if isinstance(lost, GivenUpError):
                end(connection, statement, self._connect)
            raise
        except BaseException:
            end(connection, statement, self._connect)
            raise
        if not whole:
            end(connection, statement, self._connect)
            self._session = self._begun()
        return taking, whole

    def _planned(self, request: ChunkRequest, shape: Projection) -> int:
        """Return how many rows the planner expects."""
        extended = "EXTENDED" if self._session.mariadb else "FORMAT=TRADITIONAL"
        rows = f"SELECT 1 FROM {table_name(request.table)} WHERE {chunk_sql.where(request, shape)}"  # noqa: S608
        with self._session.connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {extended} {rows}")
            names = [str(column[0]) for column in cursor.description or ()]
            plan = dict(zip(names, cursor.fetchone() or (), strict=False))
        return round(float(plan.get("rows") or 0) * float(plan.get("filtered") or 100) / 100)

    def _index(self, request: ChunkRequest) -> str | None:
        """Return the index that orders the rows so, if there is one."""
        wanted = (request.table, request.key)
        if wanted not in self._indexes:
            self._indexes[wanted] = index_by(self._session.connection, *wanted)
        return self._indexes[wanted]


class _AsItIs:
    """Keeps rows of which only the key is wanted."""

    def read(self, row: bytes) -> ChunkRow:
        return None, row


class Late:
    """Whether a read has had its time: from its first row on, for what comes before is no progress."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._until: float | None = None

    def now(self, rows: int) -> bool:
        """Look at the clock."""
        if not rows:
            return False
        if self._until is None:
            self._until = self._clock() + self._seconds
        return self._clock() >= self._until


def index_by(connection: Connection, table: TableId, key: tuple[str, ...]) -> str | None:
    """Ask which of the table's indexes the planner may use has these columns first, whole and in order."""
    with connection.cursor(DictCursor) as cursor:
        cursor.execute(
            "SELECT * FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s"
            " AND index_type = 'BTREE' ORDER BY index_name, seq_in_index",
            (table.schema, table.name),
        )
        found = [{name.lower(): value for name, value in row.items()} for row in cursor.fetchall()]
    return chunk_sql.index_of(
        key,
        [
            (str(part["index_name"]), part["column_name"], part["sub_part"] is None)
            for part in found
            if part.get("is_visible", "YES") == "YES" and part.get("ignored", "NO") == "NO"
        ],
    )


def reading(table: TableId) -> str:
    """What the server did not do, where it did not."""
    return f"read a chunk of {table}"
