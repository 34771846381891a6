"""The positions that other pipelines have stored in this Kafka: they show whose a log is.

In: every topic that is named as a topic of offsets, as far as we may read it.  Out: each other pipeline's
newest position.  Records that are not ours to read, such as those of Kafka Connect, are passed over: a topic
that can't be read proves nothing.  Nor does it keep a pipeline from starting: a partition without a leader is
reported and left out.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Final

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from wrackline.producers.contract.source_plugin import NeighbourPosition
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import of_exception, of_request
from wrackline.producers.kafka.offsets_topic import SECONDS, as_bytes
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import replay
from wrackline.schemas.kafka.offsets_records import Offset, OffsetsRecord, PositionKey, RecordPlace

NEIGHBOURS_UNREAD = define(
    "kafka.neighbours_unread",
    Transient,
    "{count} partitions of topics whose names end with -offsets, such as {topic}, can't be read: {reason};"
    " a pipeline whose positions are there is not taken into account when it is checked whose a slot is",
    hint="if the topic is that of a group of pipelines, look for its leader: kafka-topics.sh --describe"
    " --topic {topic}",
)

_NAME: Final = "-offsets"  # how a topic of offsets ends, in every group
_Part = tuple[str, int]  # a topic and one of its partitions
_Held = tuple[int, PositionKey]

_HIDDEN: Final = {
    KafkaError._PARTITION_EOF,  # noqa: SLF001 - its name
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,  # deleted meanwhile
}


def neighbour_positions(
    client: Client, own: Identity, tell: Callable[[WracklineError], None]
) -> list[NeighbourPosition]:
    """Read them; the pipeline's own are not among them."""
    try:
        topics = AdminClient(client.admin()).list_topics(timeout=SECONDS).topics
    except KafkaException as exc:
        raise of_request(exc, f"*{_NAME}", seconds=SECONDS) from exc
    parts = [
        (name, number)
        for name, topic in topics.items()
        if name.endswith(_NAME)
        for number in topic.partitions
    ]
    return [
        NeighbourPosition(key.connector, topic, orjson.loads(offset.position))
        for topic, records in _read(client, own, parts, tell).items()
        for key, offset in replay(records.values()).positions.items()
        if key.connector != own.connector
    ]


def _read(
    client: Client, own: Identity, parts: list[_Part], tell: Callable[[WracklineError], None]
) -> Mapping[str, Mapping[_Held, OffsetsRecord]]:
    """Return the newest records of positions, by topic, up to where each partition ends now."""
    found, left = defaultdict[str, dict[_Held, OffsetsRecord]](dict), set(parts)
    consumer = Consumer(client.reader(own))
    try:
        consumer.assign([TopicPartition(topic, number, 0) for topic, number in parts])
        while left:
            message = consumer.poll(SECONDS)
            if message is None:
                tell(_unread(left, f"no answer within {SECONDS} s"))
                break
            topic, number, error = message.topic() or "", message.partition() or 0, message.error()
            if error is not None:
                if (topic, number) not in left:
                    raise of_exception(KafkaException(error), own.client_id, topic)
                left.discard((topic, number))
                if error.code() not in _HIDDEN:
                    tell(_unread([(topic, number)], error.name()))
                continue
            place = RecordPlace(topic, number, message.offset() or 0)
            try:
                record = offsets_records.parse(place, as_bytes(message.key()), as_bytes(message.value()))
            except WracklineError:
                continue
            if isinstance(record.key, PositionKey):
                _keep(found[topic], record, record.key)
    finally:
        consumer.close()
    return found


def _keep(held: dict[_Held, OffsetsRecord], record: OffsetsRecord, key: PositionKey) -> None:
    """Replace the record before it, unless a worker wrote this one that owned the partition no longer."""
    place = record.place.partition, key
    before, now = held[place].value if place in held else None, record.value
    if not (isinstance(before, Offset) and isinstance(now, Offset) and now.generation < before.generation):
        held[place] = record


def _unread(parts: Collection[_Part], reason: str) -> WracklineError:
    return NEIGHBOURS_UNREAD(count=len(parts), topic=min(parts)[0], reason=reason)
