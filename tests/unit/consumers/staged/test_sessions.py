"""Which sessions are lent, and which are ended."""

from typing import cast

import pytest

from wrackline.consumers.staged import service
from wrackline.consumers.staged.service import StagedSession, StagedSessions


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
