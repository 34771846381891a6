"""A heartbeat in MySQL and MariaDB: only the user's own query.

A reader does not hold back a binlog, and the server's own heartbeats say where it ends, so we need not write
anything.  The query runs on a connection of its own, because it may wait for locks, with a short limit.
"""

from typing import Any

import pymysql
from pymysql.connections import Connection

from wrackline.producers.sources.mysql.connect.connect import MySqlServer
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.settings.settings_registry import Values

QUERY_FAILED = define(
    "mysql.heartbeat_query",
    OperatorNeeded,
    "heartbeat.action.query ended with error {number}",
    hint="run it as the user of database.user by hand, and correct it; it is tried again at each heartbeat",
)
QUERY_FORBIDDEN = define(
    "mysql.heartbeat_forbidden",
    OperatorNeeded,
    "read.only is set, but {setting} would write to the database",
    hint="remove one of the two lines",
)

_LOCK_S = 5


class MySqlHeartbeat:
    """Runs the query; the first run opens the connection."""

    def __init__(self, server: MySqlServer, settings: Values) -> None:
        self._server, self._read_only = server, settings.flag("read.only")
        query = settings["heartbeat.action.query"]
        self._query = str(query) if query else None
        self._connection: Connection[Any] | None = None

    def beat(self) -> None:
        """Run the query once."""
        if self._query is None:
            return
        if self._read_only:
            raise QUERY_FORBIDDEN(setting="heartbeat.action.query")
        connection = self._connected()
        try:
            with connection.cursor() as cursor:
                cursor.execute(self._query)
        except pymysql.err.Error as exc:  # its text may hold values of a row
            if not connection.open:
                self.close()
            raise QUERY_FAILED(number=exc.args[0] if exc.args else 0) from None

    def close(self) -> None:
        """End the connection; a running statement ends with it."""
        connection, self._connection = self._connection, None
        if connection is not None and connection.open:
            connection.close()

    def _connected(self) -> "Connection[Any]":
        if self._connection is None or not self._connection.open:
            self._connection = self._server.connect()
            with self._connection.cursor() as cursor:
                # our own sessions have no modes: a value that is too long would be cut, not refused
                cursor.execute("SET sql_mode = @@GLOBAL.sql_mode, time_zone = @@GLOBAL.time_zone")
                cursor.execute(f"SET innodb_lock_wait_timeout = {_LOCK_S}, lock_wait_timeout = {_LOCK_S}")
        return self._connection
