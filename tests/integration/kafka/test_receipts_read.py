"""The topic of receipts on a real broker: of each request the newest, and what can't be read is reported."""

import threading
import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    ConfigResource,
)

from tests.integration.kafka.world import topic_arrives
from wrackline.control.local.stack.servers import Broker
from wrackline.producers.kafka.client import Identity, client
from wrackline.producers.kafka.requests_topic import prepare_requests, read_beside_others, read_receipts
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import SourcePartition

pytestmark = pytest.mark.servers

PLACE = SourcePartition("server", "d")


def test_each_request_is_as_its_newest_record_says(kafka: Broker, topic_prefix: str) -> None:
    topic, of = f"{topic_prefix}-requests", client(kafka.bootstrap)
    admin = AdminClient(of.admin())
    prepare_requests(admin, topic, 1, 3_000_000)
    prepare_requests(admin, topic, 1, 3_000_000)
    topic_arrives(admin, topic, 1)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    made = admin.describe_configs([resource])[resource].result(30)
    assert [made[name].value for name in ("max.message.bytes", "cleanup.policy")] == ["3000000", "compact"]
    first, second, gone, broken = (receipts.key("shop", PLACE, name) for name in ("a", "b", "c", "d"))
    value = {
        at: receipts.encode(receipts.accept("x", SnapshotKind.INCREMENTAL, ("t",), at)) for at in (1, 2, 3)
    }
    records: list[tuple[bytes, bytes | None]] = [
        (first, value[1]),
        (second, value[2]),
        (b"a stranger's", value[1]),
        (broken, b"{"),
        (gone, None),
        (first, value[3]),
    ]
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for key, body in records:
        producer.produce(topic, body, key, 0)
    assert producer.flush(20) == 0
    told: list[WracklineError] = []
    found = [
        (key.id, receipt.at_ms)
        for key, receipt in read_receipts(
            admin, of.reader(Identity("g", "shop", 0, 1)), topic, told.append, fenced=True
        )
    ]
    assert found == [("b", 2), ("a", 3)], "those that changed last come last"
    assert [(one.code, "offset 3" in one.sentence) for one in told] == [(receipts.BROKEN.code, True)]


def test_a_transaction_of_a_neighbour_delays_a_read_and_hides_nothing(
    kafka: Broker, topic_prefix: str
) -> None:
    topic, of = f"{topic_prefix}-requests", client(kafka.bootstrap)
    admin = AdminClient(of.admin())
    prepare_requests(admin, topic, 1, 3_000_000)
    topic_arrives(admin, topic, 1)
    neighbour = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    neighbour.init_transactions(20)
    neighbour.begin_transaction()
    value = receipts.encode(receipts.accept("x", SnapshotKind.INCREMENTAL, ("t",), 1))
    neighbour.produce(topic, value, receipts.key("shop", PLACE, "b"), 0)
    assert neighbour.flush(20) == 0
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        if looks == 2:  # it was hidden once
            threading.Thread(target=neighbour.commit_transaction, args=(20,)).start()
        return time.monotonic()

    reader = of.reader(Identity("g", "shop", 0, 1))
    found = read_beside_others(admin, reader, topic, lambda error: pytest.fail(str(error)), clock)
    assert [key.id for key, _ in found] == ["b"]
    assert looks >= 2
