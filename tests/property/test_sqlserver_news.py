"""Many databases of one SQL Server that are quiet: one round trip a poll, and not one a database."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import USER, SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.database import Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.model.server import AZURE
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.optional_parts import LogEnding, LogState, LogSurvey
from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.contract.steps import Position
from wrackline.producers.kit import lent_connection
from wrackline.producers.observe.log_lag_poller import poll_logs
from wrackline.producers.sources.sqlserver.chunks.marks import SqlServerFence
from wrackline.producers.sources.sqlserver.connect.server_errors import explain
from wrackline.producers.sources.sqlserver.database import SqlServerDatabase
from wrackline.producers.sources.sqlserver.poll import news_watch
from wrackline.producers.sources.sqlserver.session import shared_question
from wrackline.producers.sources.sqlserver.session.server import SqlServerConnector, ask_values
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, read

MANY = 12
NEWS = "READPAST"  # of the question for news, and of the one for catalogues, which comes beside it
COMMITS = "MAX(start_lsn) FROM ["  # only of the first of these
POLL = "FROM cdc.lsn_time_mapping WHERE"
END = "SAVE TRANSACTION"
ASKS = "wrackline.producers.sources.sqlserver.poll.news_watch.ask_values"
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


@pytest.fixture
def polled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The database of each poll."""
    names: list[str] = []
    run = SqlSession.run

    def seen(session: SqlSession, sql: str, *args: object) -> object:
        names.extend([session.database.name] if POLL in sql else ())
        return run(session, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlSession, "run", seen)
    return names


@pytest.fixture
def hangs(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[tuple[str, str]]]:
    """A statement that has two such words is not answered, until the last test step is over."""
    words: set[tuple[str, str]] = set()
    over = threading.Event()
    run = SqlSession.run

    def waits(session: SqlSession, sql: str, *args: object) -> object:
        while any(one in sql and other in sql for one, other in words) and not over.wait(0.01):
            pass
        return run(session, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlSession, "run", waits)
    monkeypatch.setattr(shared_question, "SILENCE_S", 0.3)
    yield words
    over.set()


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
    deadline = world.now() + 20
    while not any(one.count(NEWS) == MANY for one in statements):  # a busy machine begins them slowly
        assert world.now() < deadline
        rest(world, streams, 0.1)
    del statements[:]
    rest(world, streams, 2.0)
    news = [one.count(COMMITS) for one in statements if COMMITS in one]
    polls = sum(POLL in one for one in statements)
    assert 5 <= len(news) <= 21
    assert set(news) == {MANY}
    assert polls <= MANY, "each at most once in five seconds; 20 times without news"


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[TdsSession]:
    """Each session that the source opens."""
    made: list[TdsSession] = []
    connect = SqlServerConnector.connect

    def noted(server: SqlServerConnector, *given: float) -> TdsSession:
        made.append(connect(server, *given))
        return made[-1]

    monkeypatch.setattr(SqlServerConnector, "connect", noted)
    return made


@pytest.mark.parametrize("azure", [False, True])
def test_connections_for_questions_are_shared_by_the_databases_of_a_task(
    make: Make, sessions: list[TdsSession], monkeypatch: pytest.MonkeyPatch, *, azure: bool
) -> None:
    """Where one can't ask for all, each is asked every second: to log in for it each time would cost more."""
    monkeypatch.setattr(lent_connection, "_MOST_UNUSED", 4)
    world = make()
    if azure:
        world.model.edition = AZURE
    streams = opened(world)

    def for_questions() -> int:
        return sum(not one.closed for one in sessions) - len(streams)

    assert for_questions() <= 4 + 1, "and the one that asks for news"
    rest(world, streams, 0.3)
    assert isinstance(world.source, LogSurvey)
    assert isinstance(world.source, LogEnding)
    if not azure:
        assert len(world.source.log_ends()) == MANY
        assert for_questions() <= 4 + 2, "and the one that asks where logs end"
        return
    with pytest.raises(WracklineError):
        world.source.log_ends()
    ends = [world.source.log_end(one) for one in world.source.partitions()]
    made = len(sessions)
    ends += [world.source.log_end(one) for one in world.source.partitions()]
    assert (len(ends), len(sessions) - made, for_questions() >= MANY) == (2 * MANY, 0, True)


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
    monkeypatch.setattr(shared_question, "AGAIN_S", 0.3)
    world = make(3)
    down, *up = world.source.partitions()
    streams = opened(world)
    rest(world, streams, 0.3)
    away, entered = {down.database}, SqlSession.entered

    def refused(session: SqlSession, name: str) -> ModelDatabase:
        if name in away:
            raise ServerError(927, f"Database '{name}' cannot be opened: RESTORING.", severity=14)
        return entered(session, name)

    monkeypatch.setattr(SqlSession, "entered", refused)
    rest(world, streams, 1.0)
    del statements[:]
    rest(world, streams, 0.5)
    assert sum(POLL in one for one in statements) > 5, "it is polled, for nobody tells of its news"
    for number, partition in enumerate(up, 1):
        last = world.commit(partition, row("a", 1))
        assert events(world, read(world, streams[number], last))
    away.clear()
    rest(world, streams, 1.0)
    del statements[:]
    rest(world, streams, 0.5)
    assert not any(POLL in one for one in statements), "all are asked about together again"
    last = world.commit(down, row("a", 2))
    assert events(world, read(world, streams[0], last))


def test_a_database_that_hangs_when_it_is_asked_for_news_does_not_keep_the_others_waiting(
    make: Make, monkeypatch: pytest.MonkeyPatch, hangs: set[tuple[str, str]], polled: list[str]
) -> None:
    monkeypatch.setattr(news_watch, "REST_S", 60.0)
    world = make(3)
    _, *up = world.source.partitions()
    streams = opened(world)
    rest(world, streams, 0.3)
    hangs.add(("[shop0]", NEWS))
    rest(world, streams, 1.0)
    for number, partition in enumerate(up, 1):
        last = world.commit(partition, row("a", number))
        began = world.now()
        assert [one.key for one in events(world, read(world, streams[number], last))] == [("a", number)]
        assert world.now() - began < 5, "REST_S is not waited for"
    rest(world, streams, 1.0)
    del polled[:]
    rest(world, streams, 0.5)
    assert set(polled) == {"shop0"}, "the others rest again"


def test_a_lost_connection_for_news_costs_nothing_but_polls(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news_watch, "REST_S", 60.0)
    monkeypatch.setattr(shared_question, "AGAIN_S", 60.0)
    world = make(2)
    streams = opened(world)
    rest(world, streams, 0.3)

    def lost(session: TdsSession, _sql: str, _doing: str) -> Sequence[object]:
        session.close()
        raise explain(0, "", "show which databases have news")

    monkeypatch.setattr(ASKS, lost)
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
    assert statements.count(shared_question.LOCKS) == 1
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

    def lost(session: TdsSession, _sql: str, _doing: str) -> Sequence[object]:
        monkeypatch.setattr(ASKS, ask_values)
        session.close()
        raise explain(0, "", "show which databases have news")

    for _ in range(20):
        world.model.plan("SET LOCK_TIMEOUT 500", ServerError(916, "The server principal can't enter."))
    monkeypatch.setattr(ASKS, lost)
    rest(world, streams, 1.0)
    assert statements.count(shared_question.LOCKS) == 2
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


@pytest.mark.parametrize("state", ["RESTORING", "OFFLINE", "RECOVERING", "SUSPECT"])
def test_the_end_of_a_database_that_is_away_is_left_out_for_a_while(
    make: Make, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr(shared_question, "AGAIN_S", 0.2)
    world = make(3)
    down, *up = world.source.partitions()
    assert isinstance(world.source, LogSurvey)
    world.database(down).state = state
    assert world.source.log_ends().keys() == set(up)
    assert world.source.log_ends().keys() == set(up), "and the others are asked for together"
    world.database(down).state = "ONLINE"
    threading.Event().wait(0.3)
    assert world.source.log_ends().keys() == {down, *up}


def test_a_database_that_hangs_costs_the_ends_of_the_other_logs_one_silence_in_a_while(
    make: Make, monkeypatch: pytest.MonkeyPatch, hangs: set[tuple[str, str]], statements: list[str]
) -> None:
    monkeypatch.setattr(shared_question, "AGAIN_S", 1.5)
    world = make(5)
    every = world.source.partitions()
    up = {every[0], every[2], every[4]}
    assert isinstance(world.source, LogSurvey)
    assert world.source.log_ends().keys() == set(every)
    hangs |= {("USE [shop1]", END), ("USE [shop3]", END)}
    began = world.now()
    found = [world.source.log_ends().keys() for _ in range(3)]
    assert found == [{every[0]}, up - {every[4]}, up], "at most one by itself is waited for each time"
    assert world.now() - began < 5
    del statements[:]
    assert world.source.log_ends().keys() == up
    assert len(statements) == 1, "the others are asked together again"
    hangs.clear()
    threading.Event().wait(2)
    assert world.source.log_ends().keys() == set(every)


@pytest.mark.parametrize("why", ["dropped", "without a user"])
def test_the_ends_of_logs_do_without_a_database_that_nobody_lets_us_enter(make: Make, why: str) -> None:
    world = make(3)
    _, *up = world.source.partitions()
    if why == "dropped":
        world.model.drop_database("shop0")
    else:
        world.model.administrators.clear()
        world.model.viewers.add(USER)
        for partition in up:
            world.model.grant(USER, partition.database, Grant(owner=True))
    assert isinstance(world.source, LogSurvey)
    assert [world.source.log_ends().keys() for _ in range(2)] == [set(up)] * 2
    assert world.source.survey_s is not None


def test_the_connection_that_asks_where_logs_end_stays_in_none_of_the_databases(
    make: Make, statements: list[str]
) -> None:
    world = make(2)
    assert isinstance(world.source, LogSurvey)
    world.source.log_ends()
    assert [one.endswith("USE [master];") for one in statements if END in one] == [True]


@pytest.mark.parametrize("number", [300, 1222], ids=["no right", "lock"])
def test_that_connection_goes_home_behind_a_failure_too(
    make: Make, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Without the right to see places of the log each question fails in a database."""
    world, sessions = make(2), set[SqlSession]()
    run = SqlSession.run

    def seen(session: SqlSession, sql: str, *args: object) -> object:
        sessions.update([session] if END in sql else ())
        return run(session, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlSession, "run", seen)
    assert isinstance(world.source, LogSurvey)
    for _ in range(3):
        world.model.plan("dm_tran_database_transactions", ServerError(number, "It can't be shown."))
    assert world.source.log_ends() == {}
    assert not world.model.faults
    assert [one.database.name for one in sessions] == ["master"]


class Ends:
    """Takes the ends of logs."""

    def __init__(self) -> None:
        self.seen: set[SourcePartition] = set()

    def confirmed(self, partition: SourcePartition) -> Position | None:
        del partition
        return None

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        assert log is None, f"{partition} has no state"

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        assert (at_ms, end.name) == (1, "end")
        self.seen.add(partition)


def watch_ends(world: SqlServerWorld, wanted: Collection[SourcePartition]) -> None:
    ends, patience = Ends(), world.now() + 10
    with poll_logs(world.source, ends, lambda: 1, every=0.05):
        while ends.seen != set(wanted):
            assert world.now() < patience, ends.seen
            threading.Event().wait(0.01)


@pytest.mark.parametrize("more", [{}, {"driver.applicationIntent": "ReadOnly"}])
def test_a_user_of_single_databases_asks_each_for_its_log_s_end(
    make: Make, statements: list[str], more: dict[str, str]
) -> None:
    world = SqlServerWorld(2, MarkKind.FENCE, **more) if more else make(2)
    try:
        if not more:
            world.model.plan("SET XACT_ABORT ON", ServerError(916, "The server principal can't enter."))
        watch_ends(world, world.source.partitions())
        assert not any("USE [shop1]; BEGIN" in one for one in statements), "a refusal is not repeated"
    finally:
        world.close()


def test_azure_whose_use_enters_no_other_database_is_asked_for_each_log_s_end(
    make: Make, statements: list[str]
) -> None:
    world = make(2)
    world.model.edition = AZURE
    watch_ends(world, world.source.partitions())
    assert sum(one.startswith("USE [shop0]; BEGIN") for one in statements) == 1, "a refusal is not repeated"


def test_a_database_of_azure_that_hangs_keeps_the_ends_of_the_others_from_nobody(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make(3)
    world.model.edition = AZURE
    down, *up = world.source.partitions()
    watch_ends(world, [down, *up])
    asked = threading.Event()
    answer = SqlServerDatabase.log_end

    def waits(database: SqlServerDatabase) -> SqlServerFence:
        assert database.name != down.database or asked.wait(20)
        return answer(database)

    monkeypatch.setattr(SqlServerDatabase, "log_end", waits)
    watch_ends(world, up)
    asked.set()
