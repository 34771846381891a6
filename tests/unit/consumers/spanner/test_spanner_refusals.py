"""An error of Google's client says who acts, by its status, and shows none of its words."""

from concurrent.futures import TimeoutError as WaitedTooLong

import pytest
from google.api_core import exceptions
from google.auth.exceptions import DefaultCredentialsError, TransportError

from wrackline.consumers.targets.spanner.refusals import spanner_error
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError

SECRET = "Could not parse 4111111111111111 as a DATE"


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (exceptions.Aborted(SECRET), "spanner.busy", Transient),  # type: ignore[no-untyped-call]
        (exceptions.NotFound(SECRET), "spanner.gone", Transient),  # type: ignore[no-untyped-call]
        (exceptions.AlreadyExists(SECRET), "spanner.there_already", Transient),  # type: ignore[no-untyped-call]
        (exceptions.PermissionDenied(SECRET), "spanner.denied", OperatorNeeded),  # type: ignore[no-untyped-call]
        (exceptions.Unauthenticated(SECRET), "spanner.login_refused", OperatorNeeded),  # type: ignore[no-untyped-call]
        (exceptions.ResourceExhausted(SECRET), "spanner.exhausted", Transient),  # type: ignore[no-untyped-call]
        (exceptions.DeadlineExceeded(SECRET), "spanner.slow", Transient),  # type: ignore[no-untyped-call]
        (exceptions.ServiceUnavailable(SECRET), "spanner.unreachable", Transient),  # type: ignore[no-untyped-call]
        (exceptions.InternalServerError(SECRET), "spanner.failed", Transient),  # type: ignore[no-untyped-call]
        (exceptions.Unknown(SECRET), "spanner.failed", Transient),  # type: ignore[no-untyped-call]
        (exceptions.InvalidArgument(SECRET), "spanner.refused", OperatorNeeded),  # type: ignore[no-untyped-call]
        (exceptions.FailedPrecondition(SECRET), "spanner.refused", OperatorNeeded),  # type: ignore[no-untyped-call]
        (exceptions.RetryError(SECRET, None), "spanner.unreachable", Transient),  # type: ignore[no-untyped-call]
        (TransportError(SECRET), "spanner.unreachable", Transient),  # type: ignore[no-untyped-call]
        (DefaultCredentialsError(SECRET), "spanner.login_refused", OperatorNeeded),  # type: ignore[no-untyped-call]
        (WaitedTooLong(SECRET), "spanner.slow", Transient),
    ],
)
def test_a_status_decides(error: Exception, code: str, kind: type[WracklineError]) -> None:
    found = spanner_error(error, doing="the merge", place="`shop`.`orders`")
    assert found is not None
    assert (found.code, type(found)) == (code, kind)
    assert SECRET not in str(found)
    assert SECRET not in str(found.hint)


def test_an_error_of_ours_is_not_the_drivers() -> None:
    assert spanner_error(ValueError(SECRET), doing="the merge", place="`shop`.`orders`") is None
