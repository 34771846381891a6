"""What Spanner refuses, as an error that says whether the operator must act; none shows a row's values.

Its messages quote values, so an error passes on its gRPC status and nothing else.  Pure.
"""

from concurrent.futures import TimeoutError as WaitedTooLong
from typing import Final

from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.auth.exceptions import GoogleAuthError, TransportError

from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "spanner.unreachable",
    Transient,
    "Spanner did not answer during {doing} of {place} ({state})",
    hint="the consumer finds out by itself what was committed; see whether this machine gets there:"
    " curl -sSI https://spanner.googleapis.com",
    connects=True,
)
LOGIN_REFUSED = define(
    "spanner.login_refused",
    OperatorNeeded,
    "Google does not take the credentials, so {doing} of {place} could not begin",
    hint="name a file with valid ones: target.credentials.file; without that setting they are those of:"
    " gcloud auth application-default login; an emulator wants none: target.endpoint = "
    '"http://127.0.0.1:9010"',
    connects=True,
)
DENIED = define(
    "spanner.denied",
    OperatorNeeded,
    "Spanner does not allow {doing} of {place}",
    hint="give the account the right: gcloud spanner databases add-iam-policy-binding <database>"
    " --instance=<instance> --member=<account> --role=roles/spanner.databaseUser",
)
BUSY = define(
    "spanner.busy",
    Transient,
    "another transaction was in the way of {doing} of {place} until its time was over",
    hint="it is done again; if this keeps happening, stop a second consumer of the same pipeline, or wait"
    " longer: target.lock.timeout.ms",
)
EXHAUSTED = define(
    "spanner.exhausted",
    Transient,
    "Spanner had no capacity or no quota left for {doing} of {place}",
    hint="it is done again; to give it more: gcloud spanner instances update <instance>"
    " --processing-units=<more>",
)
FAILED = define(
    "spanner.failed",
    Transient,
    "Spanner failed by itself during {doing} of {place} ({state})",
    hint="the consumer finds out by itself what was committed; if this keeps happening, see"
    " https://status.cloud.google.com",
)
SLOW = define(
    "spanner.slow",
    Transient,
    "{doing} of {place} took too long",
    hint="the consumer finds out by itself what was committed; a change of schema waits for those before it:"
    " gcloud spanner operations list --instance=<instance> --database=<database> --type=DATABASE_UPDATE_DDL",
)
GONE = define(
    "spanner.gone",
    Transient,
    "a table, column or database that {doing} of {place} needs is not there",
    hint="a table is made again; whether the database is there: gcloud spanner databases list"
    " --instance=<instance>",
)
THERE_ALREADY = define(
    "spanner.there_already",
    Transient,
    "another session made {place} of Spanner at the same time",
    hint="the next round finds it; if it happens again and again, stop the second consumer",
)
REFUSED = define(
    "spanner.refused",
    OperatorNeeded,
    "Spanner refused {doing} of {place} ({state})",
    hint="its words are not shown here, because they may hold a row's values; those of a change of schema:"
    " gcloud spanner operations list --instance=<instance> --database=<database> --type=DATABASE_UPDATE_DDL",
)
SEQUENCE_REFUSED = define(
    "spanner.sequence_refused",
    Definite,
    "the versions of {table} are placed by {found}, and no number of Spanner holds all of its values",
    hint="make a column with fewer digits of it in the flow's view, and name it: sequence_by='place';"
    " with CAST(number AS DECIMAL(28, 9)) AS place",
)

_TABLE: Final = ErrorTable(
    {
        UNREACHABLE: ("UNAVAILABLE",),
        LOGIN_REFUSED: ("UNAUTHENTICATED",),
        DENIED: ("PERMISSION_DENIED",),
        BUSY: ("ABORTED",),
        EXHAUSTED: ("RESOURCE_EXHAUSTED",),
        FAILED: ("INTERNAL", "UNKNOWN", "DATA_LOSS", "CANCELLED"),
        SLOW: ("DEADLINE_EXCEEDED",),
        GONE: ("NOT_FOUND",),
        THERE_ALREADY: ("ALREADY_EXISTS",),
    },
    otherwise=REFUSED,
)


def spanner_error(error: Exception, *, doing: str, place: str) -> WracklineError | None:
    """Say what an error of the driver means; None: it is not the driver's."""
    names = {"doing": doing, "place": place, "state": type(error).__name__}
    match error:
        case GoogleAPICallError():
            status = error.grpc_status_code
            return _TABLE.explain(
                "UNKNOWN" if status is None else status.name, None, doing=doing, place=place
            )
        case TransportError() | RetryError():
            return UNREACHABLE.fill(names)
        case GoogleAuthError():
            return LOGIN_REFUSED.fill(names)
        case TimeoutError() | WaitedTooLong():
            return SLOW.fill(names)
        case _:
            return None
