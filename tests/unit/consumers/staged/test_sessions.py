"""Which sessions are lent, and which are ended; what none of them sends."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

import pytest
from google.cloud.bigquery import Client

from wrackline.consumers.staged import service
from wrackline.consumers.staged.service import StagedSession, StagedSessions
from wrackline.consumers.staged.state import StateMove
from wrackline.consumers.targets.bigquery.session import BigQuerySession, JobPolicy
from wrackline.consumers.targets.redshift.session import CopyRole, RedshiftSession
from wrackline.consumers.targets.snowflake.session import SnowflakeSession
from wrackline.schemas.errors import OperatorNeeded


class Line:
    """A session that only ends."""

    def __init__(self) -> None:
        self.ended = False

    def close(self) -> None:
        self.ended = True


class Lines:
    """All that were opened, and a clock."""

    def __init__(self) -> None:
        self.opened: list[Line] = []
        self.now = 0.0

    def open(self) -> StagedSession:
        self.opened.append(Line())
        return cast("StagedSession", self.opened[-1])


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    made = Lines()
    monkeypatch.setattr(service, "monotonic", lambda: made.now)
    return made


def test_a_session_is_used_again_until_an_error(lines: Lines) -> None:
    sessions = StagedSessions(lines.open)
    for _ in range(3):
        with sessions.lend():
            pass
    with pytest.raises(KeyError), sessions.lend():
        raise KeyError
    with sessions.lend():
        pass
    assert [line.ended for line in lines.opened] == [True, False]


def test_a_session_that_was_idle_for_long_is_not_lent(lines: Lines) -> None:
    """A service ends those after some hours, and each would be an error of a table of its own."""
    sessions = StagedSessions(lines.open)
    with sessions.lend(), sessions.lend(), sessions.lend():
        pass
    lines.now += 599
    with sessions.lend():
        pass
    assert (len(lines.opened), [line.ended for line in lines.opened]) == (3, [False] * 3)
    lines.now += 599
    with sessions.lend(), sessions.lend():
        pass
    assert sum(line.ended for line in lines.opened) == 2, "those that nobody used meanwhile"
    assert len(lines.opened) == 4


def test_what_comes_back_to_a_closed_place_ends(lines: Lines) -> None:
    sessions = StagedSessions(lines.open)
    with sessions.lend():
        sessions.close()
        assert not lines.opened[0].ended
    assert lines.opened[0].ended


class Sent:
    """A driver's connection, and a client, that only writes down what it is given."""

    project, rowcount, description = "shop", 1, ()

    def __init__(self) -> None:
        self.texts: list[str] = []

    def cursor(self) -> "Sent":
        return self

    def execute(self, text: str) -> None:
        self.texts.append(text)

    def query(self, text: str, **_: object) -> "Sent":
        self.texts.append(text)
        return self

    def result(self, **_: object) -> list[Mapping[str, str]]:
        return [MappingProxyType({"outcome": "done"})]


SESSIONS: Mapping[str, tuple[Callable[[Sent], StagedSession], int]] = MappingProxyType(
    {
        "bigquery": (lambda sent: BigQuerySession(cast("Client", sent), JobPolicy(600)), 1_048_576),
        "snowflake": (lambda sent: SnowflakeSession(lambda: sent), 1_048_576),
        "redshift": (lambda sent: RedshiftSession(lambda: sent, CopyRole(None)), 16_777_216),
    }
)


@pytest.mark.parametrize("service_name", SESSIONS)
def test_a_statement_that_is_too_long_is_not_sent(service_name: str) -> None:
    """The service's own refusal would say nothing of it."""
    make, most = SESSIONS[service_name]
    sent = Sent()
    session, move = make(sent), StateMove("the_state", 1, {"number": "2"}, "TRUE")
    with pytest.raises(OperatorNeeded, match=rf"statement_too_long.*the_state.*takes {most}"):
        session.commit(move, ["SELECT 1", f"SELECT '{'é' * (most // 2)}'"], "name")
    assert sent.texts == []
    session.commit(move, [f"SELECT '{'x' * (most - 1_000)}'"], "name")
    assert sent.texts
