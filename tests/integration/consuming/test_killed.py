"""`kill -9` of `wrackline consume` between the steps of a batch: the next start makes the copy whole.

The copy is an Iceberg or a Delta table; each kill is in a batch with changes that would show if they were
taken twice, in part, or not at all.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.servers import Database
from tests.integration.consuming.world import ICEBERG, World
from wrackline.consumers.failpoints import NAMES
from wrackline.control.exits import Exit
from wrackline.control.stack.servers import Broker, SchemaRegistry

pytestmark = [pytest.mark.servers, pytest.mark.spark]


class LakeWorld(World):
    """The same with a folder of Iceberg tables."""

    target = ICEBERG
    format = "iceberg"


class DeltaWorld(LakeWorld):
    """The same with a folder of Delta tables."""

    target = ICEBERG.replace("iceberg", "delta")
    format = "delta"


@pytest.fixture(params=[LakeWorld])
def world(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    database: Database,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
) -> Iterator[LakeWorld]:
    """A database with a table, and a pipeline over it."""
    made: LakeWorld = request.param(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


def copied(spark: SparkSession, world: LakeWorld) -> set[tuple[object, ...]]:
    """Read the copy as a reader would, with nothing of ours."""
    rows = spark.newSession().read.format(world.format).load(f"{world.folder}/warehouse/public/orders")
    ours = [name for name in rows.columns if name.startswith("_wl_")]
    alive = rows.where("not _wl_deleted and _wl_missing is null").drop(*ours)
    return {tuple(row) for row in alive.collect()}


def source(world: World) -> set[tuple[object, ...]]:
    """Read the source."""
    return set(world.sql.execute("SELECT * FROM orders").fetchall())


def change(world: World, number: int) -> None:
    """Insert, update, move a key, delete; and let an unsent value be carried forward."""
    first = number * 10
    many = "repeat(md5(i::text), 200)"
    world.sql.execute(f"INSERT INTO orders SELECT i, {many} FROM generate_series({first}, {first + 9}) i")
    world.sql.execute(f"UPDATE orders SET note = note || '!' WHERE id < {first}")
    world.sql.execute(f"UPDATE orders SET id = -id WHERE id = {first + 1}")
    world.sql.execute(f"DELETE FROM orders WHERE id IN ({first + 2}, {first - 7})")
    world.sql.execute(f"ALTER TABLE orders ADD c{number} int; UPDATE orders SET c{number} = id")


def killed_at(spark: SparkSession, world: LakeWorld, points: tuple[str, ...]) -> None:
    world.run()
    change(world, 1)
    change(world, 2)
    arrived = 0
    for number, point in enumerate(points, start=3):
        assert world.once(f"{point}=kill")[0] == -9
        change(world, number)
    while len(world.events()) > arrived:  # what the source's half still has to publish
        arrived = len(world.events())
        code, said = world.once()
        assert code == Exit.OK, said
    assert copied(spark, world) == source(world)
    assert len(source(world)) > 20


@pytest.mark.parametrize(
    "world", [LakeWorld, pytest.param(DeltaWorld, marks=pytest.mark.deep)], indirect=True
)
def test_a_batch_is_merged_once_whatever_ends_it(spark: SparkSession, world: LakeWorld) -> None:
    killed_at(spark, world, ("after_apply",))


@pytest.mark.deep
def test_between_every_two_steps(spark: SparkSession, world: LakeWorld) -> None:
    killed_at(spark, world, NAMES)
    for number, point in enumerate(reversed(NAMES), start=20):
        change(world, number)
        assert world.once(f"{point}=kill")[0] == -9
    assert world.once()[0] == Exit.OK
    assert copied(spark, world) == source(world)
