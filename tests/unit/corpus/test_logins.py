"""The corpus of ways past the log-in, over a real socket: none leads anywhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.control.rest_users import written
from tests.unit.corpus.cases import Case, cases, tells_nothing
from tests.unit.corpus.worker import Worker, exchange, request, working
from wrackline.control.runtime.rest.server.rest_settings import RestSettings


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with working(RestSettings(0, users=written(tmp_path))) as one:  # a new one: failures are counted
        yield one


@pytest.mark.parametrize("case", cases("rest", "logins"))
def test_a_request_without_a_valid_login_is_refused(
    case: Case, worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    """A-LOGIN-12."""
    heard = exchange(worker.port, request(case["ask"], case["headers"], b""))
    told = heard.document or {}
    assert (heard.status, told.get("code")) == (case["status"], case.get("code")), heard
    if heard.status == 401:
        assert heard.head.lower().count("www-authenticate:") == 2
    assert not worker.crew.wished
    assert not worker.desk.bodies
    tells_nothing(heard.head, heard.body.decode(), caplog.text, *map(str, worker.told))


def test_the_cases_are_those_promised() -> None:
    assert len(cases("rest", "logins")) >= 60
