"""The task is killed again and again under load; its log is rotated and purged, its server dies once.

Afterwards no key ever went back and the topics fold to the tables; where only the log was copied, each write
is there once.
"""

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.mysql.world import World
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry

pytestmark = pytest.mark.servers


@pytest.fixture(params=["no_data", pytest.param("initial", marks=pytest.mark.deep)])
def mode(request: pytest.FixtureRequest) -> str:
    """Whether rows that are there at first are copied."""
    return str(request.param)


@pytest.fixture
def world(
    tmp_path: Path,
    kind: str,
    own: MysqlServer,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    mode: str,
) -> Iterator[World]:
    """A pipeline over a server of its own, whose first rows take several chunks."""
    settings = {"snapshot.mode": mode, "incremental.snapshot.chunk.size": "500"}
    made = World(tmp_path, kind, own, kafka, registry, topic_prefix, settings)
    if mode == "initial":
        made.insert(8_000, 100)
    yield made
    made.close()


def storm(world: World, own: MysqlServer, mode: str, seed: int, kills: int, most: int) -> None:
    """Kill the task up to so many transactions after its start, and what else may happen to a server."""
    chance, dies = random.Random(seed), kills // 2
    running = world.run()  # what is written before, nobody hears
    with world.writing(seed, count=3, pace=0.02) as writers:
        for kill in range(kills):
            if kill:
                running = world.run(wait=chance.random() < 0.6)
            writers.more(chance.randint(1, most))
            if chance.random() < 0.3:
                world.insert(3_000, 1_000)
            if chance.random() < 0.5:
                world.sql("FLUSH BINARY LOGS")
            if kill == dies:
                own.process.kill()
                own.process.start()
            assert running.process.poll() is None, running.output
            assert running.stop(signal.SIGKILL) == -signal.SIGKILL
        world.run()
        writers.more(10)
        world.caught_up()
        world.sql("FLUSH BINARY LOGS")
        world.caught_up()  # so the place that is kept lies in the last file
        [*_, last] = world.sql("SHOW BINARY LOGS")
        wait_until(lambda: purged(world, str(last[0])))
        writers.more(10)
        assert world.started[-1].stop(signal.SIGKILL) == -signal.SIGKILL
        world.run()
    world.caught_up(patience=180)
    world.check(all_once=mode == "no_data")


def purged(world: World, last: str) -> bool:
    """Purge all files before this one; a dump that has just ended may hold one for a moment."""
    world.sql(f"PURGE BINARY LOGS TO '{last}'")
    return str(world.sql("SHOW BINARY LOGS")[0][0]) == last


@pytest.mark.full  # PostgreSQL's is in the gate
def test_a_small_storm(world: World, own: MysqlServer, mode: str) -> None:
    """T-M03."""
    storm(world, own, mode, 1, 3, 40)


@pytest.mark.deep
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(3))
def test_a_storm(world: World, own: MysqlServer, mode: str, seed: int) -> None:
    storm(world, own, mode, seed, 20, 400)
