"""The database is restarted, or killed while it streams a transaction that takes several of Kafka's."""

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.chaos.checks import check_all
from tests.chaos.world import World
from tests.integration.postgres.majors import MAJORS
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.postgres import postgres as make_server
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

pytestmark = pytest.mark.servers


@pytest.fixture(params=MAJORS)
def world(
    tmp_path: Path, kafka: Broker, registry: SchemaRegistry, request: pytest.FixtureRequest
) -> Iterator[World]:
    """A server that no other test uses, with a database that is written to."""
    server = make_server(tmp_path / "postgres", request.param or request.config.getoption("--postgres"))
    server.process.start()
    made = World(tmp_path / "pipeline", server, kafka, registry)
    yield made
    made.close()
    server.process.stop()


def postmaster(world: World) -> int:
    """The server's first process."""
    [(folder,)] = world.sql("SHOW data_directory")
    return int(Path(str(folder), "postmaster.pid").read_text().split()[0])


def ends(world: World, number: signal.Signals) -> None:
    """Send the server a signal and wait until it has gone."""
    os.kill(postmaster(world), number)
    wait_until(lambda: not world.postgres.process.running)


def inside(world: World) -> bool:
    """Whether the newest position lies inside a source transaction."""
    ends = [mark for mark in world.marks() if mark.ends]
    return bool(ends) and orjson.loads(ends[-1].position)["done"] > 0


def test_restarted_and_killed_inside_a_large_transaction(world: World) -> None:
    running = world.run()
    with world.writing() as writers:
        writers.more(20)
        ends(world, signal.SIGINT)  # fast
        world.postgres.process.start()
        writers.more(20)
        ends(world, signal.SIGQUIT)  # immediate
        world.postgres.process.start()
        writers.more(20)
        world.insert("lines", 80_000, 1_000)  # many of Kafka's transactions: a fast task shall be seen inside
        wait_until(lambda: inside(world))
        world.postgres.process.kill()
        world.postgres.process.start()
        writers.more(20)
    world.caught_up()
    assert running.process.poll() is None, running.output
    check_all(world)


@pytest.mark.deep
@pytest.mark.timeout(1200)
def test_a_storm_over_the_database(world: World) -> None:
    chance = random.Random(1)
    world.run()
    with world.writing(pace=0.1) as writers:
        for _ in range(8):
            writers.more(chance.randint(1, 80))
            if chance.random() < 0.4:
                world.insert("lines", 12_000, 1_000)
            ends(world, chance.choice((signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)))
            if chance.random() < 0.4:
                world.started[-1].process.kill()
                world.started[-1].process.wait()
                world.postgres.process.start()
                world.run()
            else:
                world.postgres.process.start()
    world.caught_up()
    check_all(world)
