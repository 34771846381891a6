"""From Kafka and the registry into Iceberg: what a transaction committed, and nothing else."""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # it is public
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from pyspark.sql import DataFrame, SparkSession

from tests.integration.targets.iceberg.world import settings
from wrackline.consumers.batch import Batches
from wrackline.consumers.kafka_settings import asking, reading
from wrackline.consumers.planning import Rules
from wrackline.consumers.targets.iceberg.target import IcebergTarget
from wrackline.consumers.topics import Topics
from wrackline.control.stack.servers import Broker, SchemaRegistry
from wrackline.schemas import registry as registries
from wrackline.schemas.envelope import dump, key_schema, value_schema
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.topics import table_topic
from wrackline.schemas.types import ColumnType, Kind, exact_number

ID = Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False)
AMOUNT = Column("amount", 2, exact_number("numeric(10,2)", 10, 2), nullable=False)
NOTE = Column("note", 3, ColumnType(Kind.STRING, "text"))
AT = Column("at", 4, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"))
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)
TEXT = "2026-01-02T12:00:00.123456Z"

READ_COMMITTED, READ_UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED

Row = dict[str, object]


class Table:
    """One table's topic, and a transactional producer of its events."""

    def __init__(self, world: "World", columns: Sequence[Column] = (ID, AMOUNT, NOTE, AT)) -> None:
        self._world = world
        self.id = TableId("shop", world.namespace, "orders")
        self.topic = table_topic(world.server, self.id)
        self._seq = 0
        world.create(self.topic)
        self._producer = Producer(
            {
                "bootstrap.servers": world.kafka.bootstrap,
                "transactional.id": self.topic,
                "linger.ms": 0,
                "transaction.timeout.ms": 300_000,
            }
        )
        self._producer.init_transactions(30)
        self.reshape(columns)

    def reshape(self, columns: Sequence[Column]) -> None:
        """Write with other columns from here on."""
        table = TableSchema(self.id, tuple(columns), ("id",), KeyKind.PRIMARY)
        self._key = self._registered("key", key_schema(table, topic=self.topic))
        value = value_schema(table, topic=self.topic, connector="test", source_fields=[])
        self._value = self._registered("value", value)

    def _registered(self, part: str, of: Mapping[str, Any] | None) -> tuple[int, Any]:
        text = dump(dict(of or {}))
        number = self._world.registry.register_schema(f"{self.topic}-{part}", Schema(text, "AVRO"))
        return number, fastavro.parse_schema(dict(of or {}))

    @contextmanager
    def transaction(self, *, abort: bool = False) -> Iterator[None]:
        self._producer.begin_transaction()
        yield
        if abort:
            assert self._producer.flush(30) == 0  # it is in the log, and must not be seen
            self._producer.abort_transaction(30)
        else:
            self._producer.commit_transaction(30)
        self._world.await_markers(self.topic)

    def event(self, op: str, row: Row, *, unsent: Sequence[str] = (), seq: int | None = None) -> None:
        """Produce one event; a delete is followed by its tombstone."""
        self._seq += 1
        value = {
            "before": row if op == "d" else None,
            "after": row if op in "cur" else None,
            "source": {
                "version": "1", "connector": "test", "name": self._world.server, "ts_ms": 1_767_355_200_000,
                "db": self.id.database, "schema": self.id.schema, "table": self.id.name,
                "unchanged": list(unsent) or None,
            },
            "op": op, "ts_ms": None, "transaction": None,
            "seq": f"{self._seq if seq is None else seq:08x}",
        }  # fmt: skip
        key = None if op == "t" else wire(self._key, {"id": row["id"]})
        self.raw(key, wire(self._value, value))
        if op == "d":
            self.raw(key, None)

    def raw(self, key: bytes | None, value: bytes | None) -> None:
        self._producer.produce(self.topic, value, key)

    def rows(self) -> set[tuple[object, ...]]:
        return {tuple(row) for row in self._seen().collect()}

    def columns(self) -> list[str]:
        return self._seen().columns

    def snapshots(self) -> int:
        return self._world.spark.newSession().table(f"lake.{self.id.schema}.orders.snapshots").count()

    def _seen(self) -> DataFrame:
        rows = self._world.target.rows(self.id)
        assert rows is not None
        return rows


def wire(written: tuple[int, Any], value: Mapping[str, object]) -> bytes:
    """Encode as the Confluent wire format wants it."""
    out = io.BytesIO(b"\0" + written[0].to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, written[1], value)
    return out.getvalue()


class World:
    """A server's topics and the pipeline that reads them."""

    def __init__(
        self, spark: SparkSession, kafka: Broker, registry: SchemaRegistry, server: str, namespace: str
    ) -> None:
        self.spark, self.kafka, self.server, self.namespace = spark, kafka, server, namespace
        self.registry = SchemaRegistryClient({"url": registry.url})
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        self.target = IcebergTarget(settings(spark), spark)
        given = {"bootstrap.servers": kafka.bootstrap}
        self._topics = Topics(asking(given))
        self._texts = registries.Registry(registries.Access(registry.url))
        self._batches = Batches(spark, self._topics, self.target, Rules(reading(given), self._texts.text))

    def create(self, topic: str) -> None:
        self._admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)

    def await_markers(self, topic: str) -> None:
        """Wait until what has ended shows as ended: a commit is answered before its markers are written."""
        deadline = time.monotonic() + 30
        while self._ends(topic, READ_COMMITTED) != self._ends(topic, READ_UNCOMMITTED):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def _ends(self, topic: str, level: IsolationLevel) -> list[int]:
        wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(2)}  # type: ignore[no-untyped-call]  # the client's gap
        found = self._admin.list_offsets(wanted, isolation_level=level)
        return [found[partition].result(30).offset for partition in wanted]

    def round(self) -> dict[str, int | WracklineError]:
        """Merge what is new in each topic: how many offsets, or what kept it from that."""
        done: dict[str, int | WracklineError] = {}
        for topic, ends in self._topics.ends(self.server).items():
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


@pytest.fixture
def world(
    spark: SparkSession, kafka: Broker, registry: SchemaRegistry, topic_prefix: str, namespace: str
) -> Iterator[World]:
    made = World(spark, kafka, registry, topic_prefix, namespace)
    yield made
    made.close()


def order(number: int, amount: str = "1.50", note: str | None = "n") -> Row:
    return {"id": number, "amount": Decimal(amount), "note": note, "at": TEXT}


def merged(number: int, amount: str = "1.50", note: str | None = "n") -> tuple[object, ...]:
    return (number, Decimal(amount), note, NOON.replace(tzinfo=None))


def test_what_was_committed_arrives_and_what_was_aborted_does_not(world: World) -> None:
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
