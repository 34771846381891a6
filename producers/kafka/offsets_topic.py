"""The offsets topic: made, checked, and a task's own partition of it read to its very end.

Why it is right: the reader requests only committed records and reads until the end of the partition, and
that end must be the partition's high watermark.  If it is lower, an open transaction hides what we have
committed; so a partition has one writer, and that writer reads it only after fencing.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sized
from concurrent.futures import Future
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.failures import UNREACHABLE, of_exception, of_request
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offsets_records import RecordPlace
from wrackline.schemas.tables.table import SourcePartition

T = TypeVar("T")
K = TypeVar("K")

SECONDS: Final = 30.0  # for an answer of the brokers
_UNTIL_KNOWN: Final = 10.0  # seconds from a topic's making until all brokers know it
_LOOK: Final = 0.05
_LEADERLESS: Final = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}
_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call] # the client leaves it without types

# kept by time, so that an operator can go back to a moment
_HISTORY: Final = {"cleanup.policy": "delete", "retention.ms": str(30 * 86_400_000)}
# small segments: only closed ones are compacted, and all that is not compacted is read at each start
_CONFIG: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(8 << 20),
    "min.cleanable.dirty.ratio": "0.1",
    "max.compaction.lag.ms": "3600000",
}

NOT_COMPACTED = define(
    "offsets.not_compacted",
    OperatorNeeded,
    "topic {topic} is not compacted, so Kafka would delete what is stored there",
    hint="kafka-configs --bootstrap-server <brokers> --alter --entity-type topics --entity-name {topic} "
    "--add-config cleanup.policy=compact",
)
HIDDEN = define(
    "offsets.hidden",
    Transient,
    "an open transaction hides records of {topic}[{partition}]",
    hint="it ends automatically within its transaction.timeout.ms; to find its producer: kafka-transactions"
    " find-hanging --topic {topic}",
)
GONE = define(
    "offsets.gone",
    Transient,
    "topic {topic}, which contains the task's positions, no longer exists",
    hint="if it was deleted, continue from the current position of the source's log: stop the task, then"
    " wrackline offsets reset <pipeline.toml>; nothing is published before that",
)


class CommittedRecord(NamedTuple):
    """A committed record."""

    place: RecordPlace
    ms: int  # when it was written
    key: bytes | None
    value: bytes | None


def prepare_offsets(
    admin: AdminClient,
    topic: str,
    slots: int,
    replication: int,
    more: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Make the topic, or add the partitions that are missing; refuse a topic that is not compacted."""
    if _makes(admin, NewTopic(topic, slots, replication, config={**_CONFIG, **more})):
        return
    if len(_partitions_of(admin, topic)) < slots:
        grown = admin.create_partitions([NewPartitions(topic, slots)], operation_timeout=SECONDS)
        with contextlib.suppress(_AlreadyThereError):  # just made or grown by another: the list was behind
            _answer(grown, topic, topic)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = _answer(admin.describe_configs([resource], request_timeout=SECONDS), resource, topic)
    if entries["cleanup.policy"].value != "compact":
        raise NOT_COMPACTED(topic=topic)


def prepare_history(admin: AdminClient, topic: str, replication: int) -> None:
    """Make the topic of past positions, unless it is there."""
    _makes(admin, NewTopic(topic, 1, replication, config=_HISTORY))


def prepare_trail(admin: AdminClient, topic: str, keep_ms: int) -> None:
    """Make a topic of lines that are kept by time, unless it is there."""
    config = {"cleanup.policy": "delete", "retention.ms": str(keep_ms), "retention.bytes": str(100 << 20)}
    _makes(admin, NewTopic(topic, 1, -1, config={**config, "segment.bytes": str(8 << 20)}))


def _makes(admin: AdminClient, new: NewTopic) -> bool:
    """Make a topic, and return when it is known; False: it was there."""
    made = admin.create_topics([new], operation_timeout=SECONDS)
    with contextlib.suppress(_AlreadyThereError):
        _answer(made, new.topic, new.topic)
        _partitions_of(admin, new.topic)
        return True
    return False


def _partitions_of(admin: AdminClient, topic: str) -> Sized:
    """Return its partitions; brokers know a new topic only a moment after it is made."""
    deadline = time.monotonic() + _UNTIL_KNOWN
    while True:
        found = _result(lambda: admin.list_topics(topic, timeout=SECONDS), topic).topics[topic]
        if found.partitions or time.monotonic() > deadline:
            return found.partitions
        time.sleep(_LOOK)


def slot_exists(admin: AdminClient, slot: OffsetsSlot) -> bool:
    """Return whether the slot is there."""
    return slot.partition in _known_partitions(admin, slot.topic)


def count_slots(admin: AdminClient, topic: str) -> int:
    """Return how many slots there are; 0: no topic."""
    return len(_known_partitions(admin, topic))


def _known_partitions(admin: AdminClient, topic: str) -> Collection[int]:
    """Return a topic's partitions; this lists all topics, because a request for one may make it."""
    try:
        known = admin.list_topics(timeout=SECONDS).topics
    except KafkaException as exc:
        raise of_request(exc, topic, seconds=SECONDS) from exc
    return known[topic].partitions if topic in known else ()


OverBroken: TypeAlias = bool | Collection[SourcePartition]  # whether broken records count as none, or whose


class SlotContents(NamedTuple):
    """The contents of a slot."""

    records: list[
        tuple[int, offsets_records.OffsetsRecord]
    ]  # each with the time in milliseconds at which it was written
    broken: dict[
        bytes | None, WracklineError
    ]  # by its key, a record that can't be read and is its key's last
    last_ms: int | None

    def sound(self, *, over_broken: OverBroken = False) -> list[offsets_records.OffsetsRecord]:
        """Return the records; raise if some can't be read, unless `over_broken`."""
        for key, error in self.broken.items():
            if over_broken is False:
                raise error
            if over_broken is not True and offsets_records.partition_of(key) not in over_broken:
                raise error
        return [record for _, record in self.records]


def read_slot(
    admin: AdminClient, reader: Settings, slot: OffsetsSlot, *, fenced: bool = False
) -> SlotContents:
    """Return the committed records; a reader that is not `fenced` sees less while a transaction is open.

    A broken record counts until another of the same key comes, as for compaction.
    """
    records: list[tuple[int, offsets_records.OffsetsRecord]] = []
    broken: dict[bytes | None, WracklineError] = {}
    last = None
    for one in read_records(admin, reader, slot, fenced=fenced):
        last = one.ms if last is None else max(last, one.ms)
        broken.pop(one.key, None)
        try:
            records.append((one.ms, offsets_records.parse(one.place, one.key, one.value)))
        except WracklineError as error:
            if error.code != offsets_records.BROKEN.code:
                raise
            if one.value is not None:
                broken[one.key] = error
    return SlotContents(records, broken, last)


def read_records(
    admin: AdminClient, reader: Settings, slot: OffsetsSlot, *, fenced: bool
) -> Iterator[CommittedRecord]:
    """Yield every committed message of the slot, oldest first, up to its current end."""
    seen = IsolationLevel.READ_UNCOMMITTED if fenced else IsolationLevel.READ_COMMITTED
    high = _end(admin, slot, seen)
    consumer = Consumer(reader)
    try:
        consumer.assign([TopicPartition(slot.topic, slot.partition, 0)])
        while True:
            message = consumer.poll(SECONDS)
            if message is None:
                raise UNREACHABLE(who=reader["client.id"], seconds=SECONDS)
            offset, error = message.offset() or 0, message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                if offset < high:
                    raise HIDDEN(topic=slot.topic, partition=slot.partition)
                return
            if error is not None:
                raise of_exception(KafkaException(error), reader["client.id"], slot.topic)
            place = RecordPlace(slot.topic, slot.partition, offset)
            yield CommittedRecord(
                place, message.timestamp()[1], as_bytes(message.key()), as_bytes(message.value())
            )
    finally:
        consumer.close()


def _end(admin: AdminClient, slot: OffsetsSlot, isolation: IsolationLevel) -> int:
    """Return where the slot ends now; a new leader may not know that it is one, and is asked again."""
    partition = TopicPartition(slot.topic, slot.partition)
    if not slot_exists(admin, slot):
        raise GONE(topic=slot.topic)
    deadline = time.monotonic() + _UNTIL_KNOWN
    while True:
        # without this the client would ask the old leader, in vain
        _result(lambda: admin.list_topics(slot.topic, timeout=SECONDS), slot.topic)
        asked = admin.list_offsets({partition: _LATEST}, isolation_level=isolation, request_timeout=SECONDS)
        try:
            return int(asked[partition].result().offset)
        except KafkaException as exc:
            if exc.args[0].code() not in _LEADERLESS or time.monotonic() > deadline:
                raise of_request(exc, slot.topic, seconds=SECONDS) from exc
        time.sleep(_LOOK)


class _AlreadyThereError(Exception):
    """It has been made already."""


def _answer(asked: dict[K, Future[T]], key: K, topic: str) -> T:
    """Wait for one answer; an error's traceback does not keep the client, and its three threads."""
    try:
        return _result(asked[key].result, topic)
    finally:
        asked.clear()


def _result(ask: Callable[[], T], topic: str) -> T:
    try:
        return ask()
    except KafkaException as exc:
        if exc.args[0].code() in {KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.INVALID_PARTITIONS}:
            raise _AlreadyThereError from exc
        raise of_request(exc, topic, seconds=SECONDS) from exc
    finally:
        del ask  # a future, which has the error


def as_bytes(value: str | bytes | None) -> bytes | None:
    """Return a key or a value as the topic has it."""
    return value.encode() if isinstance(value, str) else value
