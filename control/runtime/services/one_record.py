"""One record for Kafka, and the wait until it is there.

In: where it goes.  Out: nothing, or the error that prevented it.  It is not sent again later: only the caller
may ask again.
"""

from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import of_exception
from wrackline.schemas.errors import Transient, WracklineError


class OneRecord(NamedTuple):
    """A record, and its topic."""

    topic: str
    key: bytes
    value: bytes | None


def send_record(
    client: Client, record: OneRecord, of: str, seconds: float, late: Callable[[], WracklineError]
) -> None:
    """Send it, as the sender `of` such; raise `late()` if it is not there in time, else what Kafka says."""
    failed: list[WracklineError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(of_exception(KafkaException(error), f"the sender of {of}", record.topic))

    producer = Producer({**client.reporter(of), "message.timeout.ms": int(seconds * 1000)})
    producer.produce(record.topic, record.value, record.key, on_delivery=delivered)
    left = producer.flush(seconds + 1)
    if failed and not isinstance(failed[0], Transient):
        raise failed[0]
    if failed or left:
        raise late()
