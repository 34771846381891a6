"""Topics that are named as Debezium names them, and what their readers find there, on a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.fixtures.prepared import run_command
from tests.fixtures.servers import Database
from tests.integration.running.world import World, environment, free_port, wait_until
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.schemas.kafka.topic_names import Naming

pytestmark = pytest.mark.servers
NAMED = 'topic.naming = "debezium"\n'


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with one table, whose topic is named as Debezium names it."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.file.write_text(NAMED + made.file.read_text())
    made.topic = f"{topic_prefix}.public.orders"
    yield made
    made.close()


def headers(world: World, count: int) -> list[list[tuple[str, bytes]]]:
    """What is said beside the records."""
    consumer = Consumer(
        {"bootstrap.servers": world.kafka.bootstrap, "group.id": "h", "isolation.level": "read_committed"}
    )
    consumer.assign([TopicPartition(world.topic, 0, 0)])
    found: list[Any] = []
    while len(found) < count and (message := consumer.poll(30)) is not None:
        found.append(message.headers() or [])
    consumer.close()
    return found


def sides(world: World) -> dict[str, Any]:
    """What `wrackline status` says."""
    done = run_command(["status", str(world.file), "--json"], env=environment())
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def without_topic(world: World) -> list[str] | None:
    """The tables that had no rows and have no topic; None: the first read has not ended."""
    read = sides(world)["first_read"].get(world.database.name)
    return read["empty"] if read and read["state"] == "succeeded" else None


def test_all_follow_the_names_and_they_are_not_changed_later(world: World) -> None:
    world.file.write_text(world.file.read_text().replace('"no_data"', '"initial"'))
    running = world.run()
    wait_until(lambda: without_topic(world) == [f"{world.database.name}.public.orders"])
    world.sql.execute("BEGIN; INSERT INTO orders VALUES (1, 'a'); UPDATE orders SET id = 3; COMMIT")
    world.insert(4, 4)
    keys = [key for key, _ in world.arrived(5)]
    assert headers(world, 5) == [
        [],
        [("__debezium.newkey", keys[3])],
        [("__debezium.newkey", keys[3])],
        [("__debezium.oldkey", keys[0])],
        [],
    ]
    told = run_command(
        ["tail", str(world.file), "public.orders", "--json", "--from", "beginning"], env=environment()
    )
    events = [json.loads(line) for line in told.stdout.splitlines()]
    sources = [event["value"]["source"] for event in events if event["value"]]
    lsns = [source["lsn"] for source in sources]
    assert lsns[0] < lsns[1] == lsns[2] < lsns[3], told.stdout
    assert [json.loads(source["sequence"])[1] for source in sources] == [*map(str, lsns)]
    assert set(sides(world)["source"]["tables"]) == {"public.orders"}
    assert without_topic(world) == []
    assert running.stop() == Exit.OK
    world.file.write_text(world.file.read_text().removeprefix(NAMED))
    refused = world.run("topic.naming_changed")
    assert refused.process.wait(60) == Exit.OPERATOR


def test_a_strangers_open_transaction_shows_in_what_is_written_and_cannot_be_read(
    world: World,
) -> None:
    world.run()
    world.insert(1, 1)
    world.arrived(1)
    asks = TopicOffsets({"bootstrap.servers": world.kafka.bootstrap})
    ends = asks.ends(world.prefix, Naming.DEBEZIUM)
    assert ends.keys() == {world.topic}
    stranger = Producer({"bootstrap.servers": world.kafka.bootstrap, "transactional.id": world.prefix})
    stranger.init_transactions(30)
    stranger.begin_transaction()
    stranger.produce(world.topic, b"of a stranger", b"k", 0)
    stranger.flush(30)
    world.insert(2, 2)
    assert asks.ends(world.prefix, Naming.DEBEZIUM) == ends, "nobody can read on"
    assert asks.written(ends)[world.topic][0] > ends[world.topic][0]
    stranger.abort_transaction(30)
    world.arrived(2)
