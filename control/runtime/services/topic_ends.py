"""How far topics may be read: from the first offset that still exists to the last stable one, as of now.

The ends are requested before the beginnings: records that are deleted in between leave an empty span, not one
that ends before it begins.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined] # it is public

from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import DENIED, UNREACHABLE, denies
from wrackline.schemas.errors import WracklineError


class TopicSlice(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class OffsetSpan:
    """What a partition has: its first offset, and the end of what may be read, as of one moment."""

    first: int
    end: int

    def within(self, offset: int) -> int:
        """Return the next offset that exists."""
        return max(self.first, min(offset, self.end))


_SECONDS: Final = 10.0  # for one question
_FIRST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call] # the client leaves it without types
_END: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call] # as above


def read_spans(client: Client, who: str, wanted: Callable[[str], bool]) -> Mapping[TopicSlice, OffsetSpan]:
    """Return what the wanted topics hold, all of it or an error; the client has logged in before."""
    admin = AdminClient(client.admin())
    try:
        known = admin.list_topics(timeout=_SECONDS).topics
        spots = [
            TopicSlice(topic, number) for topic in filter(wanted, known) for number in known[topic].partitions
        ]
        ends = _offsets(admin, spots, _END)
        firsts = _offsets(admin, spots, _FIRST)
    except KafkaException as exc:
        raise _error_of(exc, who) from exc
    return {spot: OffsetSpan(min(firsts[spot], end), end) for spot, end in ends.items()}


def _offsets(admin: AdminClient, spots: Iterable[TopicSlice], which: OffsetSpec) -> Mapping[TopicSlice, int]:
    asked = [TopicPartition(*spot) for spot in spots]
    if not asked:
        return {}
    answers = admin.list_offsets(
        dict.fromkeys(asked, which), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_SECONDS
    )
    return {TopicSlice(one.topic, one.partition): answer.result().offset for one, answer in answers.items()}


def _error_of(exc: KafkaException, who: str) -> WracklineError:
    error = exc.args[0]
    return DENIED(who=who, name=error.name()) if denies(error) else UNREACHABLE(who=who, seconds=_SECONDS)
