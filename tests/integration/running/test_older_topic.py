"""Positions that an older version left in the offsets topic are found and taken over, byte for byte.

The records are written as bytes, as they stood in topics: this version's own functions would write them in
its own form.
"""

import json
import time
from typing import Final

import pytest
from confluent_kafka import Producer

from tests.integration.running.world import World, committed
from wrackline.control.local.stack.servers import Broker
from wrackline.producers.kafka.client import client
from wrackline.producers.kafka.ownership import Ownership
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.pipelines.deal import Deal, TaskShare
from wrackline.schemas.tables.table import SourcePartition, TableId

pytestmark = pytest.mark.servers

Records = list[tuple[bytes, bytes | None]]

TWO = Deal(5, (("a",), ("b",)))
POSITION: Final = (
    b'{"checksum":77,"events":2,"generation":3,"n":9,"position":{"epoch":0,"lsn":5},"previous":{"epoch":0,'
    b'"lsn":4},"snapshot":null,"version":1}'
)
# by the first version that wrote offsets: no deal, no `cut`, and a table's state without a version
FIRST: Final[Records] = [
    (b'"GROUP.shop.0#begin"', b'{"generation":3,"n":9,"version":1}'),
    (
        b'["shop",{"database":"a","server":"server","table":["public","orders"]}]',
        b'{"generation":3,"snapshot":{"jobs":[],"status":"streaming"},"version":1}',
    ),
    (b'["shop",{"database":"a","server":"server"}]', POSITION),
]
# a key in Debezium's form of one partition, from before a server could have several
NAMELESS: Final[Records] = [(b'["shop",{"server":"server"}]', POSITION)]


def write(kafka: Broker, group: str, records: Records) -> None:
    """Put records into the offsets topic's first partition."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for key, value in records:
        producer.produce(internal_topics(group).offsets, value, key.replace(b"GROUP", group.encode()), 0)
    assert producer.flush(20) == 0


def task(kafka: Broker, group: str, number: int, tasks: int) -> Ownership:
    """The owner of a task, whose partition is there."""
    made = Ownership(client(kafka.bootstrap), group, "shop", number)
    made.prepare(1, tasks)
    return made


@pytest.mark.parametrize("records", [FIRST, NAMELESS], ids=["first version", "no database"])
def test_a_topic_of_an_older_version_is_taken_over_by_the_task_of_its_database(
    kafka: Broker, topic_prefix: str, records: Records
) -> None:
    one = task(kafka, topic_prefix, 0, 1)
    write(kafka, topic_prefix, records)
    assert one.newest() == 3
    for number in (1, 0):
        claim = task(kafka, topic_prefix, number, 2).take_over(TaskShare(TWO, number), time.monotonic)
        assert claim.generation > 3
    state = one.state()
    found = state.resume("shop", SourcePartition("server", "a"))
    assert found is not None
    assert json.loads(found.position) == {"epoch": 0, "lsn": 5}
    assert {key.database for key in state.positions} == {"a"}, "what names no database is gone"
    assert state.resume("shop", SourcePartition("server", "b")) is None
    tables = {key.table: json.loads(kept.snapshot) for key, kept in state.tables.items()}
    left = {TableId("a", "public", "orders"): {"jobs": [], "status": "streaming"}}
    assert tables == (left if records is FIRST else {})


@pytest.mark.full
def test_a_pipeline_continues_from_a_position_that_names_no_database(world: World) -> None:
    running = world.run()
    world.insert(1, 3)
    world.arrived(3)
    running.stop()
    topic = internal_topics(world.group).offsets
    named = f'["{world.prefix}",{{"database":"{world.database.name}","server":"{world.prefix}"}}]'.encode()
    kept = dict(committed(world.kafka.bootstrap, topic))
    assert named in kept, "or this is another form of a key"
    nameless = f'["{world.prefix}",{{"server":"{world.prefix}"}}]'.encode()
    gone: Records = [(key, None) for key in kept if key is not None]
    value = kept[named]
    assert value is not None
    assert b'"epoch":1,' in value, "or this is another form of a position"
    older = value.replace(b'"epoch":1,', b'"epoch":7,')  # else it could come from the slot
    write(world.kafka, world.group, [*gone, (nameless, older)])
    world.insert(4, 6)
    running = world.run()
    world.insert(7, 7)
    keys = [key for key, _ in world.arrived(7)]
    assert len(keys) == len(set(keys)) == 7, "none is lost, and none is there twice"
    assert running.stop() == 0
    assert json.loads(dict(committed(world.kafka.bootstrap, topic))[named] or b"")["position"]["epoch"] == 7
