"""What the transactions of a server see is asked once a second, by any of its databases."""

from typing import cast

import pytest

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.follow.sight import PgSight


class Session:
    """A connection that counts questions, or fails."""

    def __init__(self, *answers: str | None) -> None:
        self.answers, self.asked = list(answers), 0

    def execute(self, statement: str) -> list[tuple[str | None]]:
        assert "pg_current_snapshot" in statement
        self.asked += 1
        if not self.answers:
            raise OSError("it is gone")
        return [(self.answers.pop(0),)]


def connection(session: Session) -> Connection:
    return cast("Connection", session)


def test_all_databases_share_an_answer_for_a_second() -> None:
    now = [0.0]
    sight = PgSight(lambda: now[0])
    one, other = Session("1:1:"), Session("2:2:")
    assert [sight.of(connection(one)), sight.of(connection(other))] == ["1:1:", "1:1:"]
    now[0] = 1.0
    assert [sight.of(connection(other)), sight.of(connection(one))] == ["2:2:", "2:2:"]
    assert (one.asked, other.asked) == (1, 1)


def test_a_standby_says_nothing_and_is_asked_again_later() -> None:
    now = [0.0]
    sight, session = PgSight(lambda: now[0]), Session(None, "1:1:")
    assert [sight.of(connection(session)) for _ in range(2)] == [None, None]
    now[0] = 1.0
    assert sight.of(connection(session)) == "1:1:"


def test_an_error_is_the_asker_s_and_nothing_is_known_by_it() -> None:
    sight = PgSight(lambda: 0.0)
    with pytest.raises(OSError, match="gone"):
        sight.of(connection(Session()))
    assert sight.of(connection(Session("1:1:"))) == "1:1:"
