"""What BigQuery refuses, as an error that says whether the operator must act; none shows a row's values.

An error of BigQuery has a reason, which is a word of a documented list, and a message, which may quote a
value.  The reason decides.  One reason is two things: `invalidQuery` is also what a script gets whose
transaction was cancelled for another one's sake, so there a few fixed words are looked for.  Pure.
"""

from typing import Final

import requests
from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.auth.exceptions import GoogleAuthError, TransportError

from wrackline.schemas.error_table import ErrorTable
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

UNREACHABLE = define(
    "bigquery.unreachable",
    Transient,
    "BigQuery did not answer during {doing} of {place}",
    hint="the consumer finds out by itself what was committed; see whether this machine gets there:"
    " curl -sSI https://bigquery.googleapis.com",
    connects=True,
)
LOGIN_REFUSED = define(
    "bigquery.login_refused",
    OperatorNeeded,
    "Google does not take the credentials, so {doing} of {place} could not begin",
    hint="name a file with valid ones: target.credentials.file; without that setting they are those of:"
    " gcloud auth application-default login",
    connects=True,
)
DENIED = define(
    "bigquery.denied",
    OperatorNeeded,
    "BigQuery does not allow {doing} of {place}",
    hint="give the account both rights: gcloud projects add-iam-policy-binding {project}"
    " --member=serviceAccount:<account> --role=roles/bigquery.jobUser; and in each dataset:"
    ' GRANT `roles/bigquery.dataEditor` ON SCHEMA `{project}.<dataset>` TO "serviceAccount:<account>"',
)
BUSY = define(
    "bigquery.busy",
    Transient,
    "BigQuery put off {doing} of {place} because of something else that happens there ({state})",
    hint="it is tried again; if this keeps happening, stop a second consumer of the same pipeline, or merge"
    " less often: consume.trigger.interval.ms",
)
QUOTA = define(
    "bigquery.quota",
    Transient,
    "a quota of project {project} is used up, so {doing} of {place} was refused",
    hint="see which one: gcloud alpha services quota list --service=bigquery.googleapis.com"
    " --consumer=projects/{project}; a daily one begins again at midnight, Pacific time",
)
FAILED = define(
    "bigquery.failed",
    Transient,
    "BigQuery failed by itself during {doing} of {place} ({state})",
    hint="it is tried again; if this keeps happening, see https://status.cloud.google.com",
)
SLOW = define(
    "bigquery.slow",
    Transient,
    "{doing} of {place} took longer than target.job.timeout.ms",
    hint="the consumer finds out by itself what was committed; allow more time, or read less at once:"
    " consume.max.offsets.per.trigger",
)
GONE = define(
    "bigquery.gone",
    Transient,
    "a table or dataset that {doing} of {place} needs is not there",
    hint="what is missing is made again; if somebody removes it again and again: bq ls {project}:",
)
THERE_ALREADY = define(
    "bigquery.there_already",
    Transient,
    "another session made {place} of BigQuery at the same time",
    hint="the next round finds it; if it happens again and again, stop the second consumer",
)
BILLING = define(
    "bigquery.billing",
    OperatorNeeded,
    "BigQuery does nothing for project {project} because of its billing ({state})",
    hint="see what is linked: gcloud billing projects describe {project}",
)
TOO_LARGE = define(
    "bigquery.too_large",
    OperatorNeeded,
    "{doing} of {place} needs more than BigQuery gives one job ({state})",
    hint="read less at once: consume.max.offsets.per.trigger",
)
REFUSED = define(
    "bigquery.refused",
    OperatorNeeded,
    "BigQuery refused {doing} of {place} ({state})",
    hint="its words are not shown here, because they may hold a row's values; to read them:"
    " bq ls --jobs --project_id={project}; then: bq show --job <id>",
)

_CANCELLED: Final = "cancelled"  # a name of ours, as if it were a reason
_TOO_SOON: Final = ("rateLimitExceeded", "jobRateLimitExceeded")
_CONCURRENT: Final = ("due to concurrent update", "Too many DML statements outstanding")
_TABLE: Final = ErrorTable(
    {
        DENIED: ("accessDenied", 403),
        BUSY: (
            _CANCELLED,
            *_TOO_SOON,
            "resourceInUse",
            "tableUnavailable",
            429,
        ),
        QUOTA: ("quotaExceeded",),
        FAILED: (
            "backendError",
            "internalError",
            "jobBackendError",
            "jobInternalError",
            "stopped",
            *range(500, 505),
        ),
        SLOW: ("timeout",),
        GONE: ("notFound", 404),
        THERE_ALREADY: ("duplicate", 409),
        BILLING: ("billingNotEnabled", "billingTierLimitExceeded", "blocked"),
        TOO_LARGE: ("resourcesExceeded", "responseTooLarge", 413),
        LOGIN_REFUSED: (401,),
    },
    otherwise=REFUSED,
)


def bigquery_error(error: Exception, *, doing: str, place: str, project: str) -> WracklineError | None:
    """Say what an error of the driver means; None: it is not the driver's."""
    names = {"doing": doing, "place": place, "project": project}
    match error:
        case GoogleAPICallError():
            return _TABLE.explain(reason_of(error), None, **names)
        case RetryError() if isinstance(error.cause, GoogleAPICallError):
            return bigquery_error(error.cause, **names)
        case TransportError() | RetryError() | requests.RequestException():
            return UNREACHABLE.fill(names)
        case GoogleAuthError():
            return LOGIN_REFUSED.fill(names)
        case TimeoutError():
            return SLOW.fill(names)
        case _:
            return None


def comes_too_soon(error: Exception) -> bool:
    """Whether BigQuery would do the same some seconds later: it changes a table five times in ten seconds."""
    cause = error.cause if isinstance(error, RetryError) else error
    return isinstance(cause, GoogleAPICallError) and reason_of(cause) in _TOO_SOON


def reason_of(error: GoogleAPICallError) -> str | int:
    """Return the reason, or the HTTP status of an error that has none."""
    reasons = [one["reason"] for one in error.errors if isinstance(one, dict) and one.get("reason")]
    reason = reasons[0] if reasons else int(error.code or 0)
    cancelled = reason in ("invalidQuery", 400) and any(words in str(error) for words in _CONCURRENT)
    return _CANCELLED if cancelled else reason
