"""Counts the events of a topic as any reader sees them: committed records only.

In: the broker and a topic that may not be there yet.  Out: how many events, how many of them twice, how many
rows that were read beside the log, and up to which offsets all that was seen.  An event is known by its key
and its seq, so one that was published twice is seen, even where the merge would not care.
"""

import threading
import time
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, Message, TopicPartition

SEQ_DIGITS = 30  # of both sources: epoch 2 bytes, position 8, class 1, ordinal 4; an event's last field
_CLASS = slice(20, 22)
_READ = b"00"
_LOOK = 0.2


class EventCounter:
    """Reads one topic on a thread of its own until the block ends."""

    def __init__(self, brokers: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": "wrackline-demo-screen",
                "isolation.level": "read_committed",
                "enable.auto.commit": "false",
            }
        )
        self._seen: set[tuple[bytes | None, bytes]] = set()
        self._next: dict[int, int] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._read, name="events")
        self._error: BaseException | None = None
        self.events = 0
        self.tombstones = 0
        self.reads = 0  # rows that were read beside the log

    @property
    def doubled(self) -> int:
        """How many events were there before."""
        return self.events - len(self._seen)

    @property
    def upto(self) -> int:
        """The sum of the partitions' offsets behind the last records seen."""
        return sum(self._next.copy().values())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        self._consumer.close()

    def check(self) -> None:
        """Raise what stopped the reading, if anything did."""
        if self._error is not None:
            raise self._error

    def _read(self) -> None:
        try:
            while not self._end.is_set() and not self._assigned():
                time.sleep(_LOOK)
            while not self._end.is_set():
                for message in self._consumer.consume(1000, _LOOK):
                    self._take(message)
        except BaseException as error:  # noqa: BLE001 - raised where the numbers are read
            self._error = error

    def _assigned(self) -> bool:
        """Take all partitions from their beginning, once the topic is there."""
        found = self._consumer.list_topics(timeout=5).topics.get(self._topic)
        if found is None or not found.partitions:
            return False
        self._consumer.assign([TopicPartition(self._topic, number, 0) for number in found.partitions])
        return True

    def _take(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if message.error() is not None or partition is None or offset is None:
            return  # librdkafka reports what it retries by itself
        value = message.value()
        if value is None:
            self.tombstones += 1
        elif value[-SEQ_DIGITS:][_CLASS] == _READ:
            self.reads += 1
        else:
            self.events += 1
            self._seen.add((message.key(), bytes(value[-SEQ_DIGITS:])))
        self._next[partition] = offset + 1
