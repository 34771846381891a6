"""Every server boots, answers, and comes back from kill -9 with its data and on its port."""

import uuid
from pathlib import Path

import psycopg
import pymysql
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from tests.fixtures.servers import Database
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.control.local.stack.stack import Stack


def _produce(kafka: Broker, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 100_000_000})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def _consume(kafka: Broker, topic: str, count: int) -> list[bytes | None]:
    settings = {"bootstrap.servers": kafka.bootstrap, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    messages = consumer.consume(count, timeout=30)
    consumer.close()
    return [message.value() for message in messages]


@pytest.mark.full
def test_kafka_keeps_records_over_kill_9(kafka: Broker, topic_prefix: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic_prefix, 1, 1)])[topic_prefix].result(20)
    _produce(kafka, topic_prefix, [b"one", b"two"])
    kafka.process.kill()
    assert not kafka.process.running
    kafka.process.start()
    assert _consume(kafka, topic_prefix, 2) == [b"one", b"two"]


def test_kafka_takes_a_row_of_64_mb(kafka: Broker, topic_prefix: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(topic_prefix, 1, 1)])[topic_prefix].result(20)
    _produce(kafka, topic_prefix, [b"x" * 64 * 1024 * 1024])  # flush returns 0 only when it was taken
    partition = admin.list_topics(topic_prefix, timeout=10).topics[topic_prefix].partitions[0]
    assert partition.leader == 1


def test_kafka_makes_no_topic_by_itself(kafka: Broker, topic_prefix: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    assert admin.list_topics(topic_prefix, timeout=10).topics[topic_prefix].error is not None


@pytest.mark.full
def test_registry_keeps_ids_over_kill_9(registry: SchemaRegistry, topic_prefix: str) -> None:
    def schema(number: int) -> Schema:
        return Schema(f'{{"type": "fixed", "name": "{topic_prefix}", "size": {number + 1}}}', "AVRO")

    subject = f"{topic_prefix}-value"
    with SchemaRegistryClient({"url": registry.url}) as client:
        ids = [client.register_schema(subject, schema(number)) for number in range(5)]
        client.set_compatibility(subject, "FULL")
    registry.process.kill()
    registry.process.start()
    with SchemaRegistryClient({"url": registry.url}) as fresh:
        assert [fresh.register_schema(subject, schema(number)) for number in range(5)] == ids
        assert fresh.get_compatibility(subject) == "FULL"
        assert fresh.register_schema(f"{topic_prefix}-key", schema(9)) not in ids


def test_postgres_keeps_rows_and_slots_over_kill_9(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as db:
        db.execute("CREATE TABLE kept (a int)")
        db.execute("INSERT INTO kept VALUES (7)")
        db.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [database.name])
    database.server.process.kill()
    database.server.process.start()
    with psycopg.connect(database.dsn) as db:
        assert db.execute("SELECT a FROM kept").fetchall() == [(7,)]
        slots = db.execute("SELECT slot_name FROM pg_replication_slots WHERE database = %s", [database.name])
        assert slots.fetchall() == [(database.name,)]


@pytest.mark.deep
@pytest.mark.parametrize("major", [16, 17, 18])
def test_every_postgres_boots(stack: Stack, major: int) -> None:
    with psycopg.connect(stack.postgres(major).dsn) as db:
        assert db.info.server_version // 10000 == major
        assert db.execute("SHOW wal_level").fetchone() == ("logical",)


def _query(server: MysqlServer, statement: str) -> tuple[tuple[object, ...], ...]:
    with (
        pymysql.connect(host=server.host, port=server.port, user=server.user, autocommit=True) as db,
        db.cursor() as cursor,
    ):
        cursor.execute(statement)
        return tuple(cursor.fetchall())


@pytest.mark.parametrize("name", ["mariadb", pytest.param("mysql", marks=pytest.mark.deep)])
def test_binlog_server_keeps_rows_over_kill_9(stack: Stack, name: str) -> None:
    server = stack.mariadb() if name == "mariadb" else stack.mysql()
    database = f"d{uuid.uuid4().hex[:10]}"
    _query(server, f"CREATE DATABASE {database}")
    _query(server, f"CREATE TABLE {database}.kept (a int primary key)")
    _query(server, f"INSERT INTO {database}.kept VALUES (7)")
    server.process.kill()
    server.process.start()
    assert _query(server, f"SELECT a FROM {database}.kept") == ((7,),)
    settings = _query(server, "SHOW VARIABLES LIKE 'binlog\\_%'")
    assert ("binlog_format", "ROW") in settings
    assert ("binlog_row_metadata", "FULL") in settings
    assert ("binlog_row_image", "FULL") in settings


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["mysql", *(pytest.param(name, marks=pytest.mark.full) for name in ("mariadb", "path"))]
)
def test_a_binlog_server_lives_in_a_folder_with_a_space(tmp_path: Path, name: str) -> None:
    if name == "path" and not mariadb.is_installed():
        pytest.skip("no MariaDB on PATH")
    edition = {
        "mariadb": mariadb.pinned_edition,
        "mysql": mysql.pinned_mysql,
        "path": mariadb.installed_edition,
    }[name]()
    server = binlog_server.server(tmp_path / "two words", edition)
    server.process.start()
    try:
        assert _query(server, "SELECT 7") == ((7,),)
    finally:
        server.process.stop()
