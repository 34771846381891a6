"""Many databases of one SQL Server that are quiet: one round trip a poll, and not one a database."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.server import AZURE
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.optional_parts import LogSurvey
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.sources.sqlserver.chunks import log_end_survey
from wrackline.producers.sources.sqlserver.connect.server_errors import explain
from wrackline.producers.sources.sqlserver.poll import news_watch
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, read

MANY = 12
NEWS, POLL = "READPAST", "cdc.ddl_history"  # what only these statements have
Make = Callable[..., SqlServerWorld]


@pytest.fixture(autouse=True)
def quiet_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelDatabase, "write_dummy", lambda _: None)


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[SqlServerWorld] = []

    def made(partitions: int = MANY, **more: str) -> SqlServerWorld:
        worlds.append(SqlServerWorld(partitions, MarkKind.SIGNAL, **more))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each batch that the server is asked."""
    asked: list[str] = []
    run = SqlSession.run

    def seen(session: SqlSession, sql: str, *args: object) -> object:
        asked.append(sql)
        return run(session, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlSession, "run", seen)
    return asked


def opened(world: SqlServerWorld) -> Sequence[LogStream]:
    return [open_stream(world, partition) for partition in world.source.partitions()]


def rest(world: SqlServerWorld, streams: Sequence[LogStream], seconds: float) -> None:
    end = world.now() + seconds
    while world.now() < end:
        for stream in streams:
            stream.poll(world.now())
        threading.Event().wait(0.01)


def test_quiet_databases_are_asked_about_in_one_round_trip_a_poll(make: Make, statements: list[str]) -> None:
    world = make(**{"poll.interval.ms": "100"})
    streams = opened(world)
    rest(world, streams, 0.7)
    del statements[:]
    rest(world, streams, 2.0)
    news, polls = (sum(word in one for one in statements) for word in (NEWS, POLL))
    assert 5 <= news <= 21
    assert all(one.count(NEWS) == MANY for one in statements if NEWS in one)
    assert polls <= MANY, "each at most once in five seconds; 20 times without news"


def test_news_of_one_database_is_read_at_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news_watch, "REST_S", 60.0)
    world = make()
    streams = opened(world)
    rest(world, streams, 0.5)
    for number, partition in enumerate(world.source.partitions()):
        last = world.commit(partition, row("a", number))
        assert [one.key for one in events(world, read(world, streams[number], last))] == [("a", number)]


def test_a_database_that_is_away_is_polled_by_itself_and_the_others_rest(
    make: Make, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    monkeypatch.setattr(news_watch, "REST_S", 60.0)
    monkeypatch.setattr(news_watch, "AGAIN_S", 0.3)
    world = make(3)
    down, *up = world.source.partitions()
    streams = opened(world)
    rest(world, streams, 0.3)
    world.database(down).state = "RESTORING"  # its own session may remain in it here
    rest(world, streams, 1.0)
    del statements[:]
    rest(world, streams, 0.5)
    assert sum(POLL in one for one in statements) > 5, "it is polled, for nobody tells of its news"
    for number, partition in enumerate(up, 1):
        last = world.commit(partition, row("a", 1))
        assert events(world, read(world, streams[number], last))
    world.database(down).state = "ONLINE"
    rest(world, streams, 1.0)
    del statements[:]
    rest(world, streams, 0.5)
    assert not any(POLL in one for one in statements), "all are asked about together again"
    last = world.commit(down, row("a", 2))
    assert events(world, read(world, streams[0], last))


def test_a_lost_connection_for_news_costs_nothing_but_polls(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news_watch, "REST_S", 60.0)
    monkeypatch.setattr(news_watch, "AGAIN_S", 60.0)
    world = make(2)
    streams = opened(world)
    rest(world, streams, 0.3)

    def lost(session: TdsSession, _names: Sequence[str]) -> Mapping[str, object]:
        session.close()
        raise explain(0, "", "show which databases have news")

    monkeypatch.setattr(news_watch, "_newest", lost)
    rest(world, streams, 0.3)
    for number, partition in enumerate(world.source.partitions()):
        last = world.commit(partition, row("a", 1))
        assert events(world, read(world, streams[number], last))


def test_who_may_not_ask_for_news_is_refused_once(
    make: Make, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    """A user who exists in its databases alone."""
    monkeypatch.setattr(news_watch, "AGAIN_S", 0.1)
    world = make(2)
    world.model.plan("SET LOCK_TIMEOUT 500", ServerError(916, "The server principal can't enter."))
    streams = opened(world)
    rest(world, streams, 1.0)
    assert sum("SET LOCK_TIMEOUT 500" in one for one in statements) == 1
    for number, partition in enumerate(world.source.partitions()):
        last = world.commit(partition, row("a", 1))
        assert events(world, read(world, streams[number], last))


def test_a_login_that_is_refused_behind_a_lost_connection_is_not_repeated(
    make: Make, monkeypatch: pytest.MonkeyPatch, statements: list[str]
) -> None:
    """The databases' own sessions live on behind a new password, and each wrong one may lock the account."""
    monkeypatch.setattr(news_watch, "AGAIN_S", 0.1)
    world = make(2)
    streams = opened(world)
    rest(world, streams, 0.3)
    ask = news_watch._newest

    def lost(session: TdsSession, _names: Sequence[str]) -> Mapping[str, object]:
        monkeypatch.setattr(news_watch, "_newest", ask)
        session.close()
        raise explain(0, "", "show which databases have news")

    for _ in range(20):
        world.model.plan("SET LOCK_TIMEOUT 500", ServerError(916, "The server principal can't enter."))
    monkeypatch.setattr(news_watch, "_newest", lost)
    rest(world, streams, 1.0)
    assert sum("SET LOCK_TIMEOUT 500" in one for one in statements) == 2
    for number, partition in enumerate(world.source.partitions()):
        last = world.commit(partition, row("a", 1))
        assert events(world, read(world, streams[number], last))


def test_the_thread_ends_with_the_last_stream_and_one_database_has_none(make: Make) -> None:
    def threads() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "news of databases"]

    world = make(2)
    streams = opened(world)
    (thread,) = threads()
    for stream in streams:
        stream.close()
    thread.join(30)
    assert not thread.is_alive()
    again = open_stream(world, world.source.partitions()[0])
    assert len(threads()) == 1
    again.close()
    alone = make(1)
    rest(alone, opened(alone), 0.2)
    assert threads() == []


def test_the_ends_of_all_logs_are_asked_for_in_one_round_trip(make: Make, statements: list[str]) -> None:
    world = make()
    assert isinstance(world.source, LogSurvey)
    world.source.log_ends()
    del statements[:]
    ends = world.source.log_ends()
    assert len(statements) == 1
    assert ends.keys() == set(world.source.partitions())
    assert world.source.log_states() == dict.fromkeys(world.source.partitions())


def test_the_end_of_a_database_that_is_away_is_left_out_for_a_while(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_end_survey, "AGAIN_S", 0.2)
    world = make(3)
    down, *up = world.source.partitions()
    assert isinstance(world.source, LogSurvey)
    world.database(down).state = "RESTORING"
    assert world.source.log_ends().keys() == set(up)
    assert world.source.log_ends().keys() == set(up), "and the others are asked for together"
    world.database(down).state = "ONLINE"
    threading.Event().wait(0.3)
    assert world.source.log_ends().keys() == {down, *up}


@pytest.mark.parametrize("more", [{}, {"driver.applicationIntent": "ReadOnly"}])
def test_a_user_of_single_databases_asks_each_for_its_log_s_end(
    make: Make, statements: list[str], more: dict[str, str]
) -> None:
    world = SqlServerWorld(2, MarkKind.FENCE, **more) if more else make(2)
    try:
        assert isinstance(world.source, LogSurvey)
        if not more:
            world.model.plan("SET XACT_ABORT ON", ServerError(916, "The server principal can't enter."))
        for _ in range(2):
            assert world.source.log_ends().keys() == set(world.source.partitions())
        assert not any("USE [shop1]; BEGIN" in one for one in statements), "a refusal is not repeated"
    finally:
        world.close()


def test_azure_whose_use_enters_no_other_database_is_asked_for_each_log_s_end(
    make: Make, statements: list[str]
) -> None:
    world = make(2)
    world.model.edition = AZURE
    assert isinstance(world.source, LogSurvey)
    for _ in range(2):
        assert world.source.log_ends().keys() == set(world.source.partitions())
    assert sum(one.startswith("USE [shop0]; BEGIN") for one in statements) == 2, "with the others, and alone"
