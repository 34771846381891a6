"""Watches a topic as a `read_committed` consumer would, from now until all expected events are there.

    Watch(bootstrap, topic)  ...  .until(events)  ->  Seen

While the contender runs, the watch reads only the topic's last stable offset, some fifty times a second: a
consumer that fetched every event would take a fifth of two cores from a fast contender, and less from a
slow one.  The events are read and counted afterwards.  The phase begins when the first event was produced
(Kafka's own timestamp of it) and ends when the last one became visible, so the start of a connector never
counts.
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
LOOK_EVERY_S = 0.02
STILL_S = 0.5
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
    began: float  # when the first event was produced

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


def make_topic(bootstrap: str, topic: str) -> None:
    """Create a topic with one partition, as every contender of a bench gets one."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})  # its farewell is not news
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


class Watch:
    """Stands at the end of a topic's one partition."""

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer, self._topic = consumer, topic
        self._at = TopicPartition(topic, 0)
        self._start = self._read = _end(consumer, topic)
        self._ends = [(self._start, time.time())]  # where the topic ended, and since when at the latest
        self._seen = self._size = 0
        self._first_at = 0.0

    def until(self, expected: int, check: Callable[[], None], quiet_s: float = QUIET_LIMIT_S) -> Seen:
        """Wait for this many events, tombstones not counted; `check` raises when none can come any more."""
        checked_at = time.time()
        while True:
            time.sleep(LOOK_EVERY_S)
            now = time.time()
            _, end = self._consumer.get_watermark_offsets(self._at, timeout=5)
            known, since = self._ends[-1]
            if end != known:
                self._ends.append((end, now))
                continue
            still = now - since
            if still > STILL_S and end - self._start >= expected and end > self._read:
                last = self._count(expected, end)
                if last is not None:
                    taken = self._visible_at(last) - self._first_at
                    return Seen(self._seen, taken, self._size, self._first_at)
            if now - checked_at > CHECK_EVERY_S:
                check()
                checked_at = now
            if still > quiet_s:
                self._count(expected, end)
                raise NOT_ALL_SEEN(seen=self._seen, expected=expected, topic=self._topic, quiet=int(quiet_s))

    def _count(self, expected: int, end: int) -> int | None:
        """Read what is there; the offset of the last expected event, if it is among it."""
        self._consumer.assign([TopicPartition(self._topic, 0, self._read)])
        while self._read < end:
            for message in self._consumer.consume(AT_ONCE, 0.1):
                if (error := message.error()) is not None:
                    raise KafkaException(error)
                if (value := message.value()) is not None:
                    self._first_at = self._first_at or message.timestamp()[1] / 1000
                    self._seen += 1
                    self._size += len(value)
                    if self._seen == expected:
                        return message.offset()
            (reached,) = self._consumer.position([self._at])  # past the marks of transactions too
            self._read = max(self._read, reached.offset)
        return None

    def _visible_at(self, offset: int) -> float:
        now = time.time()  # it may have been read behind the end that the last look saw
        return next((at for end, at in self._ends if end > offset), now)


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
