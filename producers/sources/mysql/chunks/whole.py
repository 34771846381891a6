"""A table without a key, read whole at one place of the log, in pieces of one SELECT.

    MariaDB   a consistent snapshot, which knows its place
    MySQL     LOCK TABLES t READ --> a snapshot, the log's end C --> UNLOCK TABLES
                                     SELECT: piece, piece, piece ...

MySQL's snapshot does not know its place, and on a busy server no moment is quiet.  But while the table is
locked for reading, no session has an open or half-committed change of it: the log has no event of it between
the start and the end of the lock, so the log's end at that time splits its events as the snapshot does.  The
lock lasts some milliseconds.  While we wait for it, new writers of this table wait too, so the wait is short.
If we are cut off meanwhile, the server releases the lock: it ends a holder that is silent for ten seconds.

The table is touched before the lock is released, so it can't be truncated or altered before its rows are
read; MariaDB refuses to read a table that was altered since the snapshot.

A place belongs to the log that is streamed, so all of this runs on the server of that log.

No two reads are at one place, or the rows of the later read would not be newer: so the log is switched to a
new file first.  This moves the place without a write, on a replica too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

import pymysql

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.kit.reads.chunk_reads import ReadDeadline, read_action
from wrackline.producers.kit.reads.row_tail import RowTail
from wrackline.producers.kit.reads.whole_rows import WholeRows
from wrackline.producers.sources.mysql.chunks import chunk_sql
from wrackline.producers.sources.mysql.chunks.chunks import MySqlRowOrigin
from wrackline.producers.sources.mysql.chunks.marks import (
    SNAPSHOT,
    LogOffset,
    MySqlFence,
    log_end,
    query_rows,
    snapshot_offset,
)
from wrackline.producers.sources.mysql.chunks.read_session import (
    MySqlReadSession,
    ResultDecoding,
    RowReader,
    end_statement,
    set_up_session,
)
from wrackline.producers.sources.mysql.chunks.slicing import MySqlSlicing
from wrackline.producers.sources.mysql.connect.quoting import table_name
from wrackline.producers.sources.mysql.connect.server_errors import (
    RIGHTS,
    account_of,
    close,
    translate_errors,
)
from wrackline.producers.sources.mysql.connect.server_facts import facts_of
from wrackline.producers.sources.mysql.connect.statement_rows import Connection, StatementRows
from wrackline.producers.sources.mysql.rows.source_record import MySqlSourceLabels
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

NO_KEY_RIGHTS = define(
    "mysql.no_key_rights",
    OperatorNeeded,
    "{table} has no key, so its rows must all be read at one position of the log, but {user} may not {what}",
    hint="as an administrator: GRANT {right} TO {user}; or give the table a primary key or a unique index"
    " over NOT NULL columns; or name columns that identify its rows: message.key.columns",
)
READ_ELSEWHERE = define(
    "mysql.read_elsewhere",
    Transient,
    "{table} has no key, so its rows must all be read at one position of the log of server {streamed}, but"
    " this connection reached server {server}",
    hint="let every connection reach the same server: database.hostname without a proxy that distributes"
    " them; or give the table a primary key, because then its rows may come from any server",
)

_PATIENCE = "SET SESSION lock_wait_timeout = 5, wait_timeout = 10"
_REPEATABLE = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"


@dataclass(frozen=True, slots=True)
class MySqlWholeReader:
    """How to begin such a read on one server."""

    begin: Callable[[], MySqlReadSession]
    connect: Callable[[], Connection]
    decoding: ResultDecoding
    labels: MySqlSourceLabels
    around: Surroundings
    streamed: Callable[[], str]  # the server of the streamed log; "": none yet

    def __call__(self, table: TableId, given_up: Event) -> WholeRows:
        """Begin a read; it ends when it is given up."""
        session = self.begin()
        try:
            with translate_errors(session.connection, read_action(table), table):
                self._where_it_is_streamed(session.connection, table)
                set_up_session(session.connection)
                query_rows(session.connection, _REPEATABLE)
                self._in_a_new_file(session, table)
                place, shape = self._at_one_place(session, table)
                ids = self.around.register(shape.table)
                rows = StatementRows(session.connection, chunk_sql.all_rows(shape), given_up)
        except BaseException:
            close(session.connection)
            raise
        statement = MySqlWholeSelect(
            session.connection, rows, shape, self.decoding(shape, ids, rows.columns), self.connect
        )
        mark, tail = MySqlFence(f"read {table}", place), RowTail(MySqlRowOrigin(self.labels, table, place))
        return WholeRows(statement, shape.table, mark, tail, ids.value, self.around.monotonic)

    def _where_it_is_streamed(self, connection: Connection, table: TableId) -> None:
        server, streamed = facts_of(connection).identity, self.streamed()
        if streamed not in {"", server}:
            raise READ_ELSEWHERE(table=table, streamed=streamed, server=server)

    def _in_a_new_file(self, session: MySqlReadSession, table: TableId) -> None:
        with self._may(session, table, "begin a new file of the log", "RELOAD ON *.*"):
            query_rows(session.connection, "FLUSH BINARY LOGS")

    def _at_one_place(self, session: MySqlReadSession, table: TableId) -> tuple[LogOffset, Projection]:
        """Make the connection see the database as of a place in the log, and hold the table as it is."""
        touch = f"SELECT 1 FROM {table_name(table)} LIMIT 1"  # noqa: S608
        if session.mariadb:
            query_rows(session.connection, SNAPSHOT)
            place = snapshot_offset(session.connection)
            query_rows(session.connection, touch)
            return place, session.catalogue.describe(table)
        locking = self.begin().connection
        try:
            self._where_it_is_streamed(locking, table)
            with self._may(session, table, "lock it", f"LOCK TABLES ON {table_name(table).split('.')[0]}.*"):
                query_rows(locking, _PATIENCE)
                query_rows(locking, f"LOCK TABLES {table_name(table)} READ")
            query_rows(session.connection, SNAPSHOT)
            query_rows(session.connection, touch)
            found = log_end(session.connection), session.catalogue.describe(table)
            query_rows(locking, "UNLOCK TABLES")
            return found
        finally:
            close(locking)

    @contextmanager
    def _may(self, session: MySqlReadSession, table: TableId, what: str, right: str) -> Iterator[None]:
        """Raise an error that names the missing right for a step that only such a read needs."""
        try:
            yield
        except pymysql.err.Error as exc:
            if exc.args[0] not in RIGHTS:
                raise
            user = account_of(session.connection)
        else:
            return
        raise NO_KEY_RIGHTS(table=table, user=user, what=what, right=right)


class MySqlWholeSelect:
    """The rows of a SELECT that has begun."""

    def __init__(
        self,
        connection: Connection,
        rows: StatementRows,
        shape: Projection,
        decoder: RowReader,
        connect: Callable[[], Connection],
    ) -> None:
        """Take a statement whose rows end when this read is given up."""
        self._connection, self._rows, self._shape = connection, rows, shape
        self._decoder, self._connect, self._complete = decoder, connect, False
        self.given_up = rows.given_up = Event()

    def take(self, request: ChunkRequest, late: ReadDeadline) -> tuple[tuple[Slice, ...], int, bool]:
        """Take the next rows."""
        taking, table = MySqlSlicing(self._decoder, _no_bound, request), self._shape.table.id

        def ended() -> bool:
            return taking.full or (not taking.begun and late.passed(taking.count))

        with translate_errors(self._connection, read_action(table), table):
            self._complete = self._rows.pass_rows(taking, ended)
        return taking.end(), taking.count, self._complete

    def close(self) -> None:
        """End the transaction with its connection, and on the server a statement that is not over."""
        if self._connection.open and not self._complete:
            end_statement(self._connection, chunk_sql.all_rows(self._shape), self._connect)
        close(self._connection)


def _no_bound(_: bytes) -> Bound:
    return ()
