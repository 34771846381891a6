"""The first batches of a partition, whose leader refuses one and takes the next: none is lost.

A leader that knows no sequence of a producer accepts any.  So with several batches on their way it takes the
second one as the first, and the first, sent again, for a duplicate: it is lost, and the transaction commits.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.fixtures.kafka_proxy import KafkaProxy
from tests.integration.kafka.world import Names, made_publisher, values
from wrackline.control.local.stack.servers import Broker
from wrackline.producers.cutting.record_buffer import Headed, Record
from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.topic_creation import TopicGroup
from wrackline.producers.kafka.transactor import OffsetsSlot, Transactor

TRIES = 8  # a try may find all events in the first batch
EVENTS = [f"{number:03}" for number in range(40)]


class Slowly(Transactor):
    """Produces two events at a time, so that each pair is a batch."""

    def _produce(self, records: Sequence[Record | Headed]) -> None:
        for at in range(0, len(records), 2):
            super()._produce(records[at : at + 2])
            time.sleep(0.02)


class SeveralAtOnce(Slowly):
    """Has several batches of a partition on their way, as an idempotent producer may."""

    def __init__(self, settings: Settings, slot: OffsetsSlot, *more: Any) -> None:
        super().__init__({**settings, "max.in.flight": 5}, slot, *more)


@pytest.fixture
def proxy(kafka: Broker) -> Iterator[KafkaProxy]:
    with KafkaProxy(kafka) as made:
        yield made


@pytest.fixture
def published(
    kafka: Broker, proxy: KafkaProxy, topic_prefix: str
) -> Callable[[type[Transactor], int], list[str]]:
    """Publish events to a new topic, the first batch of which is refused; what a reader then sees."""

    def publish(kind: type[Transactor], number: int) -> list[str]:
        names = Names(f"{topic_prefix}{number}")
        publisher = made_publisher(proxy.bootstrap, names, group=TopicGroup(1), transactor=kind)
        publisher.start()
        proxy.refuse(names.topic)
        publisher.publish([names.publication(1, *names.events(*EVENTS))])
        publisher.close()
        return values(kafka.bootstrap, names.topic)

    return publish


def test_with_several_batches_on_their_way_the_first_is_lost_in_silence(
    published: Callable[[type[Transactor], int], list[str]],
) -> None:
    lost = any(published(SeveralAtOnce, number) != EVENTS for number in range(TRIES))
    assert lost, "the loss that the rule is against"


def test_with_one_at_a_time_none_is_lost(published: Callable[[type[Transactor], int], list[str]]) -> None:
    for number in range(TRIES):
        assert published(Slowly, number) == EVENTS
