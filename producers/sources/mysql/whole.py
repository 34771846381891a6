"""A table without a key, read whole at one place of the log, in pieces of one SELECT.

    MariaDB   a consistent snapshot, which knows its place
    MySQL     LOCK TABLES t READ --> a snapshot, the log's end C --> UNLOCK TABLES
                                     SELECT: piece, piece, piece ...

MySQL's snapshot does not know its place, and on a busy server no moment is quiet.  But while the table is
locked for reading, nobody has a change of it under way or half committed: the log has no event of it between
the lock and its end, so the log's end at that time splits its events as the snapshot does.  The lock stands
for some milliseconds; while it is waited for, new writers of this one table wait too, so that is not long.
Should we be cut off meanwhile, the server lets it go: who holds it and is silent for ten seconds is ended.

The table is touched before the lock goes, so nobody can truncate or alter it before its rows are read; on
MariaDB a table that was altered since the snapshot refuses to be read.

A place is one of the log that is streamed, so all of this is asked of the server whose log that is.

No two reads are at one place, or the rows of the later one would not be newer: the log goes on in a new file
first.  That is how a place is left without writing anything, on a replica too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event

import pymysql

from wrackline.producers.chunks import Bound, Chunk, ChunkRequest, Piece
from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.mysql import chunk_sql
from wrackline.producers.sources.mysql.chunks import Late, MySqlTail, reading
from wrackline.producers.sources.mysql.marks import SNAPSHOT, Fence, Place, asked, log_end, snapshot_place
from wrackline.producers.sources.mysql.names import table_name
from wrackline.producers.sources.mysql.origin import Labels, no_row
from wrackline.producers.sources.mysql.reading import Decoding, Session, end, settle
from wrackline.producers.sources.mysql.server_errors import RIGHTS, account_of, asking, close
from wrackline.producers.sources.mysql.server_facts import facts_of
from wrackline.producers.sources.mysql.slicing import Slicing
from wrackline.producers.sources.mysql.statement_rows import Connection, StatementRows
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.projection import Projection
from wrackline.schemas.table import TableId

NO_KEY_RIGHTS = define(
    "mysql.no_key_rights",
    OperatorNeeded,
    "{table} has no key, so its rows are read at one place of the log, and {user} may not {what}",
    hint="as an administrator: GRANT {right} TO {user}; or give the table a primary key or a unique index"
    " over NOT NULL columns; or name columns that tell its rows apart: message.key.columns",
)
READ_ELSEWHERE = define(
    "mysql.read_elsewhere",
    Transient,
    "{table} has no key, so its rows are read at one place of the log, and that of server {streamed} is read,"
    " but this connection came to server {server}",
    hint="have every connection come to one server: database.hostname without a proxy that spreads them;"
    " or give the table a primary key, for then its rows may come from any server",
)

_PATIENCE = "SET SESSION lock_wait_timeout = 5, wait_timeout = 10"
_REPEATABLE = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"


@dataclass(frozen=True, slots=True)
class WholeReader:
    """How to begin such a read on one server."""

    begin: Callable[[], Session]
    connect: Callable[[], Connection]
    decoding: Decoding
    labels: Labels
    around: Surroundings
    streamed: Callable[[], str]  # whose log is read; "": nobody's yet

    def __call__(self, table: TableId, given_up: Event) -> "MySqlWhole":
        """Begin one; what is under way meanwhile ends when it is given up."""
        session = self.begin()
        try:
            with asking(session.connection, reading(table), table):
                self._where_it_is_streamed(session.connection, table)
                settle(session.connection)
                asked(session.connection, _REPEATABLE)
                self._in_a_new_file(session, table)
                place, shape = self._at_one_place(session, table)
                statement = chunk_sql.all_rows(shape)
                rows = StatementRows(session.connection, statement, given_up)
        except BaseException:
            close(session.connection)
            raise
        return MySqlWhole(self, session.connection, rows, shape, place)

    def _where_it_is_streamed(self, connection: Connection, table: TableId) -> None:
        server, streamed = facts_of(connection).identity, self.streamed()
        if streamed not in {"", server}:
            raise READ_ELSEWHERE(table=table, streamed=streamed, server=server)

    def _in_a_new_file(self, session: Session, table: TableId) -> None:
        with self._may(session, table, "begin a new file of the log", "RELOAD ON *.*"):
            asked(session.connection, "FLUSH BINARY LOGS")

    def _at_one_place(self, session: Session, table: TableId) -> tuple[Place, Projection]:
        """Let the connection see the database as of a place of the log, and hold the table as it is."""
        touch = f"SELECT 1 FROM {table_name(table)} LIMIT 1"  # noqa: S608
        if session.mariadb:
            asked(session.connection, SNAPSHOT)
            place = snapshot_place(session.connection)
            asked(session.connection, touch)
            return place, session.catalogue.describe(table)
        locking = self.begin().connection
        try:
            self._where_it_is_streamed(locking, table)
            with self._may(session, table, "lock it", f"LOCK TABLES ON {table_name(table).split('.')[0]}.*"):
                asked(locking, _PATIENCE)
                asked(locking, f"LOCK TABLES {table_name(table)} READ")
            asked(session.connection, SNAPSHOT)
            asked(session.connection, touch)
            found = log_end(session.connection), session.catalogue.describe(table)
            asked(locking, "UNLOCK TABLES")
            return found
        finally:
            close(locking)

    @contextmanager
    def _may(self, session: Session, table: TableId, what: str, right: str) -> Iterator[None]:
        """Say which right is missing for what only such a read needs."""
        try:
            yield
        except pymysql.err.Error as exc:
            if exc.args[0] not in RIGHTS:
                raise
            user = account_of(session.connection)
        else:
            return
        raise NO_KEY_RIGHTS(table=table, user=user, what=what, right=right)


class MySqlWhole:
    """One read that is open."""

    def __init__(
        self,
        reader: WholeReader,
        connection: Connection,
        rows: StatementRows,
        shape: Projection,
        place: Place,
    ) -> None:
        """Take a connection whose SELECT has begun, and the place of its snapshot."""
        self._reader, self._connection, self._rows, self._shape = reader, connection, rows, shape
        self._table, self._place = shape.table.id, place
        self._ids, self._count = reader.around.register(shape.table), 0
        self._decoder = reader.decoding(shape, self._ids, rows.columns)
        self._tail = MySqlTail(reader.labels, self._table, place=place)
        self._complete = False
        rows.given_up = self.given_up = Event()

    def next(self, request: ChunkRequest) -> Chunk:
        """Take the next rows; where nobody does, the server waits."""
        taking = Slicing(self._decoder, _no_bound, request)
        late = Late(self._reader.around.monotonic, request.most_seconds)

        def ended() -> bool:
            return taking.full or (not taking.begun and late.now(taking.count))

        with asking(self._connection, reading(self._table), self._table):
            self._complete = self._rows.taken(taking, ended)
        piece = Piece(self._count, replace(self._tail, op="t", head=no_row(self._ids.value)))
        self._count += taking.count
        mark = Fence(f"read {self._table}", self._place)
        return Chunk(self._shape.table, taking.end(), self._complete, self._tail, mark, piece)

    def give_up(self) -> None:
        """Let what is under way end soon."""
        self.given_up.set()

    def close(self) -> None:
        """End the transaction with its connection, and a statement that is not over on the server."""
        if self._connection.open and not self._complete:
            end(self._connection, chunk_sql.all_rows(self._shape), self._reader.connect)
        close(self._connection)


def _no_bound(_: bytes) -> Bound:
    return ()
