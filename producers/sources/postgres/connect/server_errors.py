"""What an error of the server means: its SQLSTATE, and which side acts on it.

    psycopg.Error, the action, the table  ->  one of our errors, without any value of a row

| SQLSTATE | what it is | who acts |
|---|---|---|
| none, 08, 57P01 to 57P03, 57P05, 25P03, 25P04 | the connection is gone | we |
| 40, 55P03, 53, 58, XX000, all others | a conflict, a lock, a full server, an unknown state | we |
| 42501 | a grant is missing | an operator |
| 42P01, 3F000, 3D000, 57P04 | a table, a schema, the database is missing | an operator |
| 57014 | statement_timeout, or a pg_cancel_backend | an operator |
| 22 | a value that can't be read, compared or written | an operator |
| other 42, 0A, XX001, XX002 | a statement or stored data that will fail again | an operator |

"We" is Transient: tried again, with a limit.  A server's message can quote the value that it fails on, a
bound or a cell; so its words are shown only for codes whose message names only objects.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import pq

from wrackline.producers.sources.postgres.connect.quoting import identifier, table_name
from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.tables.table import TableId

SERVER_LOST = define(
    "pg.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is retried automatically, on a new connection; see the server's log",
)
RIGHT_MISSING = define(
    "pg.right_missing",
    OperatorNeeded,
    "the role {role} may not {doing}: {reason}",
    hint="{fix}; what a pipeline needs: wrackline check <pipeline.toml>",
)
OBJECT_MISSING = define(
    "pg.object_missing",
    OperatorNeeded,
    "what is needed to {doing} does not exist: {reason}",
    hint="create it again, or remove it from the pipeline's settings; see: wrackline check <pipeline.toml>",
)
STATEMENT_ENDED = define(
    "pg.statement_ended",
    OperatorNeeded,
    "the server's statement was cancelled before it could {doing} (SQLSTATE 57014)",
    hint="let the role's statements run longer: ALTER ROLE {role} SET statement_timeout = 0; or make sure"
    " that they are not cancelled: the application_name of our sessions begins with wrackline",
)
VALUE_REFUSED = define(
    "pg.value_refused",
    OperatorNeeded,
    "the server can't {doing}: a stored value, or a requested key, can't be read (SQLSTATE {state})",
    hint="the server's own log shows the statement; correct the row or the request, or leave the column out:"
    " column.exclude.list = '<schema>.<table>.<column>'",
)
STATEMENT_REFUSED = define(
    "pg.statement_refused",
    OperatorNeeded,
    "the server refuses to {doing} (SQLSTATE {state})",
    hint="the server's own log says why; every further try would fail in the same way",
)

_MISSING = ("42P01", "3F000", "3D000", "57P04")
_TABLE = ErrorTable(
    {
        RIGHT_MISSING: ("42501",),
        OBJECT_MISSING: _MISSING,
        STATEMENT_ENDED: ("57014",),
        VALUE_REFUSED: ("22",),
        STATEMENT_REFUSED: ("42", "0A", "XX001", "XX002"),
    },
    otherwise=SERVER_LOST,
    shown=(
        *("42501", *_MISSING, "55P03", "53"),
        *("57P01", "57P02", "57P03", "57P05", "25P03", "25P04"),
    ),
)


def explain(
    state: str | None,
    words: str | None,
    doing: str,
    role: str,
    table: TableId | None = None,
    right: str = "SELECT",
) -> WracklineError:
    """Return what an error of the server means to us; `doing` continues "the server did not"."""
    state = state or ""
    named = role if _TABLE.code_of(state) is RIGHT_MISSING else identifier(role)
    return _TABLE.explain(state, words, doing=doing, role=named, fix=_grant(role, table, right))


def explain_answer(
    answer: pq.abc.PGresult, doing: str, role: str, table: TableId | None = None
) -> WracklineError:
    """Return what a bare result means."""
    state, words = (
        None if (field := answer.error_field(which)) is None else field.decode(errors="replace")
        for which in (pq.DiagnosticField.SQLSTATE, pq.DiagnosticField.MESSAGE_PRIMARY)
    )
    return explain(state, words, doing, role, table)


@contextmanager
def translate_errors(
    connection: psycopg.Connection[tuple[object, ...]],
    doing: str,
    table: TableId | None = None,
    right: str = "SELECT",
) -> Iterator[None]:
    """Turn an error of the server into one of our errors; a lost connection is closed.

    An error of the driver itself (no SQLSTATE, and not about the connection) is a fault of our code.
    """
    try:
        yield
    except psycopg.Error as exc:
        state, words = exc.sqlstate, exc.diag.message_primary
        if state is None:
            if not isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError):
                raise
            words = " ".join(str(exc).split())  # the driver's and libpq's own: about the connection
        role = "" if connection.closed else connection.info.user
        if state is None or connection.broken:
            connection.close()
        raise explain(state, words, doing, role, table, right) from None


def _grant(role: str, table: TableId | None, right: str) -> str:
    to = identifier(role)
    if table is None:
        return f"as a superuser, grant it to {to}"
    return (
        f"as its owner: GRANT USAGE ON SCHEMA {identifier(table.schema)} TO {to};"
        f" GRANT {right} ON {table_name(table)} TO {to}"
    )
