"""A table without a key, read whole at one place of the log, in pieces of one COPY.

    temporary slot --> its place C, its snapshot --> a REPEATABLE READ transaction takes it, the slot goes
                                                     COPY: piece, piece, piece ...

The snapshot of a new slot shows the transactions whose commit begins before C, and the log's events carry
that place in their seq: so what is older than C is in the rows, and the rest is not.  Nothing keys the rows,
so they are numbered as they come, and a read that is lost is begun anew at another place.

A slot is ready once all transactions that write at that moment have ended, however long they take; nothing
is locked meanwhile.  A snapshot does not protect from TRUNCATE and from an ALTER that rewrites the table: its
files are compared once it is locked, against those two alone, and a read that would miss rows is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from threading import Event

from psycopg import generators, pq, sql, waiting

from wrackline.producers.chunks import Chunk, ChunkRequest, Piece
from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.postgres.chunks import (
    Late,
    PgTail,
    Session,
    columns_of,
    own_rows,
    reading,
)
from wrackline.producers.sources.postgres.copying import NextLine, RefusedError, begun, taken
from wrackline.producers.sources.postgres.discover import Catalogue
from wrackline.producers.sources.postgres.marks import Fence
from wrackline.producers.sources.postgres.names import table_name
from wrackline.producers.sources.postgres.origin import Labels, no_row
from wrackline.producers.sources.postgres.patience import Guarded, bounded
from wrackline.producers.sources.postgres.position import lsn_number
from wrackline.producers.sources.postgres.rows import RowDecoder
from wrackline.producers.sources.postgres.slicing import Slicing
from wrackline.producers.sources.postgres.sqlstates import asking, explained_answer
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.projection import Projection
from wrackline.schemas.table import TableId

ON_STANDBY = define(
    "pg.no_key_on_standby",
    OperatorNeeded,
    "{table} has no key, so its rows are read at one place of the log: a primary can do so, a standby not",
    hint="read from the primary; or give the table a primary key or a unique index over NOT NULL columns; or"
    " name columns that tell its rows apart: message.key.columns",
)
ALTERED = define(
    "pg.altered_meanwhile",
    Transient,
    "{table} was truncated or altered while the read of all its rows began",
    hint="it is begun anew by itself",
)

_LOCKS = "SET lock_timeout = '10s'"
_FILES = """
SELECT array_agg((oid::oid, pg_relation_filenode(oid))::text ORDER BY oid) FROM (
    SELECT %(name)s::regclass AS oid
    UNION SELECT relid FROM pg_partition_tree(%(name)s::regclass)) AS files"""


@dataclass(frozen=True, slots=True)
class WholeReader:
    """How to begin such a read on one server."""

    connect: Callable[[], Session]
    replicate: Callable[[], pq.abc.PGconn]
    labels: Labels
    around: Surroundings

    def __call__(self, catalogue: Catalogue, table: TableId, given_up: Event) -> "PgWhole":
        """Begin one; `catalogue` looks on another connection, for ours will see the past."""
        connection = self.connect().connection
        connection.given_up = given_up
        try:
            made = self._begun(connection, catalogue, table)
        except BaseException:
            connection.close()
            raise
        connection.given_up = made.given_up
        return made

    def _begun(self, connection: Guarded, catalogue: Catalogue, table: TableId) -> "PgWhole":
        with asking(connection, reading(table), table):
            connection.execute(_LOCKS)
            ((standby,),) = connection.execute("SELECT pg_is_in_recovery()")
            if standby:
                raise ON_STANDBY(table=table)
            shape, files = catalogue.describe(table), _files(connection, table)
            place = self._at_one_place(connection, table)
            name = sql.Identifier(table.schema, table.name)
            connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(name))
            if (catalogue.describe(table), _files(connection, table)) != (shape, files):
                raise ALTERED(table=table)
            rows = own_rows(connection, table)
            query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(columns_of(shape), rows)
            try:
                begun(connection, query.as_string(connection).encode())
            except RefusedError as refused:
                raise explained_answer(refused.answer, reading(table), connection.info.user, table) from None
        return PgWhole(connection, shape, place, self.labels, self.around)

    def _at_one_place(self, connection: Guarded, table: TableId) -> int:
        """Let the connection see the database as of a place of the log, and return that."""
        wire = self.replicate()
        try:
            slot = f"wrackline_read_{wire.backend_pid}"
            wire.send_query(
                f"CREATE_REPLICATION_SLOT {slot} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT".encode()
            )
            given_up = connection.given_up or Event()
            steps = bounded(generators.execute(wire), inf, given_up.is_set)
            (answer,) = waiting.wait(steps, wire.socket, 0.1)
            if answer.status != pq.ExecStatus.TUPLES_OK:
                raise explained_answer(answer, reading(table), connection.info.user, table)
            place, snapshot = (bytes(answer.get_value(0, column) or b"").decode() for column in (1, 2))
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
            return lsn_number(place)
        finally:
            wire.finish()


class PgWhole:
    """One read that is open."""

    def __init__(
        self,
        connection: Guarded,
        shape: Projection,
        place: int,
        labels: Labels,
        around: Surroundings,
    ) -> None:
        """Take a connection whose COPY has begun, and the place of its snapshot."""
        self._connection, self._shape, self._around = connection, shape, around
        self._table, self._place = shape.table.id, place
        ids = around.register(shape.table)
        self._ids, self._rows = ids, 0
        self._tail = PgTail(labels, self._table, place=place)
        self.given_up = Event()

    def next(self, request: ChunkRequest) -> Chunk:
        """Take the next lines; where nobody does, the server waits."""
        decoder = RowDecoder(0, self._shape, self._ids.key or 0, self._ids.value)
        slicing = Slicing(decoder, [column.name for column in self._shape.source.columns], request)
        late = Late(self._around.monotonic, request.most_seconds)

        def take(next_line: NextLine) -> int:
            return slicing.fill(
                lambda wait: next_line(wait) if slicing.count < request.most_rows else (0, _NO_LINE)
            )

        def ended() -> bool:
            many = slicing.full or slicing.count >= request.most_rows
            return many or (slicing.count > 0 and late.now())

        with asking(self._connection, reading(self._table), self._table):
            try:
                complete = taken(self._connection, take, ended)
            except RefusedError as refused:
                user = self._connection.info.user
                raise explained_answer(refused.answer, reading(self._table), user, self._table) from None
        piece = Piece(self._rows, replace(self._tail, op="t", head=no_row(self._ids.value)))
        self._rows += slicing.count
        mark = Fence(f"read {self._table}", self._place)
        return Chunk(self._shape.table, slicing.end(), complete, self._tail, mark, piece)

    def give_up(self) -> None:
        """Let what is under way end soon."""
        self.given_up.set()

    def close(self) -> None:
        """End the transaction with its connection."""
        self._connection.close()


_NO_LINE = memoryview(b"")


def _files(connection: Guarded, table: TableId) -> object:
    """Which files the table has now, and its partitions: another transaction's TRUNCATE gives it others."""
    return connection.execute(_FILES, {"name": table_name(table)}).fetchone()
