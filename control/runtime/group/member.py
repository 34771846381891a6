"""Membership in a group: which slots, the partitions of `<group>-tasks`, this worker owns.

    assigned   the slots are ours, and their tasks may begin
    revoked    their tasks have ended before we answer, and no other worker has them until then
    lost       the group counts us as dead; their tasks end, and a worker that has them now has fenced them

It uses the classic protocol, which detects a dead worker after 6 s; the new protocol needs 45 s at least.
The topic has no records: its partitions are owned, and never read.
"""

from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.failures import of_exception
from wrackline.schemas.errors import Transient, WracklineError

_POLL: Final = 0.1  # seconds

MEMBERSHIP: Final = {
    "partition.assignment.strategy": "cooperative-sticky",
    "group.protocol": "classic",
    "max.poll.interval.ms": 60_000,
    "enable.auto.commit": False,
    "enable.partition.eof": False,
    "auto.offset.reset": "latest",
}


class Member:
    """One worker in its group; only one thread calls it."""

    def __init__(
        self,
        settings: Settings,
        topic: str,
        owns: Callable[[frozenset[int]], None],
        loses: Callable[[frozenset[int]], None],
        tell: Callable[[WracklineError], None],
    ) -> None:
        """Take what gets all slots that are ours, and what ends the tasks of some before it returns."""
        self._owns, self._loses, self._tell = owns, loses, tell
        self._own: frozenset[int] = frozenset()
        self._who, self._last_code = str(settings["client.id"]), -1
        self._consumer = Consumer(_alive(settings) | MEMBERSHIP)
        self._consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    @property
    def assigned(self) -> bool:
        """Whether the group has given us slots."""
        return bool(self._own)

    def poll(self) -> None:
        """Take part for a moment."""
        message = self._consumer.poll(_POLL)
        error = None if message is None else message.error()
        if error is None or error.code() == self._last_code:
            return
        self._last_code = error.code()
        meant = of_exception(KafkaException(error), self._who, None)
        if isinstance(meant, WracklineError) and not isinstance(meant, Transient):
            self._tell(meant)

    def leave(self) -> None:
        """Leave the group; the tasks end first."""
        self._consumer.close()

    def _assigned(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        consumer.incremental_assign(list(partitions))
        consumer.pause(list(partitions))
        self._last_code = -1
        self._change(self._own | _numbers(partitions))

    def _revoked(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._loses(_numbers(partitions))
        consumer.incremental_unassign(list(partitions))
        self._change(self._own - _numbers(partitions))

    def _lost(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        del consumer
        self._loses(_numbers(partitions))
        self._change(self._own - _numbers(partitions))

    def _change(self, own: frozenset[int]) -> None:
        if own != self._own:
            self._own = own
            self._owns(own)


def _alive(settings: Settings) -> Settings:
    """Add when a silent member counts as dead, and its heartbeat's interval, unless the file sets them."""
    silent = int(settings.get("session.timeout.ms", 6000))
    return {"session.timeout.ms": silent, "heartbeat.interval.ms": min(1000, silent // 3), **settings}


def _numbers(partitions: Sequence[TopicPartition]) -> frozenset[int]:
    return frozenset(one.partition for one in partitions)
