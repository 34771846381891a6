"""Topics that Debezium wrote from PostgreSQL, in JSON and in Avro, become an Iceberg table by a flow."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.avro.functions import from_avro

from bench.peers.connect import Connect, avro
from tests.fixtures.servers import Database
from tests.integration.interop.connectors import JSON, connector
from tests.integration.running.world import committed, wait_until
from tests.integration.targets.iceberg.world import FEW_ROWS, settings
from wrackline.consumers.auto_cdc.flow_batch import FlowReadSettings
from wrackline.consumers.auto_cdc.flows import Flows
from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.schemas.tables.table import TableId

pytestmark = pytest.mark.deep

PLACEHOLDER = "__debezium_unavailable_value"
TABLE = TableId("legacy", "sales", "orders")
MADE = """
CREATE TABLE orders (
    id bigint PRIMARY KEY, name text, price numeric(12,2), ok boolean, ratio double precision, born date,
    at timestamp, instant timestamptz, ref uuid, doc jsonb, raw bytea, big text
);
ALTER TABLE orders ALTER big SET STORAGE EXTERNAL;
CREATE PUBLICATION dbz FOR TABLE orders;
"""
INSERT = """
INSERT INTO orders SELECT k, 'größe ' || k, k - 2.75, k % 2 = 0, k / 3.0::float8, date '1969-12-28' + k,
    timestamp '1969-12-31 23:59:59.123456' + k * interval '1 day',
    timestamptz '2026-01-02 03:04:05.678901+05:30' + k * interval '1 hour',
    ('00000000-0000-4000-8000-0000000000' || lpad(k::text, 2, '0'))::uuid, jsonb_build_object('k', k),
    decode(repeat('00ff', k), 'hex'), repeat('b' || k, 4000)
FROM generate_series({first}, {last}) k
"""
ROUNDS = (
    (
        INSERT.format(first=11, last=16),
        "UPDATE orders SET name = NULL, price = -0.01, ok = NULL, raw = '\\x' WHERE id = 1",
        "UPDATE orders SET big = 'short' WHERE id = 2",
        "UPDATE orders SET id = 50, big = 'moved' WHERE id = 3",
        "DELETE FROM orders WHERE id = 4",
        "DELETE FROM orders WHERE id = 5",
        "INSERT INTO orders (id, name) VALUES (5, 'again')",
        "INSERT INTO orders (id, name) VALUES (98, 'last of 0')",
    ),
    (
        "UPDATE orders SET name = name || '+' WHERE id IN (2, 11, 50)",
        "DELETE FROM orders WHERE id IN (1, 12)",
        "UPDATE orders SET id = 4, big = 'once more' WHERE id = 13",
        "INSERT INTO orders (id, name) VALUES (99, 'last of 1')",
    ),
    (
        "TRUNCATE orders",
        INSERT.format(first=2, last=4),
        "DELETE FROM orders WHERE id = 3",
        "INSERT INTO orders (id, name) VALUES (99, 'last of 2')",
    ),
)
# each as a text or a number that both sides give exactly
SOURCE = """
SELECT id, name, price::text, ok, ratio, born, (extract(epoch FROM at) * 1000000)::bigint,
       (extract(epoch FROM instant) * 1000000)::bigint, ref::text, doc::text, encode(raw, 'hex'), big
FROM orders ORDER BY id
"""
COPY = (
    *("id", "name", "CAST(price AS string)", "ok", "ratio", "born", "unix_micros(at)"),
    *("unix_micros(instant)", "ref", "doc", "lower(hex(raw))", "big"),
)
# what stands in Debezium's JSON; in Avro the schema says it
FIELDS = (
    "id bigint, name string, price string, ok boolean, ratio double, born int, at bigint, instant string,"
    " ref string, doc string, raw string, big string"
)
Read = Callable[[Column], Column]


def from_json(value: Column) -> Column:
    return F.from_json(
        value.cast("string"),
        f"op string, before struct<{FIELDS}>, after struct<{FIELDS}>, source struct<lsn: bigint>",
        {"mode": "FAILFAST"},
    )


def row(events: DataFrame, raw: Read) -> DataFrame:
    """Make columns of an envelope: the key of a delete stands in `before`."""
    row = F.when(F.col("e.op") == "d", F.col("e.before")).otherwise(F.col("e.after"))
    big = row["big"]
    return events.where("e IS NOT NULL").select(
        F.col("e.op").alias("op"),
        F.col("e.source.lsn").alias("lsn"),
        *(row[name].alias(name) for name in ("id", "name", "ok", "ratio", "ref", "doc")),
        row["price"].cast("decimal(12,2)").alias("price"),
        F.date_from_unix_date(row["born"]).alias("born"),
        F.timestamp_micros(row["at"]).alias("at"),
        row["instant"].cast("timestamp").alias("instant"),
        raw(row["raw"]).alias("raw"),
        F.when(big != PLACEHOLDER, big).alias("big"),
    )


class Feed:
    """A topic of Debezium's, and the table that its flow makes."""

    def __init__(self, spark: SparkSession, kafka: Broker, topic: str, namespace: str) -> None:
        self.spark = spark
        self.kafka = kafka
        self.topic = topic
        self.target = open_iceberg(settings(spark, namespace=namespace), spark)

    def values(self) -> list[bytes]:
        """Every value that stands in the topic, without tombstones."""
        return [value for _, value in committed(self.kafka.bootstrap, self.topic) if value]

    def merge(self, read: Read, raw: Read) -> None:
        """Merge what is there, as a script that is started again."""
        given = {"bootstrap.servers": self.kafka.bootstrap}
        flows = Flows(
            self.spark,
            TopicOffsets(client_settings(given)),
            self.target,
            FlowReadSettings(spark_options(given), "_wl_", 5, 0),
        )

        @flows.view(topic=self.topic)
        def orders(records: DataFrame) -> DataFrame:
            return row(records.where("value IS NOT NULL").select(read(F.col("value")).alias("e")), raw)

        flows.create_auto_cdc_flow(
            str(TABLE),
            "orders",
            ["id"],
            "lsn",
            apply_as_deletes="op = 'd'",
            apply_as_truncates="op = 't'",
            except_column_list=["op", "lsn"],
            ignore_null_updates_column_list=["big"],
        )
        while not flows.merge(*next(iter(flows.look().items()))).empty:
            pass

    def rows(self) -> list[tuple[Any, ...]]:
        """Return what a reader sees."""
        found = self.target.rows(TABLE)
        assert found is not None
        return [tuple(one) for one in found.selectExpr(*COPY).orderBy("id").collect()]


@pytest.fixture
def feed(spark: SparkSession, kafka: Broker, topic_prefix: str, namespace: str) -> Iterator[Feed]:
    for name, value in FEW_ROWS.items():
        spark.conf.set(name, value)
    yield Feed(spark, kafka, f"{topic_prefix}.public.orders", namespace)
    for name in FEW_ROWS:
        spark.conf.unset(name)


@contextmanager
def captured(
    connect: Connect, database: Database, prefix: str, converters: dict[str, str]
) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """Let Debezium read the table, with its rows of before."""
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "exactly.once.support": "required",
        "topic.prefix": prefix,
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.server.port),
        "database.user": "postgres",
        "database.password": "any",
        "database.dbname": database.name,
        "plugin.name": "pgoutput",
        "slot.name": f"dbz_{prefix}",
        "publication.name": "dbz",
        "publication.autocreate.mode": "disabled",
        "table.include.list": "public.orders",
        "skipped.operations": "none",
        "poll.interval.ms": "50",
        **converters,
    }
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute(MADE)
        sql.execute(INSERT.format(first=1, last=6))
        with connector(connect, f"dbz-{prefix}", config):
            yield sql


def follow(
    connect: Connect,
    feed: Feed,
    sql: psycopg.Connection[tuple[Any, ...]],
    prefix: str,
    reader: Callable[[], Read],
    raw: Read,
) -> None:
    """Change the table in rounds; behind each the copy equals it."""

    def came(least: int, text: bytes) -> bool:
        connect.check(f"dbz-{prefix}")
        values = feed.values()
        return len(values) >= least and any(text in value for value in values)

    wait_until(lambda: came(6, b""), look=0.2)
    read = reader()
    for number, statements in enumerate(ROUNDS):
        for statement in statements:
            sql.execute(statement)
        wait_until(lambda number=number: came(6, f"last of {number}".encode()), look=0.2)  # type: ignore[misc]  # bound now
        feed.merge(read, raw)
        assert feed.rows() == sql.execute(SOURCE).fetchall(), number


def test_a_flow_over_debeziums_json_has_what_the_source_has(
    connect: Connect, feed: Feed, database: Database, topic_prefix: str
) -> None:
    converters = {**JSON, "decimal.handling.mode": "string"}
    with captured(connect, database, topic_prefix, converters) as sql:
        follow(connect, feed, sql, topic_prefix, lambda: from_json, F.unbase64)
    ops = {json.loads(value)["op"] for value in feed.values()}
    assert ops == {"r", "c", "u", "d", "t"}


def test_a_flow_over_debeziums_avro_has_what_the_source_has(
    connect: Connect, feed: Feed, database: Database, registry: SchemaRegistry, topic_prefix: str
) -> None:
    def by_schema() -> Read:
        number = int.from_bytes(feed.values()[0][1:5])
        with SchemaRegistryClient({"url": registry.url}) as client:
            schema = client.get_schema(number).schema_str
        assert schema is not None
        # Confluent's wire format: five bytes before the event
        return lambda value: from_avro(value.substr(F.lit(6), F.length(value)), schema, {"mode": "FAILFAST"})

    with captured(connect, database, topic_prefix, avro(registry.url)) as sql:
        follow(connect, feed, sql, topic_prefix, by_schema, lambda value: value)
    assert {value[0] for value in feed.values()} == {0}
