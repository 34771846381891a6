"""What a transaction makes of an error that the client raises by itself."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from wrackline.producers.kafka.transaction import Transactor, _Watch


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
        transactor._producer, transactor._watch = Denied(), _Watch()  # type: ignore[assignment]  # only what is asked
        with pytest.raises(KafkaException):
            transactor._produce([("good", b"k", b"v"), (topic, b"k", b"v")])
        assert (transactor._watch.failed is not None and transactor._watch.failed[1] == topic) is noted
