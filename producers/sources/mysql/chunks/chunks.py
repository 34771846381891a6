"""Chunks of existing rows: one SELECT between two keys, whose binary rows go through the log's encoder.

The server compares rows lexicographically, in the columns' own order and collation (`key_order.py`), along
the key's own index.  The index is named where nothing else narrows the read: otherwise the planner would
sometimes sort the whole table for one chunk.

A chunk on MariaDB is read in a consistent snapshot and knows its own place, which is its fence; on MySQL the
fence is read afterwards.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import TypeAlias

from pymysql.cursors import DictCursor

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, ChunkRow, Slice
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings, WholeRead
from wrackline.producers.contract.steps import Position
from wrackline.producers.kit.reads.chunk_reads import WORTH_PARTS, ChunkReads, ColumnGoneError, ReadDeadline
from wrackline.producers.sources.mysql.chunks import chunk_sql, key_uniqueness
from wrackline.producers.sources.mysql.chunks.key_order import key_column
from wrackline.producers.sources.mysql.chunks.marks import LogOffset, MySqlFence, MySqlMarks, query_rows
from wrackline.producers.sources.mysql.chunks.read_session import (
    MySqlReadSession,
    ResultDecoding,
    RowReader,
    end_statement,
    fresh_transaction,
    set_up_session,
)
from wrackline.producers.sources.mysql.chunks.slicing import MySqlSlicing
from wrackline.producers.sources.mysql.connect.quoting import table_name
from wrackline.producers.sources.mysql.connect.server_errors import close, translate_errors
from wrackline.producers.sources.mysql.connect.statement_rows import (
    Connection,
    ConnectionLostError,
    GivenUpError,
    ResultColumn,
    StatementRefusedError,
    StatementRows,
)
from wrackline.producers.sources.mysql.log.position import MySqlPosition
from wrackline.producers.sources.mysql.rows.source_record import MySqlSourceLabels, source_record
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.seq import snapshot_prefix
from wrackline.schemas.tables.table import TableId

KEY_HIDDEN = define(
    "mysql.key_hidden",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}, because a chunk's bounds are saved in"
    " Kafka and the settings hide this column",
    hint="order the snapshot by columns that are not hidden: surrogate-key in its request; or make such"
    " columns the key: message.key.columns = '{table}:<columns>'",
)

_COUNTED = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
_NO_COLUMN, _NO_INDEX = 1054, 1176

BeginWhole: TypeAlias = Callable[[TableId, Event], WholeRead]


MySqlReader: TypeAlias = ChunkReads[MySqlMarks]


@dataclass(frozen=True, slots=True)
class MySqlRowOrigin:
    """Where rows of a table come from; the rows of a read at a place of its own have that place."""

    labels: MySqlSourceLabels
    table: TableId
    place: LogOffset | None = None

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
        """Return the `source` record, and the beginning of the seq."""
        if not isinstance(released_at, MySqlPosition):
            raise TypeError("a chunk is released at a position of its own source")
        at = released_at
        if self.place is not None:
            at = replace(at, file=self.place.file, offset=self.place.offset)
        source = source_record(self.labels, self.table, at.offset, ts_ms=ts_ms, snapshot=snapshot)
        return source, snapshot_prefix(at.epoch, at.seq())


class MySqlRowQueries:
    """Asks about rows on one connection after another; no connection is shared."""

    def __init__(
        self,
        begin: Callable[[], MySqlReadSession],
        connect: Callable[[], Connection],
        decode: Callable[[Projection], Callable[[Sequence[ResultColumn]], RowReader]],
        labels: MySqlSourceLabels,
        begin_whole: BeginWhole,
        given_up: Event,
    ) -> None:
        """Take functions that connect, that decode rows, and that begin the read of a table without a key."""
        self._begin, self._connect, self._decode = begin, connect, decode
        self._labels, self._begin_whole, self._given_up = labels, begin_whole, given_up
        self._indexes: dict[tuple[TableId, tuple[str, ...]], str | None] = {}
        self.session = self._begin_session()

    @property
    def marks(self) -> MySqlMarks:
        """The marks of the same connection."""
        return self.session.marks

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return not self.session.connection.open

    def asking(self, action: str, table: TableId) -> AbstractContextManager[None]:
        """Turn the server's errors into ours."""
        return translate_errors(self.session.connection, action, table)

    def describe(self, table: TableId) -> Projection:
        """Return the table's current shape."""
        return self.session.catalogue.describe(table)

    @contextmanager
    def hold(self, table: TableId) -> Iterator[Callable[[], MySqlFence | None]]:
        """Hold the table as it is; a read with a known place has a mark, unless marks are rows."""
        with fresh_transaction(self.session) as place:
            yield (
                lambda: (
                    None
                    if place is None or self.marks.kind is not MarkKind.FENCE
                    else self.marks.at(f"read {table}", place)
                )
            )

    def last_key(self, request: ChunkRequest, shape: Projection) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        return self._key(request, shape, descending=True)

    def cuts(self, request: ChunkRequest, shape: Projection, parts: int) -> Sequence[Bound]:
        """Return existing keys, next to equal steps of the first column from its least to its greatest value.

        Empty where that column is not a whole number, because the value halfway is then unknown.
        """
        column = key_column(shape.source, request.key[0])
        if column.type.name not in _COUNTED or self._planned(request, shape) < WORTH_PARTS:
            return ()
        first, last = (self._key(request, shape, descending=down) for down in (False, True))
        if first is None or first[0] is None or last is None or last[0] is None:
            return ()
        low, high = int(first[0]), int(last[0])
        steps = (low + (high - low) * part // parts for part in range(1, parts))
        keys = [
            self._key(request, shape, descending=True, within=f"{column.sql} <= {step}") for step in steps
        ]
        # several steps in one wide gap give one key
        return list(dict.fromkeys(key for key in keys if key is not None and key != last))

    def expected(self, request: ChunkRequest) -> int | None:
        """Estimate the rows: of a whole table by the server's own figures, of a part by the planner."""
        table = request.table
        if request.after is not None or request.upto is not None or request.condition is not None:
            return self._planned(request, self.describe(table))
        question = (
            "SELECT table_rows FROM information_schema.tables WHERE (table_schema, table_name) = (%s, %s)"
        )
        found = query_rows(self.session.connection, question, table.schema, table.name)
        return None if not found or found[0][0] is None else int(found[0][0])

    def read(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        """Read the slices, and whether the range holds no more."""
        decode = self._decode(shape)

        def slicing(columns: tuple[ResultColumn, ...]) -> MySqlSlicing:
            bound_of = chunk_sql.bounds(shape.source, request.key, columns)
            return MySqlSlicing(decode(columns), bound_of, request)

        try:
            taken, whole = self._rows(chunk_sql.rows(request, shape, self._index(request)), slicing, late)
        except StatementRefusedError as refused:
            if refused.number == _NO_COLUMN:
                raise ColumnGoneError(refused) from None
            raise
        return taken.end(), whole and taken.count < request.most_rows

    def rows_at(self, request: ChunkRequest, shape: Projection, bound: Bound) -> int:
        """Count the rows of one key, up to two."""
        rows = chunk_sql.one_of(request, shape, bound, most=2)
        ((found,),) = query_rows(self.session.connection, f"SELECT count(*) FROM ({rows}) AS same")  # noqa: S608
        return int(found)

    def count_doubled_keys(self, table: TableId, key: Sequence[str]) -> int | None:
        """Count the keys that several rows have, unless an index proves that there are none."""
        connection = self.session.connection
        if key_uniqueness.is_proven_unique(connection, table, key):
            return 0
        return key_uniqueness.count_duplicates(connection, table, key)

    def origin(self, table: TableId) -> MySqlRowOrigin:
        """Return where the table's rows come from."""
        return MySqlRowOrigin(self._labels, table)

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        return self._begin_whole(table, self._given_up)

    def close(self) -> None:
        """End the connection."""
        close(self.session.connection)

    def _begin_session(self) -> MySqlReadSession:
        session = self._begin()
        with translate_errors(session.connection, "take a session's settings"):
            set_up_session(session.connection)
        return session

    def _key(
        self, request: ChunkRequest, shape: Projection, *, descending: bool, within: str = ""
    ) -> Bound | None:
        """Return the first or the last key of a range."""
        one = ChunkRequest(request.table, request.key, most_rows=1)

        def slicing(columns: tuple[ResultColumn, ...]) -> MySqlSlicing:
            return MySqlSlicing(_RawRows(), chunk_sql.bounds(shape.source, request.key, columns), one)

        index = self._index(request)
        statement = chunk_sql.one_key(request, shape, index, descending=descending, within=within)
        slices = self._rows(statement, slicing, None)[0].end()
        return slices[0].upto if slices else None

    def _rows(
        self,
        statement: str,
        slicing: Callable[[tuple[ResultColumn, ...]], MySqlSlicing],
        late: ReadDeadline | None,
    ) -> tuple[MySqlSlicing, bool]:
        """Run a statement; if it is left before its end, its connection ends with it."""
        connection = self.session.connection
        try:
            rows = StatementRows(connection, statement, self._given_up)
            taking = slicing(rows.columns)
            whole = rows.pass_rows(
                taking, lambda: taking.full or (late is not None and late.passed(taking.count))
            )
        except StatementRefusedError as refused:
            if refused.number == _NO_INDEX:
                self._indexes.clear()
            raise
        except ConnectionLostError as lost:
            if isinstance(lost, GivenUpError):
                end_statement(connection, statement, self._connect)
            raise
        except BaseException:
            end_statement(connection, statement, self._connect)
            raise
        if not whole:
            end_statement(connection, statement, self._connect)
            self.session = self._begin_session()
        return taking, whole

    def _planned(self, request: ChunkRequest, shape: Projection) -> int:
        """Return how many rows the planner expects."""
        extended = "EXTENDED" if self.session.mariadb else "FORMAT=TRADITIONAL"
        rows = f"SELECT 1 FROM {table_name(request.table)} WHERE {chunk_sql.where(request, shape)}"  # noqa: S608
        with self.session.connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {extended} {rows}")
            names = [str(column[0]) for column in cursor.description or ()]
            plan = dict(zip(names, cursor.fetchone() or (), strict=False))
        return round(float(plan.get("rows") or 0) * float(plan.get("filtered") or 100) / 100)

    def _index(self, request: ChunkRequest) -> str | None:
        """Return the index with this order of the rows, if there is one."""
        wanted = (request.table, request.key)
        if wanted not in self._indexes:
            self._indexes[wanted] = index_by(self.session.connection, *wanted)
        return self._indexes[wanted]


def chunk_reader(
    begin: Callable[[], MySqlReadSession],
    connect: Callable[[], Connection],
    decoding: ResultDecoding,
    labels: MySqlSourceLabels,
    around: Surroundings,
    whole: BeginWhole,
) -> MySqlReader:
    """Open a reader from functions that connect, that decode rows, and that begin a read without a key."""

    def decode(shape: Projection) -> Callable[[Sequence[ResultColumn]], RowReader]:
        return partial(decoding, shape, around.register(shape.table))

    given_up = Event()
    queries = MySqlRowQueries(begin, connect, decode, labels, whole, given_up)
    return ChunkReads(queries, around, given_up, KEY_HIDDEN)


class _RawRows:
    """Keeps rows whose key is all that is needed."""

    def read(self, row: bytes) -> ChunkRow:
        return None, row


def index_by(connection: Connection, table: TableId, key: tuple[str, ...]) -> str | None:
    """Return the index that the planner may use and that begins with these whole columns, in order."""
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
