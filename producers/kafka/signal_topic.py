"""The topic of signals: requests from outside the database, taken once.

    wrackline snapshot start, any Kafka client  -->  <topic.prefix>-signal  -->  taken  -->  kept

`taken` never waits.  `kept` is called once Kafka has the results of all that was taken: only then does the
group's offset advance, so after a crash in between they are taken again; a request's id makes that harmless.
As with Debezium, a message counts when its key is the server's name.  What Kafka refuses is reported once,
until the topic can be read again.
"""

import contextlib
import math
import time
from collections.abc import Sequence
from typing import Final, TypeAlias

from confluent_kafka import (
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    NewTopic,
)

from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.failures import denies
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka import signals

UNHEARD = define(
    "kafka.signals_unheard",
    OperatorNeeded,
    "requests on topic {topic} are not read: Kafka rejects group {group} ({name})",
    hint="let it read: kafka-acls --bootstrap-server <broker> --add --operation Read --topic '{topic}'"
    " --group '{group}' --allow-principal User:<user>; or do not use the topic:"
    ' signal.enabled.channels = "source"',
)

_SECONDS: Final = 30.0
_LOOK_S: Final = 0.2  # between two questions where the topic ends
_AT_ONCE: Final = 20  # messages taken in one look
_AGAIN: Final = 2.0  # seconds from a refusal to the next try
_SILENCE: Final = 10.0  # seconds from an assignment to the next one, if nothing is heard of it
_FETCH_MS: Final = 500  # a broker waits so long for a signal, and nobody is in a hurry

SignalMessage: TypeAlias = signals.AcceptedSignal | signals.RejectedSignal


class SignalTopic:
    """Reads one topic from where the group left off; only the task's thread calls it."""

    def __init__(self, reader: Settings, topic: str, server: str, *, there: bool = True) -> None:
        """Read a topic; one that is not `there` has no messages, which the client would never report."""
        self._topic, self._server = topic, server.encode()
        self._group = f"{reader['group.id']}-signals"
        self._consumer = Consumer(
            {
                **reader,
                "group.id": self._group,
                "fetch.wait.max.ms": _FETCH_MS,
                "on_commit": self._committed,
            }
        )
        self._next = -1  # behind the last message that was taken
        self._assign_at = 0.0  # when the topic is assigned, or assigned again
        self._refusal: KafkaError | None = None  # not reported yet
        self._last_code: int | None = None  # the refusal that was last reported
        self.heard = not there  # whether all that was there at first has been read
        self.place: int | None = None  # the topic's end, if it was read to there

    def take(self) -> Sequence[SignalMessage | WracklineError]:
        """Take what is there, and say what Kafka refuses."""
        now = time.monotonic()
        if now >= self._assign_at:
            self._consumer.assign([TopicPartition(self._topic, 0)])  # no offset: where the group left off
            # A coordinator that was just elected rejects the question for the offset, and the client does
            # not ask again (librdkafka issue 5586).
            self._assign_at = now + _SILENCE
        found: list[SignalMessage | WracklineError] = []
        for _ in range(_AT_ONCE):
            message = self._consumer.poll(0)
            if message is None:
                break
            error = message.error()
            if error is None:
                place = message.offset() or 0
                self._next, self._last_code, self._assign_at = place + 1, None, math.inf
                self.place = None
                request = read_signal(self._server, message.key(), message.value(), f"{self._topic}-{place}")
                found += [] if request is None else [request]
            elif denies(error):
                self._refusal, self._assign_at = error, now + _AGAIN  # the client itself does not try again
                self.heard, self.place = True, None
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
                self._last_code, self._assign_at, self.heard = None, math.inf, True
                self.place = message.offset()
        if self._refusal is not None and self._refusal.code() != self._last_code:
            self._last_code = self._refusal.code()
            found.append(UNHEARD(topic=self._topic, group=self._group, name=self._refusal.name()))
        self._refusal = None
        return found

    def commit(self) -> None:
        """Commit the offset: what was taken has been handled."""
        if self._next >= 0:
            with contextlib.suppress(KafkaException):  # the next commit repeats it
                self._consumer.commit(offsets=[TopicPartition(self._topic, 0, self._next)], asynchronous=True)
            self._next = -1

    def close(self) -> None:
        """Leave the topic."""
        self._consumer.close()

    def _committed(self, error: KafkaError | None, partitions: Sequence[TopicPartition]) -> None:
        del partitions
        if error is not None and denies(error):
            self._refusal = error


class SignalTopicEnd:
    """Follows where the topic ends, for all databases of a task; only the task's thread calls it."""

    def __init__(self, reader: Settings, topic: str) -> None:
        self._reader, self._partition = reader, TopicPartition(topic, 0, OFFSET_END)
        self._consumer: Consumer | None = None
        self._due = 0.0
        self._end: int | None = None

    def __call__(self) -> int | None:
        """Return it, as the client heard it lately; None: it has not heard."""
        now = time.monotonic()
        if now < self._due:
            return self._end
        self._due = now + _LOOK_S
        if self._consumer is None:
            self._consumer = Consumer({**self._reader, "fetch.wait.max.ms": _FETCH_MS})
            self._consumer.assign([self._partition])
        self._consumer.consume(_AT_ONCE, 0.0)  # what it has fetched, so that it fetches again
        self._end = None
        with contextlib.suppress(KafkaException):  # of a topic that is not there
            high = self._consumer.get_watermark_offsets(self._partition, cached=True)[1]
            self._end = high if high >= 0 else None
        return self._end

    def close(self) -> None:
        """Leave the topic."""
        if self._consumer is not None:
            self._consumer.close()


def read_signal(
    server: bytes, key: bytes | str | None, value: bytes | str | None, place: str
) -> SignalMessage | None:
    """Read a message, unless it is for another server; without an id of its own, its place is its id."""
    if key != server or isinstance(value, str):
        return None
    return signals.parse_message(value, place)


def prepare_signals(admin: AdminClient, topic: str, replication: int = -1) -> bool:
    """Make the topic, unless it is there; return False if it is missing afterwards.

    If we may not make it, the sender of the first signal makes it.
    """
    asked = admin.create_topics([NewTopic(topic, 1, replication)], operation_timeout=_SECONDS)
    try:
        asked[topic].result(_SECONDS)
    except KafkaException as exc:
        there = exc.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    except TimeoutError:
        there = False
    else:
        there = True
    finally:
        asked.clear()  # else an error's traceback would keep the client
    return there or not _is_missing(admin, topic)


def _is_missing(admin: AdminClient, topic: str) -> bool:
    """Return whether the broker says that the topic does not exist; without an answer, it may exist."""
    try:
        admin.describe_topics(TopicCollection([topic]))[topic].result(_SECONDS)
    except KafkaException as exc:
        return bool(exc.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART)
    except TimeoutError:
        return False
    return False
