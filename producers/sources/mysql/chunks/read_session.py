"""A connection that reads rows: its session's settings, one transaction for each chunk, and its end.

The settings make a SELECT show what is stored, without a time limit: UTC, no modes, no limit on statements or
results, and a server that waits for us where we have no room for more rows.  MySQL reads at READ COMMITTED,
where a statement sees what was committed before it; MariaDB reads at REPEATABLE READ, without which its
snapshot is not consistent.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

import pymysql

from wrackline.producers.contract.row_chunks import ChunkRow
from wrackline.producers.contract.source_plugin import WriterIds
from wrackline.producers.sources.mysql.chunks.marks import (
    SNAPSHOT,
    LogOffset,
    MySqlMarks,
    query_rows,
    snapshot_offset,
)
from wrackline.producers.sources.mysql.connect.connect import is_mariadb
from wrackline.producers.sources.mysql.connect.server_errors import close
from wrackline.producers.sources.mysql.connect.statement_rows import Connection, ResultColumn
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

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

_TOLD = 500  # characters of a statement that distinguish it from others


class TableDescriber(Protocol):
    """Describes tables as they are now."""

    def describe(self, table: TableId) -> Projection:
        """Return its shape, and the part of it that is published."""
        ...


class RowReader(Protocol):
    """Makes a chunk's row from a binary row."""

    def read(self, row: bytes) -> ChunkRow:
        """Return the row's key and the head of its value."""
        ...


class ResultDecoding(Protocol):
    """How rows of one statement become Avro."""

    def __call__(self, shape: Projection, ids: WriterIds, columns: Sequence[ResultColumn]) -> RowReader:
        """Make the reader of rows with these columns, as the server describes them."""
        ...


@dataclass(frozen=True, slots=True)
class MySqlReadSession:
    """A reader's own connection, and the parts that use it."""

    connection: Connection
    catalogue: TableDescriber
    marks: MySqlMarks

    @property
    def mariadb(self) -> bool:
        """Whether the server is MariaDB."""
        return is_mariadb(self.connection)


def set_up_session(connection: Connection) -> None:
    """Give a session the settings to read rows."""
    for statement in (*_SETTINGS, *(_MARIADB if is_mariadb(connection) else _MYSQL)):
        query_rows(connection, statement)


@contextmanager
def fresh_transaction(session: MySqlReadSession) -> Iterator[LogOffset | None]:
    """Read in a new transaction, which frees the table at its end; yield its place, if it is known.

    The table can't be altered between the SELECT and the end, so the shape that is read then is its shape.
    """
    connection = session.connection
    place = None
    if session.mariadb:
        query_rows(connection, SNAPSHOT)
        place = snapshot_offset(connection)
    else:
        query_rows(connection, "START TRANSACTION READ ONLY")
    try:
        yield place
    finally:
        if connection.open:
            query_rows(connection, "COMMIT")


def end_statement(connection: Connection, statement: str, connect: Callable[[], Connection]) -> None:
    """End a connection during a statement, and the statement on the server, which would run on for long.

    Its process is killed by its number only if that process still runs the statement: behind a proxy, or
    after a restart, the number may belong to another session.
    """
    number = int(connection.thread_id())  # type: ignore[no-untyped-call]
    close(connection)
    # if that fails, the statement ends by itself, only later
    with suppress(WracklineError, pymysql.err.Error, OSError), connect() as other:
        for process in query_rows(other, "SHOW FULL PROCESSLIST"):
            if process[0] == number and str(process[7]).startswith(statement[:_TOLD]):
                other.kill(number)  # type: ignore[no-untyped-call]
