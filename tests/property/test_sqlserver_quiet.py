"""Databases that are quiet for long: nobody polls them, and whatever changes there is still seen soon."""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import USER, SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.database import Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.optional_parts import LogSurvey
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.contract.steps import Appeared, Fault, Renamed, Step, Vanished
from wrackline.producers.sources.sqlserver.log import range_audit
from wrackline.producers.sources.sqlserver.poll import (
    capture_watch,
    catalogue_digests,
    news_watch,
    round_reader,
)
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, read, read_batches

POLL, DIGEST, NEWS, AGENT = (
    "cdc.lsn_time_mapping WHERE",
    "CHECKSUM_AGG",
    "MAX(start_lsn)",
    "dm_server_services",
)
CATALOGUE, COUNT = "sys.index_columns", "SELECT COUNT_BIG(*) FROM cdc."
PATIENCE_S = 30.0
LOCKED = ServerError(1222, "Lock request time out period exceeded.")
DEADLOCK = ServerError(1205, "Transaction was deadlocked, and has been chosen as the deadlock victim.")
Make = Callable[..., SqlServerWorld]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody polls without a reason, and digests are asked for often."""
    monkeypatch.setattr(ModelDatabase, "write_dummy", lambda _: None)
    monkeypatch.setattr(catalogue_digests, "DIGEST_S", 0.05)
    monkeypatch.setattr(news_watch, "REST_S", 0.1)
    monkeypatch.setattr(news_watch, "LONG_REST_S", 600.0)
    monkeypatch.setattr(round_reader, "_NAMES_S", 0.05)


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[SqlServerWorld] = []

    def made(**more: str) -> SqlServerWorld:
        worlds.append(SqlServerWorld(2, MarkKind.SIGNAL, **{"log.audit.interval.ms": "0"} | more))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each batch that the server is asked, with the database that it is asked in before it."""
    asked: list[str] = []
    run = SqlSession.run

    def seen(session: SqlSession, sql: str, *args: object) -> object:
        asked.append(f"{session.database.name}: {sql}")
        return run(session, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlSession, "run", seen)
    return asked


def polls(statements: Sequence[str], *names: str) -> list[str]:
    return [one for one in statements if POLL in one and one.partition(":")[0] in names]


class Quiet:
    """Open logs of two databases, once nobody polls either of these any more."""

    def __init__(
        self, world: SqlServerWorld, statements: list[str], names: Collection[str] = ("shop0", "shop1")
    ) -> None:
        self.world, self.statements = world, statements
        self.streams = [open_stream(world, one) for one in world.source.partitions()]
        for stream, partition in zip(self.streams, world.source.partitions(), strict=True):
            read(world, stream, world.commit(partition, row("a", 1)))
        self.settle(*names)

    def settle(self, *names: str) -> None:
        """Wait until digests have come several times without a poll."""
        end = self.world.now() + PATIENCE_S
        while True:
            del self.statements[:]
            self.rest(lambda: sum(DIGEST in one for one in self.statements) >= 8)
            if not polls(self.statements, *names):
                return
            assert self.world.now() < end, "they are still polled"

    def rest(self, over: Callable[[], bool]) -> None:
        end = self.world.now() + PATIENCE_S
        while not over():
            assert self.world.now() < end
            for stream in self.streams:
                stream.poll(self.world.now())
            threading.Event().wait(0.01)

    def database(self, number: int = 0) -> ModelDatabase:
        return self.world.database(self.world.source.partitions()[number])

    def until(self, *kinds: type[Step], number: int = 0) -> list[Step]:
        """Read one log until such steps came."""
        batches = read_batches(
            self.world,
            self.streams[number],
            lambda steps: all(any(isinstance(one, kind) for one in steps) for kind in kinds),
        )
        return [one for batch in batches for one in batch.steps if isinstance(one, kinds)]


def test_a_quiet_database_is_not_polled_and_its_news_are_read_at_once(
    make: Make, statements: list[str]
) -> None:
    quiet = Quiet(make(), statements)
    for number, partition in enumerate(quiet.world.source.partitions()):
        last = quiet.world.commit(partition, row("b", number))
        steps = read(quiet.world, quiet.streams[number], last)
        assert [one.key for one in events(quiet.world, steps)] == [("b", number)]
    quiet.settle("shop0", "shop1")


@pytest.mark.parametrize("hidden_by", [LOCKED, DEADLOCK], ids=["lock", "deadlock"])
def test_news_that_a_lock_hid_from_the_poll_are_polled_for_again(
    make: Make, statements: list[str], monkeypatch: pytest.MonkeyPatch, hidden_by: ServerError
) -> None:
    """Nobody rings a second time for a commit that was rung for."""
    monkeypatch.setattr(news_watch, "REST_S", 600.0)
    quiet = Quiet(make(), statements)
    quiet.world.model.plan(POLL, hidden_by)
    last = quiet.world.commit(quiet.world.source.partitions()[0], row("b", 1))
    steps = read(quiet.world, quiet.streams[0], last)
    assert [one.key for one in events(quiet.world, steps)] == [("b", 1)]
    assert not quiet.world.model.faults


def test_an_instance_that_is_made_again_under_its_name_while_its_database_is_quiet_is_a_loss(
    make: Make, statements: list[str]
) -> None:
    """Between two looks: what was written before it was dropped is in no change table."""
    world = make()
    quiet = Quiet(world, statements)
    database = quiet.database()
    with database.lock:
        database.disable_table("public_orders")
        database.enable_table("public.orders")
        database.scan()
    (step,) = quiet.until(Fault)
    assert isinstance(step, Fault)
    assert (step.table.name, step.error.code) == ("orders", "sqlserver.instance_gone")
    assert not polls(statements, "shop1"), "nothing happened in the other"


def test_a_table_that_is_captured_while_its_database_is_quiet_appears(
    make: Make, statements: list[str]
) -> None:
    quiet = Quiet(make(**{"table.include.list": r"public\.(orders|elsewhere)"}), statements)
    quiet.database().enable_table("public.elsewhere")
    quiet.rest(lambda: any(CATALOGUE in one and one.startswith("shop0:") for one in statements))
    assert not polls(statements, "shop1"), "nothing happened in the other"
    quiet.world.commit(quiet.world.source.partitions()[0], row("b", 1))
    (step,) = quiet.until(Appeared)  # once the log has passed the instance's start
    assert isinstance(step, Appeared)
    assert step.table.name == "elsewhere"


def test_a_table_that_is_renamed_while_its_database_is_quiet_is_seen(
    make: Make, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also just behind a poll that has seen the older name, so that the next one does not ask for names."""
    monkeypatch.setattr(round_reader, "_NAMES_S", 1.0)
    quiet = Quiet(make(**{"table.include.list": r"public\.(orders|other)"}), statements)
    read(quiet.world, quiet.streams[0], quiet.world.commit(quiet.world.source.partitions()[0], row("b", 1)))
    quiet.database().rename_table("public.orders", "other")
    (step,) = quiet.until(Renamed)
    assert isinstance(step, Renamed)
    assert (step.old.name, step.new.name) == ("orders", "other")


def test_a_table_that_is_dropped_while_its_database_is_quiet_vanishes(
    make: Make, statements: list[str]
) -> None:
    quiet = Quiet(make(), statements)
    quiet.database().drop_table("public.orders")
    assert len(quiet.until(Vanished)) == 1


def test_a_column_that_is_added_while_its_database_is_quiet_gets_its_capture_instance(
    make: Make, statements: list[str]
) -> None:
    """And the older instance goes, though nobody rings once Kafka has come to the newer one's start."""
    quiet = Quiet(make(**{"capture.instance.rotate": "true"}), statements)
    base = quiet.database()
    base.add_column("public.orders", "extra", "nvarchar(max) null")
    of_orders = {"public_orders"}

    def changed() -> bool:
        now = {name for name, one in base.job().instances.items() if one.table.name == "orders"}
        return now != of_orders

    quiet.rest(changed)
    of_orders = {name for name, one in base.job().instances.items() if one.table.name == "orders"}
    assert len(of_orders) == 2
    last = quiet.world.commit(quiet.world.source.partitions()[0], row("c", 1))
    steps = read(quiet.world, quiet.streams[0], last)
    quiet.streams[0].confirm(events(quiet.world, steps)[-1].upto)
    quiet.rest(changed)
    assert "public_orders" not in base.job().instances


@pytest.mark.parametrize("number", [0, 1])
def test_an_agent_that_stops_is_said_of_each_database_although_none_has_news(
    make: Make, statements: list[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Though each was looked at a moment ago, and would not look for the agent so soon."""
    monkeypatch.setattr(capture_watch, "LOOK_S", 600.0)
    quiet = Quiet(make(), statements)
    quiet.world.model.run_agent(runs=False)
    with pytest.raises(Transient, match=f"nothing of shop{number} is captured"):
        read_batches(quiet.world, quiet.streams[number], lambda _: False)
    quiet.streams[number].close()
    again = open_stream(quiet.world, quiet.world.source.partitions()[number])
    with pytest.raises(Transient, match="is Stopped"):
        read_batches(quiet.world, again, lambda _: False)
    again.close()


def test_an_agent_that_we_may_not_see_is_asked_for_once_by_each_and_the_databases_rest(
    make: Make, statements: list[str]
) -> None:
    world = make()
    world.model.administrators.clear()
    for partition in world.source.partitions():
        world.model.grant(USER, partition.database, Grant(schemas=frozenset({"dbo", "cdc", "public"})))
    quiet = Quiet(world, statements)
    del statements[:]
    quiet.rest(lambda: sum(DIGEST in one for one in statements) >= 8)
    assert not any(AGENT in one for one in statements)


def test_a_catalogue_that_is_locked_is_polled_for_and_keeps_nobody_else_awake(
    make: Make, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_digests, "AGAIN_S", 0.2)
    quiet = Quiet(make(**{"table.include.list": r"public\.(orders|other)"}), statements)
    meet, locks = ModelServer.meet, [True]

    def met(server: ModelServer, statement: str) -> None:
        if locks and DIGEST in statement and "[shop0]" in statement:
            raise LOCKED
        meet(server, statement)

    monkeypatch.setattr(ModelServer, "meet", met)
    quiet.rest(lambda: len(polls(statements, "shop0")) >= 3)
    quiet.settle("shop1")
    last = quiet.world.commit(quiet.world.source.partitions()[1], row("b", 2))
    assert events(quiet.world, read(quiet.world, quiet.streams[1], last))
    quiet.database().rename_table("public.orders", "other")
    assert len(quiet.until(Renamed)) == 1, "its own polls find it"
    locks.clear()
    quiet.settle("shop0", "shop1")


def test_databases_that_read_versions_rest_too(make: Make, statements: list[str]) -> None:
    """Such a database takes READPAST only where locks are taken."""
    world = make()
    for partition in world.source.partitions():
        world.database(partition).read_committed_snapshot = True
    quiet = Quiet(world, statements)
    assert not any(one.startswith("shop") and POLL in one for one in statements)
    last = world.commit(world.source.partitions()[0], row("b", 2))
    assert events(world, read(world, quiet.streams[0], last))


def test_what_was_read_is_counted_again_although_nobody_polls(
    make: Make, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_audit, "REST_S", 2.0)
    quiet = Quiet(make(**{"log.audit.interval.ms": "100"}), statements)
    quiet.world.commit(quiet.world.source.partitions()[1], row("b", 1))
    quiet.rest(lambda: any(COUNT in one and one.startswith("shop1:") for one in statements))
    assert polls(statements, "shop1")


def test_a_silent_capture_job_is_told_although_nobody_polls(
    make: Make, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    monkeypatch.setattr(capture_watch, "QUIET_S", 2.0)
    monkeypatch.setattr(capture_watch, "LOOK_S", 0.1)
    monkeypatch.setattr(capture_watch, "_AGAIN_S", 0.5)
    quiet = Quiet(world, statements)
    quiet.rest(lambda: len(world.notices) >= 2)
    assert {one.code for one in world.notices} == {"sqlserver.capture_silent"}


def test_a_login_that_is_refused_is_tried_again_after_a_long_while(
    make: Make, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news_watch, "REFUSED_S", 0.3)
    world = make()
    world.model.plan("SET LOCK_TIMEOUT 500", ServerError(916, "The server principal can't enter."))
    Quiet(world, statements)
    assert not world.model.faults


def test_a_survey_that_is_refused_is_tried_again_after_a_long_while(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make()
    survey = world.source
    assert isinstance(survey, LogSurvey)
    monkeypatch.setattr("wrackline.producers.sources.sqlserver.source.REFUSED_S", 0.2)
    world.model.plan("SET LOCK_TIMEOUT 500", ServerError(916, "The server principal can't enter."))
    seen = [survey.survey_s]
    with pytest.raises(OperatorNeeded):
        survey.log_ends()
    seen.append(survey.survey_s)
    threading.Event().wait(0.3)
    seen.append(survey.survey_s)
    assert seen == [5.0, None, 5.0]
    assert survey.log_ends().keys() == set(world.source.partitions())
