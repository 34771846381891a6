"""What an error of the server's means: its number, and who acts on it.

    number and words, what was asked, of which table  ->  one of our errors, with no value of a row in it

| number | what it is | who acts |
|---|---|---|
| none, 1053, 1158 to 1161, 1317, 1927, 2006, 2013, 3032, 4031 | the connection is gone | we |
| 1205, 1213, 1412, 3572, 1054, all others | a lock, a conflict, an altered table, what nobody knows | we |
| 1044, 1045, 1142, 1143, 1227, 1370, 3530 | a grant is missing | an operator |
| 1049, 1051, 1146 | a table or a database is missing | an operator |
| 1969, 3024 | a limit on the time of statements | an operator |
| 1267, 1270, 1271, 1292, 1366, 1411, 1525, 4078 | a value that can't be read or compared | an operator |
| 1290, 1792, 1836 | the server only reads | an operator |
| 1820 | the password has expired | an operator |
| 1064, 1149, 1193, 1210, 1235, 1305 | a statement that will fail again | an operator |

"We" is Transient: tried again, with a limit.  A server's message can quote what it chokes on, a bound or a
cell; so its words are shown only for those numbers whose message names objects alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pymysql

from wrackline.producers.sources.mysql.connect import who
from wrackline.producers.sources.mysql.names import account, literal, table_name
from wrackline.producers.sources.mysql.statement_rows import Connection, LostError, RefusedError
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.table import TableId

SERVER_LOST = define(
    "mysql.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is asked again by itself, on a new connection; see the server's log",
)
RIGHT_MISSING = define(
    "mysql.right_missing",
    OperatorNeeded,
    "the account {user} may not {doing}: {reason}",
    hint="as an administrator: GRANT {right} ON {object} TO {user}; what a pipeline needs: wrackline check"
    " <pipeline.toml>",
)
OBJECT_MISSING = define(
    "mysql.object_missing",
    OperatorNeeded,
    "what is needed to {doing} is not there: {reason}",
    hint="make it again, or take it out of the pipeline's settings; see: wrackline check <pipeline.toml>",
)
STATEMENT_ENDED = define(
    "mysql.statement_ended",
    OperatorNeeded,
    "a limit on the time of statements ended what should {doing} (error {number})",
    hint="as an administrator: on MySQL SET GLOBAL max_execution_time = 0; on MariaDB SET GLOBAL"
    " max_statement_time = 0, and for the account ALTER USER ... WITH MAX_STATEMENT_TIME 0",
)
VALUE_REFUSED = define(
    "mysql.value_refused",
    OperatorNeeded,
    "the server can't {doing}: a stored value, or a key that was asked for, does not let itself be compared"
    " (error {number})",
    hint="correct the row or the request, or leave the column out:"
    " column.exclude.list=<database>.<table>.<column>",
)
ONLY_READS = define(
    "mysql.only_reads",
    OperatorNeeded,
    "the server takes no writes and can't {doing} (error {number})",
    hint="read without writing: incremental.snapshot.watermarking.strategy=fence; or connect to the server"
    " that takes writes",
)

STATEMENT_REFUSED = define(
    "mysql.statement_refused",
    OperatorNeeded,
    "the server refuses to {doing} (error {number})",
    hint="what the number means: perror {number}; the same would be said at every try",
)
PASSWORD_EXPIRED = define(
    "mysql.password_expired",
    OperatorNeeded,
    "the password of {user} has expired, so the server does not {doing}",
    hint="as an administrator: ALTER USER {user} IDENTIFIED BY '...' PASSWORD EXPIRE NEVER",
)

RIGHTS = frozenset({1044, 1045, 1142, 1143, 1227, 1370, 3530})
_MISSING = frozenset({1049, 1051, 1146})
_ENDED = frozenset({1969, 3024})
_VALUES = frozenset({1267, 1270, 1271, 1292, 1366, 1411, 1525, 4078})
_READS = frozenset({1290, 1792, 1836})
_AGAIN = frozenset({1064, 1149, 1193, 1210, 1235, 1305})
_EXPIRED = frozenset({1820})
_GONE = frozenset({0, 1053, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 3032, 4031})


def explained(
    number: int, words: str, doing: str, user: str, table: TableId | None = None, right: str = "SELECT"
) -> WracklineError:
    """Return what an error of the server's means to us; `doing` goes on from "the server did not".

    `user` is the account as GRANT takes it.
    """
    code = _whose(number)
    telling = not number or number in RIGHTS | _MISSING | _GONE
    known = {
        "doing": doing,
        "user": user,
        "number": number,
        "reason": words if telling and words else f"error {number}",
        "right": right,
        "object": "*.*" if table is None else table_name(table),
    }
    return code(**{name: known[name] for name in code.placeholders})


def _whose(number: int) -> ErrorCode:
    for numbers, code in (
        (RIGHTS, RIGHT_MISSING),
        (_MISSING, OBJECT_MISSING),
        (_ENDED, STATEMENT_ENDED),
        (_VALUES, VALUE_REFUSED),
        (_READS, ONLY_READS),
        (_AGAIN, STATEMENT_REFUSED),
        (_EXPIRED, PASSWORD_EXPIRED),
    ):
        if number in numbers:
            return code
    return SERVER_LOST


@contextmanager
def asking(
    connection: Connection, doing: str, table: TableId | None = None, right: str = "SELECT"
) -> Iterator[None]:
    """Turn what the server answers into one of our errors; a lost connection is closed.

    What the driver itself refuses for our code's sake is a fault of our code.
    """
    try:
        yield
    except LostError as exc:
        number, words = 0, str(exc)
    except RefusedError as exc:
        number, words = exc.number, exc.words
    except (pymysql.err.InterfaceError, pymysql.err.DatabaseError) as exc:
        if isinstance(exc, pymysql.err.ProgrammingError) and len(exc.args) < 2:
            raise
        number, words = (exc.args[0], str(exc.args[-1])) if isinstance(exc.args[0], int) else (0, str(exc))
    else:
        return
    if number in _GONE:
        close(connection)
    raise explained(number, " ".join(words.split()), doing, account_of(connection), table, right)


def account_of(connection: Connection) -> str:
    """Return our account as GRANT takes it; of a server that does not say, the name that was given."""
    user: str | bytes = connection.user or ""
    with suppress(pymysql.err.Error, OSError):
        return account(*who(connection))
    return literal(user.decode() if isinstance(user, bytes) else user)


def close(connection: Connection) -> None:
    """End a connection without a word; one amid a statement's rows could not be talked to."""
    with suppress(pymysql.err.Error, OSError):
        connection._force_close()  # type: ignore[attr-defined] # noqa: SLF001 - close() sends a goodbye
