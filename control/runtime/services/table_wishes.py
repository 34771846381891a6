"""Wishes for single tables of the target: pause, resume, another try, and keeping its copy.

In: a pipeline that was found good, and a table by its topic's name without the server.  Out: a record in the
topic of wishes, which the running consumer follows, wherever it runs, and the next one reads first.
"""

from typing import Final

from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.services.one_record import OneRecord, send_record
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client
from wrackline.schemas.errors import Transient, define
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
    written = OneRecord(topic, *record(table, wish, by, now_ms()))
    send_record(
        client,
        written,
        "wishes",
        _SECONDS,
        lambda: NOT_WRITTEN(table=table, topic=topic, seconds=_SECONDS),
    )
