"""A table without a key, read whole at one place of the log, in pieces of one COPY.

    temporary slot --> its place C, its snapshot --> a REPEATABLE READ transaction takes it, the slot goes
                                                     COPY: piece, piece, piece ...

The snapshot of a new slot shows the transactions whose commit begins before C, and the log's events carry
that place in their seq: so what is older than C is in the rows, and the rest is not.  The rows have no key,
so they are numbered as they arrive, and a read that is lost starts over at another place.

A slot is ready once all transactions that write at that moment have ended, without a time limit; nothing is
locked meanwhile.  A snapshot does not protect from TRUNCATE and from an ALTER that rewrites the table.  Only
because of these two, its files are compared once it is locked, and a read that would miss rows is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from threading import Event

from psycopg import generators, pq, sql, waiting

from wrackline.producers.contract.row_chunks import ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.kit.reads import chunk_sql
from wrackline.producers.kit.reads.chunk_reads import ReadDeadline, read_action
from wrackline.producers.kit.reads.row_tail import RowTail
from wrackline.producers.kit.reads.whole_rows import WholeRows
from wrackline.producers.sources.postgres.chunks.chunks import PgReadSession, PgRowOrigin, own_rows
from wrackline.producers.sources.postgres.chunks.copy_lines import (
    CopyRefusedError,
    NextLine,
    begin_copy,
    take_lines,
)
from wrackline.producers.sources.postgres.chunks.key_order import DIALECT
from wrackline.producers.sources.postgres.chunks.marks import PgFence
from wrackline.producers.sources.postgres.chunks.slicing import PgSlicing
from wrackline.producers.sources.postgres.connect.quoting import table_name
from wrackline.producers.sources.postgres.connect.server_errors import explain_answer, translate_errors
from wrackline.producers.sources.postgres.connect.timeouts import TimedConnection, wait_within
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.producers.sources.postgres.log.position import lsn_number
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
from wrackline.producers.sources.postgres.rows.source_record import PgSourceLabels
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

ON_STANDBY = define(
    "pg.no_key_on_standby",
    OperatorNeeded,
    "{table} has no key, so its rows must all be read at one position of the log, which a primary can do"
    " and a standby can't",
    hint="read from the primary; or give the table a primary key or a unique index over NOT NULL columns;"
    " or name columns that identify its rows: message.key.columns",
)
ALTERED = define(
    "pg.altered_meanwhile",
    Transient,
    "{table} was truncated or altered while the read of all its rows began",
    hint="it starts again automatically",
)

_LOCKS = "SET lock_timeout = '10s'"
_FILES = """
SELECT array_agg((oid::oid, pg_relation_filenode(oid))::text ORDER BY oid) FROM (
    SELECT %(name)s::regclass AS oid
    UNION SELECT relid FROM pg_partition_tree(%(name)s::regclass)) AS files"""


@dataclass(frozen=True, slots=True)
class PgWholeReader:
    """How to begin such a read on one server."""

    connect: Callable[[], PgReadSession]
    replicate: Callable[[], pq.abc.PGconn]
    labels: PgSourceLabels
    around: Surroundings

    def __call__(self, catalogue: PgCatalogue, table: TableId, given_up: Event) -> WholeRows:
        """Begin a read; `catalogue` looks on another connection, because ours will see the past."""
        connection = self.connect().connection
        connection.given_up = given_up
        try:
            return self._begin_read(connection, catalogue, table)
        except BaseException:
            connection.close()
            raise

    def _begin_read(self, connection: TimedConnection, catalogue: PgCatalogue, table: TableId) -> WholeRows:
        with translate_errors(connection, read_action(table), table):
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
            query = DIALECT.select(chunk_sql.columns_of(DIALECT, shape), rows.as_string(connection))
            try:
                begin_copy(connection, f"COPY ({query}) TO STDOUT".encode())
            except CopyRefusedError as refused:
                raise explain_answer(
                    refused.answer, read_action(table), connection.info.user, table
                ) from None
        ids = self.around.register(shape.table)
        mark = PgFence(f"read {table}", place)
        tail = RowTail(PgRowOrigin(self.labels, table, place))
        statement = PgWholeCopy(connection, shape, ids)
        return WholeRows(statement, shape.table, mark, tail, ids.value, self.around.monotonic)

    def _at_one_place(self, connection: TimedConnection, table: TableId) -> int:
        """Make the connection see the database as of a place in the log, and return that place."""
        wire = self.replicate()
        try:
            slot = f"wrackline_read_{wire.backend_pid}"
            wire.send_query(
                f"CREATE_REPLICATION_SLOT {slot} TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT".encode()
            )
            given_up = connection.given_up or Event()
            steps = wait_within(generators.execute(wire), inf, given_up.is_set)
            (answer,) = waiting.wait(steps, wire.socket, 0.1)
            if answer.status != pq.ExecStatus.TUPLES_OK:
                raise explain_answer(answer, read_action(table), connection.info.user, table)
            place, snapshot = (bytes(answer.get_value(0, column) or b"").decode() for column in (1, 2))
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
            return lsn_number(place)
        finally:
            wire.finish()


class PgWholeCopy:
    """The lines of a COPY that has begun."""

    def __init__(self, connection: TimedConnection, shape: Projection, ids: WriterIds) -> None:
        """From here on the connection ends its statement when this read is given up."""
        self._connection, self._shape, self._ids = connection, shape, ids
        self.given_up = connection.given_up = Event()

    def take(self, request: ChunkRequest, late: ReadDeadline) -> tuple[tuple[Slice, ...], int, bool]:
        """Take the next lines."""
        table = self._shape.table.id
        decoder = PgRowDecoder(0, self._shape, self._ids.key or 0, self._ids.value)
        slicing = PgSlicing(decoder, [column.name for column in self._shape.source.columns], request)

        def fill(next_line: NextLine) -> int:
            return slicing.fill(
                lambda wait: next_line(wait) if slicing.count < request.most_rows else (0, _NO_LINE)
            )

        def ended() -> bool:
            return slicing.full or slicing.count >= request.most_rows or late.passed(slicing.count)

        with translate_errors(self._connection, read_action(table), table):
            try:
                complete = take_lines(self._connection, fill, ended)
            except CopyRefusedError as refused:
                user = self._connection.info.user
                raise explain_answer(refused.answer, read_action(table), user, table) from None
        return slicing.end(), slicing.count, complete

    def close(self) -> None:
        """End the transaction with its connection."""
        self._connection.close()


_NO_LINE = memoryview(b"")


def _files(connection: TimedConnection, table: TableId) -> object:
    """Return the current files of the table and its partitions; a TRUNCATE elsewhere gives it other files."""
    return connection.execute(_FILES, {"name": table_name(table)}).fetchone()
