"""What an error of the server's means: its number, and who acts on it.

    pymysql's error, what was asked, of which table  ->  one of our errors, with no value of a row in it

| number | what it is | who acts |
|---|---|---|
| 2006, 2013, 2014, 2055, 1053, 1152, 1158 to 1161, 1927, 3032, 4031 | the connection is gone | we |
| 1205, 1213, 1040, 1203, 1226, 1020, all others | a lock, a full server, what nobody here knows | we |
| 1044, 1045, 1142, 1143, 1227, 1370, 3530, 1820 | a grant is missing, a password expired | an operator |
| 1049, 1051, 1054, 1109, 1146, 1176 | a database, table, column is missing | an operator |
| 1290, 1792, 1836 | the server may not be written | an operator |
| 1317, 1969, 3024 | a limit on time, or somebody's KILL QUERY | an operator |
| 1264 to 1271, 1292, 1300, 1366, 1406, 1411, 1525, 1690, 3854, 4078 | a bad value | an operator |
| 1064, 1149, 1235, 1210, 1305, 1193 | a statement that will fail again | an operator |

"We" is Transient: tried again, with a limit.  A server's message can quote what it chokes on, a bound or a
cell; so its words are shown only for those numbers whose message names objects alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
from pymysql.connections import Connection

from wrackline.producers.sources.mysql.names import account, literal, table_name
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.table import TableId

SERVER_LOST = define(
    "mysql.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is asked again by itself, on a new connection; see the server's error log",
)
RIGHT_MISSING = define(
    "mysql.right_missing",
    OperatorNeeded,
    "the user {user} may not {doing}: {reason}",
    hint="{mend}; what a pipeline needs: wrackline check <pipeline.toml>",
)
OBJECT_MISSING = define(
    "mysql.object_missing",
    OperatorNeeded,
    "what is needed to {doing} is not there: {reason}",
    hint="make it again, or take it out of the pipeline's settings; see: wrackline check <pipeline.toml>",
)
ONLY_READS = define(
    "mysql.only_reads",
    OperatorNeeded,
    "the server takes no change, so it could not {doing}: {reason}",
    hint="name the primary in database.hostname; or have nothing written: read.only=true",
)
STATEMENT_ENDED = define(
    "mysql.statement_ended",
    OperatorNeeded,
    "the server was made to stop before it could {doing} (error {number})",
    hint="let statements of {user} run longer: max_execution_time, on MariaDB max_statement_time; or nobody"
    " should KILL them: our sessions' program_name begins with wrackline",
)
VALUE_REFUSED = define(
    "mysql.value_refused",
    OperatorNeeded,
    "the server can't {doing}: a stored value, or a key that was asked for, does not let itself be read"
    " (error {number})",
    hint="correct the row or the request, or leave the column out:"
    " column.exclude.list=<database>.<table>.<column>",
)
STATEMENT_REFUSED = define(
    "mysql.statement_refused",
    OperatorNeeded,
    "the server refuses to {doing} (error {number})",
    hint="what the number means: perror {number}; the same would be said at every try",
)

_GONE = frozenset({2006, 2013, 2014, 2055, 1053, 1152, 1158, 1159, 1160, 1161, 1927, 3032, 4031})
_BUSY = frozenset({1205, 1213, 1040, 1203, 1226})
_EXPIRED = 1820
_RIGHTS = frozenset({1044, 1045, 1142, 1143, 1227, 1370, 3530, _EXPIRED})
_MISSING = frozenset({1049, 1051, 1054, 1109, 1146, 1176})
_UNWRITABLE = frozenset({1290, 1792, 1836})
_WHOSE: dict[ErrorCode, frozenset[int]] = {
    RIGHT_MISSING: _RIGHTS,
    OBJECT_MISSING: _MISSING,
    ONLY_READS: _UNWRITABLE,
    STATEMENT_ENDED: frozenset({1317, 1969, 3024}),
    VALUE_REFUSED: frozenset(
        {1264, 1265, 1267, 1270, 1271, 1292, 1300, 1366, 1406, 1411, 1525, 1690, 3854, 4078}
    ),
    STATEMENT_REFUSED: frozenset({1064, 1149, 1193, 1210, 1235, 1305}),
}
_NAMES_OBJECTS = _GONE | _BUSY | _RIGHTS | _MISSING | _UNWRITABLE


def explained(
    number: int, words: str, doing: str, user: str, table: TableId | None = None, right: str = "SELECT"
) -> WracklineError:
    """Return what an error of the server's means to us; `doing` goes on from "the server did not"."""
    code = next((code for code, numbers in _WHOSE.items() if number in numbers), SERVER_LOST)
    to = account(user)
    mend = f"GRANT {right} ON {'*.*' if table is None else table_name(table)} TO {to}"
    if number == _EXPIRED:
        mend = f"ALTER USER {to} IDENTIFIED BY '...' PASSWORD EXPIRE NEVER"
    known = {
        "doing": doing,
        "user": literal(user),
        "number": number,
        "reason": " ".join(words.split()) if number in _NAMES_OBJECTS else f"error {number}",
        "mend": f"as an administrator: {mend}",
    }
    return code(**{name: known[name] for name in code.placeholders})


@contextmanager
def asking(
    connection: "Connection[Any]", doing: str, table: TableId | None = None, right: str = "SELECT"
) -> Iterator[None]:
    """Turn what the server answers into one of our errors; a lost connection is closed.

    What the driver itself refuses, which has no number, is a fault of our code unless the connection is gone.
    """
    try:
        yield
    except pymysql.err.Error as exc:
        number = exc.args[0] if exc.args and isinstance(exc.args[0], int) else None
        words = str(exc.args[-1]) if exc.args else ""
        if number == 0 and isinstance(exc, pymysql.err.InterfaceError):
            number, words = 2006, "the connection is closed"
        if number is None:
            raise
        if number in _GONE and connection.open:
            connection.close()
        raise explained(number, words, doing, _user(connection), table, right) from None


def _user(connection: "Connection[Any]") -> str:
    user = connection.user
    return user.decode() if isinstance(user, bytes) else str(user or "")
