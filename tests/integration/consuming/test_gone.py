"""Offsets that the topic no longer has: the table stops, and what its hint says mends it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.fixtures.servers import Database
from tests.integration.consuming.world import COPY, World
from tests.integration.running.world import wait_until
from wrackline.control.exits import Exit
from wrackline.control.stack.servers import Broker, SchemaRegistry

pytestmark = [pytest.mark.servers, pytest.mark.spark]


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with a table, and a pipeline over it."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


@pytest.mark.deep
def test_events_that_went_unread_stop_the_table_until_it_is_read_again(world: World) -> None:
    world.run()
    world.insert(1, 10)
    world.arrived(10)
    assert world.once()[0] == Exit.OK
    assert not world.differences("orders")

    world.insert(11, 20)
    world.sql.execute("DELETE FROM orders WHERE id = 5")
    world.arrived(22)  # a tombstone too
    forget(world)
    code, said = world.once()
    assert (code, said[-1]["error"]["code"]) == (Exit.DEFINITE, "consume.offsets_gone")
    assert "wrackline snapshot start <pipeline.toml>" in said[-1]["error"]["hint"]

    world.sql.execute(f'DROP TABLE wrackline."{COPY}.orders" CASCADE')
    assert world.command("snapshot", "start", "public.orders").returncode == Exit.OK
    wait_until(lambda: len(world.events()) >= 19)
    assert world.once()[0] == Exit.OK
    assert not world.differences("orders")


def forget(world: World) -> None:
    """Let Kafka forget all that the topic holds, as its retention would."""
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    end = TopicPartition(world.topic, 0, -1)
    admin.delete_records([end])[end].result(30)
