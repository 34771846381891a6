"""How far topics may be read: from the first offset that is still there to the last stable one, as of now.

The ends are asked for before the beginnings; what is deleted in between leaves an empty span, not one that
ends before it begins.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined] # it is public

from wrackline.control.tail.start import Span, Spot
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import DENIED, UNREACHABLE, denies
from wrackline.schemas.errors import WracklineError

_SECONDS: Final = 10.0  # for one question
_FIRST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call] # the client leaves it without types
_END: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call] # as above


def spans(client: Client, who: str, wanted: Callable[[str], bool]) -> Mapping[Spot, Span]:
    """Return what the wanted topics hold, all of it or an error; a client was let in before."""
    admin = AdminClient(client.admin())
    try:
        known = admin.list_topics(timeout=_SECONDS).topics
        spots = [Spot(topic, number) for topic in filter(wanted, known) for number in known[topic].partitions]
        ends = _offsets(admin, spots, _END)
        firsts = _offsets(admin, spots, _FIRST)
    except KafkaException as exc:
        raise _meaning(exc, who) from exc
    return {spot: Span(min(firsts[spot], end), end) for spot, end in ends.items()}


def _offsets(admin: AdminClient, spots: Iterable[Spot], which: OffsetSpec) -> Mapping[Spot, int]:
    asked = [TopicPartition(*spot) for spot in spots]
    if not asked:
        return {}
    answers = admin.list_offsets(
        dict.fromkeys(asked, which), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_SECONDS
    )
    return {Spot(one.topic, one.partition): answer.result().offset for one, answer in answers.items()}


def _meaning(exc: KafkaException, who: str) -> WracklineError:
    error = exc.args[0]
    return DENIED(who=who, name=error.name()) if denies(error) else UNREACHABLE(who=who, seconds=_SECONDS)
