"""Two consumers of one pipeline and target: the newer one merges, and the older one ends."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from os import getpid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from tests.e2e.written import Server, Written, order
from tests.fixtures.cut_proxy import CutProxy
from tests.fixtures.servers import Database
from tests.integration.running.world import wait_until
from tests.integration.targets.delta import world as delta
from tests.integration.targets.iceberg import world as iceberg
from tests.integration.targets.postgres import world as postgres
from wrackline.consumers.batch.batch import Batches
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.drive.claim import ConsumerClaim, claim_name
from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.targets import delta as delta_target
from wrackline.consumers.targets import iceberg as iceberg_target
from wrackline.consumers.targets import postgres as postgres_target
from wrackline.control.local.stack.servers import HOST, Broker, SchemaRegistry
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka.schema_registry import RegistryAccess, RegistryClient
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.pipelines.lineage_names import Located

pytestmark = pytest.mark.servers

LAKE = Located("file", "/lake")
TAKEN = """
import sys, time
from tests.integration.consuming.test_claim import LAKE, claim_at
claim = claim_at(sys.argv[1], sys.argv[2])
claim.take()
claim.hold()
print("held", flush=True)
time.sleep(600)
"""


def claim_at(
    brokers: str,
    server: str,
    at: Located = LAKE,
    warned: list[WracklineError] | None = None,
    naming: Naming = Naming.WRACKLINE,
) -> ConsumerClaim:
    given = client_settings({"bootstrap.servers": brokers})
    warn = ([] if warned is None else warned).append
    return ConsumerClaim(given, server, naming, claim_name(server, at), warn, lambda: 1)


@pytest.fixture
def server(kafka: Broker, topic_prefix: str) -> str:
    """A server with two topics."""
    make_topics(kafka, *(f"{topic_prefix}.shop.public.{name}" for name in ("items", "orders")))
    return topic_prefix


def make_topics(kafka: Broker, *names: str) -> None:
    """Make them, and wait until the broker lists them, which is a moment later."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for made in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        made.result(30)
    wait_until(lambda: set(names) <= set(admin.list_topics(timeout=10).topics))


def fenced(claim: ConsumerClaim) -> str:
    with pytest.raises(OperatorNeeded) as refused:
        claim.hold()
    assert refused.value.code == "consume.fenced"
    return refused.value.sentence


def test_the_newer_of_two_holds_the_claim(kafka: Broker, server: str) -> None:
    older, elsewhere = (claim_at(kafka.bootstrap, server, at) for at in (LAKE, Located("file", "/other")))
    for one in (older, elsewhere):
        one.take()
        one.hold()
    newer = claim_at(kafka.bootstrap, server)
    newer.take()
    assert f"host {socket.gethostname()}, process {getpid()}" in fenced(older)
    newer.hold()
    fenced(older)
    newer.take()
    newer.hold()
    elsewhere.hold()
    third = claim_at(kafka.bootstrap, server)
    third.take()
    fenced(newer)
    for one in (older, newer, third, elsewhere):
        one.close()


def test_a_newer_one_that_names_topics_in_the_other_form_is_found(kafka: Broker, server: str) -> None:
    make_topics(kafka, f"{server}.public.orders")
    older = claim_at(kafka.bootstrap, server)
    with closing(older), closing(claim_at(kafka.bootstrap, server, naming=Naming.DEBEZIUM)) as newer:
        older.take()
        newer.take()
        newer.hold()
        fenced(older)
        newer.hold()


def test_a_producer_that_kafka_has_ended_is_no_newer_consumer(kafka: Broker, server: str) -> None:
    """As after a week of silence, or a transaction that took too long: nobody has written a number."""
    claim = claim_at(kafka.bootstrap, server)
    claim.take()
    other = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": claim.name})
    other.init_transactions(30)
    claim.hold()
    claim.close()


def test_a_claim_before_the_first_topic(kafka: Broker, topic_prefix: str) -> None:
    older, newer = (claim_at(kafka.bootstrap, topic_prefix) for _ in range(2))
    older.take()
    newer.take()
    make_topics(kafka, f"{topic_prefix}.shop.public.orders")
    newer.hold()
    fenced(older)
    newer.hold()
    older.close()
    newer.close()


def test_a_killed_consumer_keeps_nobody_waiting(kafka: Broker, server: str) -> None:
    command = [sys.executable, "-c", TAKEN, kafka.bootstrap, server]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.send_signal(signal.SIGKILL)
    again = claim_at(kafka.bootstrap, server)
    again.take()
    again.hold()
    again.close()


@pytest.mark.full
def test_a_broker_that_is_away_is_waited_for(
    kafka: Broker, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wrackline.consumers.drive.claim._TIMEOUT", 3.0)
    with CutProxy(kafka.proxied_port, kafka.proxy_port) as brokers:
        claim = claim_at(f"{HOST}:{brokers.port}", server)
        brokers.refuse()
        with pytest.raises(Transient, match=r"consume.claim_unconfirmed"):
            claim.take()
        brokers.heal()
        _until_held(claim.take)
        claim.hold()
        brokers.refuse()
        brokers.cut()
        with pytest.raises(Transient, match=r"consume.claim_unconfirmed"):
            claim.hold()
        brokers.heal()
        _until_held(claim.hold)
        brokers.cut()  # while nothing is asked: the client waits for a coordinator that it has lost
        _until_held(claim.hold)
        claim.close()


def _until_held(asks: Callable[[], None]) -> None:
    for _ in range(30):
        try:
            return asks()
        except Transient:
            continue
    return asks()


class Two:
    """One table's topic, and two consumers that copy it in the run's one Spark session."""

    def __init__(
        self,
        spark: SparkSession,
        table: Written,
        kafka: Broker,
        texts: RegistryClient,
        opened: list[SparkTarget],
    ) -> None:
        given = {"bootstrap.servers": kafka.bootstrap}
        server = table.topic.partition(".")[0]
        self.table, self.targets = table, opened
        self.topics = TopicOffsets(client_settings(given))
        self.claims = [claim_at(kafka.bootstrap, server) for _ in opened]
        self._batches = [
            Batches(spark, self.topics, target, BatchRules(spark_options(given), texts.text, hold=claim.hold))
            for target, claim in zip(opened, self.claims, strict=True)
        ]

    def write(self, *numbers: int) -> None:
        with self.table.transaction():
            for number in numbers:
                self.table.event("c", order(number))

    def merge(self, which: int) -> None:
        (ends,) = self.topics.ends(self.table.topic.partition(".")[0], Naming.WRACKLINE).values()
        self._batches[which].merge(self.table.topic, ends)

    def close(self) -> None:
        for claim in self.claims:
            claim.close()
        for target in self.targets:
            target.close()


@pytest.fixture(
    params=[
        "iceberg",
        pytest.param("postgres", marks=pytest.mark.full),
        pytest.param("delta", marks=pytest.mark.deep),
    ]
)
def two(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    spark: SparkSession,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    namespace: str,
) -> Iterator[Two]:
    """Two consumers into one kind of target."""

    def opened() -> SparkTarget:
        if request.param == "postgres":
            database: Database = request.getfixturevalue("database")
            return postgres_target.PLUGIN.open(postgres.settings_of(database.dsn), spark)
        if request.param == "delta":
            return delta_target.PLUGIN.open(delta.settings(tmp_path / "lake"), spark)
        return iceberg_target.PLUGIN.open(iceberg.settings(spark), spark)

    written = Server(kafka, registry, topic_prefix, namespace)
    texts = RegistryClient(RegistryAccess(registry.url))
    with written.registry, closing(texts):
        made = Two(spark, Written(written), kafka, texts, [opened(), opened()])
        yield made
        made.close()


@pytest.mark.spark
def test_the_older_of_two_consumers_merges_nothing_behind_the_newer(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer one comes in the middle of a batch: before the older one asks, and after it was allowed."""
    older, newer = two.targets
    two.claims[0].take()
    two.write(1, 2)
    two.merge(0)

    two.write(3)
    apply = older.apply

    def frozen(*given: object) -> None:
        monkeypatch.setattr(older, "apply", apply)
        two.claims[1].take()
        two.merge(1)
        apply(*given)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(older, "apply", frozen)
    with pytest.raises(Transient, match=r"target.moved_on"):
        two.merge(0)

    two.write(4)
    before = newer.applied(two.table.id)
    with pytest.raises(OperatorNeeded, match=r"consume.fenced"):
        two.merge(0)
    assert newer.applied(two.table.id) == before
    two.merge(1)
    assert sum(newer.applied(two.table.id).offsets.values()) > sum(before.offsets.values())
