"""Two consumers of one pipeline, over a Kafka that is made up: which of them merges."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, TopicPartition

from tests.fakes.claim_kafka import ClaimKafka, claim_kafka
from tests.unit.settings.shop import GOOD, checked
from wrackline.consumers.drive.claim import ConsumerClaim
from wrackline.control.runtime.running import consume
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError

__all__ = ["claim_kafka"]  # a fixture
TOPIC = "shop1.shop.public.orders"
Consumers = Callable[..., ConsumerClaim]


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Consumers:
    """Begin a consumer at a moment of its own clock."""

    def begun(
        clock: int = 1000, warned: list[WracklineError] | None = None, **settings: str
    ) -> ConsumerClaim:
        monkeypatch.setattr(consume, "now_ms", lambda: clock)
        given = {**GOOD, "target.kind": "iceberg", "target.warehouse": "/lake", **settings}
        warn = _no_warning if warned is None else warned.append
        return consume.target_claim(checked(given).good(), "iceberg", warn)

    return begun


def _no_warning(warning: WracklineError) -> None:
    raise AssertionError(warning)


def fenced(claim: ConsumerClaim) -> None:
    with pytest.raises(OperatorNeeded, match=r"consume.fenced"):
        claim.hold()


@pytest.mark.parametrize(("naming", "topic"), [("wrackline", TOPIC), ("debezium", "shop1.public.orders")])
def test_the_older_consumer_is_refused_under_both_namings(
    claim_kafka: ClaimKafka, consumer: Consumers, naming: str, topic: str
) -> None:
    claim_kafka.topics = ["shop1.a", "shop1.a.b.c.d", topic]
    older, newer = (consumer(**{"topic.naming": naming}) for _ in range(2))
    older.hold()
    newer.hold()
    assert claim_kafka.written.keys() == {topic}
    fenced(older)
    newer.hold()


@pytest.mark.parametrize("clocks", [(3000, 2000), (2000, 2000), (1000, 2000)])
@pytest.mark.parametrize("first", ["older", "newer"])
def test_the_later_consumer_merges_though_both_came_before_the_first_topic(
    claim_kafka: ClaimKafka, consumer: Consumers, clocks: tuple[int, int], first: str
) -> None:
    older, newer = map(consumer, clocks)
    older.take()
    newer.take()
    claim_kafka.topics = [TOPIC]
    if first == "older":
        older.hold()  # it cannot know yet that the newer one still waits
    newer.hold()
    fenced(older)
    newer.hold()
    later = consumer(1)
    later.take()
    fenced(newer)


def test_of_two_equal_numbers_one_is_refused(claim_kafka: ClaimKafka, consumer: Consumers) -> None:
    """As where the topic that held the older one's number was deleted, and the clocks say the same."""
    claim_kafka.topics = [TOPIC, f"{TOPIC}_2"]
    older, newer = consumer(), consumer()
    older.hold()
    claim_kafka.topics.remove(TOPIC)
    claim_kafka.written.clear()
    newer.hold()
    refused = []
    for one in (older, newer, older, newer):
        try:
            one.hold()
        except OperatorNeeded as error:
            refused.append((one, error.code))
    assert set(refused) in [{(older, "consume.fenced")}, {(newer, "consume.fenced")}]


def test_a_commit_whose_answer_was_lost_is_known_as_our_own(
    claim_kafka: ClaimKafka, consumer: Consumers
) -> None:
    claim_kafka.topics = [TOPIC]
    claim = consumer()
    claim_kafka.lost = KafkaError._TIMED_OUT
    with pytest.raises(Transient, match=r"consume.claim_unconfirmed"):
        claim.hold()
    claim_kafka.lost = None
    claim.hold()
    [written] = claim_kafka.written.values()
    assert written.offset == 1000


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
    ],
)
def test_a_kafka_without_transactions_is_merged_from_with_one_warning(
    claim_kafka: ClaimKafka, consumer: Consumers, code: int
) -> None:
    claim_kafka.topics, claim_kafka.refusal = [TOPIC], code
    warned: list[WracklineError] = []
    claim = consumer(warned=warned)
    claim.take()
    claim.hold()
    [warning] = warned
    assert warning.code == "consume.claim_impossible"
    assert KafkaError(code).name() in warning.sentence


@pytest.mark.parametrize("code", ["COORDINATOR_NOT_AVAILABLE", "_TIMED_OUT"])
def test_a_topic_of_transactions_that_cannot_be_made_is_no_outage(
    claim_kafka: ClaimKafka, consumer: Consumers, code: str
) -> None:
    claim_kafka.topics, claim_kafka.refusal = [TOPIC], getattr(KafkaError, code)
    claim_kafka.transactions = False
    warned: list[WracklineError] = []
    claim = consumer(warned=warned)
    claim.hold()
    assert [one.code for one in warned] == ["consume.claim_impossible"]

    claim_kafka.transactions = True
    claim = consumer()
    with pytest.raises(Transient, match=r"consume.claim_unconfirmed"):
        claim.hold()
    claim_kafka.refusal = None
    claim.hold()


def test_an_older_versions_number_is_understood(claim_kafka: ClaimKafka, consumer: Consumers) -> None:
    claim_kafka.topics = [TOPIC]
    claim = consumer()
    claim.hold()
    claim_kafka.newest = None
    claim_kafka.written[TOPIC] = TopicPartition(TOPIC, 0, 5000, metadata="host db-1, process 7")
    with pytest.raises(OperatorNeeded, match=r"host db-1, process 7"):
        claim.hold()
