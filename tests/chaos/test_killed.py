"""The task is killed around its commits, at any instant, or frozen until it has a successor."""

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.chaos.checks import check_all
from tests.chaos.world import World
from tests.integration.running.world import PATIENCE, Running, wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers

AROUND = ("before_commit=kill", "before_commit=kill_soon", "after_commit=kill", "before_confirm=kill")


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> Iterator[World]:
    """A database that is written to; only tasks are killed here."""
    made = World(tmp_path, postgres, kafka, registry)
    yield made
    made.close()


def dies(world: World, running: Running) -> None:
    """Wait until the failpoint kills it; then the slot is no further than what Kafka has."""
    ended = running.process.wait(PATIENCE)
    assert ended == -signal.SIGKILL, f"the failpoint was not reached:\n{running.output}"
    told = world.confirmed()
    assert told is not None
    # the markers of a commit follow its answer
    wait_until(lambda: (world.stored() or 0) >= told)


def test_killed_around_the_commit_a_restart_is_all_it_needs(world: World) -> None:
    first, *others = AROUND
    running = world.run(f"{first}@4")
    with world.writing():
        dies(world, running)
        for armed in others:
            dies(world, world.run(f"{armed}@5", wait=False))
        world.run()
    world.caught_up()
    check_all(world)


@pytest.mark.deep
@pytest.mark.parametrize("name", failpoints.COMMIT)
def test_killed_at_each_place(world: World, name: str) -> None:
    """T-P01."""
    running = world.run(f"{name}=kill@6")
    with world.writing(seed=len(name)):
        dies(world, running)
        for times in (2, 3, 9, 40):
            dies(world, world.run(f"{name}=kill@{times}", wait=False))
        world.run()
    world.caught_up()
    check_all(world)


@pytest.mark.deep
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(3))
def test_a_storm_of_kills(world: World, seed: int) -> None:
    chance = random.Random(seed)
    running = world.run()
    with world.writing(seed, pace=0.1) as writers:
        for _ in range(20):
            writers.more(chance.randint(1, 60))
            assert running.process.poll() is None, running.output
            running.process.kill()
            running.process.wait()
            if chance.random() < 0.2:
                world.insert("lines", 12_000, 1_000)
            running = world.run(wait=chance.random() < 0.7)
    world.caught_up()
    check_all(world)


def frozen(running: Running) -> bool:
    """Whether a process stands still."""
    return psutil.Process(running.process.pid).status() == psutil.STATUS_STOPPED


@pytest.mark.full
@pytest.mark.parametrize(
    "place",
    ["before_commit", *(pytest.param(name, marks=pytest.mark.deep) for name in failpoints.COMMIT[1:])],
)
def test_a_frozen_owner_does_nothing_once_it_has_a_successor(world: World, place: str) -> None:
    old = world.run(f"{place}=stop@5")
    with world.writing() as writers:
        wait_until(lambda: frozen(old))
        world.run()
        writers.more(20)
    world.caught_up()
    confirmed, marks = world.confirmed(), world.marks()
    assert confirmed is not None
    os.kill(old.process.pid, signal.SIGCONT)
    assert old.process.wait(PATIENCE) == Exit.DEFINITE, old.output
    assert "[kafka.superseded]" in old.output
    assert {mark.generation for mark in world.marks()[len(marks) :]} <= {marks[-1].generation}
    world.caught_up()
    check_all(world)


@pytest.mark.deep
def test_an_owner_frozen_at_any_instant_does_nothing_once_it_has_a_successor(world: World) -> None:
    old = world.run()
    with world.writing() as writers:
        writers.more(10)
        os.kill(old.process.pid, signal.SIGSTOP)
        world.run()
        writers.more(20)
        os.kill(old.process.pid, signal.SIGCONT)
        assert old.process.wait(PATIENCE) == Exit.DEFINITE, old.output
        assert "[kafka.superseded]" in old.output
        writers.more(20)
    world.caught_up()
    check_all(world)
