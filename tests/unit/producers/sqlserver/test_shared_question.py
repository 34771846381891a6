"""One question to several databases: one that fails or hangs costs the others one answer at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from wrackline.producers.sources.sqlserver.chunks.log_end_survey import ends_sql, log_ends
from wrackline.producers.sources.sqlserver.connect.server_errors import explain
from wrackline.producers.sources.sqlserver.session.shared_question import AGAIN_S, SILENCE_S, SharedQuestion
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import WracklineError

NAMES = ("a", "b", "c", "d")


@dataclass
class Session:
    """A session that says only whether it is there."""

    server: "Server"
    closed: bool = False

    def execute(self, sql: str, doing: str) -> None:
        del doing
        self.server.settings.append(sql)
        if self.server.refuses_settings:
            raise explain(916, "no", "take a session's settings")

    def close(self) -> None:
        self.closed = True


@dataclass
class Server:
    """Databases, some of which are away or hang."""

    away: dict[str, int] = field(default_factory=dict)  # with the number of their error
    hangs: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    refuses: bool = False
    refuses_settings: bool = False
    now: float = 100.0

    def __post_init__(self) -> None:
        self.question = SharedQuestion(self.connect, self.ask, lambda: self.now)

    def connect(self, silence_s: float) -> TdsSession:
        assert silence_s == SILENCE_S
        if self.refuses:
            raise explain(18456, "no", "log in")
        self.sessions.append(Session(self))
        return cast("TdsSession", self.sessions[-1])

    def ask(self, session: TdsSession, names: Sequence[str]) -> Mapping[str, str]:
        self.asked.append("".join(names))
        if self.hangs & {*names}:
            self.now += SILENCE_S
            session.close()
            raise explain(0, "it was silent for too long", "answer")
        for name in names:
            if name in self.away:
                raise explain(self.away[name], "no", "answer")
        return {name: name.upper() for name in names}

    def answers(self) -> str:
        """Ask once; join what is answered."""
        del self.asked[:]
        return "".join(self.question.answers(NAMES).values())


def test_all_are_asked_at_once_over_one_connection_that_waits_for_no_lock() -> None:
    server = Server()
    assert [server.answers() for _ in range(2)] == ["ABCD"] * 2
    assert (server.asked, len(server.sessions)) == (["abcd"], 1)
    assert server.settings == ["SET LOCK_TIMEOUT 500;"]
    server.question.close()
    assert server.sessions[0].closed


def test_nobody_is_asked_about_nothing() -> None:
    server = Server()
    assert server.question.answers(()) == {}
    assert (server.asked, server.sessions) == ([], [])


def test_those_that_are_away_are_left_out_for_a_while_and_the_others_are_asked_together() -> None:
    server = Server(away={"b": 927, "c": 916})
    assert server.answers() == "AD"
    assert server.asked == ["abcd", "a", "b", "c", "d"]
    server.now += AGAIN_S - 1
    assert server.answers() == "AD"
    assert server.asked == ["ad"]
    server.now += 1
    del server.away["b"]
    assert server.answers() == "ADB"
    assert server.asked == ["ad", "b", "c"], "by themselves first"
    assert server.answers() == "ABD"
    assert server.asked == ["abd"]
    assert len(server.sessions) == 1


def test_of_those_that_hang_one_alone_is_waited_for_each_time() -> None:
    server = Server(hangs={"a", "c"})
    assert server.answers() == ""
    assert server.asked == ["abcd", "a"]
    assert server.answers() == "B"
    assert server.asked == ["b", "c"]
    assert server.answers() == "BD"
    assert server.asked == ["b", "d"]
    assert server.answers() == "BD"
    assert server.asked == ["bd"]
    assert len(server.sessions) == 4, "behind each silence another connection"
    server.now = 100.0 + 2 * SILENCE_S + AGAIN_S
    assert server.answers() == "BD"
    assert server.asked == ["bd", "a"], "its time counts from the end of its silence"


def test_a_question_that_the_server_refuses_is_refused_for_all_at_once() -> None:
    server = Server(away={"b": 40508})
    with pytest.raises(WracklineError) as caught:
        server.answers()
    assert (caught.value.code, server.asked) == ("sqlserver.statement_refused", ["abcd"])


def test_without_a_connection_nobody_is_asked_and_nobody_is_to_blame() -> None:
    server = Server(refuses=True)
    with pytest.raises(WracklineError, match="login"):
        server.answers()
    server.refuses = False
    server.refuses_settings = True
    with pytest.raises(WracklineError):
        server.answers()
    assert (server.asked, server.sessions[0].closed) == ([], True)
    server.refuses_settings = False
    assert server.answers() == "ABCD"


def test_the_ends_of_logs_are_asked_from_each_database_and_at_home_in_the_end() -> None:
    assert ends_sql(["a]", "b"]).count("USE ") == 3
    assert ends_sql(["a]", "b"]).startswith("USE [a]]]; BEGIN TRANSACTION;")
    assert ends_sql(["a"]).endswith(" USE [master];")

    class Ends:
        def __init__(self) -> None:
            self.executed: list[str] = []

        def answers(self, sql: str, doing: str) -> list[object]:
            raise explain(0, sql, doing)

        def execute(self, sql: str, doing: str) -> None:
            self.executed.append(sql)
            raise explain(40508, sql, doing)

    session = Ends()
    with pytest.raises(WracklineError, match="say where its logs are") as caught:
        log_ends(cast("TdsSession", session), ["a"])
    assert (session.executed, caught.value.code) == (["USE [master];"], "sqlserver.server_lost")
