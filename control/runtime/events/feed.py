"""Reads topics as they are: committed records only, in no group, leaving no trace in Kafka.

In: which topics are meant, where each partition begins.  Out: records, up to the ends of one moment or for
ever.  An end is the last stable offset.  The records before it may be aborted, and those never come.  So a
partition is done when its reader is at the end, whatever records it got there.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from wrackline.control.runtime.events.record_decoder import TopicRecord
from wrackline.control.runtime.events.start_offsets import short_slices, stretch_back
from wrackline.control.runtime.events.topic_choice import NO_TOPIC
from wrackline.control.runtime.ground.pipeline_access import BYSTANDER, group_of
from wrackline.control.runtime.services import topic_ends
from wrackline.control.runtime.services.topic_ends import OffsetSpan, TopicSlice
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import UNREACHABLE, denies
from wrackline.producers.kafka.login_check import check_login
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.offsets_records import OUTSIDE_ANY_TRANSACTION
from wrackline.schemas.settings.settings_registry import Values

Begins = Mapping[TopicSlice, int]
Spans = Mapping[TopicSlice, OffsetSpan]

NOT_READ = define(
    "tail.not_read",
    Transient,
    "Kafka did not return records of {topic}-{partition}: {name}",
    hint="check that its brokers run: kcat -b <brokers> -L -t '{topic}'; then repeat the command",
)

DENIED = define(
    "tail.denied",
    OperatorNeeded,
    "Kafka does not let us read topic {topic}: {name}",
    hint="let kafka.sasl.username read it: kafka-acls --bootstrap-server <brokers> --add --operation Read"
    " --topic '{topic}' --allow-principal User:<user>",
)

_END: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 - its name
# the client looks up a group although it joins none, and needs no right to it
_NO_ERRORS: Final = {_END, KafkaError.GROUP_AUTHORIZATION_FAILED}
_PATIENCE: Final = 30.0  # seconds without a message, before the end is reached
_BATCH: Final = 500
_LOOK: Final = 0.2  # seconds; Ctrl-C is handled in between
_NEW_TOPICS: Final = 5.0  # seconds between two looks for new topics
_DAY_MS: Final = 86_400_000  # a user that reads page by page may be away for a long time


class Feed:
    """One reader of one cluster."""

    def __init__(self, values: Values) -> None:
        given, name = values.below("kafka."), values.text("name")
        identity = Identity(group_of(name), name, BYSTANDER, OUTSIDE_ANY_TRANSACTION)
        self._who = f"{name}.tail"
        self._client = Client(given, values.integer("max.row.bytes"))
        check_login(self._client, time.monotonic)  # its error says why a login is refused
        settings = {
            **self._client.reader(identity),
            "client.id": self._who,
            "group.id": f"{group_of(name)}-tail",  # the client needs one, but joins none
            "fetch.wait.max.ms": 50,  # the end of a partition is reported after such a wait
            "max.poll.interval.ms": _DAY_MS,
        }
        self._consumer = Consumer(settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def spans(self, wanted: Callable[[str], bool]) -> Spans:
        """Return what the topics hold now; all of them, or an error."""
        return topic_ends.read_spans(self._client, self._who, wanted)

    def since(self, at: datetime, spans: Spans) -> Begins:
        """Return the first offset of each partition that is not older."""
        ms = max(0, int(at.timestamp() * 1000))  # numbers below 0 have other meanings
        asked = [TopicPartition(*spot, ms) for spot in spans]
        try:
            found = self._consumer.offsets_for_times(asked, timeout=_PATIENCE) if asked else []
        except KafkaException as exc:
            raise UNREACHABLE(who=self._who, seconds=_PATIENCE) from exc
        begins = {}
        for one in found:
            if one.error is not None:
                raise self._meaning(one.error, TopicSlice(one.topic, one.partition))
            span = spans[TopicSlice(one.topic, one.partition)]
            begins[TopicSlice(one.topic, one.partition)] = (
                span.end if one.offset < 0 else span.within(one.offset)
            )
        return begins

    def newest(self, spans: Spans, most: int) -> Mapping[TopicSlice, Sequence[TopicRecord]]:
        """Return the newest few records of each partition."""
        found: dict[TopicSlice, list[TopicRecord]] = {}
        wanted, tries = list(spans), 0
        while wanted:
            began = {spot: stretch_back(spans[spot], most, tries) for spot in wanted}
            read: defaultdict[TopicSlice, list[TopicRecord]] = defaultdict(list)
            for batch in self.up_to(began, spans):
                for record in batch:
                    of_it = read[TopicSlice(record.topic, record.partition)]
                    of_it.append(record)
                    del of_it[:-most]
            found |= read
            wanted, tries = short_slices(read, began, spans, most), tries + 1
        return found

    def up_to(self, begins: Begins, spans: Spans) -> Iterator[Sequence[TopicRecord]]:
        """Return the records from there to the ends of the spans."""
        left = {spot: spans[spot].end for spot, at in begins.items() if at < spans[spot].end}
        self._consumer.assign([TopicPartition(*spot, begins[spot]) for spot in left])
        heard = time.monotonic()
        while left:
            batch, messages = [], self._messages()
            for message in messages:
                spot, end = _spot(message), left.get(_spot(message))
                record = self._record(message)
                if end is None:
                    continue
                at = message.offset() or 0
                if record is not None and at < end:
                    batch.append(record)
                if at >= (end if record is None else end - 1):
                    del left[spot]
                    self._consumer.incremental_unassign([TopicPartition(*spot)])
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > _PATIENCE:
                raise UNREACHABLE(who=self._who, seconds=_PATIENCE)
            yield batch

    def follow(self, begins: Begins, may_be: Callable[[str], bool]) -> Iterator[Sequence[TopicRecord]]:
        """Return the records from there on, and those of later topics, for ever."""
        known = set(begins)
        self._consumer.assign([TopicPartition(*spot, at) for spot, at in begins.items()])
        looked = time.monotonic()
        while True:
            records = map(self._record, self._messages())
            yield [record for record in records if record is not None]
            if time.monotonic() - looked > _NEW_TOPICS:
                new = self._there(may_be) - known
                self._consumer.incremental_assign([TopicPartition(*spot, OFFSET_BEGINNING) for spot in new])
                known |= new
                looked = time.monotonic()

    def _messages(self) -> list[Message]:
        """Return the messages that have come, as soon as there is one: `consume` waits for a full batch."""
        first = self._consumer.poll(_LOOK)
        return [] if first is None else [first, *self._consumer.consume(_BATCH, 0)]

    def _there(self, may_be: Callable[[str], bool]) -> set[TopicSlice]:
        with suppress(KafkaException):  # it is asked again
            known = self._consumer.list_topics(timeout=_LOOK * 10).topics
            return {
                TopicSlice(topic, number)
                for topic in known
                if may_be(topic)
                for number in known[topic].partitions
            }
        return set()

    def _record(self, message: Message) -> TopicRecord | None:
        """Return the record; None: the reader is at an end, or the message belongs to no partition."""
        error = message.error()
        if error is None:
            kind, ms = message.timestamp()
            return TopicRecord(
                *_spot(message),
                message.offset() or 0,
                ms if kind else None,
                _bytes(message.key()),
                _bytes(message.value()),
                tuple((name, _bytes(value)) for name, value in _headers(message)),
            )
        if error.code() in _NO_ERRORS:
            return None
        raise self._meaning(error, _spot(message))

    def _meaning(self, error: KafkaError, spot: TopicSlice) -> WracklineError:
        if error.code() in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}:  # noqa: SLF001 - its name
            return NO_TOPIC(name=spot.topic)
        if denies(error):
            return DENIED(topic=spot.topic, name=error.name())
        return NOT_READ(topic=spot.topic, partition=spot.partition, name=error.name())


def _spot(message: Message) -> TopicSlice:
    return TopicSlice(message.topic() or "", message.partition() or 0)


def _headers(message: Message) -> Sequence[tuple[str, Any]]:
    given = message.headers() or []
    return list(given.items()) if isinstance(given, dict) else given


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
