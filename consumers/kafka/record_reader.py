"""The records of a small range, read into the driver's memory.

In: a range that topic_offsets.py found, and the settings of client_settings.py.  Out: its records, as
`read_committed` shows them; or None, where Spark's source has to read the range: it is too large, or
something is not as expected, and Spark says what.  A client that has read a range is used again for the
next one, because a new one has to find the brokers first.
"""

import time
from collections.abc import Mapping
from queue import Empty, LifoQueue
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.direct import Record
from wrackline.consumers.kafka.client_settings import reader_settings

_PATIENCE: Final = 20.0  # seconds for a range
_LOOK: Final = 1.0
_AT_ONCE: Final = 2_000
_MOST_BYTES: Final = 16 << 20


class RecordReader:
    """Reads ranges; any thread may ask, and each has a client of its own meanwhile."""

    def __init__(self, settings: Mapping[str, Any], group: str) -> None:
        """Take the client's settings, and a group that it may name: nothing is kept in it."""
        self._settings = {
            **reader_settings(settings, group),
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 10,  # at the end of a topic nothing more is waited for
            "queued.max.messages.kbytes": _MOST_BYTES >> 10,
        }
        self._idle: LifoQueue[Consumer] = LifoQueue()

    def read(self, wanted: BatchRange) -> list[Record] | None:
        """Return the records of a range; None: Spark has to read it."""
        at = {partition: start for partition, start in wanted.start.items() if start < wanted.end[partition]}
        found: list[Record] | None = None
        consumer: Consumer | None = None
        try:
            consumer = self._take()
            consumer.assign([TopicPartition(wanted.topic, *place) for place in at.items()])
            found = read_records(consumer, wanted.topic, at, wanted.end)
            consumer.unassign()
        except KafkaException:
            found = None
        finally:
            if consumer is not None and found is None:  # it may have fetched what nobody wants
                consumer.close()
        if consumer is not None and found is not None:
            self._idle.put(consumer)
        return found

    def close(self) -> None:
        """Leave Kafka."""
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _take(self) -> Consumer:
        try:
            return self._idle.get_nowait()
        except Empty:
            return Consumer(self._settings)


def read_records(
    consumer: Consumer, topic: str, at: dict[int, int], end: Mapping[int, int]
) -> list[Record] | None:
    """Read from these offsets to the ends; a partition's last offsets may be markers, which nobody sees.

    None: it takes too long or too much memory, or a message is not what was asked for.
    """
    found: list[Record] = []
    size, deadline = 0, time.monotonic() + _PATIENCE
    left = set(at)
    while left:
        first = consumer.poll(_LOOK)
        if time.monotonic() > deadline:
            return None
        # `consume` waits until it has as many as it may take, so it is given no time
        for message in () if first is None else (first, *consumer.consume(_AT_ONCE, 0)):
            if not _is_expected(message, topic, at):
                return None
            partition, offset, is_end = message.partition() or 0, message.offset() or 0, message.error()
            if partition not in left:
                continue
            if is_end is None and offset < end[partition]:
                found.append(_record(message, offset))
                size += len(found[-1].value or b"") + len(found[-1].key or b"")
            at[partition] = offset if is_end else offset + 1
            if at[partition] >= end[partition]:
                left.remove(partition)
        if size > _MOST_BYTES:
            return None
    return found


def _is_expected(message: Message, topic: str, at: Mapping[int, int]) -> bool:
    """Whether it is a record of the range or behind it, or the end of a partition."""
    error, partition, offset = message.error(), message.partition(), message.offset()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own constant
        return False
    if message.topic() != topic or partition is None or offset is None:
        return False
    return partition in at and offset >= at[partition]


def _record(message: Message, offset: int) -> Record:
    key, value = message.key(), message.value()
    return Record(
        key if isinstance(key, bytes) else None,
        value if isinstance(value, bytes) else None,
        offset,
        message.timestamp()[1],
    )
