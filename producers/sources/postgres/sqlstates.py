"""What an error of the server's means: its SQLSTATE, and who acts on it.

    psycopg.Error, what was asked, of which table  ->  one of our errors, with no value of a row in it

| SQLSTATE | what it is | who acts |
|---|---|---|
| none, 08, 57P01 to 57P03, 57P05, 25P03, 25P04 | the connection is gone | we |
| 40, 55P03, 53, 58, XX000, all others | a conflict, a lock, a full server, what nobody here knows | we |
| 42501 | a grant is missing | an operator |
| 42P01, 3F000, 3D000, 57P04 | a table, a schema, the database is missing | an operator |
| 57014 | statement_timeout, or somebody's pg_cancel_backend | an operator |
| 22 | a value that can't be read, compared or written | an operator |
| other 42, 0A, XX001, XX002 | a statement or stored data that will fail again | an operator |

"We" is Transient: tried again, with a limit.  A server's message can quote what it chokes on, a bound or a
cell; so its words are shown only for those codes whose message names objects alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import pq

from wrackline.producers.sources.postgres.names import identifier, table_name
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.table import TableId

SERVER_LOST = define(
    "pg.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is asked again by itself, on a new connection; see the server's log",
)
RIGHT_MISSING = define(
    "pg.right_missing",
    OperatorNeeded,
    "the role {role} may not {doing}: {reason}",
    hint="{mend}; what a pipeline needs: wrackline check <pipeline.toml>",
)
OBJECT_MISSING = define(
    "pg.object_missing",
    OperatorNeeded,
    "what is needed to {doing} is not there: {reason}",
    hint="make it again, or take it out of the pipeline's settings; see: wrackline check <pipeline.toml>",
)
STATEMENT_ENDED = define(
    "pg.statement_ended",
    OperatorNeeded,
    "the server was made to stop before it could {doing} (SQLSTATE 57014)",
    hint="let the role's statements run longer: ALTER ROLE {role} SET statement_timeout = 0; or nobody should"
    " cancel them: the application_name of our sessions begins with wrackline",
)
VALUE_REFUSED = define(
    "pg.value_refused",
    OperatorNeeded,
    "the server can't {doing}: a stored value, or a key that was asked for, does not let itself be read"
    " (SQLSTATE {state})",
    hint="the server's own log shows the statement; correct the row or the request, or leave the column out:"
    " column.exclude.list=<schema>.<table>.<column>",
)
STATEMENT_REFUSED = define(
    "pg.statement_refused",
    OperatorNeeded,
    "the server refuses to {doing} (SQLSTATE {state})",
    hint="the server's own log says why, and would say it again at every try",
)

_GONE = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "25P04"})
_MISSING = frozenset({"42P01", "3F000", "3D000", "57P04"})
_NAMES_OBJECTS = frozenset({"42501", *_MISSING, *_GONE, "55P03"})
_FAILS_AGAIN = ("42", "0A", "XX001", "XX002")


def explained(
    state: str | None,
    words: str | None,
    doing: str,
    role: str,
    table: TableId | None = None,
    right: str = "SELECT",
) -> WracklineError:
    """Return what an error of the server's means to us; `doing` goes on from "the server did not"."""
    state = state or ""
    code = _whose(state)
    telling = not state or state in _NAMES_OBJECTS or state.startswith("53")
    known = {
        "doing": doing,
        "role": role if code is RIGHT_MISSING else identifier(role),
        "state": state,
        "reason": (words if telling else None)
        or (f"SQLSTATE {state}" if state else "the connection was lost"),
        "mend": _grant(role, table, right),
    }
    return code(**{name: known[name] for name in code.placeholders})


def _whose(state: str) -> ErrorCode:
    if state == "42501":
        return RIGHT_MISSING
    if state in _MISSING:
        return OBJECT_MISSING
    if state == "57014":
        return STATEMENT_ENDED
    if state.startswith("22"):
        return VALUE_REFUSED
    return STATEMENT_REFUSED if state.startswith(_FAILS_AGAIN) else SERVER_LOST


def explained_answer(answer: pq.abc.PGresult, doing: str, role: str, table: TableId) -> WracklineError:
    """Return what a bare result means."""
    state, words = (
        None if (field := answer.error_field(which)) is None else field.decode(errors="replace")
        for which in (pq.DiagnosticField.SQLSTATE, pq.DiagnosticField.MESSAGE_PRIMARY)
    )
    return explained(state, words, doing, role, table)


@contextmanager
def asking(
    connection: psycopg.Connection[tuple[object, ...]],
    doing: str,
    table: TableId | None = None,
    right: str = "SELECT",
) -> Iterator[None]:
    """Turn what the server answers into one of our errors; a lost connection is closed.

    What the driver itself refuses (no SQLSTATE, and not for the connection's sake) is a fault of our code.
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
        raise explained(state, words, doing, role, table, right) from None


def _grant(role: str, table: TableId | None, right: str) -> str:
    to = identifier(role)
    if table is None:
        return f"as a superuser, grant it to {to}"
    return (
        f"as its owner: GRANT USAGE ON SCHEMA {identifier(table.schema)} TO {to};"
        f" GRANT {right} ON {table_name(table)} TO {to}"
    )
