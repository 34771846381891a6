"""An owner whose transactional id Kafka has ended begins again, unless it has a successor."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # it is public

from tests.integration.kafka.world import Names, committed, made_publisher, surely, until, values
from wrackline.control.local.stack import kafka as stack
from wrackline.control.local.stack.servers import Broker
from wrackline.producers.kafka.client import client
from wrackline.producers.kafka.transactor import Transactor
from wrackline.schemas.errors import Definite, Transient

pytestmark = pytest.mark.servers


@pytest.fixture
def names(topic_prefix: str) -> Names:
    return Names(topic_prefix)


@pytest.fixture
def forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """A broker that forgets an id after a second instead of after a week."""
    quick = {
        "transactional.id.expiration.ms": 1000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 200,
        "transaction.state.log.num.partitions": 1,
    }
    for name, value in quick.items():
        monkeypatch.setitem(stack.SETTINGS, name, value)
    broker = stack.broker(tmp_path)
    broker.process.start()
    yield broker
    broker.process.stop()


def end_of(broker: Broker, names: Names, level: IsolationLevel) -> int:
    """Where a reader's view of the task's own partition ends."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    partition = TopicPartition(names.offsets, 0)
    wanted = {partition: OffsetSpec.latest()}  # type: ignore[no-untyped-call]  # the client's gap
    found = admin.list_offsets(wanted, isolation_level=level)
    return int(found[partition].result(30).offset)


def test_an_owner_whose_transaction_took_too_long_begins_again(kafka: Broker, names: Names) -> None:
    """T-E06: Kafka's answer is the same as to an owner that has a successor."""
    slow = [True]

    class Slow(Transactor):
        def _end(self) -> None:
            if slow and slow.pop():
                levels = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
                until(lambda: len({end_of(kafka, names, level) for level in levels}) == 1, "it is aborted")
            super()._end()

    second = dict.fromkeys(("transaction_timeout_ms", "message_timeout_ms", "socket_timeout_ms"), 1000)
    short = client(kafka.bootstrap, **second)
    ours = made_publisher(kafka.bootstrap, names, kafka=short, transactor=Slow)
    ours.start()
    with pytest.raises(Transient, match="FENCED"):
        ours.publish([names.publication(5, *names.events("a"))])
    assert values(kafka.bootstrap, names.topic) == []
    assert ours.start().positions == {}
    surely(ours, names.publication(5, *names.events("a")))
    assert values(kafka.bootstrap, names.topic) == ["a"]


@pytest.mark.deep
def test_an_owner_whose_id_was_forgotten_begins_again_unless_it_has_a_successor(
    forgetful: Broker, names: Names
) -> None:
    """T-E09: the client alone would take a new id and continue, also that of a zombie."""
    newest = 1

    def forgotten() -> bool:
        told = [value for _, _, value in committed(forgetful.bootstrap, "__transaction_state")]
        return bool(told) and told[-1] is None

    ours = made_publisher(forgetful.bootstrap, names, newest=lambda: newest)
    ours.start()
    surely(ours, names.publication(5, *names.events("a")))
    until(forgotten, "the id is forgotten")
    with pytest.raises(Transient, match="INVALID_PRODUCER_ID_MAPPING"):
        ours.publish([names.publication(7, *names.events("b"))])
    assert values(forgetful.bootstrap, names.topic) == ["a"]
    newest = 2
    with pytest.raises(Definite, match=r"kafka\.superseded"):
        ours.start()
    newest = 1
    ours.start()
    surely(ours, names.publication(7, *names.events("b")))
    assert values(forgetful.bootstrap, names.topic) == ["a", "b"]
