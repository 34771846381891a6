"""What a check finds of an account's rights, which no emulator has: asked of a client that answers."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.api_core.exceptions import MethodNotImplemented, PermissionDenied

from wrackline.consumers.targets.spanner.check import RIGHTS, find_problems
from wrackline.consumers.targets.spanner.session import SpannerSession
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.language.findings import Severity

NAME = "projects/shop/instances/small/databases/orders"


class AnsweringSession(SpannerSession):
    """A session whose database has the right dialect, and nothing in it."""

    def ask(self, text: str, *, within_s: float = 1.0, **values: str) -> list[tuple[Any, ...]]:
        del text, within_s, values
        return [("GOOGLE_STANDARD_SQL",)]


def session(granted: Sequence[str] | Exception) -> SpannerSession:
    def answer(*, resource: str, permissions: Sequence[str], timeout: float) -> object:
        assert (resource, permissions) == (NAME, RIGHTS)
        assert timeout > 0
        if isinstance(granted, Exception):
            raise granted
        return SimpleNamespace(permissions=granted)

    client = SimpleNamespace(database_admin_api=SimpleNamespace(test_iam_permissions=answer))
    return AnsweringSession(cast("Any", client), cast("Any", SimpleNamespace(name=NAME)), 1.0)


def test_an_account_with_every_right_has_no_problem() -> None:
    assert list(find_problems(session(RIGHTS), [])) == []


def test_a_right_that_is_not_there_is_named_with_its_command() -> None:
    (found,) = find_problems(session(RIGHTS[2:]), [])
    assert found.id == "spanner.no_right"
    assert all(right in found.description for right in RIGHTS[:2])
    assert RIGHTS[2] not in found.description
    assert "add-iam-policy-binding orders --instance=small" in found.suggestion


def test_no_answer_is_not_taken_for_every_right() -> None:
    unknown = MethodNotImplemented("no such method")  # type: ignore[no-untyped-call]
    (found,) = find_problems(session(unknown), [])
    assert (found.id, found.severity) == ("spanner.rights_unknown", Severity.INFO)
    assert "get-iam-policy orders --instance=small" in found.suggestion


def test_a_question_that_is_refused_is_named() -> None:
    denied = PermissionDenied("for somebody")  # type: ignore[no-untyped-call]
    with pytest.raises(
        OperatorNeeded, match=r"spanner\.denied.*which rights the account has.*orders"
    ) as found:
        list(find_problems(session(denied), []))
    assert "somebody" not in str(found.value)
