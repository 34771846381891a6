"""The walking skeleton, step by step: PostgreSQL's log through Kafka into Iceberg, value for value."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from tests.fixtures.servers import Database
from tests.integration.targets.iceberg.world import settings as lake_settings
from wrackline.consumers.batch.batch import Batches
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.parts.comparison import CopyComparison, compare_shop
from wrackline.control.local.demo.parts.worker_process import worker_process
from wrackline.control.local.demo.shops.postgres import PostgresShop
from wrackline.control.local.demo.shops.shop import StatementResult
from wrackline.control.local.demo.warehouses.iceberg import IcebergWarehouse, rows_of
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.schemas.errors import Transient
from wrackline.schemas.kafka.schema_registry import RegistryAccess, RegistryClient
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition, TableSchema

TOASTED = "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'orders'"


class World:
    """A shop, its worker, and the rounds that merge what it publishes."""

    def __init__(
        self, spark: SparkSession, shop: PostgresShop, file: Path, registry: RegistryClient, namespace: str
    ) -> None:
        shop.create()
        self.session = shop.open()
        self.db = psycopg.connect(shop.dsn, autocommit=True)
        self._spark, self._shop = spark, shop
        self._values = demo_pipeline.read_pipeline(file)
        self._partition = SourcePartition(self._values.text("topic.prefix"), shop.database)
        given = self._values.below("kafka.")
        self._topics = TopicOffsets(client_settings(given))
        self._target = open_iceberg(lake_settings(spark, namespace=namespace), spark)
        self._batches = Batches(
            spark, self._topics, self._target, BatchRules(spark_options(given), registry.text)
        )
        self.lake = f"lake.{namespace}.orders"

    def verdict(self) -> CopyComparison | None:
        """Compare; nothing while there is no copy."""
        rows, described = self._target.rows(self._shop.table), self._described()
        return None if rows is None else compare_shop(self._shop, described, rows_of(described, rows))

    def arrives(self) -> CopyComparison | None:
        """Merge until both sides are equal, or for long enough."""
        deadline = time.monotonic() + 90
        while True:
            with contextlib.suppress(Transient):  # a topic just made has no leader yet
                for topic, ends in self._topics.ends(self._partition.server, Naming.WRACKLINE).items():
                    self._batches.merge(topic, ends)
            verdict = self.verdict()
            if (verdict is not None and verdict.equal) or time.monotonic() > deadline:
                return verdict

    def _described(self) -> TableSchema:
        source = demo_pipeline.open_source(
            self._values, lambda table: pytest.fail(f"{table.id} is not written")
        )
        try:
            return source.describe(self._partition, self._shop.table)
        finally:
            source.close()


@pytest.fixture
def world(
    spark: SparkSession,
    database: Database,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    namespace: str,
    tmp_path: Path,
) -> Iterator[World]:
    shop = PostgresShop(database.server.port, database.name)
    port = choose(tmp_path / "worker", "rest")["rest"]
    file = demo_pipeline.write_pipeline(
        tmp_path,
        shop,
        brokers=kafka.bootstrap,
        registry=registry.url,
        target=IcebergWarehouse(tmp_path / "warehouse").settings,
        merged_by="alone",
        server=topic_prefix,
    )
    with RegistryClient(RegistryAccess(registry.url)) as texts:
        made = World(spark, shop, file, texts, namespace)
        worker = worker_process(tmp_path / "worker", file, port, topic_prefix)
        worker.start()
        yield made
        worker.stop()
        made.db.close()
        made.session.close()


@pytest.mark.full
def test_the_sequence_arrives_value_for_value_and_a_difference_is_seen(world: World) -> None:
    db = world.db
    assert world.session.insert(12, 1) == StatementResult(12, list(range(1, 13)))
    world.session.commit()
    assert db.execute(TOASTED).fetchone() != (0,)
    assert world.arrives() == CopyComparison(12, 19)

    db.execute("UPDATE orders SET status = 'sent', amount = -0.01 WHERE id <= 6")  # story is not sent
    assert world.arrives() == CopyComparison(12, 19)

    db.execute("UPDATE orders SET id = id + 100, story = story || '!' WHERE id IN (2, 3)")
    db.execute("UPDATE orders SET id = 2, story = NULL WHERE id = 4")  # an id that was used before
    db.execute("UPDATE orders SET id = 107 WHERE id = 7")  # story is not sent, and the key is new
    assert world.arrives() == CopyComparison(12, 19)

    db.execute("DELETE FROM orders WHERE id IN (5, 102)")
    assert world.arrives() == CopyComparison(10, 19)

    world.session.add_column()  # no event says what the rows have in it
    assert world.arrives() == CopyComparison(10, 20)

    world._spark.sql(f"UPDATE {world.lake} SET amount = amount + 0.01 WHERE id = 1")
    assert world.verdict() == CopyComparison(10, 20, changed=("1: amount",))
    world._spark.sql(f"DELETE FROM {world.lake} WHERE id = 6")
    assert world.verdict() == CopyComparison(10, 20, missing=("6",), changed=("1: amount",))
    db.execute("ALTER TABLE orders DROP COLUMN gift_wrap")
    assert world.verdict() == CopyComparison(10, 19, absent=("gift_wrap",))
