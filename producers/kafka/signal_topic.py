"""The topic of signals: requests from outside the database, taken once.

    wrackline snapshot start, any Kafka client  -->  <topic.prefix>-signal  -->  taken  -->  kept

`taken` never waits.  `kept` is said once Kafka has what came of all that was taken: only then does the
group's offset move on, so a crash in between takes them again; a request's id makes the second time harmless.
As with Debezium, a message counts when its key is the server's name.  What Kafka refuses is told once, until
it is heard again.
"""

import contextlib
from collections.abc import Sequence
from typing import Final, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    NewTopic,
)

from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.failures import denies
from wrackline.schemas import signals
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

UNHEARD = define(
    "kafka.signals_unheard",
    OperatorNeeded,
    "no request is heard from topic {topic}: Kafka refuses group {group} ({name})",
    hint="let it read: kafka-acls --bootstrap-server <broker> --add --operation Read --topic '{topic}'"
    " --group '{group}' --allow-principal User:<user>; or listen to no topic: signal.enabled.channels=source",
)

_SECONDS: Final = 30.0
_AT_ONCE: Final = 20  # messages taken in one look
_AGAIN: Final = 25  # looks from a refusal to the next try
_FETCH_MS: Final = 500  # a broker waits so long for a signal, and nobody is in a hurry

Request: TypeAlias = signals.Accepted | signals.Rejected


class SignalTopic:
    """Reads one topic from where the group left off; the task's thread alone calls it."""

    def __init__(self, reader: Settings, topic: str, server: str) -> None:
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
        self._looks = 0  # until the topic is asked for, or asked for again
        self._refusal: KafkaError | None = None  # not told yet
        self._told: int | None = None  # the refusal that was told last
        self.heard = False  # all that was there at first

    def taken(self) -> Sequence[Request | WracklineError]:
        """Take what is there, and say what Kafka refuses."""
        if self._looks == 0:
            self._consumer.assign([TopicPartition(self._topic, 0)])  # no offset: where the group left off
        self._looks -= 1
        found: list[Request | WracklineError] = []
        for _ in range(_AT_ONCE):
            message = self._consumer.poll(0)
            if message is None:
                break
            error = message.error()
            if error is None:
                place = message.offset() or 0
                self._next, self._told = place + 1, None
                request = read(self._server, message.key(), message.value(), f"{self._topic}-{place}")
                found += [] if request is None else [request]
            elif denies(error):
                self._refusal, self._looks = error, _AGAIN  # the client itself does not try again
                self.heard = True
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
                self._told, self.heard = None, True
            elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                self.heard = True
        if self._refusal is not None and self._refusal.code() != self._told:
            self._told = self._refusal.code()
            found.append(UNHEARD(topic=self._topic, group=self._group, name=self._refusal.name()))
        self._refusal = None
        return found

    def kept(self) -> None:
        """What was taken has been seen to."""
        if self._next >= 0:
            with contextlib.suppress(KafkaException):  # it is said again with the next one
                self._consumer.commit(offsets=[TopicPartition(self._topic, 0, self._next)], asynchronous=True)
            self._next = -1

    def close(self) -> None:
        """Leave the topic."""
        self._consumer.close()

    def _committed(self, error: KafkaError | None, partitions: Sequence[TopicPartition]) -> None:
        del partitions
        if error is not None and denies(error):
            self._refusal = error


def read(server: bytes, key: bytes | str | None, value: bytes | str | None, place: str) -> Request | None:
    """Read a message, unless it is another server's; without an id of its own it is called by its place."""
    if key != server or isinstance(value, str):
        return None
    return signals.parse_message(value, place)


def prepare(admin: AdminClient, topic: str, replication: int = -1) -> None:
    """Make the topic, unless it is there; it may be denied, and then whoever sends a signal makes it."""
    made = admin.create_topics([NewTopic(topic, 1, replication)], operation_timeout=_SECONDS)
    with contextlib.suppress(KafkaException, TimeoutError):
        made[topic].result(_SECONDS)
