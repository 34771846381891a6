"""Reads a group's two topics as they grow, from their beginning: what every worker knows of the group.

In: topics of one partition, and what gets their records, on this thread.  Out: a wait until something has
been read.  Only committed records are read, in the order of their topic.  Kafka may be away for a while:
the client tries again by itself, and an error that no retry repairs is reported once.
"""

from collections.abc import Callable, Sequence
from threading import Condition, Event
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from wrackline.control.runtime.group.threads import Threads
from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.failures import of_exception
from wrackline.schemas.errors import Transient, WracklineError

_POLL: Final = 0.1  # seconds
_LEAVE: Final = 5.0
_AT_ONCE: Final = 500  # records

Hears = Callable[[str, int, bytes, bytes | None], None]  # topic, offset, key, value


class Follower:
    """A thread that reads."""

    def __init__(
        self,
        reader: Settings,
        topics: Sequence[str],
        hears: Hears,
        tell: Callable[[WracklineError], None],
        threads: Threads,
    ) -> None:
        self._hears, self._tell, self._who = hears, tell, reader["client.id"]
        self._consumer = Consumer(reader)
        self._consumer.assign([TopicPartition(topic, 0, 0) for topic in topics])
        self._behind = set(topics)  # whose first records have not all been read
        self._last_code: int | None = None
        self._stop, self._news = Event(), Condition()
        self._thread = threads.make("follower", self._run)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join(_LEAVE)

    @property
    def caught_up(self) -> bool:
        """Whether all records that were there at the start have been read."""
        return not self._behind

    def wait_for(self, holds: Callable[[], bool], patience: float) -> bool:
        """Wait until `holds` returns true; it is called whenever a record was read."""
        with self._news:
            return self._news.wait_for(holds, patience)

    def _run(self) -> None:
        while not self._stop.is_set():
            first = self._consumer.poll(_POLL)  # `consume` would wait for as many as it may give
            if first is not None:
                for message in (first, *self._consumer.consume(_AT_ONCE, 0)):
                    self._take(message)
                with self._news:
                    self._news.notify_all()
        self._consumer.close()

    def _take(self, message: Message) -> None:
        error, topic = message.error(), message.topic() or ""
        if error is None:
            key, value = message.key(), message.value()
            self._last_code = None
            if isinstance(key, bytes) and not isinstance(value, str):
                self._hears(topic, message.offset() or 0, key, value)
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
            self._behind.discard(topic)
        elif error.code() != self._last_code:
            self._last_code = error.code()
            meant = of_exception(KafkaException(error), self._who, topic)
            if isinstance(meant, WracklineError) and not isinstance(meant, Transient):
                self._tell(meant)
