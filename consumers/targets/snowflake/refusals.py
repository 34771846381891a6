"""What Snowflake refuses, as an error that says whether the operator must act; none shows a row's values.

Its messages quote values, so an error passes on its number or SQLSTATE and nothing else.  Numbers from 250000
on are the driver's, from 390000 on those of a session or a log-in, the others the server's.  Pure.
"""

from typing import Final

from snowflake.connector.errors import DatabaseError, Error, OperationalError

from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "snowflake.unreachable",
    Transient,
    "no connection to Snowflake on {host}: number {state}",
    hint="does this machine get there? curl -sSI https://{host}; and does target.account name the account as"
    " this does? SELECT CURRENT_ORGANIZATION_NAME() || '-' || CURRENT_ACCOUNT_NAME()",
    connects=True,
)
LOGIN_REFUSED = define(
    "snowflake.login_refused",
    OperatorNeeded,
    "Snowflake on {host} does not let {user} in: number {state}",
    hint="compare the fingerprint of target.private.key.file's public key with RSA_PUBLIC_KEY_FP of:"
    " DESCRIBE USER {user}; also the role in target.role and a network policy can be the reason: SELECT"
    " event_timestamp, error_code, error_message FROM TABLE(information_schema.login_history_by_user())",
    connects=True,
)
KEY_REFUSED = define(
    "snowflake.key_refused",
    OperatorNeeded,
    "the private key in {file} can't be read",
    hint="it must be PKCS#8 in PEM, and target.private.key.passphrase must be its own: openssl pkey"
    " -in {file} -noout -check",
    connects=True,
)
CONNECTION_LOST = define(
    "snowflake.connection_lost",
    Transient,
    "the connection to Snowflake ended during {doing}: {reason}",
    hint="the consumer finds out by itself what was committed; if it comes again, see"
    " https://status.snowflake.com",
    connects=True,
)
BUSY = define(
    "snowflake.busy",
    Transient,
    "another transaction holds {place} of Snowflake, so {doing} ended: {reason}",
    hint="it is done again; who holds it: SHOW LOCKS IN ACCOUNT; a second driver of the same pipeline has to"
    " be stopped; a longer patience: target.lock.timeout.ms",
)
SLOW = define(
    "snowflake.slow",
    Transient,
    "Snowflake ended {doing} of {place}, because it took too long or somebody cancelled it: {reason}",
    hint="allow more time: target.statement.timeout.ms; or take a larger warehouse: ALTER WAREHOUSE"
    " <warehouse> SET WAREHOUSE_SIZE = MEDIUM",
)
NO_WAREHOUSE = define(
    "snowflake.no_warehouse",
    OperatorNeeded,
    "no warehouse runs {doing} of {place}: {reason}",
    hint="is target.warehouse there, and may the role use it? GRANT USAGE ON WAREHOUSE <warehouse> TO ROLE"
    " <role>; a monitor whose quota is used up shows itself in: SHOW RESOURCE MONITORS",
)
GONE = define(
    "snowflake.gone",
    Transient,
    "a table, schema or stage that {doing} of {place} needs is not there, or the role may not see it",
    hint="what is missing is made again; if this keeps happening: SHOW GRANTS TO ROLE <role>",
)
NO_RIGHT = define(
    "snowflake.no_right",
    OperatorNeeded,
    "Snowflake does not allow {doing} of {place}: {reason}",
    hint="see which right is missing: SHOW GRANTS TO ROLE <role>; a role that makes everything needs: GRANT"
    " CREATE SCHEMA ON DATABASE <database> TO ROLE <role>",
)
THERE_ALREADY = define(
    "snowflake.there_already",
    Transient,
    "another session made {place} of Snowflake at the same time",
    hint="the next round finds it; if it happens again and again, stop the second consumer",
)
VALUE_REFUSED = define(
    "snowflake.value_refused",
    OperatorNeeded,
    "{place} of Snowflake can't hold a value of the batch: {reason}",
    hint="leave the column out: column.exclude.list; or look at the rows of the source that hold it",
)
REFUSED = define(
    "snowflake.refused",
    OperatorNeeded,
    "Snowflake refused {doing} of {place}: {reason}",
    hint="the statement and the reason: SELECT query_text, error_message FROM"
    " TABLE(information_schema.query_history()) WHERE error_code IS NOT NULL ORDER BY start_time DESC"
    " LIMIT 5",
)

NOT_THERE: Final = (2003, 2043)  # an object that is not there, or that the role may not see
_OF_TRANSPORT: Final = (254, 290)  # thousands: of certificates, of HTTP
_NO_STATE: Final = ("", "n/a", "00000")
_TABLE: Final = ErrorTable(
    {
        CONNECTION_LOST: ("", "08", 250001, 250002, 250003, 250005, 251011, 251012, 252007, 252010, 252014,
                          253003, 253009, 390104, 390111, 390112, 390113, 390114, 390195),
        BUSY: ("40", 625),
        SLOW: ("57014", 604, 630),
        NO_WAREHOUSE: ("57P03", 606, 90073),
        GONE: NOT_THERE,
        NO_RIGHT: ("42501", 3001),
        THERE_ALREADY: (2002,),
        VALUE_REFUSED: ("22", 100035, 100038, 100046, 100078, 100132),
    },
    otherwise=REFUSED,
    named="number or SQLSTATE {}",
)  # fmt: skip


def statement_error(error: Exception, *, doing: str, place: str) -> WracklineError | None:
    """Say what a failed statement means; None: it is not the driver's."""
    if not isinstance(error, Error):
        return None
    return _TABLE.explain(_state(error), None, doing=doing, place=place)


def connection_error(error: Error, *, host: str, user: str) -> WracklineError:
    """Say what a refused connection means: the server's own answer is a plain error of a database."""
    code = LOGIN_REFUSED if _answered(error) else UNREACHABLE
    return code.fill({"host": host, "user": user, "state": error.errno})


def _answered(error: Error) -> bool:
    """Whether the server refused, and not what lies between."""
    return isinstance(error, DatabaseError) and not isinstance(error, OperationalError)


def _state(error: Error) -> int | str:
    """Choose what says most: a known number, else the SQLSTATE.

    An error that is none of a database, and one below HTTP, is a lost connection.
    """
    number, state = error.errno or 0, error.sqlstate or ""
    if not isinstance(error, DatabaseError) or number // 1000 in _OF_TRANSPORT:
        return ""
    known = _TABLE.code_of(number) is not REFUSED
    if known or state in _NO_STATE:
        return max(number, 0) or ""
    return state
