"""What a batch rests on is gone: offsets, the topic itself, room for its files."""

from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is public

from tests.fixtures.servers import Database
from tests.integration.consuming.world import COPY, ICEBERG, World
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.spark]


@pytest.mark.deep
def test_events_that_went_unread_stop_the_table_until_it_is_read_again(world: World) -> None:
    """T-K11."""
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
    (error,) = (told["error"] for told in said if "error" in told)
    assert (code, error["code"]) == (Exit.DEFINITE, "consume.offsets_gone")
    assert "wrackline snapshot start <pipeline.toml>" in error["hint"]

    world.sql.execute(f'DROP TABLE wrackline."{COPY}.orders" CASCADE')
    assert world.command("snapshot", "start", "public.orders").returncode == Exit.OK
    wait_until(lambda: len(world.events()) >= 19)
    assert world.once()[0] == Exit.OK
    assert not world.differences("orders")


@pytest.mark.deep
def test_a_topic_created_again_stops_its_table_however_much_it_holds(world: World) -> None:
    """T-E18."""
    running = world.run()
    world.insert(1, 3)
    world.arrived(3)
    assert world.once()[0] == Exit.OK
    running.stop()
    records = world.events()
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    admin.delete_topics([world.topic])[world.topic].result(30)
    wait_until(lambda: world.topic not in admin.list_topics(timeout=10).topics)
    admin.create_topics([NewTopic(world.topic, 1)])[world.topic].result(30)
    producer = Producer({"bootstrap.servers": world.kafka.bootstrap})
    for key, value in records * 3:
        producer.produce(world.topic, value, key)
    assert producer.flush(30) == 0
    code, said = world.once()
    assert (code, said[-1]["event"]) == (Exit.DEFINITE, "stopped")
    (error,) = [one["error"] for one in said if "error" in one]
    assert error["code"] == "consume.topic_cut"
    assert not world.differences("orders"), "nothing of it was merged"


class LakeWorld(World):
    """The same with a folder of Iceberg tables."""

    target = ICEBERG


@pytest.mark.deep
def test_a_full_disk_is_reported_and_passes(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> None:
    world = LakeWorld(tmp_path, database, kafka, registry, topic_prefix, 0)
    try:
        world.run()
        world.sql.execute(
            "INSERT INTO orders SELECT i, string_agg(md5(i::text || j), '') FROM generate_series(1, 300) i,"
            " generate_series(1, 100) j GROUP BY i"
        )
        world.arrived(300)
        code, said = world.once(largest_file=200_000)
        (error,) = [one["error"] for one in said if "error" in one]
        assert (code, error["code"]) == (Exit.TRANSIENT, "consume.storage_full")
        assert not list((tmp_path / "warehouse").rglob("snap-*.avro")), "nothing of it was committed"
        assert world.once()[0] == Exit.OK
        assert list((tmp_path / "warehouse").rglob("snap-*.avro"))
    finally:
        world.close()


def forget(world: World) -> None:
    """Let Kafka forget all that the topic holds, as its retention would."""
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    end = TopicPartition(world.topic, 0, -1)
    admin.delete_records([end])[end].result(30)
