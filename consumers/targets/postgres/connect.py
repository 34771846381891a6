"""Connections to the target: made as the settings say, and kept for the next batch.

Every field goes to libpq by name.  The session's settings make a batch mean the same wherever it runs:
statements see what was committed before them, none is ended by a limit that was meant for readers, and
no function or type of a stranger's schema takes the place of the server's own.
"""

import threading
from collections.abc import Callable

import psycopg
from psycopg import conninfo

from wrackline.consumers.targets.postgres.refusals import connection_error
from wrackline.schemas.pipelines import libpq
from wrackline.schemas.settings.settings_registry import Values

Connection = psycopg.Connection
Connect = Callable[[], Connection]

_MOST_IDLE = 8  # connections kept; more than tables are merged at once


class PgTargetServer:
    """Where the target database is, and which role we have there."""

    def __init__(self, settings: Values) -> None:
        session = {
            "search_path": "pg_catalog,pg_temp",
            "timezone": "UTC",
            "default_transaction_isolation": "read\\ committed",
            "statement_timeout": "0",
            "lock_timeout": str(settings.integer("target.lock.timeout.ms")),
        }
        self._fields = libpq.fields(settings, "target") | {
            "application_name": f"wrackline {settings.text('name')}",
            "keepalives_count": "3",
            "options": " ".join(f"-c {name}={value}" for name, value in session.items()),
        }
        self._secrets = libpq.secrets(settings, "target")
        self._redactor = settings.redactor

    def connect(self) -> Connection:
        """Open a connection, or say what prevents it."""
        revealed = {name: secret.reveal() for name, secret in self._secrets.items()}
        try:
            # prepared statements would outlive a change of the table's shape
            return psycopg.connect(
                conninfo.make_conninfo("", **self._fields, **revealed), prepare_threshold=None
            )
        except psycopg.OperationalError as exc:
            reason = self._redactor.clean(" ".join(str(exc).split()))
        fields = self._fields
        # out here, so that the driver's frames, which know the password, go
        raise connection_error(reason, fields["host"], fields["port"], fields["user"], fields["dbname"])


class PgTargetConnections:
    """The open connections: each has one user at a time, and is kept between two; safe for many threads."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def take(self) -> Connection:
        """Return a connection that answers."""
        while True:
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            if kept is None:
                return self._connect()
            try:
                kept.execute("SELECT")
                kept.rollback()
            except psycopg.Error:
                kept.close()  # the server was restarted, or somebody ended its session
            else:
                return kept

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next user; nothing of its last transaction is left."""
        connection.rollback()
        with self._lock:
            if not self._closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """End the idle connections; a connection in use ends when it is given back."""
        with self._lock:
            self._closed = True
            ended, self._idle = self._idle, []
        for connection in ended:
            connection.close()
