"""What a transactor makes of a client's faults: what it hears, what it waits for, whose trouble each is."""

import json
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from wrackline.producers.kafka.failures import TopicRefusedError
from wrackline.producers.kafka.transactor import OffsetsSlot, Transactor, _ClientWatch
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError

TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT)
PURGED = KafkaError(KafkaError._PURGE_QUEUE)
FENCED = KafkaError(KafkaError._FENCED)
DENIED = KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


class Message:
    def __init__(self, topic: str) -> None:
        self.topic = lambda: topic


class Client:
    """Gives each call's next answer: an error to raise, or nothing; it notes the calls in order."""

    def __init__(self, **answers: list[Any]) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.answers = answers

    def __getattr__(self, name: str) -> Any:
        def call(*given: object, headers: object = None) -> None:
            self.asked.append((name, *given, *([headers] if headers else [])))
            answers = self.answers.get(name)
            answer = answers.pop(0) if answers else None
            if callable(answer):
                answer = answer()
            if isinstance(answer, KafkaError):
                raise KafkaException(answer)
            if isinstance(answer, Exception):
                raise answer

        return call

    def names(self) -> list[object]:
        return [words[0] for words in self.asked]


def transactor(client: Client, *, seconds: list[float] | None = None) -> Transactor:
    made = object.__new__(Transactor)
    made._watch, made._slot, made._who = _ClientWatch(), OffsetsSlot("offsets", 3), "who"
    made._clock = iter(seconds or [0.0, 0.5]).__next__
    made._slow, made.commit_seconds = 10.0, 0.0
    made._producer = client  # type: ignore[assignment]  # only what is asked
    return made


def commit(made: Transactor, topic: str = "events") -> float:
    return made.commit((b"begin", b"1"), [[(topic, b"k", b"v")]], [(b"position", b"2")])


def test_the_first_record_that_did_not_arrive_is_kept() -> None:
    watch = _ClientWatch()
    watch.delivered(None, Message("good"))  # type: ignore[arg-type]  # only its topic is asked
    assert watch.failed is None
    watch.delivered(TOO_LARGE, Message("first"))  # type: ignore[arg-type]
    watch.delivered(PURGED, Message("second"))  # type: ignore[arg-type]
    watch.delivered(None, Message("third"))  # type: ignore[arg-type]
    assert watch.failed == (TOO_LARGE, "first")


def test_an_error_of_the_client_is_a_disturbance_and_a_denial_is_kept() -> None:
    watch = _ClientWatch()
    watch.error(TIMED_OUT)
    assert watch.disturbed
    assert watch.denied is None
    watch.error(DENIED)
    assert watch.denied is DENIED


@pytest.mark.parametrize(
    ("counts", "disturbed"),
    [
        ([(5, 5)], False),  # from before it was watched
        ([(5, 5), (5, 5)], False),
        ([(5, 5), (6, 5)], True),
        ([(5, 5), (5, 6)], True),
        ([(5, 5), (6, 5), (6, 5)], True),  # it stays so
    ],
)
def test_a_repeated_request_or_a_lost_connection_is_a_disturbance(
    counts: list[tuple[int, int]], *, disturbed: bool
) -> None:
    watch = _ClientWatch()
    for retries, lost in counts:
        broker = {"txretries": retries, "disconnects": lost}
        watch.statistics(json.dumps({"brokers": {"one": broker, "two": {"txretries": 0, "disconnects": 0}}}))
    assert watch.disturbed is disturbed


def test_a_new_one_is_trusted_and_named_by_its_id() -> None:
    made = Transactor({"transactional.id": "me"}, OffsetsSlot("offsets", 0), lambda: 0.0, 10.0)
    assert (made.is_doubtful(), made.commit_seconds, made._who) == (False, 0.0, "me")
    assert not made._watch.disturbed
    made.drop()
    assert not hasattr(made, "_producer")


def test_a_producer_is_purged_when_it_is_dropped_and_may_be_beyond_that() -> None:
    for answer in (None, FENCED, SystemError()):
        client = Client(purge=[answer])
        made = transactor(client)
        made.drop()
        assert client.names() == ["purge"]


RETRIABLE = KafkaError(KafkaError._TIMED_OUT, "", False, True)


def test_fencing_is_tried_until_it_is_done_and_forgets_what_was_heard_meanwhile() -> None:
    client = Client(init_transactions=[RETRIABLE, RETRIABLE, None])
    made = transactor(client, seconds=[0.0, 1.0, 30.0])
    client.answers["poll"] = [lambda: made._watch.error(TIMED_OUT)]
    made.fence(30.0)
    assert client.asked == [("init_transactions", 1.0), ("poll", 0)] * 2 + [("init_transactions", 1.0)]
    assert not made._watch.disturbed


def test_fencing_ends_when_patience_does() -> None:
    made = transactor(Client(init_transactions=[RETRIABLE, RETRIABLE]), seconds=[5.0, 34.9, 35.1])
    with pytest.raises(Transient) as late:
        made.fence(30.0)
    assert late.value.code == "kafka.unreachable"


def test_fencing_ends_at_an_error_that_stays() -> None:
    client = Client(init_transactions=[FENCED, None])
    with pytest.raises(Transient) as caught:
        transactor(client).fence(30.0)
    assert caught.value.code == "kafka.transaction_failed"
    assert client.names().count("init_transactions") == 1


def test_fencing_ends_at_a_denial_that_was_heard_meanwhile() -> None:
    client = Client(init_transactions=[RETRIABLE, None])
    made = transactor(client)
    client.answers["poll"] = [lambda: made._watch.error(DENIED)]
    with pytest.raises(OperatorNeeded) as denied:
        made.fence(30.0)
    assert denied.value.code == "kafka.denied"


def test_a_commit_says_when_it_ended_and_how_long_it_took() -> None:
    client = Client()
    made = transactor(client, seconds=[100.0, 100.5])
    assert commit(made) == 100.5
    assert made.commit_seconds == 0.5
    assert ("produce", "offsets", b"1", b"begin", 3) in client.asked
    assert ("produce", "events", b"v", b"k") in client.asked


def meant(client: Client, failed: tuple[KafkaError, str] | None = None, topic: str = "events") -> Exception:
    """Say what comes out of a commit during which a record was heard not to have arrived."""
    made = transactor(client)
    client.answers["flush"] = [lambda: setattr(made._watch, "failed", failed)]
    with pytest.raises((WracklineError, TopicRefusedError)) as caught:
        commit(made, topic)
    return caught.value


def test_a_record_that_the_broker_refuses_is_its_topics_trouble() -> None:
    refused = meant(Client(), (TOO_LARGE, "events"))
    assert isinstance(refused, TopicRefusedError)
    assert (refused.topic, refused.error.code) == ("events", "kafka.record_refused")


def test_an_error_that_may_pass_is_transient() -> None:
    lost = meant(Client(), (TIMED_OUT, "events"))
    assert isinstance(lost, Transient)


def test_a_refusal_in_the_offsets_topic_is_the_tasks_trouble() -> None:
    refused = meant(Client(), (TOO_LARGE, "offsets"))
    assert isinstance(refused, OperatorNeeded)
    at_once = meant(Client(produce=[TOO_LARGE]))
    assert isinstance(at_once, OperatorNeeded)
    assert at_once.code == "kafka.record_refused"


def test_a_denial_of_no_record_is_the_tasks_trouble() -> None:
    assert isinstance(meant(Client(commit_transaction=[DENIED])), OperatorNeeded)


@pytest.mark.parametrize("hiding", [SystemError("a callback"), PURGED])
def test_an_error_that_hides_the_transactions_own_gives_way_to_it(hiding: Exception | KafkaError) -> None:
    """The next call repeats the one of the transaction; no record is at fault then (T-E07, T-E11)."""
    client = Client(commit_transaction=[hiding], begin_transaction=[None, DENIED])
    denied = meant(client)
    assert isinstance(denied, OperatorNeeded)
    assert denied.code == "kafka.denied"


def test_a_record_that_was_purged_with_its_transaction_is_not_at_fault() -> None:
    denied = meant(Client(begin_transaction=[None, DENIED]), (PURGED, "events"))
    assert isinstance(denied, OperatorNeeded)
    assert denied.code == "kafka.denied"


def test_an_error_that_hides_nothing_stands_for_itself() -> None:
    client = Client(commit_transaction=[PURGED])
    assert isinstance(meant(client), Transient)
    plain = Client(commit_transaction=[FENCED])
    assert isinstance(meant(plain), Transient)
    assert plain.names().count("begin_transaction") == 1, "it is asked only where the error hides another"


def test_a_record_that_has_no_room_waits_for_it() -> None:
    """T-E10."""
    client = Client(produce=[None, BufferError(), BufferError(), None])
    commit(transactor(client))
    record = ("produce", "events", b"v", b"k")
    assert client.asked[2:7] == [record, ("poll", 0.05), record, ("poll", 0.05), record]


def test_a_record_keeps_its_headers_while_it_waits_too() -> None:
    headers: list[tuple[str, str | bytes | None]] = [("k", b"h")]
    for answers, times in (([], 1), ([None, BufferError()], 2)):
        client = Client(produce=[*answers])
        transactor(client).commit((b"begin", b"1"), [[("events", b"k", b"v", headers)]], [])
        assert client.asked.count(("produce", "events", b"v", b"k", headers)) == times


def test_a_record_that_waits_for_room_gives_up_once_another_did_not_arrive() -> None:
    client = Client(produce=[None, BufferError(), None])
    made = transactor(client)
    client.answers["poll"] = [lambda: setattr(made._watch, "failed", (TIMED_OUT, "other"))]
    with pytest.raises(Transient):
        commit(made)
    assert client.names().count("produce") == 2


def test_a_record_that_is_refused_while_it_waits_is_its_topics_trouble() -> None:
    client = Client(produce=[None, BufferError(), TOO_LARGE])
    with pytest.raises(TopicRefusedError) as refused:
        commit(transactor(client))
    assert refused.value.topic == "events"


def test_an_error_that_is_no_refusal_ends_the_transaction_while_a_record_waits_too() -> None:
    client = Client(produce=[None, BufferError(), FENCED])
    with pytest.raises(Transient):
        commit(transactor(client))
    assert "commit_transaction" not in client.names()


def test_the_first_refusal_counts() -> None:
    made = transactor(Client(produce=[TOO_LARGE]))
    made._watch.failed = (TIMED_OUT, "first")
    with pytest.raises(KafkaException):
        made._produce([("second", b"k", b"v")])
    assert made._watch.failed == (TIMED_OUT, "first")
