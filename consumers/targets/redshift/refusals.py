"""What Redshift refuses, as an error that says whether the operator must act; none shows a row's values.

The server's messages quote values, so a statement's error passes on its SQLSTATE and nothing else.  A
conflict of two transactions has no SQLSTATE of its own, but a number, which is then the whole message.  Pure:
the driver's errors are known by their module.
"""

import struct
from typing import Any, Final

from wrackline.consumers.contract.target import CHARACTER_REFUSED
from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "redshift.unreachable",
    Transient,
    "no connection to Redshift's database {database} on {host}",
    hint="is the cluster there and not paused, and may this machine reach it? nc -vz {host} {port}",
    connects=True,
)
LOGIN_REFUSED = define(
    "redshift.login_refused",
    OperatorNeeded,
    "Redshift on {host} does not let {user} into database {database}: SQLSTATE {state}",
    hint="compare target.user, target.password, target.dbname and target.sslmode with what this takes:"
    " psql 'host={host} port={port} user={user} dbname={database} sslmode=require'",
    connects=True,
)
IAM_REFUSED = define(
    "redshift.iam_refused",
    OperatorNeeded,
    "AWS gives no password for {user} of Redshift on {host}: {kind}",
    hint="who this machine is there: aws sts get-caller-identity; it needs redshift:GetClusterCredentials for"
    " that user and database, or redshift-serverless:GetCredentials for the workgroup",
    connects=True,
)
STORE_UNREACHABLE = define(
    "redshift.store_unreachable",
    Transient,
    "bucket {bucket} did not answer {doing} below {folder}: {why}",
    hint="it is tried again; look at: aws s3 ls s3://{bucket}/{folder}/",
    connects=True,
)
STORE_REFUSED = define(
    "redshift.store_refused",
    OperatorNeeded,
    "bucket {bucket} refuses {doing} below {folder}: {why}",
    hint="who this machine is there: aws sts get-caller-identity; it needs s3:ListBucket of the bucket, and"
    " s3:GetObject, s3:PutObject and s3:DeleteObject below {folder}/; see docs/redshift.md",
)
ENCRYPTION_UNREADABLE = define(
    "redshift.encryption_unreadable",
    OperatorNeeded,
    "COPY can't read files that are encrypted as {name} says: {value}",
    hint='let the store keep the key: target.storage.fs.s3a.encryption.algorithm = "SSE-KMS"; or leave it'
    " out, and the bucket's own encryption is used",
)
LOAD_REFUSED = define(
    "redshift.load_refused",
    OperatorNeeded,
    "COPY refused a file for {place}: error {number} in column {column} of the file",
    hint="c0 is the table's first column; more of it, and only there the value's place: SELECT error_code,"
    " error_message, line_number FROM sys_load_error_detail ORDER BY start_time DESC LIMIT 5; to go on"
    " without that column: column.exclude.list",
)
CONNECTION_LOST = define(
    "redshift.connection_lost",
    Transient,
    "the connection to Redshift ended during {doing}",
    hint="the consumer finds out by itself what was committed; if it comes again: SELECT * FROM"
    " stl_connection_log ORDER BY recordtime DESC LIMIT 20",
    connects=True,
)
CONFLICT = define(
    "redshift.conflict",
    Transient,
    "another transaction changed {place} of Redshift meanwhile, so {doing} ended",
    hint="it is done again; who it is: SELECT * FROM svv_transactions; a second driver of the same pipeline"
    " has to be stopped",
)
THERE_ALREADY = define(
    "redshift.there_already",
    Transient,
    "another session made {place} of Redshift at the same time",
    hint="the next round finds it; if it happens again and again, stop the second consumer",
)
GONE = define(
    "redshift.gone",
    Transient,
    "a table or schema that {doing} of {place} of Redshift needs is not there",
    hint="what is missing is made again; if this keeps happening, see who removes it: SELECT user_id,"
    " query_text FROM sys_query_history WHERE query_type = 'DDL' ORDER BY start_time DESC LIMIT 20",
)
SHORT = define(
    "redshift.short",
    Transient,
    "Redshift ended {doing}, because it was out of a resource or of time: SQLSTATE {state}",
    hint="look at free disk space, at the queues, and at: SHOW statement_timeout",
)
INTERNAL = define(
    "redshift.internal",
    Transient,
    "Redshift failed in {doing} of {place}: SQLSTATE {state}",
    hint="what it says of it: SELECT * FROM sys_load_error_detail ORDER BY start_time DESC LIMIT 5; a file"
    " that it may not read needs s3:GetObject and s3:ListBucket in the policy of target.iam.role",
)
NO_RIGHT = define(
    "redshift.no_right",
    OperatorNeeded,
    "Redshift does not allow {doing} of {place}: SQLSTATE {state}",
    hint="see which right is missing: wrackline check <pipeline.toml>",
)
VALUE_REFUSED = define(
    "redshift.value_refused",
    OperatorNeeded,
    "{place} of Redshift can't hold a value of the batch: SQLSTATE {state}",
    hint="leave the column out: column.exclude.list; or look at the rows of the source that hold it",
)
DEPENDENTS = define(
    "redshift.dependents",
    OperatorNeeded,
    "other views need {place} of Redshift as it is, so {doing} could not continue",
    hint="drop them, and create them again afterwards; which ones: SELECT view_schema, view_name FROM"
    " information_schema.view_table_usage WHERE table_schema || '.' || table_name = '{plain}'",
)
REFUSED = define(
    "redshift.refused",
    OperatorNeeded,
    "Redshift refused {doing} of {place}: SQLSTATE {state}",
    hint="the statement and the reason: SELECT query_text, error_message FROM sys_query_history"
    " WHERE status = 'failed' ORDER BY start_time DESC LIMIT 5",
)

_SERIALIZABLE: Final = "1023"  # the whole message of a conflict
_TABLE = ErrorTable(
    {
        CONNECTION_LOST: ("", "08", "57P01", "57P02", "57P03", "57P05"),
        CONFLICT: ("40", _SERIALIZABLE, "55P03", "55006"),
        THERE_ALREADY: ("42P07", "42P06"),
        GONE: ("42P01", "3F000"),
        SHORT: ("53", "57014", "58030"),
        INTERNAL: ("XX",),
        NO_RIGHT: ("42501",),
        CHARACTER_REFUSED: ("22021",),
        VALUE_REFUSED: ("22",),
        DEPENDENTS: ("2BP01",),
    },
    otherwise=REFUSED,
)
_CLOSED_DOORS = ("28", "3D", "42501")


def statement_error(error: Exception, doing: str, place: str) -> WracklineError | None:
    """Say what a failed statement means; None: it is not the driver's."""
    if not _is_drivers(error):
        return None
    plain = place.replace('"', "")
    return _TABLE.explain(_state(error), None, doing=doing, place=place, plain=plain)


def connection_error(error: Exception, *, host: str, port: int, user: str, database: str) -> WracklineError:
    """Say what a refused connection means."""
    state = _state(error)
    if state.startswith(_CLOSED_DOORS):
        return LOGIN_REFUSED(host=host, port=port, user=user, database=database, state=state)
    return UNREACHABLE(host=host, port=port, database=database)


def _is_drivers(error: Exception) -> bool:
    """Whether the driver raised it; a socket's end comes in any of these."""
    return type(error).__module__.startswith("redshift_connector") or isinstance(
        error, OSError | struct.error
    )


def _state(error: Exception) -> str:
    fields: Any = error.args[0] if error.args else None
    if not isinstance(fields, dict):
        return ""
    return _SERIALIZABLE if str(fields.get("M", "")).strip() == _SERIALIZABLE else str(fields.get("C", ""))
