"""Wishes for single tables of the target: pause, resume, another try, and keeping its copy.

In: a pipeline that was found good, and a table by its topic's name without the server.  Out: a record in the
topic of wishes, which the running consumer follows, wherever it runs, and the next one reads first.
"""

from typing import Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import of_exception
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.kafka.wish_records import TableWish, record
from wrackline.schemas.settings.settings_registry import Values

NOT_WRITTEN = define(
    "wish.not_written",
    Transient,
    "the wish for {table} did not arrive in topic {topic} within {seconds:.0f} s",
    hint="see whether the brokers answer: wrackline check <pipeline.toml>; then ask again",
)
_SECONDS: Final = 15.0


def send_wish(values: Values, table: str, wish: TableWish, by: str) -> None:
    """Write a wish, and wait until it is there."""
    topic = internal_topics(group_of(values.text("name"))).wishes
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    offsets_topic.prepare_offsets(AdminClient(client.admin()), topic, 1, -1)
    failed: list[WracklineError | Exception] = []
    producer = Producer({**client.reporter("wishes"), "message.timeout.ms": int(_SECONDS * 1000)})
    key, value = record(table, wish, by, now_ms())
    producer.produce(
        topic,
        value,
        key,
        0,
        on_delivery=lambda error, _: (
            failed.append(of_exception(KafkaException(error), "the sender of wishes", topic))
            if error
            else None
        ),
    )
    left = producer.flush(_SECONDS + 1)
    if failed and isinstance(failed[0], WracklineError) and not isinstance(failed[0], Transient):
        raise failed[0]
    if failed or left:
        raise NOT_WRITTEN(table=table, topic=topic, seconds=_SECONDS)
