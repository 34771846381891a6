"""A heartbeat in PostgreSQL: a logical message outside a transaction, and a query of the user's own.

A message needs no table, no right beyond the default, and no transaction id; the server writes it to disk
within three rounds of its WAL writer.  It is written on a connection of its own, because the query may wait
for locks; both have a time limit, so that a heartbeat never hangs.
"""

import psycopg

from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.settings.settings_registry import Values

PREFIX = "wrackline.heartbeat"  # messages whose prefix begins with this first word are never published

NOT_WRITTEN = define(
    "pg.no_heartbeat",
    OperatorNeeded,
    "no heartbeat is written to the database: {reason}",
    hint="let a job on the primary write instead, or remove heartbeat.interval.ms",
)
QUERY_FAILED = define(
    "pg.heartbeat_query",
    OperatorNeeded,
    "heartbeat.action.query ended with SQLSTATE {state}; the heartbeat itself was written",
    hint="run it as the role of database.user in psql, and correct it; it is tried again at each heartbeat",
)
LOST = define(
    "pg.heartbeat_lost",
    Transient,
    "the server did not accept a heartbeat (SQLSTATE {state})",
    hint="it is tried again at the next one; see the server's log",
)

_MOST_S = 10  # for a statement; the wait for a lock is half as long
_NEVER_HERE = (
    psycopg.errors.ObjectNotInPrerequisiteState,  # a standby
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.InsufficientPrivilege,
)


class PgHeartbeat:
    """Writes heartbeats; the first heartbeat opens the connection."""

    def __init__(self, server: PgServer, settings: Values) -> None:
        self._server, self._read_only = server, settings.flag("read.only")
        query = settings["heartbeat.action.query"]
        self._query = str(query).encode() if query else None
        self._connection: Connection | None = None

    def beat(self) -> None:
        """Write a heartbeat, then run the query."""
        if self._read_only:
            raise NOT_WRITTEN(reason="read.only is set")
        try:
            connection = self._connected()
            connection.execute("SELECT pg_catalog.pg_logical_emit_message(false, %s, '')", [PREFIX])
        except _NEVER_HERE as exc:
            raise NOT_WRITTEN(reason=exc.diag.message_primary) from exc
        except psycopg.Error as exc:
            self.close()
            raise LOST(state=exc.sqlstate or "08006") from None
        if self._query is None:
            return
        try:
            connection.execute(self._query)
        except psycopg.Error as exc:  # its text may hold values of a row
            state = exc.sqlstate or "08006"
            if connection.closed:
                self.close()
            raise QUERY_FAILED(state=state) from None

    def close(self) -> None:
        """End the connection; a running statement ends with it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            made = self._server.guarded(of_the_user=True)
            made.execute(f"SET statement_timeout = '{_MOST_S}s'; SET lock_timeout = '{_MOST_S // 2}s'")
            self._connection = made
        return self._connection
