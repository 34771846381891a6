"""Watches a topic as a `read_committed` consumer does, from now until all expected events are there.

    Watch(bootstrap, topic)  ...  .until(events)  ->  Seen

The phase begins when the first event was produced (Kafka's own timestamp of it) and ends when the
last one became visible, so the start of a connector counts for nobody.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from wrackline.schemas.errors import Definite, define

AT_ONCE = 20_000
QUIET_LIMIT_S = 120.0
CHECK_EVERY_S = 1.0
KNOWN_LIMIT_S = 30.0

NOT_ALL_SEEN = define(
    "bench.not_all_seen",
    Definite,
    "only {seen} of {expected} events came to topic {topic}, then none for {quiet} s",
    hint="see what the contender says above; run it again with --quick",
)


class Seen(NamedTuple):
    """What was seen of one phase."""

    events: int
    seconds: float
    size: int

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


def make_topic(bootstrap: str, topic: str) -> None:
    """Create a topic with one partition, as every contender of a bench gets one."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})  # its farewell is no news
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


class Watch:
    """A consumer at the end of a topic's one partition."""

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer = consumer
        self._topic = topic

    def until(self, expected: int, check: Callable[[], None]) -> Seen:
        """Wait for so many events, tombstones not counted; `check` raises when none can come any more."""
        seen = size = 0
        first_at = 0.0
        quiet_since = checked_at = time.monotonic()
        while seen < expected:
            messages = self._consumer.consume(AT_ONCE, 0.1)
            for message in messages:
                if (error := message.error()) is not None:
                    raise KafkaException(error)
                if (value := message.value()) is not None:
                    first_at = first_at or message.timestamp()[1] / 1000
                    seen += 1
                    size += len(value)
            now = time.monotonic()
            if messages:
                quiet_since = checked_at = now
            elif now - checked_at > CHECK_EVERY_S:
                check()
                checked_at = now
            if now - quiet_since > QUIET_LIMIT_S:
                raise NOT_ALL_SEEN(seen=seen, expected=expected, topic=self._topic, quiet=int(QUIET_LIMIT_S))
        return Seen(seen, time.time() - first_at, size)


@contextmanager
def watch(bootstrap: str, topic: str) -> Iterator[Watch]:
    """Stand at the topic's end before the phase begins."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "bench-watch",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "fetch.max.bytes": 64 * 2**20,
        "max.partition.fetch.bytes": 16 * 2**20,
    }
    consumer = Consumer(settings)
    try:
        consumer.assign([TopicPartition(topic, 0, _end(consumer, topic))])
        yield Watch(consumer, topic)
    finally:
        consumer.close()


def _end(consumer: Consumer, topic: str) -> int:
    """Return where the topic ends now; a topic just made is not known at once."""
    deadline = time.monotonic() + KNOWN_LIMIT_S
    while True:
        try:
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=5)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return int(end)
