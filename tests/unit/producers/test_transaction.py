"""What a transaction makes of an error that the client raises by itself."""

import json
import logging
import time
from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError, KafkaException

from wrackline.producers.kafka.transactor import FOR_EVER, OffsetsSlot, Transactor, _ClientWatch
from wrackline.schemas.errors import Transient

QUIET = {"logger": logging.getLogger("wrackline.kafka")}


def test_what_the_client_refuses_at_once_is_the_topics_trouble() -> None:
    """It asks no broker for a topic that it was denied before, or for a record too large."""

    class Denied:
        def produce(self, *record: object) -> None:
            if record[0] == "denied":
                raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
            if record[0] == "large":
                raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
            if record[0] == "fenced":
                raise KafkaException(KafkaError(KafkaError._FENCED))

    for topic, noted in (("denied", True), ("large", True), ("fenced", False)):
        transactor = object.__new__(Transactor)
        transactor._producer, transactor._watch = Denied(), _ClientWatch()  # type: ignore[assignment]  # only what is asked
        with pytest.raises(KafkaException):
            transactor._produce([("good", b"k", b"v"), (topic, b"k", b"v")])
        assert (transactor._watch.failed is not None and transactor._watch.failed[1] == topic) is noted


class Broker:
    """Notes what a client is asked for, in order; it stands for the client in one transaction."""

    def __init__(self, watch: _ClientWatch, *, loses: bool = False) -> None:
        self.asked: list[str] = []
        self._watch, self._loses = watch, loses

    def begin_transaction(self) -> None:
        self.asked.append("begin")

    def produce(self, topic: str, *_: object) -> None:
        self.asked.append(topic)

    def flush(self, timeout: float) -> None:
        assert timeout == FOR_EVER
        self.asked.append("acknowledged")
        if self._loses:
            self._watch.failed = (KafkaError(KafkaError._MSG_TIMED_OUT), "events")

    def commit_transaction(self, timeout: float) -> None:
        assert timeout == FOR_EVER
        self.asked.append("commit")


def transactor(*, loses: bool = False) -> tuple[Transactor, Broker]:
    made = object.__new__(Transactor)
    made._watch, made._slot, made._who = _ClientWatch(), OffsetsSlot("offsets", 0), "who"
    made._clock, made._slow = (lambda: 1.0), 10.0
    broker = Broker(made._watch, loses=loses)
    made._producer = broker  # type: ignore[assignment]  # only what is asked
    return made, broker


def commit(made: Transactor) -> None:
    made.commit((b"begin", b"1"), [[("events", b"k", b"v")]], [(b"position", b"2")])


def test_inv_2_events_are_acknowledged_before_offsets_are_sent_and_those_before_the_commit() -> None:
    made, broker = transactor()
    commit(made)
    expected = ["begin", "offsets", "events", "acknowledged", "offsets", "acknowledged", "commit"]
    assert broker.asked == expected


def test_inv_2_no_offsets_are_sent_after_an_event_that_did_not_arrive() -> None:
    """T-E12."""
    made, broker = transactor(loses=True)
    with pytest.raises(Transient) as caught:
        commit(made)
    assert caught.value.code == "kafka.transaction_failed"
    assert broker.asked[:4] == ["begin", "offsets", "events", "acknowledged"]
    assert "commit" not in broker.asked
    assert broker.asked.count("offsets") == 1, "the begin record alone"


@pytest.mark.parametrize("disturbed", [False, True])
def test_a_producer_whose_connection_was_disturbed_is_not_used_again(*, disturbed: bool) -> None:
    made, _ = transactor()
    made._watch.disturbed = disturbed
    commit(made)
    assert made.is_doubtful() is disturbed


class Reporting(Broker):
    """A client that lets a second pass at each poll, and gives its next statistics."""

    def __init__(self, watch: _ClientWatch, texts: Sequence[str]) -> None:
        super().__init__(watch)
        self.now, self._texts = 0.0, list(texts)

    def poll(self, _: float) -> None:
        self.now += 1.0
        if self._texts:
            self._watch.statistics(self._texts.pop(0))


def statistics(made_at: float, retries: int, lost: int = 0) -> str:
    """What the client reports, as far as it is read."""
    broker = {"txretries": retries, "disconnects": lost}
    return json.dumps({"ts": int(made_at * 1e6), "brokers": {"one": broker}, "topics": {}})


def took(seconds: float, *texts: str, known: int | None = 3) -> Transactor:
    """A transactor after a commit that took so long; the client gives these statistics after it."""
    made = object.__new__(Transactor)
    made._watch, made._slot, made._who = _ClientWatch(), OffsetsSlot("offsets", 0), "who"
    made._slow, made._watch.faults = 10.0, known
    client = Reporting(made._watch, texts)
    moments = iter((0.0, seconds))
    made._clock = lambda: next(moments, client.now + seconds)
    made._producer = client  # type: ignore[assignment]  # only what is asked
    commit(made)
    return made


def test_a_fast_commit_can_not_have_been_repeated_and_nothing_is_waited_for() -> None:
    """T-E14."""
    made = took(9.9, statistics(20, 4))
    assert not made.is_doubtful()
    assert made._watch.faults == 3


@pytest.mark.parametrize(
    ("texts", "doubtful"),
    [
        ([statistics(10.1, 3)], False),
        ([statistics(9.9, 3), statistics(10.9, 3)], False),
        ([statistics(10.1, 4)], True),
        ([statistics(10.1, 3, lost=1)], True),
        ([statistics(10.1, 2)], True),  # a broker is gone, and with it the count of its repeats
        ([statistics(9.9, 3), statistics(10.9, 4)], True),  # the first was made before the commit's end
        ([statistics(9.9, 3)] * 9, True),  # the later ones do not come
        ([statistics(1.8e9, 3)] * 9, True),  # of the day's clock, which says nothing of the order
        ([], True),
    ],
)
def test_after_a_slow_commit_the_statistics_say_whether_it_was_repeated(
    texts: Sequence[str], *, doubtful: bool
) -> None:
    """T-E14."""
    assert took(10.0, *texts).is_doubtful() is doubtful


@pytest.mark.parametrize(("retries", "doubtful"), [(0, False), (1, True)])
def test_before_the_first_statistics_each_repeat_counts(retries: int, *, doubtful: bool) -> None:
    assert took(10.0, statistics(11, retries), known=None).is_doubtful() is doubtful


def test_inv_1_what_a_slow_commit_has_published_does_not_wait_for_the_statistics() -> None:
    """T-E14.  A task that waits longer than a second to confirm a commit may have a successor."""
    made = took(10.0, statistics(10.1, 3))
    assert made._watch.faults_at == 0.0, "none were taken yet"
    assert not made.is_doubtful()
    assert made._watch.faults_at == 10.1


def test_an_idle_client_keeps_what_it_reports_until_it_is_heard() -> None:
    made = Transactor(
        {"transactional.id": "me", "bootstrap.servers": "127.0.0.1:1", "statistics.interval.ms": 1, **QUIET},
        OffsetsSlot("offsets", 0),
        lambda: 0.0,
        10.0,
    )
    until = time.monotonic() + 30
    while len(made._producer) < 20 and time.monotonic() < until:
        time.sleep(0.01)
    waiting = len(made._producer)
    made.hear()
    assert len(made._producer) < waiting
    assert made._watch.faults is not None
    made.drop()
