"""Debezium's JDBC sink and `ExtractNewRecordState` on a real Connect worker copy what we publish.

Each table is copied twice: from the envelope as it stands, and from what the transform makes of it.  The sink
makes the tables itself.  A table's last change is its row 99: once that is there, all before it was applied,
because a topic here has one partition.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from bench.peers.connect import Connect, avro
from tests.fixtures.servers import Database
from tests.integration.interop.connectors import connector
from tests.integration.running.world import World, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

PLACEHOLDER = "__debezium_unavailable_value"
WAYS = ("enveloped", "unwrapped")
# each with the columns that are compared, as what reader and sink both call them
TABLES = {
    "kinds": "id, small, name, price, exact, ok, ratio, born, at, instant, ref, doc, raw, clock",
    "lines": "order_id, line, note",
    "whole": "id, n, big",
    "large": "id, n, big",
}
MADE = """
CREATE TABLE kinds (
    id bigint PRIMARY KEY, small smallint, name varchar(40), price numeric(12,2), exact numeric(38,10),
    ok boolean, ratio double precision, born date, at timestamp, instant timestamptz, ref uuid,
    doc jsonb, raw bytea, clock time
);
CREATE TABLE lines (order_id int, line int, note text, PRIMARY KEY (order_id, line));
CREATE TABLE whole (id int PRIMARY KEY, n int, big text);
CREATE TABLE large (id int PRIMARY KEY, n int, big text);
ALTER TABLE whole REPLICA IDENTITY FULL;
ALTER TABLE whole ALTER big SET STORAGE EXTERNAL;
ALTER TABLE large ALTER big SET STORAGE EXTERNAL;
"""
KINDS = """
INSERT INTO kinds SELECT k, -k, 'größe ' || k, k + 0.25, -1234567890123456789.0123456789 * k,
    k % 2 = 0, k / 3.0::float8,
    date '2026-02-28' + k, timestamp '1969-12-31 23:59:59.123456' + k * interval '1 day',
    timestamptz '2026-01-02 03:04:05.678901+05:30' + k * interval '1 hour',
    ('00000000-0000-4000-8000-0000000000' || lpad(k::text, 2, '0'))::uuid,
    jsonb_build_object('k', k, 'l', '[1, null]'::jsonb),
    decode(repeat('00ff', k), 'hex'), time '23:59:59.999999' - k * interval '1 second'
FROM generate_series({first}, {last}) k;
"""
BEFORE = """
INSERT INTO lines SELECT o, l, o || '/' || l FROM generate_series(1, 3) o, generate_series(1, 2) l;
INSERT INTO whole SELECT k, k, repeat('w' || k, 4000) FROM generate_series(1, 3) k;
INSERT INTO large SELECT k, k, repeat('l' || k, 4000) FROM generate_series(1, 3) k;
INSERT INTO kinds (id) VALUES (9);
"""
CHANGES = """
UPDATE kinds SET name = 'new', price = -0.01, ok = NULL, doc = NULL, raw = '\\x' WHERE id = 1;
UPDATE kinds SET name = NULL, born = '9999-12-31' WHERE id = 2;
UPDATE kinds SET id = 50, name = 'moved' WHERE id = 3;
DELETE FROM kinds WHERE id = 4;
INSERT INTO kinds (id, name) VALUES (4, 'again');
DELETE FROM kinds WHERE id = 5;
UPDATE kinds SET small = 7 WHERE id = 9;
BEGIN; INSERT INTO lines VALUES (7, 1), (7, 2); DELETE FROM lines WHERE (order_id, line) = (7, 1); COMMIT;
BEGIN; DELETE FROM lines; ROLLBACK;
UPDATE lines SET line = 9, note = 'moved' WHERE order_id = 2 AND line = 1;
DELETE FROM lines WHERE order_id = 1;
UPDATE whole SET n = 20 WHERE id = 2;
UPDATE whole SET id = 30 WHERE id = 3;
DELETE FROM whole WHERE id = 1;
UPDATE large SET n = 20 WHERE id = 2;
UPDATE large SET big = 'short' WHERE id = 3;
"""
LAST = """
INSERT INTO lines VALUES (99, 99, 'last');
INSERT INTO whole VALUES (99, 99, 'last');
INSERT INTO large VALUES (99, 99, 'last');
"""

Rows = list[tuple[Any, ...]]


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A pipeline over all tables, with their rows."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, 0)
    given = made.file.read_text().replace('"no_data"', '"initial"')
    names = ",".join(f"public.{name}" for name in TABLES)
    made.file.write_text(given.replace("public.orders", names))
    made.sql.execute(MADE)
    yield made
    made.close()


@pytest.fixture
def copy(database: Database) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A second database, where the sinks write."""
    name = sql.Identifier(f"{database.name}_copy")
    with psycopg.connect(database.server.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(name))
        with psycopg.connect(database.server.database_dsn(f"{database.name}_copy"), autocommit=True) as made:
            for way in WAYS:
                made.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(way)))
            yield made
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def topic(world: World, table: str) -> str:
    """Name the topic of a table."""
    return f"{world.prefix}.{world.database.name}.public.{table}"


def sink(world: World, way: str) -> dict[str, str]:
    """Configure a sink for all topics."""
    place = f"127.0.0.1:{world.database.server.port}/{world.database.name}_copy"
    given = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "tasks.max": "1",
        "topics": ",".join(topic(world, name) for name in TABLES),
        "connection.url": f"jdbc:postgresql://{place}?sslmode=disable",
        "connection.username": "postgres",
        "connection.password": "any",
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "consumer.override.auto.offset.reset": "earliest",
        "consumer.override.isolation.level": "read_committed",
        "transforms": "short",
        "transforms.short.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.short.regex": r".*\.(\w+)",
        "transforms.short.replacement": "$1",
        "collection.name.format": f"{way}.${{topic}}",
        **avro(world.registry.url),
    }
    if way == "unwrapped":
        given["transforms"] = "unwrap,short"
        given["transforms.unwrap.type"] = "io.debezium.transforms.ExtractNewRecordState"
        given["transforms.unwrap.delete.tombstone.handling.mode"] = "tombstone"
    return given


def rows(connection: psycopg.Connection[tuple[Any, ...]], schema: str, table: str) -> Rows:
    """Return a table as it stands."""
    found = connection.execute(f'SELECT {TABLES[table]} FROM "{schema}"."{table}"').fetchall()
    return sorted(found, key=repr)


def is_last(connection: psycopg.Connection[tuple[Any, ...]], schema: str, table: str) -> bool:
    """Whether a table's last change has come."""
    if connection.execute("SELECT to_regclass(%s)", [f"{schema}.{table}"]).fetchone() == (None,):
        return False
    return any(99 in row[:1] for row in rows(connection, schema, table))


@pytest.mark.full
def test_both_sinks_have_what_the_source_has(
    world: World, copy: psycopg.Connection[tuple[Any, ...]], connect: Connect
) -> None:
    world.sql.execute(KINDS.format(first=1, last=6) + BEFORE)
    running = world.run()
    for name in TABLES:
        world.topic = topic(world, name)
        world.arrived(3)
    for statement in CHANGES.strip().split("\n"):
        world.sql.execute(statement)
    world.sql.execute(KINDS.format(first=99, last=99) + LAST)
    names = {way: f"{way}-{world.prefix}" for way in WAYS}

    def all_there() -> bool:
        for name in names.values():
            connect.check(name)
        return all(is_last(copy, way, table) for way in WAYS for table in TABLES)

    with ExitStack() as sinks:
        for way, name in names.items():
            sinks.enter_context(connector(connect, name, sink(world, way)))
        wait_until(all_there, look=0.2)
    source = {table: rows(world.sql, "public", table) for table in TABLES}
    # by design: the log does not repeat a large value that an update left alone
    large = [(key, n, PLACEHOLDER if key == 2 else big) for key, n, big in source["large"]]
    for way in WAYS:
        for table in TABLES:
            wanted = large if table == "large" else source[table]
            assert rows(copy, way, table) == wanted, (way, table)
    assert running.stop() == 0
