"""What an error of the server means: its number, and which side acts on it.

    number and words, the action, the table  ->  one of our errors, without any value of a row

| number | what it is | who acts |
|---|---|---|
| none, 1053, 1158 to 1161, 1927, 2006, 2013, 3032, 4031 | the connection is gone | we |
| 1205, 1213, 1317, 1412, 3572, 1054, all others | a lock, a conflict, KILL QUERY, an altered table | we |
| 1044, 1045, 1142, 1143, 1227, 1370, 3530 | a grant is missing | an operator |
| 1049, 1051, 1146 | a table or a database is missing | an operator |
| 1969, 3024 | a limit on the time of statements | an operator |
| 1267, 1270, 1271, 1292, 1366, 1411, 1525, 4078 | a value that can't be read or compared | an operator |
| 1290, 1792, 1836 | the server only reads | an operator |
| 1820 | the password has expired | an operator |
| 1064, 1149, 1193, 1210, 1235, 1305 | a statement that will fail again | an operator |

"We" is Transient: tried again, with a limit.  A server's message can quote the value that it fails on, a
bound or a cell; so its words are shown only for numbers whose message names only objects.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pymysql

from wrackline.producers.sources.mysql.connect.connect import current_account
from wrackline.producers.sources.mysql.connect.quoting import account, literal, table_name
from wrackline.producers.sources.mysql.connect.statement_rows import (
    Connection,
    ConnectionLostError,
    StatementRefusedError,
)
from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.tables.table import TableId

SERVER_LOST = define(
    "mysql.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is retried automatically, on a new connection; see the server's log",
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
    "what is needed to {doing} does not exist: {reason}",
    hint="create it again, or remove it from the pipeline's settings; see: wrackline check <pipeline.toml>",
)
STATEMENT_ENDED = define(
    "mysql.statement_ended",
    OperatorNeeded,
    "a time limit for statements ended the attempt to {doing} (error {number})",
    hint="as an administrator: on MySQL SET GLOBAL max_execution_time = 0; on MariaDB SET GLOBAL"
    " max_statement_time = 0, and for the account ALTER USER ... WITH MAX_STATEMENT_TIME 0",
)
VALUE_REFUSED = define(
    "mysql.value_refused",
    OperatorNeeded,
    "the server can't {doing}: a stored value, or a requested key, can't be compared (error {number})",
    hint="correct the row or the request, or leave the column out:"
    " column.exclude.list = '<database>.<table>.<column>'",
)
ONLY_READS = define(
    "mysql.only_reads",
    OperatorNeeded,
    "the server accepts no writes and can't {doing} (error {number})",
    hint='read without writing: incremental.snapshot.watermarking.strategy = "fence"; or connect to the'
    " server that takes writes",
)

STATEMENT_REFUSED = define(
    "mysql.statement_refused",
    OperatorNeeded,
    "the server refuses to {doing} (error {number})",
    hint="what the number means: perror {number}; every further try would fail in the same way",
)
PASSWORD_EXPIRED = define(
    "mysql.password_expired",
    OperatorNeeded,
    "the password of {user} has expired, so the server does not {doing}",
    hint="as an administrator: ALTER USER {user} IDENTIFIED BY '...' PASSWORD EXPIRE NEVER",
    connects=True,
)

RIGHTS = frozenset({1044, 1045, 1142, 1143, 1227, 1370, 3530})
_MISSING = frozenset({1049, 1051, 1146})
_GONE = frozenset({0, 1053, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 3032, 4031})
_TABLE = ErrorTable(
    {
        RIGHT_MISSING: RIGHTS,
        OBJECT_MISSING: _MISSING,
        STATEMENT_ENDED: (1969, 3024),
        VALUE_REFUSED: (1267, 1270, 1271, 1292, 1366, 1411, 1525, 4078),
        ONLY_READS: (1290, 1792, 1836),
        STATEMENT_REFUSED: (1064, 1149, 1193, 1210, 1235, 1305),
        PASSWORD_EXPIRED: (1820,),
    },
    otherwise=SERVER_LOST,
    shown=RIGHTS | _MISSING | _GONE,
    named="error {}",
)


def explain(
    number: int, words: str, doing: str, user: str, table: TableId | None = None, right: str = "SELECT"
) -> WracklineError:
    """Return what an error of the server means to us; `doing` continues "the server did not".

    `user` is the account as GRANT takes it.
    """
    held = "*.*" if table is None else table_name(table)
    return _TABLE.explain(number, words, doing=doing, user=user, right=right, object=held)


@contextmanager
def translate_errors(
    connection: Connection, doing: str, table: TableId | None = None, right: str = "SELECT"
) -> Iterator[None]:
    """Turn an error of the server into one of our errors; a lost connection is closed.

    An error of the driver itself about our use of it is a fault of our code.
    """
    try:
        yield
    except ConnectionLostError as exc:
        number, words = 0, str(exc)
    except StatementRefusedError as exc:
        number, words = exc.number, exc.words
    except (pymysql.err.InterfaceError, pymysql.err.DatabaseError) as exc:
        if isinstance(exc, pymysql.err.ProgrammingError) and len(exc.args) < 2:
            raise
        number, words = (exc.args[0], str(exc.args[-1])) if isinstance(exc.args[0], int) else (0, str(exc))
    else:
        return
    if number in _GONE:
        close(connection)
    raise explain(number, " ".join(words.split()), doing, account_of(connection), table, right)


def account_of(connection: Connection) -> str:
    """Return our account as GRANT takes it; if the server does not say it, the name of the login."""
    user: str | bytes = connection.user or ""
    with suppress(pymysql.err.Error, OSError):
        return account(*current_account(connection))
    return literal(user.decode() if isinstance(user, bytes) else user)


def close(connection: Connection) -> None:
    """End a connection without a message; during a statement's rows no message can be sent."""
    with suppress(pymysql.err.Error, OSError):
        connection._force_close()  # type: ignore[attr-defined] # noqa: SLF001 - close() sends a goodbye
