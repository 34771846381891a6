"""Five tables of 100,000 rows are read and merged while they are written to; then both sides are equal.

The load is pgbench's own transaction (balances of an account, a teller and a branch, and a line of history)
beside rows that come, go, change their key and carry large values that updates leave out.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from tests.fixtures.servers import Database
from tests.integration.consuming.world import SPARK_PATIENCE, World
from tests.integration.running.world import wait_until
from tests.integration.targets.delta import world as delta
from tests.integration.targets.iceberg import world as iceberg
from wrackline.consumers.lake.lake_target import LakeTarget
from wrackline.consumers.targets.delta.target import open_delta
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.schemas.tables.table import TableId

pytestmark = [pytest.mark.servers, pytest.mark.spark, pytest.mark.deep, pytest.mark.timeout(900)]

TABLES = ("accounts", "branches", "tellers", "history", "parcels")
ACCOUNTS = 100_000
SECONDS = 30.0
CREATE = f"""
CREATE TABLE branches (bid int PRIMARY KEY, bbalance int, filler text);
CREATE TABLE tellers (tid int PRIMARY KEY, bid int, tbalance int, filler text);
CREATE TABLE accounts (aid int PRIMARY KEY, bid int, abalance int, filler text);
CREATE TABLE history (tid int, bid int, aid int, delta int, mtime timestamp, filler text);
CREATE TABLE parcels (
  shop text, number int, price numeric(12,3), sent timestamptz, big text, PRIMARY KEY (shop, number));
ALTER TABLE history REPLICA IDENTITY FULL;
ALTER TABLE parcels ALTER big SET STORAGE EXTERNAL;
INSERT INTO branches VALUES (1, 0, '');
INSERT INTO tellers SELECT i, 1, 0, '' FROM generate_series(1, 10) i;
INSERT INTO accounts SELECT i, 1, 0, '' FROM generate_series(1, {ACCOUNTS}) i;
INSERT INTO history SELECT i, 1, i, 0, now(), NULL FROM generate_series(1, 50) i;
INSERT INTO parcels SELECT 's' || i % 7, i, i / 8.0, now(), repeat('x', 5000) FROM generate_series(1, 500) i;
"""
TPCB = """
UPDATE accounts SET abalance = abalance + %(delta)s WHERE aid = %(aid)s;
UPDATE tellers SET tbalance = tbalance + %(delta)s WHERE tid = %(tid)s;
UPDATE branches SET bbalance = bbalance + %(delta)s WHERE bid = 1;
INSERT INTO history VALUES (%(tid)s, 1, %(aid)s, %(delta)s, clock_timestamp(), NULL);
"""
LAKE = """
[target]
kind = "{kind}"
warehouse = "{warehouse}"
namespace = "{namespace}"
[spark]
master = "local[2]"
"""
PARCELS = (
    """INSERT INTO parcels VALUES ('s' || %(n)s %% 7, %(n)s, %(delta)s / 1000.0, now(), repeat('y', 4000))
    ON CONFLICT DO NOTHING""",
    "UPDATE parcels SET price = %(delta)s, sent = clock_timestamp() WHERE number = %(n)s",
    """UPDATE parcels SET number = number + 1000
    WHERE number = %(n)s AND NOT EXISTS (SELECT FROM parcels p WHERE p.number = %(n)s + 1000)""",
    "DELETE FROM parcels WHERE number IN (%(n)s, %(n)s + 1000)",
    "DELETE FROM history WHERE aid = %(n)s",
)


@contextmanager
def load(dsn: str) -> Iterator[None]:
    """Write on two connections until the block is left."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def write(seed: int) -> None:
        chance = random.Random(seed)
        try:
            with psycopg.connect(dsn, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
                while not ended.wait(0.002):
                    given = {
                        "aid": chance.randint(1, ACCOUNTS),
                        "tid": chance.randint(1, 10),
                        "delta": chance.randint(-5000, 5000),
                        "n": 2 * chance.randint(1, 400) + seed,  # each has keys of its own
                    }
                    connection.execute(TPCB if seed else chance.choice(PARCELS), given)
        except psycopg.Error as exc:
            failures.append(exc)

    writers = [threading.Thread(target=write, args=[seed]) for seed in (0, 1)]
    for writer in writers:
        writer.start()
    try:
        yield
    finally:
        ended.set()
        for writer in writers:
            writer.join()
    assert not failures


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    made = World(tmp_path, database, kafka, registry, topic_prefix, 0)
    made.sql.execute("DROP TABLE orders")
    made.sql.execute(CREATE)
    yield made
    made.close()


def start(world: World, target: str) -> None:
    """Read and merge, while somebody writes."""
    world.target = target
    world.write()
    for file in (world.file, world.consumer_file):
        file.write_text(file.read_text().replace('"no_data"', '"initial"'))
    with load(world.database.dsn):
        world.run()
        merging = world.consume()
        merging.told("running")
        ended = threading.Event()
        ended.wait(SECONDS)
        assert merging.process.poll() is None, merging.output


def test_postgres_equals_its_source(world: World) -> None:
    start(world, World.target)
    for table in TABLES:
        world.arrives(table)


@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_a_lake_equals_its_source(
    world: World, spark: SparkSession, namespace: str, tmp_path: Path, kind: str
) -> None:
    copy: LakeTarget[Any]
    if kind == "iceberg":
        warehouse = spark.conf.get(iceberg.WAREHOUSE)
        copy = open_iceberg(iceberg.settings(spark, namespace=namespace), spark)
    else:
        warehouse = str(tmp_path / "lake")
        copy = open_delta(delta.settings(tmp_path / "lake", namespace=namespace), spark)
    start(world, LAKE.format(kind=kind, warehouse=warehouse, namespace=namespace))
    for table in TABLES:
        id_ = TableId(world.database.name, "public", table)
        there = Counter(tuple(map(_in_utc, row)) for row in world.sql.execute(f"SELECT * FROM {table}"))

        def equal(id_: TableId = id_, there: Counter[tuple[object, ...]] = there) -> bool:
            return held(copy, id_) == there

        wait_until(equal, look=2.0, patience=2 * SPARK_PATIENCE)


def held(copy: LakeTarget[Any], table: TableId) -> Counter[tuple[object, ...]] | None:
    """Read every value of a table as a reader would."""
    rows = copy.rows(table)
    return None if rows is None else Counter(map(tuple, rows.collect()))


def _in_utc(value: object) -> object:
    """Bring a moment with a zone to the form that Spark's rows have."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
