"""A server of MySQL's family, and the way to it, go wrong while tables are written to; the task comes back.

In each, the process that was there at first brings everything by itself, each write once.
"""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.mysql.world import NO_ROWS, World
from tests.fixtures.cut_proxy import BOTH, CutProxy, Way
from tests.integration.running.world import Running, wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry

pytestmark = pytest.mark.servers

SETTINGS = {
    **NO_ROWS,
    "connect.keep.alive.interval.ms": "2000",
    "connect.timeout.ms": "2000",
    "retriable.restart.connector.wait.ms": "1000",
}


@pytest.fixture
def network(own: MysqlServer) -> Iterator[CutProxy]:
    """The way to the server."""
    with CutProxy(own.port) as proxy:
        yield proxy


@pytest.fixture
def world(
    tmp_path: Path,
    kind: str,
    own: MysqlServer,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    network: CutProxy,
) -> Iterator[World]:
    """A pipeline that reaches the server through that way alone."""
    made = World(tmp_path, kind, own, kafka, registry, topic_prefix, SETTINGS, port=network.port)
    yield made
    made.close()


def went_on(world: World, running: Running) -> None:
    """The process that was there at first has brought everything, by itself."""
    world.caught_up()
    assert running.process.poll() is None, running.output
    assert len(world.started) == 1
    world.check()


@pytest.mark.full
def test_connections_are_reset_and_refused(world: World, network: CutProxy) -> None:
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        network.cut()
        running.says("[mysql.log_ended]")
        writers.more(20)
        network.refuse()
        network.cut()
        running.says("[mysql.unreachable]")
        writers.more(20)
        network.heal()
        writers.more(20)
    went_on(world, running)


@pytest.mark.full
@pytest.mark.parametrize(
    "ways", [BOTH, pytest.param(frozenset({Way.DOWN}), marks=pytest.mark.deep)], ids=["both", "down"]
)
def test_a_server_that_goes_silent_is_found_out(
    world: World, network: CutProxy, ways: frozenset[Way]
) -> None:
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        world.caught_up()
        network.swallow(ways)
        running.says("[mysql.log_silent]")
        network.heal()
        writers.more(20)
    went_on(world, running)


@pytest.mark.full
def test_a_frozen_server_is_detected(world: World, own: MysqlServer) -> None:
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        own.process.pause()
        running.says("[mysql.log_silent]")
        own.process.resume()
        writers.more(20)
    went_on(world, running)


@pytest.mark.full
def test_our_connection_is_ended_by_an_administrator(world: World) -> None:
    running = world.run()
    with world.writing() as writers:
        for _ in range(3):
            writers.more(10)
            wait_until(lambda: world.dump() is not None)
            ended = world.dump()
            world.sql(f"KILL {ended}")
            wait_until(lambda: world.dump() not in {None, ended})  # noqa: B023 - at once
    went_on(world, running)


@pytest.mark.full  # PostgreSQL's is in the gate
def test_restarted_and_killed_inside_a_large_transaction(world: World, own: MysqlServer) -> None:
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        own.process.restart()
        writers.more(20)
        world.insert(20_000, 1_000)
        own.process.kill()
        own.process.start()
        writers.more(20)
    went_on(world, running)


@pytest.mark.deep
def test_a_slow_network_is_no_fault(world: World, network: CutProxy) -> None:
    network.delay(0.05)
    running = world.run()
    with world.writing() as writers:
        writers.more(50)
    went_on(world, running)
    assert "recovering: [mysql." not in running.output, running.output


@pytest.mark.full
def test_asked_to_end_it_ends_while_the_server_is_away(world: World, own: MysqlServer) -> None:
    running = world.run()
    with world.writing() as writers:
        writers.more(10)
    world.caught_up()
    own.process.kill()
    running.says("recovering")
    assert running.stop() in {0, -signal.SIGTERM}
    own.process.start()
    with world.writing(2) as writers:
        running = world.run()
        writers.more(10)
    world.caught_up()
    world.check()
