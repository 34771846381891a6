"""What a position names stays little where no row is ever read: a check looks now and then."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.servers import Database
from tests.integration.running.world import World, committed, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

pytestmark = pytest.mark.servers

MANY = 120  # so many transactions are never named in one position, once a check has looked


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    yield made
    made.close()


def unproven(world: World) -> list[int]:
    """How many transactions each saved position names."""
    topic = f"{world.group}-offsets"
    values = [json.loads(value) for _, value in committed(world.kafka.bootstrap, topic) if value]
    return [len((value.get("snapshot") or {}).get("unproven", ())) for value in values if "position" in value]


@pytest.mark.deep
def test_a_log_without_reads_is_looked_after(world: World) -> None:
    world.run()
    world.insert(1, 1)
    world.arrived(1)
    assert 1 <= max(unproven(world)) < 10  # and what the source commits itself, to push its log
    world.insert(2, MANY)
    world.arrived(MANY)
    last = MANY

    def little() -> bool:
        nonlocal last
        last += 1
        world.insert(last, last)
        world.arrived(last)
        return unproven(world)[-1] < 50

    wait_until(little)
    assert last < 2 * MANY
