"""An error of the Kafka client: who must act, and what is said of it."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from wrackline.producers.kafka.failures import (
    DENIED,
    TOO_LARGE,
    TOPIC_GONE,
    TRANSACTION_FAILED,
    UNREACHABLE,
    TopicRefusedError,
    denies,
    meaning,
    of_exception,
    of_request,
)
from wrackline.schemas.kafka.login_errors import LOGIN_REFUSED

ONE_TOPICS = [
    (KafkaError.MSG_SIZE_TOO_LARGE, TOO_LARGE),
    (KafkaError.RECORD_LIST_TOO_LARGE, TOO_LARGE),
    (KafkaError.UNKNOWN_TOPIC_OR_PART, TOPIC_GONE),
    (KafkaError._UNKNOWN_TOPIC, TOPIC_GONE),
]


@pytest.mark.parametrize(
    ("code", "meant", "is_denied"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, DENIED, True),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, DENIED, True),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, DENIED, True),
        (KafkaError.SASL_AUTHENTICATION_FAILED, LOGIN_REFUSED, True),
        (KafkaError._AUTHENTICATION, LOGIN_REFUSED, True),
        (KafkaError.INVALID_PRODUCER_EPOCH, TRANSACTION_FAILED, False),
        *((code, TRANSACTION_FAILED, False) for code, _ in ONE_TOPICS),
    ],
)
def test_only_rights_and_a_log_in_deny(code: int, meant: object, *, is_denied: bool) -> None:
    error = KafkaError(code)
    assert denies(error) is is_denied
    made = meaning(error, "who")
    assert made.code == getattr(meant, "code", None)
    assert "who" in made.sentence
    assert error.name() in made.sentence


@pytest.mark.parametrize(("code", "meant"), ONE_TOPICS)
def test_what_is_one_topics_names_it(code: int, meant: object) -> None:
    made = of_exception(KafkaException(KafkaError(code)), "who", "the.topic")
    assert made.code == getattr(meant, "code", None)
    assert "the.topic" in made.sentence


def test_an_error_of_all_topics_is_not_blamed_on_one() -> None:
    made = of_exception(KafkaException(KafkaError(KafkaError._TRANSPORT)), "who", "the.topic")
    assert (made.code, "the.topic" in made.sentence) == (TRANSACTION_FAILED.code, False)


@pytest.mark.parametrize(
    "error", [ValueError(KafkaError(KafkaError._TRANSPORT)), KafkaException(), KafkaException("a text")]
)
def test_what_carries_no_error_of_kafka_is_named_by_its_type(error: Exception) -> None:
    made = of_exception(error, "who")
    assert made.code == TRANSACTION_FAILED.code
    assert type(error).__name__ in made.sentence


@pytest.mark.parametrize(
    "code",
    [KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE],
)
def test_a_request_without_an_answer_names_no_transaction(code: int) -> None:
    made = of_request(KafkaException(KafkaError(code)), "the.topic", seconds=30.0)
    assert made.code == UNREACHABLE.code
    assert made.sentence == "Kafka did not answer the admin client within 30 s"


def test_a_request_that_is_refused_says_why() -> None:
    made = of_request(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)), seconds=30.0)
    assert made.code == DENIED.code


def test_a_refused_topic_says_which_and_why() -> None:
    refused = TopicRefusedError("the.topic", TOO_LARGE(topic="the.topic"))
    assert (refused.topic, refused.error.code) == ("the.topic", TOO_LARGE.code)
    assert "the.topic" in str(refused)
