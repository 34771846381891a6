"""SQL Server Agent, or the capture job alone, is stopped under a source that reads: T-Q05.

The server is the stand-in.  The waits of the source are made short.
"""

import datetime as dt
from collections.abc import Iterator

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from tests.property.test_sqlserver_source_faults import first
from wrackline.control.local.sqlserver_standin.model.database import Grant, ModelDatabase
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.sqlserver.poll import capture_watch
from wrackline.schemas.errors import Definite, Transient
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read, read_batches


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_watch, "LOOK_S", 0.1)
    monkeypatch.setattr(ModelDatabase, "write_dummy", lambda _: None)


@pytest.fixture
def world() -> Iterator[SqlServerWorld]:
    made = SqlServerWorld(1, MarkKind.SIGNAL)
    yield made
    made.close()


def wait_for_stop(world: SqlServerWorld, stream: LogStream) -> Transient:
    with pytest.raises(Transient) as caught:
        read_batches(world, stream, lambda _: False)
    return caught.value


def one_row_read(world: SqlServerWorld) -> tuple[LogStream, Saved]:
    stream = open_stream(world, first(world))
    return stream, places(read(world, stream, world.commit(first(world), row("a", 1))))[-1].saved()


def test_an_agent_that_is_stopped_is_an_error_until_it_runs_and_nothing_is_lost(
    world: SqlServerWorld,
) -> None:
    """T-Q05."""
    stream, saved = one_row_read(world)
    world.model.run_agent(runs=False)
    world.commit(first(world), row("a", 2))
    error = wait_for_stop(world, stream)
    assert error.code == "sqlserver.agent_stands"
    assert "nothing of shop0 is captured: the service SQL Server Agent (STANDIN) is Stopped" in str(error)
    stream.close()
    again = open_stream(world, first(world), saved)
    assert wait_for_stop(world, again).code == "sqlserver.agent_stands", (
        "also for who opens the log meanwhile"
    )
    again.close()
    world.model.run_agent(runs=True)
    back = open_stream(world, first(world), saved)
    last = world.commit(first(world), row("a", 3))
    assert [one.key for one in events(world, read(world, back, last))] == [("a", 2), ("a", 3)]


def test_what_was_captured_before_the_agent_was_stopped_is_still_read(
    world: SqlServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-Q05: each opening of the log meanwhile hands out what the change tables have."""
    monkeypatch.setattr(capture_watch, "LOOK_S", 0.0)  # as if the pages of a commit took long
    stream, saved = one_row_read(world)
    stream.close()
    last = world.commit(first(world), row("a", 2))
    world.model.run_agent(runs=False)
    again = open_stream(world, first(world), saved)
    assert [one.key for one in events(world, read(world, again, last))] == [("a", 2)]
    assert wait_for_stop(world, again).code == "sqlserver.agent_stands"


def test_a_cleanup_of_what_nobody_has_read_is_loud_when_the_agent_runs_again(world: SqlServerWorld) -> None:
    """T-Q05: the cleanup job is the agent's too, and may come to change rows before their reader does."""
    stream, saved = one_row_read(world)
    stream.close()
    for number in (2, 3, 4):
        world.commit(first(world), row("a", number))
        world.model.advance(minutes=60)
    world.model.run_agent(runs=False)
    world.model.run_agent(runs=True)
    world.commit(first(world), row("a", 5))
    world.database(first(world)).clean_up(dt.timedelta(minutes=30))
    with pytest.raises(Definite) as caught:
        open_stream(world, first(world), saved)
    assert caught.value.code == "sqlserver.cleaned_away"


@pytest.mark.parametrize("beats", [False, True])
def test_a_job_that_is_stopped_beside_a_running_agent_is_reported(
    monkeypatch: pytest.MonkeyPatch, *, beats: bool
) -> None:
    """T-Q05: `sp_cdc_stop_job`; the agent's state does not show it, and a heartbeat makes it known sooner."""
    monkeypatch.setattr(capture_watch, "QUIET_S", 2.0)
    monkeypatch.setattr(capture_watch, "BEAT_S", 0.2)
    world = SqlServerWorld(1, MarkKind.SIGNAL, **({"heartbeat.interval.ms": "100"} if beats else {}))
    try:
        stream, _ = one_row_read(world)
        world.run(first(world), "EXEC sys.sp_cdc_stop_job @job_type = N'capture';")
        began = world.now()
        read_batches(world, stream, lambda _: bool(world.notices))
        assert (world.now() - began < 2) == beats
        assert [one.code for one in world.notices] == ["sqlserver.capture_silent"]
        world.run(first(world), "EXEC sys.sp_cdc_start_job @job_type = N'capture';")
        last = world.commit(first(world), row("a", 2))
        assert [one.key for one in events(world, read(world, stream, last))] == [("a", 2)]
    finally:
        world.close()


def test_a_login_that_may_not_see_services_reads_on_and_asks_once(world: SqlServerWorld) -> None:
    world.model.administrators.clear()
    world.model.grant("reader", "shop0", Grant(schemas=frozenset({"dbo", "cdc", "public"})))
    asked: list[str] = []
    world.model.plan("dm_server_services", act=lambda: asked.append("once"))
    world.model.plan("dm_server_services", act=lambda: asked.append("twice"))
    stream, _ = one_row_read(world)
    read_batches(world, stream, lambda _: bool(asked))
    ends = world.now() + 0.5
    read_batches(world, stream, lambda _: world.now() > ends)
    assert asked == ["once"]
    last = world.commit(first(world), row("a", 2))
    assert [one.key for one in events(world, read(world, stream, last))] == [("a", 2)]


def test_the_agent_of_a_secondary_is_not_asked_because_it_captures_nothing() -> None:
    world = SqlServerWorld(1, MarkKind.FENCE, **{"driver.applicationIntent": "ReadOnly"})
    try:
        stream, _ = one_row_read(world)
        world.model.agent_runs = False  # here; that of the primary captures
        ends = world.now() + 0.5
        read_batches(world, stream, lambda _: world.now() > ends)
        last = world.commit(first(world), row("a", 2))
        assert [one.key for one in events(world, read(world, stream, last))] == [("a", 2)]
        found = world.source.check(first(world), world.source.tables(first(world)))
        assert "sqlserver.agent_stopped" not in {one.id for one in found}
    finally:
        world.close()
