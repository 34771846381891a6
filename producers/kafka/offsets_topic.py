"""The offsets topic: made, checked, and a task's own partition of it read to its very end.

Why it is right: the reader asks for committed records only and reads until the end of the partition, and
that end must be the partition's high watermark.  Were it lower, somebody's transaction would be open there
and hide what we have committed; so a partition has one writer, who reads it only after fencing itself.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sized
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.failures import UNREACHABLE, of_exception
from wrackline.producers.kafka.transaction import Slot
from wrackline.schemas import offsets
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.offsets import Place

T = TypeVar("T")

SECONDS: Final = 30.0  # for an answer of the brokers
_UNTIL_KNOWN: Final = 10.0  # seconds from a topic's making until all brokers know it
_LOOK: Final = 0.05
_LEADERLESS: Final = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}
_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call] # the client leaves it without types

# kept by time, so that one can go back to a moment
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
    "topic {topic} is not compacted, so Kafka would forget what is kept there",
    hint="kafka-configs --bootstrap-server <brokers> --alter --entity-type topics --entity-name {topic} "
    "--add-config cleanup.policy=compact",
)
HIDDEN = define(
    "offsets.hidden",
    Transient,
    "an open transaction hides records of {topic}[{partition}]",
    hint="it ends by itself within its transaction.timeout.ms; whose it is: "
    "kafka-transactions find-hanging --topic {topic}",
)
GONE = define(
    "offsets.gone",
    Transient,
    "topic {topic}, which holds the task's positions, is no longer there",
    hint="if it was deleted, go on where the source's log is: stop the task,"
    " then wrackline offsets reset <pipeline.toml>; nothing is published before",
)


class Message(NamedTuple):
    """A committed record."""

    place: Place
    ms: int  # when it was written
    key: bytes | None
    value: bytes | None


def prepare(
    admin: AdminClient,
    topic: str,
    slots: int,
    replication: int,
    more: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Make the topic, or give it the partitions that are missing; refuse it when it forgets."""
    if _makes(admin, NewTopic(topic, slots, replication, config={**_CONFIG, **more})):
        return
    if len(_known(admin, topic)) < slots:
        grown = admin.create_partitions([NewPartitions(topic, slots)], operation_timeout=SECONDS)
        with contextlib.suppress(_AlreadyThereError):  # just made or grown by another: the list was behind
            _result(grown[topic].result, topic)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    entries = _result(admin.describe_configs([resource], request_timeout=SECONDS)[resource].result, topic)
    if entries["cleanup.policy"].value != "compact":
        raise NOT_COMPACTED(topic=topic)


def prepare_history(admin: AdminClient, topic: str, replication: int) -> None:
    """Make the topic of past positions, unless it is there."""
    _makes(admin, NewTopic(topic, 1, replication, config=_HISTORY))


def _makes(admin: AdminClient, new: NewTopic) -> bool:
    """Make a topic, and return when it is known; False: it was there."""
    made = admin.create_topics([new], operation_timeout=SECONDS)
    with contextlib.suppress(_AlreadyThereError):
        _result(made[new.topic].result, new.topic)
        _known(admin, new.topic)
        return True
    return False


def _known(admin: AdminClient, topic: str) -> Sized:
    """Return its partitions; brokers know a topic that was made this moment a little later."""
    deadline = time.monotonic() + _UNTIL_KNOWN
    while True:
        found = _result(lambda: admin.list_topics(topic, timeout=SECONDS), topic).topics[topic]
        if found.partitions or time.monotonic() > deadline:
            return found.partitions
        time.sleep(_LOOK)


def exists(admin: AdminClient, slot: Slot) -> bool:
    """Whether the slot is there; all topics are asked for, because asking for one may make it."""
    try:
        known = admin.list_topics(timeout=SECONDS).topics
    except KafkaException as exc:
        raise of_exception(exc, "the administrator", slot.topic) from exc
    return slot.topic in known and slot.partition in known[slot.topic].partitions


class Read(NamedTuple):
    """What a slot holds."""

    records: list[tuple[int, offsets.Record]]  # each with the time in milliseconds at which it was written
    broken: dict[
        bytes | None, WracklineError
    ]  # by its key, a record that can't be read and is its key's last
    last_ms: int | None

    def sound(self, *, over_broken: bool = False) -> list[offsets.Record]:
        """Return the records; raise if some can't be read, unless that is no matter."""
        for error in self.broken.values():
            if not over_broken:
                raise error
        return [record for _, record in self.records]


def read(admin: AdminClient, reader: Settings, slot: Slot, *, fenced: bool = False) -> Read:
    """Every committed record of the slot; who is not `fenced` sees less while a transaction is open.

    A broken record counts until another of the same key comes, as for compaction.
    """
    records: list[tuple[int, offsets.Record]] = []
    broken: dict[bytes | None, WracklineError] = {}
    last = None
    for one in messages(admin, reader, slot, fenced=fenced):
        last = one.ms if last is None else max(last, one.ms)
        broken.pop(one.key, None)
        try:
            records.append((one.ms, offsets.parse(one.place, one.key, one.value)))
        except WracklineError as error:
            if error.code != offsets.BROKEN.code:
                raise
            if one.value is not None:
                broken[one.key] = error
    return Read(records, broken, last)


def messages(admin: AdminClient, reader: Settings, slot: Slot, *, fenced: bool) -> Iterator[Message]:
    """Every committed message of the slot, oldest first, up to its end of now."""
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
            place = Place(slot.topic, slot.partition, offset)
            yield Message(place, message.timestamp()[1], _bytes(message.key()), _bytes(message.value()))
    finally:
        consumer.close()


def _end(admin: AdminClient, slot: Slot, isolation: IsolationLevel) -> int:
    """Where the slot ends now; a leader just chosen may not know that it is, and is asked again."""
    partition = TopicPartition(slot.topic, slot.partition)
    if not exists(admin, slot):
        raise GONE(topic=slot.topic)
    deadline = time.monotonic() + _UNTIL_KNOWN
    while True:
        # or it asks as it did before the leader changed, in vain
        _result(lambda: admin.list_topics(slot.topic, timeout=SECONDS), slot.topic)
        asked = admin.list_offsets({partition: _LATEST}, isolation_level=isolation, request_timeout=SECONDS)
        try:
            return int(asked[partition].result().offset)
        except KafkaException as exc:
            if exc.args[0].code() not in _LEADERLESS or time.monotonic() > deadline:
                raise of_exception(exc, "the administrator", slot.topic) from exc
        time.sleep(_LOOK)


class _AlreadyThereError(Exception):
    """Somebody has made it."""


def _result(ask: Callable[[], T], topic: str) -> T:
    try:
        return ask()
    except KafkaException as exc:
        if exc.args[0].code() in {KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.INVALID_PARTITIONS}:
            raise _AlreadyThereError from exc
        raise of_exception(exc, "the administrator", topic) from exc


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
