"""Topics taken away on a real broker: what is still in a list is waited for, and no error is lost."""

import itertools
from collections.abc import Collection, Mapping
from concurrent.futures import Future

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.integration.kafka.world import until
from wrackline.control.local.stack.servers import HOST, Broker
from wrackline.producers.kafka import topic_deletion
from wrackline.producers.kafka.failures import TRANSACTION_FAILED, UNREACHABLE
from wrackline.producers.kafka.topic_deletion import SECONDS, delete_topics, list_topics
from wrackline.schemas.errors import Transient

pytestmark = pytest.mark.servers


class MadeAgain(AdminClient):
    """As if each topic were created again while it is deleted: the brokers' list still has it."""

    def delete_topics(self, topics: Collection[str], **more: float) -> Mapping[str, Future[None]]:  # type: ignore[override]
        """Delete them, and make them."""
        gone: Mapping[str, Future[None]] = super().delete_topics([*topics], **more)
        for topic in topics:
            gone[topic].result(30)
            until(lambda topic=topic: topic not in list_topics(self), "it is gone")  # type: ignore[misc]
            self.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
            until(lambda topic=topic: topic in list_topics(self), "it is back")  # type: ignore[misc]
        return gone


@pytest.fixture
def topic(kafka: Broker, topic_prefix: str) -> str:
    name = f"{topic_prefix}.gone"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    return name


def test_it_returns_when_no_list_has_the_topic(kafka: Broker, topic: str) -> None:
    admin = MadeAgain({"bootstrap.servers": kafka.bootstrap})
    plain = AdminClient({"bootstrap.servers": kafka.bootstrap})
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            plain.delete_topics([topic])[topic].result(30)
            until(lambda: topic not in list_topics(plain), "it is gone")

    delete_topics(admin, [topic], itertools.chain([0.0], itertools.repeat(SECONDS)).__next__, wait)
    assert waited == [topic_deletion._LOOK] * 2, "until the very last moment"
    assert topic not in list_topics(plain)


def test_a_topic_that_stays_is_an_error(kafka: Broker, topic: str) -> None:
    def wait(_: float) -> None:
        raise AssertionError("nobody waits for longer")

    admin = MadeAgain({"bootstrap.servers": kafka.bootstrap})
    with pytest.raises(Transient) as refused:
        delete_topics(admin, [topic], iter([0.0, SECONDS + 1]).__next__, wait)
    assert refused.value.code == UNREACHABLE.code


def test_what_the_broker_refuses_for_another_reason_is_an_error(kafka: Broker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    with pytest.raises(Transient, match="INVALID_REQUEST") as refused:
        delete_topics(admin, [topic, topic], iter([0.0, SECONDS + 1]).__next__, lambda _: None)
    assert refused.value.code == TRANSACTION_FAILED.code
    assert topic in list_topics(admin)


def test_a_broker_that_does_not_answer_has_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_deletion, "SECONDS", 0.1)
    with pytest.raises(Transient) as refused:
        list_topics(AdminClient({"bootstrap.servers": f"{HOST}:1", "log_level": 0}))
    assert refused.value.code == UNREACHABLE.code
    assert "within 0.1 s" in refused.value.sentence
