"""The network between the task and its servers is reset, goes silent or slows down; the task comes back."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.chaos.checks import check_all
from tests.chaos.world import World
from tests.fixtures.cut_proxy import BOTH, CutProxy, Way
from tests.integration.running.world import Running, wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry

pytestmark = pytest.mark.servers

SETTINGS = {
    "wal.receiver.timeout.ms": "2000",
    "kafka.socket.timeout.ms": "2000",
    "retriable.restart.connector.wait.ms": "1000",
}
ONE_WAY = [pytest.param(frozenset({way}), id=way.name.lower(), marks=pytest.mark.deep) for way in Way]


@dataclass(frozen=True)
class Network:
    """A world whose task reaches its servers through these alone."""

    world: World
    database: CutProxy
    kafka: CutProxy
    registry: CutProxy

    @property
    def all(self) -> tuple[CutProxy, ...]:
        """Each of the ways."""
        return self.database, self.kafka, self.registry


@pytest.fixture
def network(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> Iterator[Network]:
    """A pipeline behind three proxies; the test's own eyes look past two of them."""
    with ExitStack() as opened:
        to_database = opened.enter_context(CutProxy(postgres.port))
        to_kafka = opened.enter_context(CutProxy(kafka.proxied_port, kafka.proxy_port))
        to_registry = opened.enter_context(CutProxy(registry.port))
        world = World(
            tmp_path,
            postgres,
            kafka,
            replace(registry, port=to_registry.port),
            SETTINGS,
            bootstrap=f"127.0.0.1:{to_kafka.port}",
            database_port=to_database.port,
        )
        opened.callback(world.close)
        yield Network(world, to_database, to_kafka, to_registry)


def went_on(world: World, running: Running) -> None:
    """The process that was there at first has brought everything, by itself."""
    world.caught_up()
    assert running.process.poll() is None, running.output
    assert len(world.started) == 1
    check_all(world)


@pytest.mark.full
def test_connections_are_reset_and_refused(network: Network) -> None:
    world, database, kafka = network.world, network.database, network.kafka
    running = world.run()
    with world.writing() as writers:
        world.caught_up()
        database.cut()
        running.says("[pg.log_ended]")
        writers.more(20)
        kafka.cut()
        writers.more(20)
        database.refuse()
        database.cut()
        running.says("[pg.unreachable]")
        kafka.refuse()
        kafka.cut()
        writers.more(20)
        for way in network.all:
            way.heal()
        writers.more(20)
    went_on(world, running)


@pytest.mark.parametrize("ways", [pytest.param(BOTH, id="both"), *ONE_WAY])
def test_a_database_that_goes_silent_is_found_out(network: Network, ways: frozenset[Way]) -> None:
    world = network.world
    world.sql(f"ALTER DATABASE {world.database} SET wal_sender_timeout = '3s'")  # it, too, has to notice
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        world.caught_up()
        network.database.swallow(ways)
        running.says("[pg.log_silent]")
        running.says("has not answered for 2 s")  # the connection that is asked about the catalogue
        network.database.heal()
        writers.more(20)
    went_on(world, running)
    assert network.database.swallowed > 0


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param(frozenset({Way.DOWN}), id="down"),
        ONE_WAY[0],
        pytest.param(BOTH, id="both", marks=pytest.mark.deep),
    ],
)
def test_a_kafka_that_goes_silent_is_found_out(network: Network, ways: frozenset[Way]) -> None:
    world = network.world
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        before = network.kafka.swallowed
        network.kafka.swallow(ways)
        wait_until(lambda: network.kafka.swallowed > before)
        writers.more(20)
        network.kafka.heal()
        writers.more(20)
    went_on(world, running)


@pytest.mark.full
def test_a_registry_that_cannot_be_reached_is_waited_for(network: Network) -> None:
    world = network.world
    network.registry.refuse()
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        running.says("[registry.unreachable]")
        network.registry.heal()
    went_on(world, running)


@pytest.mark.deep
def test_a_registry_that_goes_silent_is_found_out(network: Network) -> None:
    world = network.world
    network.registry.swallow()
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        running.says("[registry.unreachable]")
        network.registry.heal()
    went_on(world, running)


@pytest.mark.deep
def test_a_slow_network_is_no_fault(network: Network) -> None:
    world = network.world
    for way in network.all:
        way.delay(0.05)
    running = world.run()
    with world.writing(pace=0.05) as writers:
        writers.more(50)
    went_on(world, running)
    assert "recovering: [pg." not in running.output, running.output


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_a_storm_of_cuts(network: Network, seed: int) -> None:
    world, chance = network.world, random.Random(seed)
    running = world.run()
    with world.writing(seed) as writers:
        for _ in range(25):
            way = chance.choice(network.all[:2])
            kind = chance.choice(("cut", "cut", "refuse", "swallow", "delay"))
            if kind == "refuse":
                way.refuse()
            elif kind == "swallow":
                way.swallow(frozenset(chance.sample(list(Way), chance.randint(1, 2))))
            elif kind == "delay":
                way.delay(chance.random() / 5)
            if kind in {"cut", "refuse"}:
                way.cut()
            writers.more(chance.randint(5, 120))
            for healed in network.all:
                healed.heal()
    world.caught_up(patience=180)
    assert running.process.poll() is None, running.output
    check_all(world)
