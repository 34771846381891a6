"""The topic of signals: requests from outside the database, taken once.

    wrackline snapshot start, any Kafka client  -->  <topic.prefix>-signal  -->  taken  -->  kept

`taken` never waits.  `kept` is said once Kafka has what came of all that was taken: only then does the
group's offset move on, so a crash in between takes them again; a request's id makes the second time harmless.
As with Debezium, a message counts when its key is the server's name.
"""

import contextlib
from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    NewTopic,
)

from wrackline.producers.kafka.client import Settings
from wrackline.schemas import signals

_SECONDS: Final = 30.0
_AT_ONCE: Final = 20  # messages taken in one look


class SignalTopic:
    """Reads one topic from where the group left off; the task's thread alone calls it."""

    def __init__(self, reader: Settings, topic: str, server: str) -> None:
        self._topic, self._server = topic, server.encode()
        self._consumer = Consumer({**reader, "group.id": f"{reader['group.id']}-signals"})
        self._next = -1  # behind the last message that was taken
        self._begun = False

    def taken(self) -> Sequence[signals.Accepted | signals.Rejected]:
        """Take what is there."""
        if not self._begun:
            self._consumer.assign([TopicPartition(self._topic, 0)])  # no offset: where the group left off
            self._begun = True
        found: list[signals.Accepted | signals.Rejected] = []
        for _ in range(_AT_ONCE):
            message = self._consumer.poll(0)
            if message is None:
                break
            if message.error() is not None:
                continue  # the partition's end, or a broker that comes back by itself
            self._next = (message.offset() or 0) + 1
            key, value = message.key(), message.value()
            if key == self._server and not isinstance(value, str):
                found.append(signals.parse_message(value, f"{self._topic}-{self._next - 1}"))
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


def prepare(admin: AdminClient, topic: str, replication: int = -1) -> None:
    """Make the topic, unless it is there; it may be denied, and then whoever sends a signal makes it."""
    made = admin.create_topics([NewTopic(topic, 1, replication)], operation_timeout=_SECONDS)
    with contextlib.suppress(KafkaException):
        made[topic].result(_SECONDS)
