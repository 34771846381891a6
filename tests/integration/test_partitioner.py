"""The partition that topic_creation.py computes is the one that the writing client chooses."""

import uuid

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from wrackline.control.local.stack.servers import Broker
from wrackline.schemas.kafka.topic_names import partition_of

PARTITIONS = 7


def test_the_client_and_the_check_agree(kafka: Broker, topic_prefix: str) -> None:
    """T-W29."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic_prefix, PARTITIONS, 1)])[topic_prefix].result(60)
    chosen: dict[bytes, int | None] = {}

    def note(error: KafkaError | None, message: Message) -> None:
        assert error is None
        chosen[message.key() or b""] = message.partition()

    producer = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2_random"})
    keys = [*(bytes(range(length)) for length in range(60)), *(uuid.uuid4().bytes for _ in range(100))]
    for key in keys:
        producer.produce(topic_prefix, key=key, value=b"x", on_delivery=note)
    assert producer.flush(60) == 0
    assert chosen == {key: partition_of(key, PARTITIONS) for key in keys}
