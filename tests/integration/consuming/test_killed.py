"""`kill -9` of `wrackline consume` between the steps of a batch or of upkeep: the next start repairs it.

The copy is an Iceberg or a Delta table; each kill is in a batch with changes that would show if they were
taken twice, in part, or not at all.  Where every event is kept it is compared with what one batch of all of
them leaves in a table that nobody ended.
"""

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.servers import Database
from tests.integration.consuming.world import ICEBERG, SPARK_PATIENCE, World
from wrackline.consumers.failpoints import BATCH, VARIABLE
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.spark]


TENDED = """
[consume]
trigger.interval.ms = 200
upkeep.interval.ms = 1
delete.retention.ms = 0
"""


class LakeWorld(World):
    """The same with a folder of Iceberg tables."""

    target = ICEBERG
    format = "iceberg"
    places: tuple[str, ...] = ("after_forget", "after_compact", "after_restate", "after_expire")  # of upkeep


class DeltaWorld(LakeWorld):
    """The same with a folder of Delta tables."""

    target = ICEBERG.replace("iceberg", "delta")
    format = "delta"
    places = ("after_forget", "after_compact", "after_restate", "while_cutting", "after_expire")


def kept(of: type[LakeWorld], mode: str) -> type[LakeWorld]:
    """The same where every event is kept."""

    class Kept(of):  # type: ignore[misc, valid-type]  # a class of the test's choice
        target = of.target.replace("[target]\n", f'[target]\nmode = "{mode}"\n')

    return Kept


def tended(of: type[LakeWorld]) -> type[LakeWorld]:
    """The same with upkeep after every batch but the first."""

    class Tended(of):  # type: ignore[misc, valid-type]  # a class of the test's choice
        target = of.target + TENDED

    return Tended


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


def everything(spark: SparkSession, world: LakeWorld) -> list[str]:
    """Read the table with what nobody is shown."""
    rows = spark.newSession().read.format(world.format).load(f"{world.folder}/warehouse/public/orders")
    return sorted(repr(sorted(row.asDict().items())) for row in rows.collect())


def killed_at(world: LakeWorld, points: tuple[str, ...]) -> None:
    world.run()
    change(world, 1)
    change(world, 2)
    for number, point in enumerate(points, start=3):
        dies(world, point)
        change(world, number)
    arrives(world)


def dies(world: LakeWorld, point: str) -> None:
    """Merge until the failpoint kills it, which takes an event: the source's half may not be there yet."""
    deadline = time.monotonic() + SPARK_PATIENCE
    while (ended := world.once(f"{point}=kill"))[0] == Exit.OK:
        assert time.monotonic() < deadline, ended
    assert ended[0] == -9


def arrives(world: LakeWorld) -> None:
    arrived = 0
    while len(world.events()) > arrived:  # what the source's half still has to publish
        arrived = len(world.events())
        code, said = world.once()
        assert code == Exit.OK, said


def is_equal(spark: SparkSession, world: LakeWorld) -> None:
    assert copied(spark, world) == source(world)
    assert len(source(world)) > 20


@pytest.mark.parametrize(
    "world", [LakeWorld, pytest.param(DeltaWorld, marks=pytest.mark.deep)], indirect=True
)
def test_a_batch_is_merged_once_whatever_ends_it(spark: SparkSession, world: LakeWorld) -> None:
    """T-K02."""
    killed_at(world, ("after_apply",))
    is_equal(spark, world)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_between_every_two_steps(spark: SparkSession, world: LakeWorld) -> None:
    killed_at(world, BATCH)
    is_equal(spark, world)
    for number, point in enumerate(reversed(BATCH), start=20):
        change(world, number)
        dies(world, point)
    arrives(world)
    is_equal(spark, world)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "world",
    [kept(LakeWorld, "history"), kept(DeltaWorld, "history"), kept(LakeWorld, "append")],
    indirect=True,
)
def test_where_every_event_is_kept(spark: SparkSession, world: LakeWorld) -> None:
    killed_at(world, BATCH)
    found = everything(spark, world)
    (world.folder / "warehouse").rename(world.folder / "ended")
    arrives(world)
    assert found == everything(spark, world)
    assert len(found) > 60


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("world", [tended(LakeWorld), tended(DeltaWorld)], indirect=True)
def test_between_every_two_steps_of_upkeep(
    spark: SparkSession, world: LakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run()
    change(world, 1)
    change(world, 2)
    numbers = count(1000)
    for place in world.places:
        monkeypatch.setenv(VARIABLE, f"{place}=kill")
        consuming = world.consume()
        deadline = time.monotonic() + SPARK_PATIENCE
        while consuming.process.poll() is None:
            assert time.monotonic() < deadline, consuming.output
            number = next(numbers)
            world.insert(number, number)
            world.sql.execute("UPDATE orders SET note = note || '!' WHERE id = 11")
            world.sql.execute("DELETE FROM orders WHERE id = %s", [number - 5])
            time.sleep(1.0)  # between two looks, and two batches
        assert consuming.process.returncode == -9, (place, consuming.output)
    monkeypatch.delenv(VARIABLE)
    change(world, 3)
    arrives(world)
    is_equal(spark, world)
