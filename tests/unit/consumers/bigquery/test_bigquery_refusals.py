"""An error of BigQuery's client says who acts, by its reason, and shows none of its words."""

from http import HTTPStatus

import pytest
import requests
from google.api_core import exceptions
from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError

from wrackline.consumers.targets.bigquery.refusals import bigquery_error
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError

SECRET = "Bad int64 value: 4111111111111111"


def refused(status: int, reason: str | None, words: str = SECRET) -> exceptions.GoogleAPICallError:
    errors = [] if reason is None else [{"reason": reason, "message": words}]
    made = exceptions.from_http_status(status, words, errors=errors)  # type: ignore[no-untyped-call]
    assert isinstance(made, exceptions.GoogleAPICallError)
    return made


def explained(error: Exception) -> WracklineError:
    found = bigquery_error(error, doing="the merge", place="`shop`.`orders`", project="shop-1")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("status", "reason", "code", "kind"),
    [
        (400, "invalidQuery", "bigquery.refused", OperatorNeeded),
        (400, "invalid", "bigquery.refused", OperatorNeeded),
        (403, "accessDenied", "bigquery.denied", OperatorNeeded),
        (403, None, "bigquery.denied", OperatorNeeded),
        (403, "rateLimitExceeded", "bigquery.busy", Transient),
        (403, "quotaExceeded", "bigquery.quota", Transient),
        (403, "billingNotEnabled", "bigquery.billing", OperatorNeeded),
        (404, "notFound", "bigquery.gone", Transient),
        (409, "duplicate", "bigquery.there_already", Transient),
        (409, None, "bigquery.there_already", Transient),
        (400, "resourcesExceeded", "bigquery.too_large", OperatorNeeded),
        (413, None, "bigquery.too_large", OperatorNeeded),
        (503, "backendError", "bigquery.failed", Transient),
        (502, None, "bigquery.failed", Transient),
        (429, None, "bigquery.busy", Transient),
        (401, None, "bigquery.login_refused", OperatorNeeded),
        (418, None, "bigquery.refused", OperatorNeeded),
    ],
)
def test_a_reason_decides(status: int, reason: str | None, code: str, kind: type[WracklineError]) -> None:
    found = explained(refused(status, reason))
    assert (found.code, type(found)) == (code, kind)
    assert SECRET not in str(found)


@pytest.mark.parametrize(
    "words",
    [
        "Transaction is aborted due to concurrent update against table shop-1:w.orders. Transaction ID: 6",
        "Could not serialize access to table shop-1:w.orders due to concurrent update",
    ],
)
def test_a_transaction_that_was_cancelled_is_tried_again(words: str) -> None:
    """Its reason is the one of a query that is wrong."""
    found = explained(refused(HTTPStatus.BAD_REQUEST, "invalidQuery", words))
    assert found.code == "bigquery.busy"
    assert isinstance(found, Transient)
    assert explained(refused(HTTPStatus.FORBIDDEN, "accessDenied", words)).code == "bigquery.denied"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (requests.ConnectionError(SECRET), "bigquery.unreachable"),
        (requests.Timeout(SECRET), "bigquery.unreachable"),
        (TransportError(SECRET), "bigquery.unreachable"),  # type: ignore[no-untyped-call]
        (exceptions.RetryError(SECRET, None), "bigquery.unreachable"),  # type: ignore[no-untyped-call]
        (exceptions.RetryError(SECRET, refused(403, "rateLimitExceeded")), "bigquery.busy"),  # type: ignore[no-untyped-call]
        (RefreshError(SECRET), "bigquery.login_refused"),  # type: ignore[no-untyped-call]
        (DefaultCredentialsError(SECRET), "bigquery.login_refused"),  # type: ignore[no-untyped-call]
        (TimeoutError(SECRET), "bigquery.slow"),
    ],
)
def test_what_has_no_reason_is_known_by_what_it_is(error: Exception, code: str) -> None:
    found = explained(error)
    assert found.code == code
    assert SECRET not in str(found)


def test_an_error_of_ours_is_left_as_it_is() -> None:
    assert bigquery_error(KeyError("x"), doing="the merge", place="x", project="p") is None
