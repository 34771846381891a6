"""Follows the boards and the requests of many pipelines into this process's memory.

In: pipelines, each with its Kafka.  Out: the board as it is now, at once, also while Kafka is away.  There is
one reader for each way to reach Kafka.  A topic that is not there yet is waited for.  A record that is
read while the reader catches up was heard when it was written; a later one is heard now, by this
machine's clock.  What is more than a board keeps is passed over, and reported once of each pipeline.
"""

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, RLock, Thread
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from wrackline.control.runtime.board.board_reader import board_slot
from wrackline.control.runtime.board.board_summary import BoardVersion, board_version
from wrackline.control.runtime.board.receipt_fold import ReceiptFold
from wrackline.control.runtime.board.tasks.half_fold import half_of
from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.control.runtime.ground.times import ClockSteps, now_ms
from wrackline.producers.kafka.client import Client, Identity, Settings
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.kafka.board_records import Board, BoardFull, Half, HalfBoard, parse_key
from wrackline.schemas.kafka.column_maps import MapLog
from wrackline.schemas.kafka.offsets_records import OUTSIDE_ANY_TRANSACTION
from wrackline.schemas.kafka.past.error_days import ErrorCount, ErrorDay, ErrorDays
from wrackline.schemas.kafka.receipts import Receipt
from wrackline.schemas.kafka.receipts import parse_key as parse_receipt_key
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.minutes.minute_records import MinuteLog
from wrackline.schemas.settings.settings_registry import Values

_POLL_S: Final = 0.2
_LEAVE_S: Final = 5.0
_AT_ONCE: Final = 1_000  # records
_LOG: Final = logging.getLogger(__name__)
_LINES: Final = 1_000  # of a topic of lines
_LONGEST_LINE: Final = 64 << 10  # bytes
_TAIL: Final = -2_000 - _LINES  # librdkafka's word for so many records before the end
_REFRESH_MS: Final = 5_000  # between two looks for a topic that is not there yet
FULL = define(
    "board.full",
    OperatorNeeded,
    "the board of {pipeline} has more than a worker keeps of it, so some of it is passed over: {what}",
    hint="let nobody but the pipeline's own user write to topic {topic}; to see what is there:"
    " kcat -b <brokers> -C -t '{topic}' -e -q -f '%T %S %k\\n'",
)


class _PipelineTopics(NamedTuple):
    board: str
    requests: str


_NOWHERE: Final = _PipelineTopics("", "")


class BoardFollower:
    """What all halves reported; any thread may ask."""

    def __init__(self, clock: ClockSteps | None = None) -> None:
        self._board, self._lock, self._clock = Board(), RLock(), clock or ClockSteps()
        self._followed: dict[str, tuple[_PipelineTopics, _Reader]] = {}
        self._receipts: dict[str, ReceiptFold] = {}
        self._full: set[str] = set()  # pipelines of which that is reported
        self._trails: dict[str, deque[tuple[int, bytes]]] = {}  # topics of lines: the newest, by offset
        self._readers: dict[tuple[tuple[str, str], ...], _Reader] = {}  # by the settings of the client

    def follow(self, pipeline: str, values: Values) -> None:
        """Follow this pipeline as well, or from now on where these settings lead."""
        client = Client(values.below("kafka."), values.integer("max.row.bytes"))
        with self._lock:
            reader, topics = self._reader(client), _topics(values)
            if self._followed.get(pipeline) != (topics, reader):
                self.leave(pipeline)
                self._followed[pipeline], self._receipts[pipeline] = (topics, reader), ReceiptFold()
                for topic in topics:
                    reader.add(topic)

    def follow_lines(self, topic: str, client: Client) -> None:
        """Follow a topic of lines as well, from its newest ones on."""
        with self._lock:
            if topic not in self._trails:
                self._trails[topic] = deque(maxlen=_LINES)
                self._reader(client).add(topic, _TAIL)

    def leave_lines(self, topic: str) -> None:
        """Follow a topic of lines no more."""
        with self._lock:
            if self._trails.pop(topic, None) is not None:
                for reader in list(self._readers.values()):
                    if any(one.topic == topic for one in reader.wanted):
                        reader.remove(topic)
                        self._end_if_idle(reader)

    def _end_if_idle(self, reader: "_Reader") -> None:
        if not reader.wanted:
            reader.ending.set()
            del self._readers[reader.known]

    def lines(self, topic: str) -> Sequence[bytes]:
        """Return the newest lines of a topic that is followed, oldest first."""
        return tuple(line for _, line in self.numbered_lines(topic))

    def numbered_lines(self, topic: str) -> Sequence[tuple[int, bytes]]:
        """Return the same with their offsets."""
        with self._lock:
            return tuple(self._trails.get(topic, ()))

    def _reader(self, client: Client) -> "_Reader":
        settings = _settings(client)
        known = tuple(sorted((name, str(value)) for name, value in settings.items() if name != "logger"))
        return self._readers.get(known) or self._readers.setdefault(known, _Reader(settings, self, known))

    def leave(self, pipeline: str) -> None:
        """Follow this pipeline no more."""
        with self._lock:
            topics, reader = self._followed.pop(pipeline, (_NOWHERE, None))
            if reader is not None:
                for topic in topics:
                    reader.remove(topic)
                self._board.forget(pipeline)
                self._full.discard(pipeline)
                del self._receipts[pipeline]
                self._end_if_idle(reader)

    def is_read(self, pipeline: str) -> bool:
        """Whether all that was there when it was followed has been read."""
        with self._lock:
            topics, reader = self._followed.get(pipeline, (_NOWHERE, None))
            return reader is not None and reader.is_read(topics.board)

    @property
    def pipelines(self) -> frozenset[str]:
        """The pipelines that are followed."""
        with self._lock:
            return frozenset(self._followed)

    @contextmanager
    def held(self, pipeline: str, *, past: bool = False) -> Iterator[Mapping[Half, HalfBoard]]:
        """Yield both halves of a pipeline as they are now; a page of many tables keeps nobody waiting.

        With `past` they have their maps and minutes too; counts of errors are asked for apart.
        """
        with self._lock:
            self._obey_clock()
            known = self._halves(pipeline)
            copies = {
                half: replace(
                    one,
                    tables=dict(one.tables),
                    maps=one.maps.copy() if past else MapLog(),
                    minutes=one.minutes.copy() if past else MinuteLog(),
                    errors=ErrorDays(),
                )
                for half, one in known.items()
            }
        yield copies

    def version(self, pipeline: str) -> BoardVersion:
        """Return numbers that are others once a pipeline's board says something else."""
        with self._lock:
            return board_version(one for half in Half for one in self._board.tasks(pipeline, half).values())

    def maps(self, pipeline: str) -> Mapping[Half, MapLog]:
        """Return the maps of columns of both halves as they are now."""
        with self._lock:
            return {half: one.maps.copy() for half, one in self._halves(pipeline).items()}

    def errors(self, pipeline: str) -> Mapping[Half, Sequence[tuple[ErrorDay, ErrorCount]]]:
        """Return how often each half has logged each error on each day."""
        with self._lock:
            return {half: list(one.errors.items()) for half, one in self._halves(pipeline).items()}

    def _halves(self, pipeline: str) -> Mapping[Half, HalfBoard]:
        at_ms = now_ms()
        return {half: half_of(self._board, pipeline, half, at_ms) for half in Half}

    def receipts(self, pipeline: str) -> Sequence[Receipt]:
        """Return the newest requests of a pipeline."""
        with self._lock:
            fold = self._receipts.get(pipeline)
            return () if fold is None else fold.newest_first()

    def take(self, reader: "_Reader", message: Message, heard_ms: int) -> None:
        """Take a record of a pipeline in its own topic; one that can't be read is left to its successor."""
        key, value, topic = message.key(), message.value(), message.topic()
        with self._lock:
            trail = self._trails.get(topic or "")
            if trail is not None and isinstance(value, bytes):
                if len(value) <= _LONGEST_LINE:  # anybody who may write there decides how long one is
                    trail.append((message.offset() or 0, value))
                return
        if not isinstance(key, bytes) or isinstance(value, str):
            return
        with self._lock:
            self._obey_clock()
            try:
                request = parse_receipt_key(key)
                pipeline = parse_key(key).pipeline if request is None else request.connector
                topics, its_reader = self._followed.get(pipeline, (_NOWHERE, None))
                if its_reader is not reader:
                    return
                if request is not None and topic == topics.requests:
                    self._receipts[pipeline].apply(key, value, message.offset() or 0)
                elif request is None and topic == topics.board:
                    self._board.apply(key, value, min(heard_ms, now_ms()))
            except BoardFull as full:
                if pipeline not in self._full:
                    self._full.add(pipeline)
                    _LOG.warning("%s", FULL(pipeline=pipeline, topic=topics.board, what=full))
            except (ValueError, KeyError, TypeError):
                _LOG.debug("a record of %s at %s can't be read", message.topic(), message.offset())

    def _obey_clock(self) -> None:
        """Let no half seem silent, or heard for ever, only because this machine's clock was set."""
        if step := self._clock.since_last_look():
            self._board.shift(step)

    def close(self) -> None:
        """End."""
        with self._lock:
            readers = list(self._readers.values())
        for reader in readers:
            reader.ending.set()
        for reader in readers:
            reader.thread.join(_LEAVE_S)


class _Wanted(NamedTuple):
    """A topic to read; a topic that is added again has another number."""

    topic: str
    number: int
    start: int  # an offset, or one of librdkafka's that stand for a place


class _Reader:
    """A thread with one consumer."""

    def __init__(
        self, settings: Settings, follower: BoardFollower, known: tuple[tuple[str, str], ...]
    ) -> None:
        self.ending, self.known = Event(), known
        self._follower, self._settings = follower, settings
        self.wanted: frozenset[_Wanted] = frozenset()
        self._added = 0
        self._read: set[str] = set()  # topics of which all that was there has been read
        self.thread = Thread(target=self._run, name="board-follower", daemon=True)
        self.thread.start()

    def add(self, topic: str, start: int = 0) -> None:
        self._added += 1
        self.wanted |= {_Wanted(topic, self._added, start)}

    def remove(self, topic: str) -> None:
        self.wanted = frozenset(one for one in self.wanted if one.topic != topic)

    def is_read(self, topic: str) -> bool:
        return topic in self._read

    def _run(self) -> None:
        consumer: Consumer | None = None
        assigned: frozenset[_Wanted] = frozenset()
        while not self.ending.is_set():
            try:
                if consumer is None:  # a file that its settings name may be away for a moment
                    consumer = Consumer(self._settings)
                if (wanted := self.wanted) != assigned:
                    old, new = assigned - wanted, wanted - assigned
                    self._read -= {one.topic for one in old | new}
                    consumer.incremental_unassign([TopicPartition(one.topic, 0) for one in old])
                    consumer.incremental_assign([TopicPartition(one.topic, 0, one.start) for one in new])
                    assigned = wanted
                for message in consumer.consume(_AT_ONCE, _POLL_S):
                    self._take(message)
            except KafkaException as error:
                _LOG.debug("the boards can't be read: %s", error.args[0].code())
                self.ending.wait(_POLL_S)
        if consumer is not None:
            consumer.close()

    def _take(self, message: Message) -> None:
        error, topic = message.error(), message.topic() or ""
        if error is None:
            self._follower.take(self, message, now_ms() if topic in self._read else message.timestamp()[1])
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
            self._read.add(topic)


def _topics(values: Values) -> _PipelineTopics:
    return _PipelineTopics(board_slot(values).topic, internal_topics(group_of(values.text("name"))).requests)


def _settings(client: Client) -> Settings:
    """Return the client's settings; all pipelines of one Kafka have the same."""
    reader = client.reader(Identity("wrackline", "board", 0, OUTSIDE_ANY_TRANSACTION))
    return {**reader, "fetch.wait.max.ms": 500, "topic.metadata.refresh.interval.ms": _REFRESH_MS}
