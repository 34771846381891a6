"""Infinite dates and timestamps, from PostgreSQL's rows and log through Kafka into both kinds of target.

A lake has the numbers that stand for them (schemas/tables/infinity.py), PostgreSQL has what the source has.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from tests.fixtures.servers import Database
from tests.integration.running.world import World, wait_until
from tests.integration.targets.iceberg.world import settings as lake_settings
from tests.integration.targets.postgres.world import settings_of
from wrackline.consumers.batch.batch import Batches
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.kafka.client_settings import client_settings, spark_options
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.consumers.targets.postgres import PLUGIN
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.schemas.kafka.schema_registry import RegistryAccess, RegistryClient
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.infinity import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS
from wrackline.schemas.tables.table import TableId

COLUMNS = "id int PRIMARY KEY, day date, local timestamp, moment timestamptz, days date[]"
ROW = "INSERT INTO endless VALUES ({}, '{}', '{}', '{}', '{{{},NULL,2026-01-02}}')"
FINITE = "2026-01-02", "2026-01-02 03:04:05.000006", "2026-01-02 03:04:05.000006+00", "-infinity"
DAY, MICROS = 20_455, 1_767_323_045_000_006


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with the table, and a pipeline over it that reads its rows."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, 0)
    made.sql.execute(f"CREATE TABLE endless ({COLUMNS})")
    text = made.file.read_text().replace('"no_data"', '"initial"')
    made.file.write_text(text.replace('"public.orders"', '"public.endless"'))
    yield made
    made.close()


def merged(world: World, spark: SparkSession, target: SparkTarget, topic: str) -> None:
    """Merge what the topic has."""
    given = {"bootstrap.servers": world.kafka.bootstrap}
    topics = TopicOffsets(client_settings(given))
    with RegistryClient(RegistryAccess(world.registry.url)) as texts:
        batches = Batches(spark, topics, target, BatchRules(spark_options(given), texts.text))
        batches.merge(topic, topics.ends(world.prefix, Naming.WRACKLINE)[topic])


@pytest.mark.full
def test_what_is_infinite_arrives_so(world: World, spark: SparkSession, namespace: str) -> None:
    """T-T06."""
    first = [ROW.format(number, *[text] * 4) for number, text in enumerate(("infinity", "-infinity"))]
    world.sql.execute(";".join(first).encode())
    world.run()
    topic = f"{world.prefix}.{world.database.name}.public.endless"
    wait_until(lambda: len(world.events(topic)) == 2)
    world.sql.execute("UPDATE endless SET id = id + 10; " + ROW.format(2, *FINITE))
    wait_until(lambda: len(world.events(topic)) == 2 + 2 * 3 + 1)

    lake = open_iceberg(lake_settings(spark, namespace=namespace), spark)
    merged(world, spark, lake, topic)
    rows = lake.rows(TableId(world.database.name, "public", "endless"))
    assert rows is not None
    days = F.transform("days", F.unix_date)
    local = F.unix_micros(F.col("local").cast("timestamp"))
    read = rows.select("id", F.unix_date("day"), local, F.unix_micros("moment"), days).collect()
    assert sorted(map(tuple, read)) == [
        (2, DAY, MICROS, MICROS, [FIRST_DAY, None, DAY]),
        (10, LAST_DAY, LAST_MICROS, LAST_MICROS, [LAST_DAY, None, DAY]),
        (11, FIRST_DAY, FIRST_MICROS, FIRST_MICROS, [FIRST_DAY, None, DAY]),
    ]

    copy = PLUGIN.open(settings_of(world.database.dsn, **{"target.schema": "copy"}), spark)
    try:
        merged(world, spark, copy, topic)
    finally:
        copy.close()
    both = "TABLE public.endless EXCEPT ALL TABLE copy.endless", "TABLE copy.endless EXCEPT ALL TABLE endless"
    assert [world.sql.execute(one).fetchall() for one in both] == [[], []]
    assert world.sql.execute("SELECT count(*) FROM copy.endless").fetchone() == (3,)
