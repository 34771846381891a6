"""The positions that other pipelines have stored in this Kafka: they show whose a log is.

In: every topic that is named as a topic of offsets, as far as we may read it.  Out: each other pipeline's
newest position.  Records that are not ours to read, such as those of Kafka Connect, are passed over: a topic
that can't be read proves nothing.
"""

from collections import defaultdict
from typing import Final

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from wrackline.producers.contract.source_plugin import NeighbourPosition
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import UNREACHABLE, of_exception
from wrackline.producers.kafka.offsets_topic import SECONDS, as_bytes
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import replay
from wrackline.schemas.kafka.offsets_records import OffsetsRecord, PositionKey, RecordPlace

_NAME: Final = "-offsets"  # how a topic of offsets ends, in every group
_HIDDEN: Final = {
    KafkaError._PARTITION_EOF,  # noqa: SLF001 - its name
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,  # deleted meanwhile
}


def neighbour_positions(client: Client, own: Identity) -> list[NeighbourPosition]:
    """Read them; the pipeline's own are not among them."""
    try:
        topics = AdminClient(client.admin()).list_topics(timeout=SECONDS).topics
    except KafkaException as exc:
        raise of_exception(exc, "the admin client", f"*{_NAME}") from exc
    parts = [
        (name, number)
        for name, topic in topics.items()
        if name.endswith(_NAME)
        for number in topic.partitions
    ]
    return [
        NeighbourPosition(key.connector, topic, orjson.loads(offset.position))
        for topic, records in _read(client, own, parts).items()
        for key, offset in replay(records).positions.items()
        if key.connector != own.connector
    ]


def _read(client: Client, own: Identity, parts: list[tuple[str, int]]) -> dict[str, list[OffsetsRecord]]:
    """Return the records of positions, by topic, up to where each partition ends now."""
    found, left = defaultdict[str, list[OffsetsRecord]](list), set(parts)
    consumer = Consumer(client.reader(own))
    try:
        consumer.assign([TopicPartition(topic, number, 0) for topic, number in parts])
        while left:
            message = consumer.poll(SECONDS)
            if message is None:
                raise UNREACHABLE(who=own.client_id, seconds=SECONDS)
            topic, number, error = message.topic() or "", message.partition() or 0, message.error()
            if error is not None and error.code() not in _HIDDEN:
                raise of_exception(KafkaException(error), own.client_id, topic)
            if error is not None:
                left.discard((topic, number))
                continue
            place = RecordPlace(topic, number, message.offset() or 0)
            try:
                record = offsets_records.parse(place, as_bytes(message.key()), as_bytes(message.value()))
            except WracklineError:
                continue
            if isinstance(record.key, PositionKey):
                found[topic].append(record)
    finally:
        consumer.close()
    return found
