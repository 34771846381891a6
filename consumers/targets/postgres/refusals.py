"""What PostgreSQL refuses, as an error that says whether the operator must act; none shows a row's values.

The server's own messages may quote a value or a whole row, so a statement's error passes on its SQLSTATE
and the names it carries, and nothing else.  Before there is a session there is no SQLSTATE: words are
looked for in libpq's text, and what has an unknown text is tried again.  Pure.
"""

import re
import shlex
from collections.abc import Iterable

import psycopg
from psycopg import conninfo

from wrackline.consumers.contract.target import CHARACTER_REFUSED
from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "pg_target.unreachable",
    Transient,
    "no connection to the target database {database} on {host}: {reason}",
    hint="try it by hand: {psql}",
    connects=True,
)
IN_CLEAR = define(
    "pg_target.password_in_clear",
    OperatorNeeded,
    "the target server on {host} asks for the password of {user} in clear, and its certificate is"
    " not verified",
    hint='verify it: target.sslmode = "verify-full"; or let it ask in another way, in pg_hba.conf: hostssl'
    " {door} <address> scram-sha-256; or, on a network that you"
    " trust: target.password.clear.allowed = true",
    connects=True,
)
LOGIN_REFUSED = define(
    "pg_target.login_refused",
    OperatorNeeded,
    "the target server on {host} does not let {user} into database {database}: {reason}",
    hint="compare target.user, target.password, target.dbname, target.sslmode and target.sslrootcert with"
    " what this takes: {psql}",
    connects=True,
)
CONNECTION_LOST = define(
    "pg_target.connection_lost",
    Transient,
    "the connection to the target ended during {doing}",
    hint="the consumer finds out by itself what was committed; look at the server's log if it comes again",
    connects=True,
)
BUSY = define(
    "pg_target.busy",
    Transient,
    "another session holds {place} of the target, so {doing} ended",
    hint="who it is: SELECT pid, application_name, state, query FROM pg_stat_activity WHERE pid ="
    " ANY(SELECT pid FROM pg_locks WHERE granted AND relation = '{place}'::regclass); a second driver of"
    " the same pipeline has to be stopped; a longer patience: target.lock.timeout.ms",
)
SHORT = define(
    "pg_target.short",
    Transient,
    "the target server ran out of a resource during {doing}: {name} ({state})",
    hint="look at the server's log, its free disk space and max_connections",
)
VALUE_REFUSED = define(
    "pg_target.value_refused",
    OperatorNeeded,
    "{place} can't store a value of {where}: {name} ({state})",
    hint="leave the column out: column.exclude.list; or look at the rows of the source that hold it",
)
DEPENDENTS = define(
    "pg_target.dependents",
    OperatorNeeded,
    "other views need {place} as it is, so {doing} could not continue",
    hint="which ones: SELECT DISTINCT classid::regclass, objid, pg_describe_object(classid, objid, 0) FROM"
    " pg_depend WHERE refobjid = '{place}'::regclass; drop them and create them again afterwards",
)
REFUSED = define(
    "pg_target.refused",
    OperatorNeeded,
    "the target refused {doing}: {name} ({state})",
    hint="the server's log has the statement and the reason: look there for {state}",
)

_CLOSED_DOORS = (
    "password authentication failed",
    "no password supplied",
    "authentication failed",
    "pg_hba.conf",
    "is not permitted to log in",
    "permission denied for database",
    'FATAL: role "',
    'FATAL: database "',
    "does not match host name",
    "root certificate file",
    "certificate verify failed",
    "does not support SSL",
    "client certificate",
    "certificate required",
    "private key file",
    "SSL error",
    "no encryption",
)
_TABLE = ErrorTable(
    {
        CONNECTION_LOST: ("", "08", "57P01", "57P02", "57P03", "57P05"),
        BUSY: ("40", "55P03"),
        SHORT: ("53", "54000", "58030"),
        CHARACTER_REFUSED: ("22021",),  # in a session in UTF8: U+0000
        VALUE_REFUSED: ("22",),
        DEPENDENTS: ("2BP01",),
    },
    otherwise=REFUSED,
)
_COPY_COLUMN = re.compile(r"COPY stage, line \d+, column c(\d+)")


def connection_error(reason: str, host: str, port: str, user: str, database: str) -> WracklineError:
    """Say what a refused connection means; `reason` has been cleaned of secrets."""
    if "requested a cleartext password" in reason:
        return IN_CLEAR(host=host, user=user, door=f"{_quoted(database)} {_quoted(user)}")
    psql = f"psql {shlex.quote(conninfo.make_conninfo('', host=host, port=port, user=user, dbname=database))}"
    if any(words in reason for words in _CLOSED_DOORS):
        return LOGIN_REFUSED(host=host, user=user, database=database, reason=reason, psql=psql)
    return UNREACHABLE(host=host, database=database, reason=reason, psql=psql)


def _quoted(name: str) -> str:
    """Quote a name for a line of pg_hba.conf."""
    return '"' + name.replace('"', '""') + '"'


def statement_error(
    exc: psycopg.Error, *, doing: str, place: str, columns: Iterable[str] = ()
) -> WracklineError:
    """Say what a failed statement means; `columns` are those of a line of COPY, in order."""
    where = _column(exc, list(columns))
    return _TABLE.explain(
        exc.sqlstate or "", None, doing=doing, place=place, name=type(exc).__name__, where=where
    )


def _column(exc: psycopg.Error, columns: list[str]) -> str:
    """Name the column of a line that COPY refused; the rest of that text is the line itself."""
    found = _COPY_COLUMN.search(exc.diag.context or "")
    return f"column {columns[int(found[1])]}" if found and int(found[1]) < len(columns) else "a column"
