"""A connection that reads rows: its session's settings, a transaction a chunk, and its end.

The settings make a SELECT show what is stored and take the time that it needs: UTC, no modes, no limit on
statements or results, and a server that waits for us where we have no room for more rows.  MySQL reads at
READ COMMITTED, where a statement sees what was committed before it; MariaDB at REPEATABLE READ, without
which its consistent snapshot is none.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

import pymysql

from wrackline.producers.chunks import ChunkRow
from wrackline.producers.plugin import WriterIds
from wrackline.producers.sources.mysql.connect import is_mariadb
from wrackline.producers.sources.mysql.marks import (
    SNAPSHOT,
    MySqlMarks,
    Place,
    asked,
    snapshot_place,
)
from wrackline.producers.sources.mysql.server_errors import close
from wrackline.producers.sources.mysql.statement_rows import Connection, ResultColumn
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.projection import Projection
from wrackline.schemas.table import TableId

_SETTINGS = (
    "SET NAMES utf8mb4",
    "SET SESSION time_zone = '+00:00', sql_mode = ''",
    "SET SESSION lock_wait_timeout = 10, wait_timeout = 86400, net_write_timeout = 86400",
    "SET SESSION sql_select_limit = DEFAULT, sql_big_selects = 1, sql_auto_is_null = 0",
)
_MYSQL = (
    "SET SESSION max_execution_time = 0, information_schema_stats_expiry = 0",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
)
_MARIADB = (
    "SET SESSION max_statement_time = 0, idle_transaction_timeout = 0, idle_readonly_transaction_timeout = 0",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)

_TOLD = 500  # characters of a statement that tell it from others


class Catalogue(Protocol):
    """What a table is now."""

    def describe(self, table: TableId) -> Projection:
        """Return its shape, and what of it goes out."""
        ...


class RowReader(Protocol):
    """Makes a chunk's row of a binary row."""

    def read(self, row: bytes) -> ChunkRow:
        """Return the row's key and the head of its value."""
        ...


class Decoding(Protocol):
    """How rows of one statement become Avro."""

    def __call__(self, shape: Projection, ids: WriterIds, columns: Sequence[ResultColumn]) -> RowReader:
        """Make the reader of rows whose columns the server describes so."""
        ...


@dataclass(frozen=True, slots=True)
class Session:
    """A connection of a reader's own, and what looks through it."""

    connection: Connection
    catalogue: Catalogue
    marks: MySqlMarks

    @property
    def mariadb(self) -> bool:
        """Which of the two it is."""
        return is_mariadb(self.connection)


def settle(connection: Connection) -> None:
    """Give a session the settings of one that reads rows."""
    for statement in (*_SETTINGS, *(_MARIADB if is_mariadb(connection) else _MYSQL)):
        asked(connection, statement)


@contextmanager
def fresh_transaction(session: Session) -> Iterator[Place | None]:
    """Read in a transaction of its own, which frees the table at its end; its place, if it knows one.

    The table can't be altered between the SELECT and the end, so a shape that is looked up then is its shape.
    """
    connection = session.connection
    place = None
    if session.mariadb:
        asked(connection, SNAPSHOT)
        place = snapshot_place(connection)
    else:
        asked(connection, "START TRANSACTION READ ONLY")
    try:
        yield place
    finally:
        if connection.open:
            asked(connection, "COMMIT")


def end(connection: Connection, statement: str, connect: Callable[[], Connection]) -> None:
    """End a connection amid a statement, and the statement on the server, which would not notice for long.

    It is ended by its number if that is still at work on it: behind a proxy, or since a restart, the number
    may be somebody else's.
    """
    number = int(connection.thread_id())  # type: ignore[no-untyped-call]
    close(connection)
    # where that fails, the statement ends by itself, only later
    with suppress(WracklineError, pymysql.err.Error, OSError), connect() as other:
        for process in asked(other, "SHOW FULL PROCESSLIST"):
            if process[0] == number and str(process[7]).startswith(statement[:_TOLD]):
                other.kill(number)  # type: ignore[no-untyped-call]
