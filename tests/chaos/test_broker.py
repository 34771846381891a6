"""The broker is killed and comes back, or stands still for longer than any time limit."""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.checks import check_all
from tests.chaos.world import World
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.control.local.stack.stack import Stack

pytestmark = pytest.mark.servers

IMPATIENT = {
    "kafka.socket.timeout.ms": "1000",
    "kafka.message.timeout.ms": "3000",
    "kafka.transaction.timeout.ms": "4000",
}
LONGER = 6.0  # seconds, than any of these


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that no other module uses."""
    with Stack(tmp_path_factory.mktemp("broker")) as own:
        yield own.kafka()


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, broker: Broker, registry: SchemaRegistry
) -> Iterator[World]:
    """A database that is written to, and a pipeline that loses patience soon."""
    made = World(tmp_path, postgres, broker, registry, IMPATIENT)
    yield made
    broker.process.resume()
    broker.process.start()
    made.close()


def test_the_pipeline_survives_a_killed_and_a_frozen_broker(world: World, broker: Broker) -> None:
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        broker.process.kill()
        writers.more(20)
        broker.process.start()
        writers.more(20)
        world.caught_up()

        broker.process.pause()
        time.sleep(LONGER)  # nothing is waited for: the fault lasts this long
        broker.process.resume()
        writers.more(20)
    world.caught_up()
    assert running.process.poll() is None, running.output
    check_all(world)


@pytest.mark.deep
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(3))
def test_a_storm_over_the_broker(world: World, broker: Broker, seed: int) -> None:
    chance = random.Random(seed)
    world.run()
    with world.writing(seed, pace=0.1) as writers:
        for _ in range(8):
            writers.more(chance.randint(1, 60))
            if chance.random() < 0.5:
                broker.process.kill()
                writers.more(chance.randint(1, 200))
                broker.process.start()
            else:
                broker.process.pause()
                writers.more(chance.randint(1, 300))
                broker.process.resume()
            if chance.random() < 0.3:
                world.started[-1].process.kill()
                world.started[-1].process.wait()
                world.run()
    world.caught_up()
    check_all(world)
