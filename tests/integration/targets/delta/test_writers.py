"""What others do to a Delta table while it is merged, altered and looked after."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.delta.world import DeltaWorld, settings
from tests.integration.targets.overtaking import overtaken
from tests.integration.targets.shape_suite import ShapesByHand
from tests.integration.targets.spark_world import SparkWorld
from tests.integration.targets.upkeep_suite import EVERYTHING_MS, EndedUpkeep, tend
from wrackline.consumers.batch.batch import translate_errors
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.consumers.targets.delta import PLUGIN, connect
from wrackline.consumers.targets.delta.applied import DeltaCommit, history
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient
from wrackline.schemas.tables.table import Column, TableId
from wrackline.schemas.tables.types import ColumnType, Kind, exact_number
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    HERE,
    TABLE,
    THERE,
    A,
    B,
    alter,
    change,
    labels,
    plan_for,
    put,
    seq,
)

DAY = 24 * 3600
OLD_RETENTION = "3600000"
TEXT = ColumnType(Kind.STRING, "text")


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> DeltaWorld:
    return DeltaWorld(spark, tmp_path / "lake")


@pytest.mark.full  # Iceberg's run of it is in the gate
class TestShapes(ShapesByHand):
    """The shape suite, in Delta."""


@pytest.mark.deep  # what it shares with Iceberg's upkeep is tried there each time
@pytest.mark.full  # Iceberg's run of it is in the gate
class TestEndedUpkeep(EndedUpkeep):
    """The upkeep suite, in Delta."""

    places = ("after_forget", "after_compact", "after_restate", "while_cutting", "after_expire")

    def tend(self, world: SparkWorld) -> None:
        name = world.name(TABLE.id)
        age(Path(name.removeprefix("delta.`file:").rstrip("`")) / "_delta_log", 40)
        tend(world, forget_before_ms=EVERYTHING_MS)


def log_of(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "public" / "orders" / "_delta_log"


def age(log: Path, days: int) -> None:
    """Let each version be a second younger than the one before it, and all of them so old."""
    for file in log.iterdir():
        digits = file.name.lstrip(".")[:20]
        if digits.isdigit():
            os.utime(file, (time.time() - days * DAY + int(digits),) * 2)


def versions(world: DeltaWorld) -> list[DeltaCommit]:
    return history(world.spark, world.name(TABLE.id), None)


@pytest.mark.full  # Iceberg's run of it is in the gate
@pytest.mark.parametrize("offsets_alone", [False, True])
def test_two_drivers_cannot_both_commit_over_one_base(
    world: DeltaWorld, tmp_path: Path, *, offsets_alone: bool
) -> None:
    """T-K04."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    plan = plan_for(world, 20)

    def others() -> Iterator[None]:
        if offsets_alone:
            put(world, replace(plan, upto=Applied({THERE: 7}, seq(0))))
        else:
            put(world, plan_for(world, 10), change("u", A, 10, "quick"), change("c", B, 9, "y"))
        yield

    with pytest.raises(Transient) as caught:
        overtaken(world, tmp_path, plan, others())
    assert caught.value.code == "delta.conflict"
    before = Applied({HERE: 1, THERE: 7}, seq(0)) if offsets_alone else Applied({HERE: 10})
    assert world.target.applied(TABLE.id).offsets == before.offsets
    put(world, plan, change("u", A, 20, "slow"))
    assert labels(world)[A] == "slow"
    after = world.target.applied(TABLE.id)
    assert (after.offsets, after.floor) == ({**before.offsets, HERE: 20}, before.floor)


@pytest.mark.full
def test_a_compaction_beside_a_batch_costs_the_batch_nothing(world: DeltaWorld, tmp_path: Path) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    put(world, plan_for(world, 2), change("c", B, 2, "y"))
    name = world.name(TABLE.id)

    def optimize() -> Iterator[None]:
        world.spark.newSession().sql(f"OPTIMIZE {name}")
        yield

    overtaken(world, tmp_path, plan_for(world, 20), optimize())
    assert labels(world) == {A: "slow", B: "y"}
    assert world.target.applied(TABLE.id).offsets == {HERE: 20}


@pytest.mark.full
def test_a_batch_that_changes_nothing_is_a_commit(world: DeltaWorld) -> None:
    put(world, plan_for(world, 2), change("c", A, 2, "x"))
    before = versions(world)
    put(world, plan_for(world, 3))
    put(world, plan_for(world, 4), change("u", A, 1, "older"))
    now = versions(world)
    assert len(now) == len(before) + 2
    assert [one.text.number for one in now if one.text] == [3, 2, 1, 0]
    assert world.target.applied(TABLE.id).offsets == {HERE: 4}
    assert labels(world) == {A: "x"}


@pytest.mark.full
def test_a_table_that_is_set_back_is_read_again_from_there(world: DeltaWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    there = versions(world)[0].version
    session, name = world.spark.newSession(), world.name(TABLE.id)
    moment = session.sql("SELECT string(current_timestamp())").collect()[0][0]
    put(world, plan_for(world, 5), change("u", A, 5, "y"), change("c", B, 4, "z"))
    session.sql(f"RESTORE TABLE {name} TO TIMESTAMP AS OF '{moment}'")
    with pytest.raises(OperatorNeeded) as caught:
        world.target.applied(TABLE.id)
    assert caught.value.code == "delta.set_back_to_a_time"
    session.sql(f"RESTORE TABLE {name} TO VERSION AS OF {there}")
    assert world.target.applied(TABLE.id).offsets == {HERE: 1}
    assert labels(world) == {A: "x"}
    put(world, plan_for(world, 5), change("u", A, 5, "y"), change("c", B, 4, "z"))
    assert labels(world) == {A: "y", B: "z"}
    assert world.target.applied(TABLE.id).offsets == {HERE: 5}


@pytest.mark.full
def test_what_is_applied_outlives_the_log(spark: SparkSession, tmp_path: Path) -> None:
    world = DeltaWorld(spark, tmp_path / "lake", snapshot_retention_ms=OLD_RETENTION)
    put(world, plan_for(world, 3), change("c", A, 1, "x"), change("d", B, 3))
    name, log = world.name(TABLE.id), log_of(tmp_path)
    session = spark.newSession()
    theirs = f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')"
    session.sql(theirs)
    age(log, 40)
    session.sql(theirs)  # with a checkpoint behind it
    session.sql(theirs)
    before = (dict(world.stored(TABLE.id)), world.target.applied(TABLE.id))
    assert before[1].offsets == {HERE: 3}
    assert (log / f"{1:020}.json").exists(), "nobody but upkeep cuts it"
    age(log, 40)
    (log.parent / "orphan").touch()
    os.utime(log.parent / "orphan", (time.time() - 40 * DAY,) * 2)
    done = world.target.upkeep(TABLE.id, forget_before_ms=0)
    assert done.removed[UpkeepRemoval.FILES] >= 1, "nobody needs the orphan"
    assert not (log.parent / "orphan").exists()
    oldest = min(int(file.name[:20]) for file in log.glob("*.json"))
    assert oldest > 4, "the log was cut behind what was written again"
    assert (world.stored(TABLE.id), world.target.applied(TABLE.id)) == before
    world.target.upkeep(TABLE.id, forget_before_ms=0)  # the first one took the time of an aged commit
    once = versions(world)
    world.target.upkeep(TABLE.id, forget_before_ms=0)
    assert versions(world) == once, "once a day is enough"
    put(world, plan_for(world, 5), change("u", A, 5, "y"))
    assert labels(world) == {A: "y"}
    session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableExpiredLogCleanup' = 'true')")
    assert [finding.id for finding in world.target.check([TABLE.id])] == ["delta.log_not_kept"]


def test_a_table_whose_log_says_nothing_is_not_read_from_the_start(world: DeltaWorld, tmp_path: Path) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    copy = connect.by_path(f"file:{tmp_path}/copy/public/orders")
    world.spark.newSession().sql(f"CREATE TABLE {copy} SHALLOW CLONE {world.name(TABLE.id)}")
    copied = PLUGIN.open(settings(tmp_path / "copy"), world.spark)
    with pytest.raises(Definite) as caught:
        copied.applied(TABLE.id)
    assert caught.value.code == "delta.progress_gone"


@pytest.mark.full
def test_names_and_types_that_only_delta_takes(world: DeltaWorld) -> None:
    odd = (" ,;{}()\n\t=", "a.b", "`", "*", "_metadata", "_row_dropped_", "deletionVectorId", "_change_type")
    numbers = ColumnType(Kind.ARRAY, "integer[]", element=ColumnType(Kind.INT32, "integer"))
    longs = ColumnType(Kind.ARRAY, "bigint[]", element=ColumnType(Kind.INT64, "bigint"))
    instant = ColumnType(Kind.INSTANT_MICROS, "timestamptz")
    columns = [Column(name, 10 + at, TEXT) for at, name in enumerate(odd)]
    columns += [Column("price", 30, exact_number("numeric(5,2)", 5, 2)), Column("list", 31, numbers)]
    columns += [Column("at", 32, instant)]
    table = replace(TABLE, columns=(*COLUMNS, *columns))
    plan = plan_for(world, 1, table=table)
    names = [column.target for column in plan.columns[4:12]]
    values: dict[str, object] = {name: f"value {at}" for at, name in enumerate(names)}
    ends = {"first": "0001-01-02T00:00:00.000001Z", "last": "9999-12-31T23:59:59.999999Z"}
    put(
        world,
        plan,
        change("c", A, 1, "x", **values, price="999.99", list=[1, None], at=ends["first"]),
        change("c", B, 1, "y", at=ends["last"]),
    )
    put(world, plan, change("u", A, 2, "x", **values, price="-0.01", list=[], at=ends["first"]))
    wider = {"price": exact_number("numeric(12,4)", 12, 4), "list": longs}
    wide = tuple(replace(one, type=wider.get(one.name, one.type)) for one in table.columns)
    plan = plan_for(world, 3, table=replace(table, columns=wide))
    alter(world, plan, table)
    put(world, plan, change("u", B, 3, "y", price="12345678.1234", list=[1 << 40], at=ends["last"]))
    seen = world.visible(TABLE.id)
    assert {name: seen[A][name] for name in names} == values
    assert (str(seen[A]["price"]), str(seen[B]["price"])) == ("-0.0100", "12345678.1234")
    assert (seen[A]["list"], seen[B]["list"]) == ([], [1 << 40])
    rows = world.spark.newSession().table(world.name(TABLE.id))
    assert {row[0] for row in rows.selectExpr("unix_micros(at)").collect()} == {
        -62135510399999999,
        253402300799999999,
    }


def test_a_check_reports_each_obstacle(world: DeltaWorld, tmp_path: Path) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert world.target.check([TABLE.id]) == []
    stranger = TableId("other", "public", TABLE.id.name)
    assert [finding.id for finding in world.target.check([stranger])] == ["target.table_not_ours"]
    for ask in (world.target.held, world.target.applied):
        with pytest.raises(OperatorNeeded) as caught:
            ask(stranger)
        assert caught.value.code == "target.not_ours"
        assert f"rm -r {tmp_path}/lake/public/orders" in str(caught.value)
    (tmp_path / "file").touch()
    other = PLUGIN.open(settings(tmp_path / "file"), world.spark)
    assert [finding.id for finding in other.check([TABLE.id])] == ["target.warehouse_not_writable"]
    with pytest.raises(OperatorNeeded) as caught, translate_errors("s.db.public.orders", TABLE.id):
        other.ensure_table(plan_for(world, 1))
    assert caught.value.code == "consume.target_forbidden"
    assert str(tmp_path / "file") in caught.value.sentence
    taken = TableId("db", "public", "taken")
    (tmp_path / "lake" / "public" / "taken").mkdir()
    (tmp_path / "lake" / "public" / "taken" / "something").touch()
    with pytest.raises(OperatorNeeded) as caught:
        world.target.ensure_table(plan_for(world, 1, table=replace(TABLE, id=taken)))
    assert caught.value.code == "target.not_ours"
