"""From Kafka and the registry into Iceberg: what a transaction committed, and nothing else."""

from collections.abc import Iterator
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.e2e.written import AMOUNT, AT, ID, NOTE, Server, Written, merged, order
from tests.integration.targets.iceberg.world import settings
from wrackline.consumers.batch.batch import Batches
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.kafka import record_reader
from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.record_reader import RecordReader
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import schema_registry as registries
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind


class Table(Written):
    """A written table, and its copy."""

    def __init__(self, world: "World") -> None:
        super().__init__(world)
        self._copies = world

    def rows(self) -> set[tuple[object, ...]]:
        return {tuple(row) for row in self._seen().collect()}

    def columns(self) -> list[str]:
        return self._seen().columns

    def snapshots(self) -> int:
        return self._copies.spark.newSession().table(f"lake.{self.id.schema}.orders.snapshots").count()

    def _seen(self) -> DataFrame:
        rows = self._copies.target.rows(self.id)
        assert rows is not None
        return rows


class World(Server):
    """A server's topics and the pipeline that reads them."""

    def __init__(
        self,
        spark: SparkSession,
        kafka: Broker,
        registry: SchemaRegistry,
        server: str,
        namespace: str,
        *,
        direct: bool,
    ) -> None:
        super().__init__(kafka, registry, server, namespace)
        self.spark, self.direct = spark, direct
        self.target = open_iceberg(settings(spark), spark)
        given = {"bootstrap.servers": kafka.bootstrap}
        self._topics = TopicOffsets(client_settings(given))
        self._texts = registries.RegistryClient(registries.RegistryAccess(registry.url))
        self._reader = RecordReader(client_settings(given), server)
        rules = BatchRules(spark_options(given), self._texts.text, reader=self._reader if direct else None)
        self._batches = Batches(spark, self._topics, self.target, rules)

    def round(self) -> dict[str, int | WracklineError]:
        """Merge what is new in each topic: how many offsets, or what kept it from that."""
        done: dict[str, int | WracklineError] = {}
        for topic, ends in self._topics.ends(self.server, Naming.WRACKLINE).items():
            try:
                done[topic] = self._batches.merge(topic, ends).offsets
            except WracklineError as error:
                done[topic] = error
        return done

    def merge(self) -> int:
        """Run one round of one table that has to work."""
        (only,) = self.round().values()
        if isinstance(only, WracklineError):
            raise only
        return only

    def close(self) -> None:
        self._texts.close()
        self._reader.close()


@pytest.fixture(params=[True, pytest.param(False, marks=pytest.mark.full)], ids=["directly", "by Spark"])
def world(
    spark: SparkSession,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    namespace: str,
    request: pytest.FixtureRequest,
) -> Iterator[World]:
    made = World(spark, kafka, registry, topic_prefix, namespace, direct=request.param)
    yield made
    made.close()


def test_what_has_no_room_in_one_batch_comes_with_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(world)
    with table.transaction():
        table.event("r", order(0))
    world.merge()
    for name in ("_MOST_SMALL_BYTES", "_MOST_BYTES"):
        monkeypatch.setattr(record_reader, name, 400)
    for number in range(1, 12):
        with table.transaction():
            table.event("c", order(number))
    before = table.snapshots()
    while world.merge() > 0:
        pass
    assert table.rows() == {merged(number) for number in range(12)}
    assert table.snapshots() - before > 2 or not world.direct


def test_what_was_committed_arrives_and_what_was_aborted_does_not(world: World) -> None:
    """T-K01."""
    table = Table(world)
    with table.transaction():
        for number in range(6):
            table.event("r", order(number))
    with table.transaction(abort=True):
        table.event("u", order(1, "666.00"))
        table.event("c", order(99))
        table.event("d", order(0))
    with table.transaction():
        table.event("u", order(2, "2.00", None), unsent=["note"])
        table.event("d", {"id": 3})
        table.event("c", order(30, note="moved"))
        table.event("d", {"id": 4})
    assert world.merge() > 0
    expected = {merged(0), merged(1), merged(2, "2.00"), merged(30, note="moved"), merged(5)}
    assert table.rows() == expected

    with table.transaction():
        table.event("u", order(5, "5.00", None), unsent=["note"])  # the stored note stays
        table.event("u", order(4, "4.00"), seq=1)  # older than its delete
    world.merge()
    assert table.rows() == expected - {merged(5)} | {merged(5, "5.00")}

    snapshots = table.snapshots()
    assert world.merge() == 0
    assert table.snapshots() == snapshots


def test_an_aborted_transaction_alone_moves_the_offsets(world: World) -> None:
    """T-E05."""
    table = Table(world)
    with table.transaction():
        table.event("c", order(1))
    world.merge()
    with table.transaction(abort=True):
        table.event("d", {"id": 1})
    assert world.merge() > 0
    assert world.merge() == 0
    assert table.rows() == {merged(1)}


def test_an_open_transaction_is_waited_for(world: World) -> None:
    table = Table(world)
    with table.transaction():
        table.event("c", order(1))
    with table.transaction():
        table.event("c", order(2))
        table._producer.flush(30)
        world.merge()
        assert table.rows() == {merged(1)}
    world.merge()
    assert table.rows() == {merged(1), merged(2)}


@pytest.mark.full
def test_columns_are_followed_by_identity(world: World) -> None:
    table = Table(world)
    with table.transaction():
        table.event("c", order(1, note="one"))
        table.event("c", order(2, note="two"))
    world.merge()
    with table.transaction():  # a batch with both shapes
        table.event("c", order(3, note="three"))
        old = order(2, "9.00", note="late")
        table.reshape(
            [
                ID,
                Column("note", 2, AMOUNT.type),  # the two names changed places
                Column("amount", 3, NOTE.type),
                Column("added", 5, ColumnType(Kind.INT32, "integer")),  # and `at` has gone
            ]
        )
        table.event("u", {"id": 1, "note": Decimal("7.00"), "amount": None, "added": 5}, unsent=["amount"])
    world.merge()
    assert table.columns() == ["id", "note", "amount", "added"]
    expected = {
        (1, Decimal("7.00"), "one", 5),
        (2, Decimal("1.50"), "two", None),
        (3, Decimal("1.50"), "three", None),
    }
    assert table.rows() == expected

    with table.transaction():  # an old event that was left behind does not bring its shape back
        table.reshape([ID, AMOUNT, NOTE, AT])
        table.event("u", old, seq=1)
    world.merge()
    assert table.columns() == ["id", "note", "amount", "added"]
    assert table.rows() == expected


@pytest.mark.full
def test_a_truncate_empties_the_table_once(world: World) -> None:
    table = Table(world)
    with table.transaction():
        for number in range(4):
            table.event("c", order(number))
    world.merge()
    with table.transaction():
        table.event("c", order(5))
        table.event("t", {})
        table.event("c", order(6))
    world.merge()
    assert table.rows() == {merged(6)}
    floor = world.target.applied(table.id).floor
    with table.transaction():
        table.event("c", order(7), seq=3)  # from before the truncate, but read after it
        table.event("c", order(8))
    world.merge()
    assert table.rows() == {merged(6), merged(8)}
    assert world.target.applied(table.id).floor == floor == f"{6:08x}"


@pytest.mark.full
def test_a_table_whose_schema_is_unknown_stays_behind_alone(world: World) -> None:
    good = Table(world)
    world.namespace += "_bad"
    bad = Table(world)
    with good.transaction():
        good.event("c", order(1))
    with bad.transaction():
        bad.event("c", order(1))
        bad.raw(b"\0\0\0\0\1x", b"\0" + (2_000_000).to_bytes(4, "big") + b"x")
    by_topic = world.round()
    assert good.rows() == {merged(1)}
    error = by_topic[bad.topic]
    assert isinstance(error, WracklineError)
    assert error.code == "registry.unknown_id"
    assert "2000000" in error.sentence
    assert world.target.applied(bad.id).offsets == {}
