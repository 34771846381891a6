"""Connections to PostgreSQL: ordinary connections and the replication stream's, with the same session.

The session's settings decide how the server writes values, so the log and a chunk give the same
bytes for the same cell only because both connect here.  Every field goes to libpq by name, never as
part of a string that its value could break.
"""

import shlex
from collections.abc import Mapping
from typing import TypeVar

import psycopg
from psycopg import conninfo, generators, pq, waiting

from wrackline.producers.sources.postgres.connect.login_refusals import refusal
from wrackline.producers.sources.postgres.connect.timeouts import TimedConnection
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.pipelines import libpq
from wrackline.schemas.settings.settings_registry import Values

Connection = psycopg.Connection[tuple[object, ...]]
C = TypeVar("C", bound=Connection)

NO_ENCODING = define(
    "pg.no_encoding",
    OperatorNeeded,
    "database {database} has the encoding SQL_ASCII, which does not check text: one text that is not UTF-8"
    " would permanently stop the log for all tables",
    hint="copy it into a database with an encoding; if its text is known to be LATIN1, for example:"
    " createdb --template=template0 --encoding=UTF8 {copy}; pg_dump --encoding=LATIN1 -d {dump} | psql -d"
    " {copy}; then name the new database: {setting}",
)

_SESSION = {
    "datestyle": "ISO, MDY",
    "intervalstyle": "iso_8601",
    "timezone": "UTC",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "quote_all_identifiers": "off",
    "array_nulls": "on",
}
# Names mean the server's own functions and operators, not functions that another user has put into a schema
# of the role's path; and a policy is an error, not a read of some of the rows by another user's function.
_GUARDED = {"search_path": "pg_catalog,pg_temp", "row_security": "off"}
_READ_ONLY = {"default_transaction_read_only": "on"}
_WARNS = {"client_min_messages": "warning"}  # else nothing says that the server skips a publication


class PgServer:
    """The address of the database, and our login."""

    def __init__(self, settings: Values) -> None:
        self.database = settings.text("database.dbname")
        self._setting = "database.dbname" if settings["database.names"] is None else "database.names"
        self._fields = libpq.fields(settings, "database") | {
            "application_name": f"wrackline {settings.text('topic.prefix')}",
            "tcp_user_timeout": str(settings.integer("wal.receiver.timeout.ms")),
            "options": _options(_SESSION | _GUARDED),
        }
        self._secrets = libpq.secrets(settings, "database")
        self._redactor = settings.redactor
        self._most_silence = settings.integer("wal.receiver.timeout.ms") / 1000

    def connect(self) -> Connection:
        """Open a read-only connection; each statement is a transaction of its own."""
        try:
            options = _options(_SESSION | _GUARDED | _READ_ONLY)
            made = psycopg.connect(self._conninfo(options=options), autocommit=True)
        except psycopg.OperationalError as exc:
            reason = str(exc)
        else:
            return self._with_an_encoding(made)
        raise self._refused(reason)  # out here, without the driver's frames, which contain the password

    def guarded(self, *, of_the_user: bool = False, reads_only: bool = False) -> TimedConnection:
        """Open a connection for statements that are answered at once: it detects a silent server.

        Statements `of_the_user` resolve names as any session of the role does.
        """
        try:
            options = _options(_SESSION | (_READ_ONLY if reads_only else {}))
            made = TimedConnection.connect(self._conninfo(options=options), autocommit=True)
            made.most_silence = self._most_silence
            if not of_the_user:  # set now, so that the session's default stays the role's default
                made.execute("; ".join(f"SET {name} = {value}" for name, value in _GUARDED.items()).encode())
        except psycopg.OperationalError as exc:
            reason = str(exc)
        else:
            return self._with_an_encoding(made)
        raise self._refused(reason)

    def money_digits(self) -> int:
        """Return how many digits of money the database's own sessions write; ours may differ."""
        try:
            with psycopg.connect(self._conninfo(options="")) as plain:
                ((digits,),) = plain.execute("SELECT scale(1::money::numeric)")
                return int(str(digits))
        except psycopg.OperationalError as exc:
            reason = str(exc)
        raise self._refused(reason)

    def replicate(self) -> pq.abc.PGconn:
        """Open a connection for START_REPLICATION."""
        options = _options(_SESSION | _GUARDED | _WARNS)
        steps = generators.connect(self._conninfo(replication="database", options=options))
        try:
            stream: pq.abc.PGconn = waiting.wait_conn(steps, interval=0.1, timeout=libpq.CONNECT_LIMIT_S)
        except psycopg.OperationalError as exc:
            reason = str(exc)
        else:
            return stream
        raise self._refused(reason)

    def _conninfo(self, **more: str) -> str:
        revealed = {name: secret.reveal() for name, secret in self._secrets.items()}
        return conninfo.make_conninfo("", **{**self._fields, **more}, **revealed)

    def _refused(self, reason: str) -> WracklineError:
        fields = self._fields
        return refusal(
            self._redactor.clean(" ".join(reason.split())),
            fields["host"],
            fields["port"],
            fields["user"],
            self.database,
            self._setting,
        )

    def _with_an_encoding(self, connection: C) -> C:
        """Refuse a database of SQL_ASCII: the server sends its bytes only until one of them is not UTF-8."""
        if connection.info.parameter_status("server_encoding") != "SQL_ASCII":
            return connection
        name = connection.info.dbname
        connection.close()
        copy, dump = shlex.quote(f"{name}_utf8"), shlex.quote(name)
        raise NO_ENCODING(database=name, copy=copy, dump=dump, setting=self._setting)


def as_the_user(connection: Connection) -> None:
    """Resolve names as any session of the role does, to the end of the transaction.

    A statement that fires triggers of the role's owner needs this; it runs on a `guarded` connection.
    """
    connection.execute("; ".join(f"SET LOCAL {name} TO DEFAULT" for name in _GUARDED).encode())


def _options(session: Mapping[str, str]) -> str:
    return " ".join(f"-c {name}={value.replace(' ', '')}" for name, value in session.items())
