"""Connections to PostgreSQL: ordinary ones and the replication stream's, with the same session.

The session's settings decide how the server writes values, so the log and a chunk give the same
bytes for the same cell only because both connect here.  Every field goes to libpq by name, never as
part of a string that it could break out of.
"""

import shlex
from collections.abc import Mapping
from typing import TypeVar

import psycopg
from psycopg import conninfo, generators, pq, waiting

from wrackline.producers.sources.postgres.patience import Guarded
from wrackline.producers.sources.postgres.position import History
from wrackline.producers.sources.postgres.refusals import refusal
from wrackline.schemas import libpq
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.settings import Values

Connection = psycopg.Connection[tuple[object, ...]]
C = TypeVar("C", bound=Connection)

NO_ENCODING = define(
    "pg.no_encoding",
    OperatorNeeded,
    "database {database} has the encoding SQL_ASCII: its text is bytes that nobody vouches for, and one that"
    " is not UTF-8 would end the log for all tables, for ever",
    hint="copy it into a database with an encoding, from where its text is known to be as LATIN1 or UTF8:"
    " createdb --template=template0 --encoding=UTF8 {copy}; pg_dump --encoding=LATIN1 -d {dump} | psql -d"
    " {copy}; then name that one: database.dbname",
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
# Names mean the server's own functions and operators, not those that somebody has put into a schema of the
# role's path; and a policy is an error, not a read of some of the rows by somebody else's function.
_GUARDED = {"search_path": "pg_catalog,pg_temp", "row_security": "off"}
_READ_ONLY = {"default_transaction_read_only": "on"}
_HISTORY = """
SELECT system_identifier::text,
       CASE WHEN pg_is_in_recovery() THEN timeline_id
            ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END
FROM pg_control_system(), pg_control_checkpoint()"""


class Server:
    """Where the database is and who we are there."""

    def __init__(self, settings: Values) -> None:
        self.database = settings.text("database.dbname")
        self._fields = libpq.fields(settings, "database") | {
            "application_name": f"wrackline {settings.text('topic.prefix')}",
            "tcp_user_timeout": str(settings.integer("wal.receiver.timeout.ms")),
            "options": _options(_SESSION | _GUARDED),
        }
        self._secrets = libpq.secrets(settings, "database")
        self._redactor = settings.redactor
        self._most_silence = settings.integer("wal.receiver.timeout.ms") / 1000

    def connect(self) -> Connection:
        """Open a connection that only reads; each statement is a transaction of its own."""
        try:
            options = _options(_SESSION | _GUARDED | _READ_ONLY)
            made = psycopg.connect(self._conninfo(options=options), autocommit=True)
        except psycopg.OperationalError as exc:
            reason = str(exc)
        else:
            return _with_an_encoding(made)
        raise self._refused(reason)  # out here, so that the driver's frames, which know the password, go

    def guarded(self, *, of_the_user: bool = False) -> Guarded:
        """Open one for what is answered at once: a server that has gone silent is found out.

        Statements `of_the_user` find names as any session of the role does.
        """
        try:
            options = _options(_SESSION if of_the_user else _SESSION | _GUARDED)
            made = Guarded.connect(self._conninfo(options=options), autocommit=True)
        except psycopg.OperationalError as exc:
            reason = str(exc)
        else:
            made.most_silence = self._most_silence
            return _with_an_encoding(made)
        raise self._refused(reason)

    def money_digits(self) -> int:
        """Return how many digits of money the database's own sessions write, ours aside."""
        try:
            with psycopg.connect(self._conninfo(options="")) as plain:
                ((digits,),) = plain.execute("SELECT scale(1::money::numeric)")
                return int(str(digits))
        except psycopg.OperationalError as exc:
            reason = str(exc)
        raise self._refused(reason)

    def replicate(self) -> pq.abc.PGconn:
        """Open a connection for START_REPLICATION."""
        steps = generators.connect(self._conninfo(replication="database"))
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
        )


def _options(session: Mapping[str, str]) -> str:
    return " ".join(f"-c {name}={value.replace(' ', '')}" for name, value in session.items())


def _with_an_encoding(connection: C) -> C:
    """Refuse a database of SQL_ASCII: the server hands its bytes out unless one of them is not UTF-8."""
    if connection.info.parameter_status("server_encoding") != "SQL_ASCII":
        return connection
    name = connection.info.dbname
    connection.close()
    raise NO_ENCODING(database=name, copy=shlex.quote(f"{name}_utf8"), dump=shlex.quote(name))


def history(connection: Connection, slot: str) -> History:
    """Ask the server which log it writes.

    A primary's timeline comes from the name of the file that it writes: the control file still has the
    old one between a promotion and the next checkpoint.
    """
    ((system, timeline),) = connection.execute(_HISTORY)
    if not isinstance(system, str) or not isinstance(timeline, int):
        raise TypeError("a system identifier is text, a timeline a number")
    return History(system, timeline, slot)
