"""Which transactions have ended, as a consumer reads it from a real topic of ENDs."""

import io
from collections.abc import Iterator, Mapping

import fastavro
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is public

from tests.integration.running.world import wait_until
from wrackline.consumers.kafka.boundaries import TransactionSpan
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.kafka.transaction_ends import TransactionEndReader
from wrackline.control.local.stack.servers import Broker
from wrackline.schemas.errors import Transient
from wrackline.schemas.events.control_events import TRANSACTION_KEY, TRANSACTION_VALUE, BeginEvent, EndEvent
from wrackline.schemas.events.envelope import dump
from wrackline.schemas.kafka.schema_registry import UNREACHABLE

pytestmark = pytest.mark.servers

NOW = 1_700_000_000_000  # milliseconds
PATIENCE = 30.0


class Source:
    """Publishes transactions' BEGIN and END as a worker does, in Kafka transactions of its own."""

    def __init__(self, kafka: Broker, topic: str) -> None:
        self.topic = topic
        self.producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
        self.producer.init_transactions(PATIENCE)
        self.key, self.value = (
            fastavro.parse_schema(dict(schema)) for schema in (TRANSACTION_KEY, TRANSACTION_VALUE)
        )

    def write(self, event: BeginEvent | EndEvent, at_ms: int, partition: int = 0) -> None:
        key, value = io.BytesIO(b"\0\0\0\0\1"), io.BytesIO(b"\0\0\0\0\2")
        for out, schema, payload in ((key, self.key, event.key()), (value, self.value, event.value())):
            out.seek(5)
            fastavro.schemaless_writer(out, schema, payload)
        self.producer.produce(self.topic, value.getvalue(), key.getvalue(), partition, timestamp=at_ms)

    def flushed(self) -> None:
        """Let it be written, and not committed."""
        assert self.producer.flush(PATIENCE) == 0


@pytest.fixture
def topic(topic_prefix: str) -> str:
    return f"{topic_prefix}.transaction"


@pytest.fixture
def endings(kafka: Broker, topic: str) -> Iterator[TransactionEndReader]:
    settings: Mapping[str, object] = {"bootstrap.servers": kafka.bootstrap}
    outages = [UNREACHABLE(url="http://registry")]

    def text(_: int) -> str:
        if outages:
            raise outages.pop()
        return dump(dict(TRANSACTION_VALUE))

    made = TransactionEndReader(TopicOffsets(settings), settings, topic, text)
    yield made
    made.close()


def part(name: str, at_ms: int = NOW) -> TransactionSpan:
    return TransactionSpan(name, 0, 0, 0, "", "", at_ms)


def test_an_end_counts_once_it_is_committed(kafka: Broker, topic: str, endings: TransactionEndReader) -> None:
    assert (endings.read(), endings.ended(part("1"))) == (0, False)  # there is no such topic yet
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic, 2)])[topic].result(30)
    source = Source(kafka, topic)

    source.producer.begin_transaction()
    source.write(BeginEvent("1", NOW), NOW)
    source.write(EndEvent("1", NOW, {"public.t": 2}), NOW, partition=1)
    source.flushed()
    assert (endings.read(), endings.ended(part("1"))) == (0, False)  # it is open
    source.producer.commit_transaction(PATIENCE)
    with pytest.raises(Transient, match=r"registry\.unreachable"):
        wait_until(lambda: endings.read() == 2)  # the marker is written after the commit is answered
    wait_until(lambda: endings.read() == 2)  # nothing is lost to the outage
    assert endings.ended(part("1"))
    assert not endings.ended(part("1:0/19282D0"))  # an id is whole
    assert endings.read() == 2  # a marker is no news

    source.producer.begin_transaction()
    source.write(EndEvent("2", NOW, {}), NOW)
    source.flushed()
    source.producer.abort_transaction(PATIENCE)
    assert (endings.read(), endings.ended(part("2"))) == (2, False)

    source.producer.begin_transaction()
    source.write(BeginEvent("3", NOW), NOW + 200_000)
    source.producer.commit_transaction(PATIENCE)
    wait_until(lambda: endings.read() == 3)
    assert not endings.ended(part("3"))
    assert not endings.ended(part("lost", NOW))
    source.producer.begin_transaction()
    source.write(BeginEvent("4", NOW), NOW + 400_000)
    source.producer.commit_transaction(PATIENCE)
    wait_until(lambda: endings.read() == 4)
    assert endings.ended(part("lost", NOW))  # so much came after it that it is over
    assert not endings.ended(part("4", NOW + 400_000))
