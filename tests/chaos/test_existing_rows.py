"""Existing rows beside the log: whatever happens, no key goes back and the topics equal the tables."""

import random

import pytest

from tests.chaos.checks import check_all
from tests.chaos.conftest import Opened
from tests.chaos.marks import NOT_OF_ROWS
from tests.chaos.world import World
from tests.integration.running.world import wait_until

pytestmark = pytest.mark.servers


@pytest.fixture
def world(read_in_chunks: Opened) -> World:
    """A database whose rows are read in small chunks."""
    return read_in_chunks(7)


def all_read(world: World) -> bool:
    """Whether every row of the tables has an event."""
    seen = world.evidence()
    return seen.rows.keys() <= {event.key for event in seen.events}


def test_rows_from_before_and_changes_meanwhile_give_the_table(world: World) -> None:
    """T-W29."""
    with world.writing(count=2) as writers:
        writers.more(60)
        world.insert("orders", 150)
        world.run()
        writers.more(60)
    world.caught_up()
    wait_until(lambda: all_read(world))
    seen = check_all(world, but=NOT_OF_ROWS)
    read = [event for event in seen.events if event.op == "r"]
    assert len(read) > 150


@pytest.mark.full
def test_killed_again_and_again_it_continues_where_it_was(world: World) -> None:
    chance = random.Random(7)
    world.insert("orders", 400)
    with world.writing(count=2) as writers:
        for kill in range(4):
            running = world.run(f"{chance.choice(('before_commit', 'after_commit'))}=kill@{8 + 5 * kill}")
            running.process.wait(60)
            writers.more(5)
        world.run()
        writers.more(20)
    world.caught_up()
    wait_until(lambda: all_read(world))
    seen = check_all(world, but=NOT_OF_ROWS)
    read = [event for event in seen.events if event.op == "r" and event.table == "orders"]
    assert len(read) == len({event.key for event in read}), "a start read again what was released"
    assert len(read) > 300, "most rows were there before the task"
