"""Which source transactions have ended, by the END events of `<server>.transaction`.

In: that topic, read on from where the last look stopped.  Out: the ids that were seen to end.  It keeps the
newest of them only: a transaction whose last record is much older than the newest END was over before it,
because they are published one after another.  All that it says is true of what Kafka had when `read` ran.
"""

import io
import json
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final

import fastavro
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from wrackline.consumers.kafka.boundaries import TransactionSpan
from wrackline.consumers.kafka.client_settings import reader_settings
from wrackline.consumers.kafka.topic_offsets import KAFKA_UNREACHABLE, TopicOffsets

_MOST: Final = 250_000  # ids that are kept
_FIRST: Final = 2 * _MOST  # records that the first look reads; each transaction has two
_LONG_AGO_MS: Final = 300_000  # more than two workers' clocks differ by
_PATIENCE: Final = 10.0  # seconds
_AT_ONCE: Final = 10_000
_HEAD: Final = 5  # a zero byte, then four bytes of schema id


class TransactionEndReader:
    """Reads one server's ENDs; any thread may ask, one at a time."""

    def __init__(
        self, topics: TopicOffsets, settings: Mapping[str, Any], topic: str, text: Callable[[int], str]
    ) -> None:
        """Take the client's settings, and how a schema's text is found by its id."""
        self._topics, self._settings, self._topic, self._text = topics, settings, topic, text
        self._lock = Lock()
        self._consumer: Consumer | None = None
        self._at: dict[int, int] = {}
        self._ids: dict[str, None] = {}  # in the order in which they came
        self._newest_ms = self._count = 0
        self._schemas: dict[int, Any] = {}

    def read(self) -> int:
        """Record all that have ended by now; return a number that rises with news."""
        with self._lock:
            ends = self._topics.ends_of(lambda name: name == self._topic).get(self._topic, {})
            if any(end < self._at.get(partition, 0) for partition, end in ends.items()):
                self._at = {}  # the topic was made again
            if not ends.keys() <= self._at.keys():
                self._begin(ends)
            try:
                self._read_to(ends)
            except Exception:
                self._at = {}  # what was fetched and not taken is fetched again
                raise
            return self._count

    def ended(self, part: TransactionSpan) -> bool:
        """Whether the transaction of this part was over by the last `read`."""
        with self._lock:
            over = part.published_ms < self._newest_ms - _LONG_AGO_MS
            return over or part.transaction in self._ids

    def close(self) -> None:
        """Leave Kafka."""
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None

    def _read_to(self, ends: Mapping[int, int]) -> None:
        while any(self._at[partition] < end for partition, end in ends.items()):
            reader = self._reader()
            first = reader.poll(_PATIENCE)
            if first is None:
                raise KAFKA_UNREACHABLE(brokers=self._settings["bootstrap.servers"])
            # `consume` waits until it has as many as it may take, so it is given no time
            for message in (first, *reader.consume(_AT_ONCE, 0)):
                self._take(message)

    def _reader(self) -> Consumer:
        if self._consumer is None:
            settings = reader_settings(self._settings, f"wrackline-{self._topic}")
            self._consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
        return self._consumer

    def _begin(self, ends: Mapping[int, int]) -> None:
        """Begin near the end, in each partition that is not known yet."""
        firsts = self._topics.first_offsets({self._topic: ends}).get(self._topic, {})
        if firsts.keys() != ends.keys():
            raise KAFKA_UNREACHABLE(brokers=self._settings["bootstrap.servers"])
        new = {partition: max(firsts[partition], end - _FIRST) for partition, end in ends.items()}
        self._at = new | self._at
        self._reader().assign([TopicPartition(self._topic, *place) for place in self._at.items()])

    def _take(self, message: Message) -> None:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if partition is None or offset is None:
            return
        if error is not None:
            if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own constant
                gone = KAFKA_UNREACHABLE(brokers=self._settings["bootstrap.servers"])
                raise gone from KafkaException(error)
            self._at[partition] = max(self._at[partition], offset)
            return
        self._at[partition] = offset + 1
        value = message.value()
        if not isinstance(value, bytes):
            return
        event = self._decoded(value)
        self._count += 1
        self._newest_ms = max(self._newest_ms, message.timestamp()[1])
        if event.get("status") == "END":
            self._ids[event.get("id", "")] = None
            if len(self._ids) > _MOST:
                del self._ids[next(iter(self._ids))]

    def _decoded(self, value: bytes) -> Mapping[str, Any]:
        schema_id = int.from_bytes(value[1:_HEAD], "big")
        if schema_id not in self._schemas:
            self._schemas[schema_id] = fastavro.parse_schema(json.loads(self._text(schema_id)))
        read: Any = fastavro.schemaless_reader(io.BytesIO(value[_HEAD:]), self._schemas[schema_id], None)
        return {} if not isinstance(read, dict) else read
