"""A Kafka as a claim sees it: topics, the offsets of its group, and its newest producer."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from wrackline.consumers.drive import claim


class ClaimKafka:
    """Serves every claim of one name; what it refuses is set by the test."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        self.transactions = True  # whether it has a topic for them
        self.written: dict[str, TopicPartition] = {}
        self.newest: object = None
        self.refusal: int | None = None  # what it answers to a new producer
        self.lost: int | None = None  # what the client says where the answer to a commit did not come

    def producer(self, _: object) -> "_Producer":
        """Make a client that writes."""
        return _Producer(self)

    def consumer(self, _: object) -> SimpleNamespace:
        """Make a client that reads."""
        return SimpleNamespace(
            list_topics=self._listed,
            committed=lambda spots, _: [self.written.get(spot.topic, spot) for spot in spots],
            consumer_group_metadata=lambda: None,
            close=lambda: None,
        )

    def _listed(self, topic: str | None = None, **_: object) -> SimpleNamespace:
        known = [*self.topics, *(["__transaction_state"] if self.transactions else [])]
        named = known if topic is None else [topic]
        missing = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        there = {name: SimpleNamespace(error=None if name in known else missing) for name in named}
        return SimpleNamespace(topics=there)


class _Producer:
    def __init__(self, kafka: ClaimKafka) -> None:
        self._kafka = kafka

    def init_transactions(self, _: float) -> None:
        if self._kafka.refusal is not None:
            raise KafkaException(KafkaError(self._kafka.refusal))
        self._kafka.newest = self

    def begin_transaction(self) -> None:
        pass

    def send_offsets_to_transaction(self, spots: list[TopicPartition], *_: Any) -> None:
        if self._kafka.newest is not self:
            raise KafkaException(KafkaError(KafkaError._FENCED))
        self._kafka.written |= {spot.topic: spot for spot in spots}

    def commit_transaction(self, _: float) -> None:
        if self._kafka.lost is not None:
            raise KafkaException(KafkaError(self._kafka.lost))


@pytest.fixture
def claim_kafka(monkeypatch: pytest.MonkeyPatch) -> ClaimKafka:
    """Let claims speak to it."""
    made = ClaimKafka()
    monkeypatch.setattr(claim, "Producer", made.producer)
    monkeypatch.setattr(claim, "Consumer", made.consumer)
    return made
