"""What an error of the server means: its number, and which side acts on it.  Pure.

| number | what it is | who acts |
|---|---|---|
| 1205, 1222 | a deadlock, a lock | we |
| 3960, 3961 | a conflict of versions | we |
| 921, 922, 926, 927, 942, 945, 952, 954 | the database starts, is restored or moves | we |
| 976, 978, 983, 40613 | the same, of a group or on Azure | we |
| 924 | one user alone may be in the database | we |
| 208, 911, 4060, 22901, 22985 | a table, a database or a capture instance is missing | an operator |
| 916 | the login has no user in the database | an operator |
| 229, 230, 262, 297, 300, 15247 | a right is missing | an operator |
| 18452, 18456, 18470, 18486, 18487, 18488 | the login is refused | an operator |
| 220, 232, 241, 245, 248, 2628, 8114, 8115, 8152 | a value that can't be read or compared | an operator |
| 40615, 40914, 47073 | a firewall of Azure's refuses our address | an operator |
| 3952 | the database keeps no versions of rows | an operator |
| 207 | a column is missing | an operator |
| 102, 156, 170, 319, 8155, 40508 | a statement that will fail again | an operator |
| 3906, 3908 | the database only reads | an operator |

"We" is Transient: tried again, with a limit.  A message can quote the value that it fails on, so its words
are shown only for numbers whose message names only objects.
"""

from typing import Final

from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

SERVER_LOST = define(
    "sqlserver.server_lost",
    Transient,
    "the server did not {doing}: {reason}",
    hint="it is retried automatically, on a new connection; see the server's error log",
)
ROWS_LOCKED = define(
    "sqlserver.rows_locked",
    Transient,
    "the server did not {doing}, because another session locks what it needs (error {number})",
    hint="it is retried automatically; to see who locks it: SELECT session_id, blocking_session_id,"
    " wait_resource FROM sys.dm_exec_requests WHERE blocking_session_id <> 0;",
)
DATABASE_UNREADY = define(
    "sqlserver.database_unready",
    Transient,
    "the database can't be read now, so the server did not {doing}: {reason}",
    hint="it is retried automatically; to see its state: SELECT name, state_desc FROM sys.databases; one that"
    " is OFFLINE: ALTER DATABASE <database> SET ONLINE; one that is RESTORING, behind its last backup:"
    " RESTORE DATABASE <database> WITH RECOVERY;",
)
RIGHT_MISSING = define(
    "sqlserver.right_missing",
    OperatorNeeded,
    "the login may not {doing}: {reason}",
    hint="what a pipeline needs, with the statements that grant it: wrackline check <pipeline.toml>",
)
OBJECT_MISSING = define(
    "sqlserver.object_missing",
    OperatorNeeded,
    "what is needed to {doing} does not exist: {reason}",
    hint="create it again, or remove it from the pipeline's settings; see: wrackline check <pipeline.toml>",
)
DATABASE_MISSING = define(
    "sqlserver.database_missing",
    OperatorNeeded,
    "there is no such database, or the login may not see it, so the server did not {doing}: {reason}",
    hint="correct database.names; those that the login may enter: SELECT name FROM sys.databases WHERE"
    " HAS_DBACCESS(name) = 1;",
)
USER_MISSING = define(
    "sqlserver.user_missing",
    OperatorNeeded,
    "the login has no user in the database, so it may not {doing}: {reason}",
    hint="as db_owner: USE <database>; CREATE USER <login> FOR LOGIN <login>; then it needs its grants:"
    " wrackline check <pipeline.toml>",
)
COLUMN_MISSING = define(
    "sqlserver.column_missing",
    OperatorNeeded,
    "a column that is needed to {doing} does not exist (error {number})",
    hint="look at the table's columns, and correct the pipeline's settings; see: wrackline check"
    " <pipeline.toml>",
)
LOGIN_REFUSED = define(
    "sqlserver.login_refused",
    OperatorNeeded,
    "the server refuses the login (error {number})",
    hint="correct database.user and database.password, or driver.domain of an integrated login; the reason"
    " is in the server's error log, as securityadmin: EXEC sys.sp_readerrorlog 0, 1, N'Login failed';",
    connects=True,
)
ADDRESS_REFUSED = define(
    "sqlserver.address_refused",
    OperatorNeeded,
    "Azure lets nobody in from our address: {reason}",
    hint="on the server's page, under Networking, add a firewall rule for the address, or a rule for the"
    " virtual network; it holds after up to five minutes",
    connects=True,
)
VERSIONS_MISSING = define(
    "sqlserver.versions_missing",
    OperatorNeeded,
    "the server can't {doing}, because the database keeps no versions of rows (error {number})",
    hint="as db_owner: ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON; or read under locks:"
    ' snapshot.isolation.mode = "read_committed"',
)
VALUE_REFUSED = define(
    "sqlserver.value_refused",
    OperatorNeeded,
    "the server can't {doing}: a stored value, or a requested key, can't be compared (error {number})",
    hint="correct the row or the request, or leave the column out: column.exclude.list ="
    " '<schema>.<table>.<column>'",
)
STATEMENT_REFUSED = define(
    "sqlserver.statement_refused",
    OperatorNeeded,
    "the server refuses to {doing} (error {number})",
    hint="what the number means: SELECT text FROM sys.messages WHERE message_id = {number}; every further try"
    " would fail in the same way",
)
ONLY_READS = define(
    "sqlserver.only_reads",
    OperatorNeeded,
    "the database accepts no writes, so the server can't {doing} (error {number})",
    hint='read without writing: incremental.snapshot.watermarking.strategy = "fence"; or connect to the'
    " primary",
)

_UNREADY: Final = frozenset({921, 922, 924, 926, 927, 942, 945, 952, 954, 976, 978, 983, 40613})
_RIGHTS: Final = frozenset({229, 230, 262, 297, 300, 15247})
_ADDRESSES: Final = frozenset({40615, 40914, 47073})
_DATABASES: Final = frozenset({911, 4060})
_MISSING: Final = frozenset({208, 22901, 22985})
_USERS: Final = frozenset({916})
_TABLE: Final = ErrorTable(
    {
        ROWS_LOCKED: (1205, 1222),
        DATABASE_UNREADY: _UNREADY,
        DATABASE_MISSING: _DATABASES,
        OBJECT_MISSING: _MISSING,
        USER_MISSING: _USERS,
        RIGHT_MISSING: _RIGHTS,
        LOGIN_REFUSED: (18452, 18456, 18470, 18486, 18487, 18488),
        ADDRESS_REFUSED: _ADDRESSES,
        VERSIONS_MISSING: (3952,),
        VALUE_REFUSED: (220, 232, 241, 245, 248, 2628, 8114, 8115, 8152),
        STATEMENT_REFUSED: (102, 156, 170, 319, 8155, 40508),
        ONLY_READS: (3906, 3908),
        COLUMN_MISSING: (207,),
    },
    otherwise=SERVER_LOST,
    shown=_UNREADY | _RIGHTS | _DATABASES | _MISSING | _USERS | _ADDRESSES,
    named="error {}",
)


def in_database(error: WracklineError, database: str, login: str) -> WracklineError:
    """Return an error with the names for its statement, as SQL has them."""
    hint = error.hint.replace("<database>", database).replace("<login>", login)
    return type(error)(error.code, error.sentence, hint)


def explain(number: int, words: str, doing: str) -> WracklineError:
    """Return what an error of the server means to us; `doing` continues "the server did not"."""
    return _TABLE.explain(number, " ".join(words.split()), doing=doing)
