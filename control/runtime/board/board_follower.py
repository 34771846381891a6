"""Follows the boards of many pipelines into this process's memory.

In: pipelines, each with its Kafka.  Out: the board as it is now, at once, whoever is away.  There is one
reader for each way to reach Kafka.  A topic that is not there yet is waited for.  A record that is read while
the reader catches up was heard when it was written; a later one is heard now, by this machine's clock.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, RLock, Thread
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from wrackline.control.runtime.board.board_reader import board_slot
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.kafka.client import Client, Identity, Settings
from wrackline.schemas.kafka.board_records import Board, Half, HalfBoard
from wrackline.schemas.kafka.offsets_records import OUTSIDE_ANY_TRANSACTION
from wrackline.schemas.settings.settings_registry import Values

_POLL_S: Final = 0.2
_LEAVE_S: Final = 5.0
_AT_ONCE: Final = 1_000  # records
_LOG: Final = logging.getLogger(__name__)
_REFRESH_MS: Final = 5_000  # between two looks for a topic that is not there yet


class BoardFollower:
    """What all halves reported; any thread may ask."""

    def __init__(self) -> None:
        self._board, self._lock = Board(), RLock()
        self._followed: dict[str, tuple[str, _Reader]] = {}  # by pipeline: its topic and who reads it
        self._readers: dict[tuple[tuple[str, str], ...], _Reader] = {}  # by the settings of the client

    def follow(self, pipeline: str, values: Values) -> None:
        """Follow this pipeline as well, or from now on where these settings lead."""
        settings = _settings(values)
        known = tuple(sorted((name, str(value)) for name, value in settings.items() if name != "logger"))
        with self._lock:
            reader = self._readers.get(known) or self._readers.setdefault(known, _Reader(settings, self))
            topic = board_slot(values).topic
            if self._followed.get(pipeline) != (topic, reader):
                self.leave(pipeline)
                self._followed[pipeline] = topic, reader
                reader.add(topic)

    def leave(self, pipeline: str) -> None:
        """Follow this pipeline no more."""
        with self._lock:
            topic, reader = self._followed.pop(pipeline, ("", None))
            if reader is not None:
                reader.remove(topic)
                self._board.forget(pipeline)

    @property
    def pipelines(self) -> frozenset[str]:
        """The pipelines that are followed."""
        with self._lock:
            return frozenset(self._followed)

    @contextmanager
    def held(self, pipeline: str) -> Iterator[Mapping[Half, HalfBoard]]:
        """Yield both halves of a pipeline; nothing is taken until the block is left."""
        with self._lock:
            yield {half: self._board.half(pipeline, half) for half in Half}

    def take(self, message: Message, heard_ms: int) -> None:
        """Take a record; one that can't be read is left to its successor."""
        key, value = message.key(), message.value()
        if not isinstance(key, bytes) or isinstance(value, str):
            return
        with self._lock:
            try:
                self._board.apply(key, value, heard_ms)
            except (ValueError, KeyError, TypeError):
                _LOG.debug("a record of %s at %s can't be read", message.topic(), message.offset())

    def close(self) -> None:
        """End."""
        with self._lock:
            readers = list(self._readers.values())
        for reader in readers:
            reader.ending.set()
        for reader in readers:
            reader.thread.join(_LEAVE_S)


class _Reader:
    """A thread with one consumer."""

    def __init__(self, settings: Settings, follower: BoardFollower) -> None:
        self.ending = Event()
        self._follower, self._settings = follower, settings
        self._wanted: frozenset[str] = frozenset()
        self._behind: set[str] = set()  # topics of which not all that was there has been read
        self.thread = Thread(target=self._run, name="board-follower", daemon=True)
        self.thread.start()

    def add(self, topic: str) -> None:
        self._wanted |= {topic}

    def remove(self, topic: str) -> None:
        self._wanted -= {topic}

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        assigned: frozenset[str] = frozenset()
        while not self.ending.is_set():
            if (wanted := self._wanted) != assigned:
                consumer.incremental_unassign([TopicPartition(topic, 0) for topic in assigned - wanted])
                consumer.incremental_assign([TopicPartition(topic, 0, 0) for topic in wanted - assigned])
                self._behind = (self._behind | wanted - assigned) & wanted
                assigned = wanted
            try:
                for message in consumer.consume(_AT_ONCE, _POLL_S):
                    self._take(message)
            except KafkaException as error:
                _LOG.debug("the boards can't be read: %s", error.args[0].code())
                self.ending.wait(_POLL_S)
        consumer.close()

    def _take(self, message: Message) -> None:
        error, topic = message.error(), message.topic() or ""
        if error is None:
            behind = topic in self._behind
            self._follower.take(message, message.timestamp()[1] if behind else now_ms())
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
            self._behind.discard(topic)


def _settings(values: Values) -> Settings:
    """Return the client's settings; all pipelines of one Kafka have the same."""
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    reader = client.reader(Identity("wrackline", "board", 0, OUTSIDE_ANY_TRANSACTION))
    return {**reader, "fetch.wait.max.ms": 500, "topic.metadata.refresh.interval.ms": _REFRESH_MS}
