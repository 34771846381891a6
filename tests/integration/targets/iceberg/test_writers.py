"""What others do to a table while it is merged, altered and looked after."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.iceberg.world import IcebergWorld, settings
from tests.integration.targets.overtaking import overtaken
from tests.integration.targets.shape_suite import ShapesByHand
from tests.integration.targets.spark_world import SparkWorld
from tests.integration.targets.upkeep_suite import EVERYTHING_MS, EndedUpkeep, tend
from wrackline.consumers.contract.plan import Applied, KeyColumnRange
from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.merge_sql import merge_statement
from wrackline.consumers.targets.iceberg import PLUGIN, apply, upkeep
from wrackline.consumers.targets.iceberg.applied import commit_with_applied
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.target_suite import (
    HERE,
    TABLE,
    THERE,
    A,
    B,
    change,
    labels,
    plan_for,
    put,
    seq,
)

C = ("c", 3)
PATIENCE = 60.0
DAYS_MS = 4 * 24 * 3_600_000


@pytest.fixture
def world(spark: SparkSession, namespace: str) -> IcebergWorld:
    return IcebergWorld(spark, namespace)


def test_two_drivers_cannot_both_change_rows_over_one_base(world: IcebergWorld, tmp_path: Path) -> None:
    """T-K04."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    plan = plan_for(world, 20)

    def rows() -> Iterator[None]:
        put(world, plan_for(world, 10), change("u", A, 10, "quick"), change("c", B, 9, "y"))
        yield

    with pytest.raises(Transient) as caught:
        overtaken(world, tmp_path, plan, rows())
    assert caught.value.code == "iceberg.conflict"
    assert labels(world) == {A: "quick", B: "y"}
    assert world.target.applied(TABLE.id).offsets == {HERE: 10}
    put(world, plan, change("u", A, 20, "slow"))
    assert labels(world) == {A: "slow", B: "y"}


def test_a_compaction_beside_a_batch_costs_the_batch_nothing(world: IcebergWorld, tmp_path: Path) -> None:
    """T-K12."""
    for number in range(1, 7):
        put(world, plan_for(world, number), change("c", ("k", number), number, "x"))
    put(world, plan_for(world, 7), change("c", A, 7, "y"))

    def tended() -> Iterator[None]:
        world.form.compact(world.spark.newSession(), world.opened.find(TABLE.id))
        yield

    overtaken(world, tmp_path, plan_for(world, 20), tended())
    assert labels(world)[A] == "slow"


def test_a_large_table_is_read_through_a_filter_of_the_batch_s_keys(
    world: IcebergWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"), change("c", B, 1, "y"))
    plan = replace(plan_for(world, 20), within={"number": KeyColumnRange(1, 3)})
    changed = change("u", A, 20, "new"), change("c", C, 20, "z")
    frame = world.frame(changed, plan).persist()  # as a batch's rows are
    frame.count()
    staged = world.target.stage(frame, plan)
    explained = "EXPLAIN " + merge_statement(plan, world.name(TABLE.id), None, truncated=False)
    assert "might_contain" not in str(staged.session.sql(explained).collect())
    apply._filter_what_is_read(staged.session)
    assert "might_contain" in str(staged.session.sql(explained).collect())
    staged.forget()
    frame.unpersist()
    monkeypatch.setattr(apply, "_LARGE", -1)
    put(world, plan, *changed)
    assert labels(world) == {A: "new", B: "y", C: "z"}


def test_offsets_that_come_between_are_not_lost(world: IcebergWorld, tmp_path: Path) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    plan = plan_for(world, 20)

    def offsets() -> Iterator[None]:
        put(world, replace(plan, upto=Applied({THERE: 7}, seq(0))))
        yield

    overtaken(world, tmp_path, plan, offsets())
    assert labels(world) == {A: "slow"}
    applied = world.target.applied(TABLE.id)
    assert (applied.offsets, applied.floor) == ({HERE: 20, THERE: 7}, seq(0))


def test_rows_that_slipped_below_a_floor_go_with_the_next_batch(world: IcebergWorld) -> None:
    put(world, plan_for(world, 2, floor=10), change("c", B, 11, "y"))
    session = world.spark.newSession()  # a driver that read its base before the floor was there
    late = world.newest({}, plan_for(world, 1)).sparkSession
    with commit_with_applied(late, Applied({THERE: 3})):
        late.sql(
            f"INSERT INTO {world.name(TABLE.id)} BY NAME"
            f" SELECT * EXCEPT (shop, _wl_seq), 'a' shop, '{seq(5)}' _wl_seq FROM {world.name(TABLE.id)}"
        )
    assert world.target.applied(TABLE.id).floor == seq(10)
    put(world, plan_for(world, 12))
    assert labels(world) == {B: "y"}
    assert session.table(world.name(TABLE.id)).count() == 1


class TestShapes(ShapesByHand):
    """The shape suite, in Iceberg."""


class TestEndedUpkeep(EndedUpkeep):
    """The upkeep suite, in Iceberg, with an end behind its first step and one behind a commit of files."""

    places: ClassVar[Sequence[str]] = ("after_forget", "after_compact")

    @pytest.fixture(autouse=True)
    def _restate_each_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(upkeep, "_KEPT", 1)
        monkeypatch.setattr(upkeep, "_FAR_BACK", 0)

    def tend(self, world: SparkWorld) -> None:
        table_shape.set_properties(world.spark, world.name(TABLE.id), {"wrackline.orphans": "1"})
        tend(world, forget_before_ms=EVERYTHING_MS)


@pytest.mark.full
class TestUpkeepEndedAnywhere(TestEndedUpkeep):
    """The same behind each step."""

    places = ("after_forget", "after_compact", "after_restate", "after_expire", "after_sweep")


@pytest.mark.parametrize("version", ["3", pytest.param("2", marks=pytest.mark.deep)])
def test_upkeep_changes_nothing_that_is_seen(
    spark: SparkSession, namespace: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = IcebergWorld(spark, namespace, format_version=version)
    for number in range(1, 7):
        put(world, plan_for(world, number), change("c", ("k", number), number, "x"), change("d", A, number))
    name = world.name(TABLE.id)
    session = spark.newSession()
    files = session.table(f"{name}.files").count()
    before = (dict(world.stored(TABLE.id)), world.target.applied(TABLE.id))
    table_shape.set_properties(session, name, {"wrackline.orphans": "1"})
    data_file = session.table(f"{name}.files").collect()[0]["file_path"]
    orphan = Path(data_file.removeprefix("file:")).parent / "orphan"
    orphan.touch()
    os.utime(orphan, (time.time() - DAYS_MS / 1000,) * 2)
    monkeypatch.setattr(upkeep, "_KEPT", 1)
    monkeypatch.setattr(upkeep, "_FAR_BACK", 0)  # the compaction stands before the last batch: say it again
    snapshots = session.table(f"{name}.snapshots").count()
    done = tend(world, forget_before_ms=0)
    assert session.table(f"{name}.snapshots").count() == 1
    assert done.removed[UpkeepRemoval.SNAPSHOTS] >= snapshots, "its own among them"
    assert done.removed[UpkeepRemoval.FILES] > files, "those that lead to others, and the orphan"
    assert (world.stored(TABLE.id), world.target.applied(TABLE.id)) == before
    assert not orphan.exists()
    assert session.table(f"{name}.files").count() < files
    world.restart()
    assert world.target.applied(TABLE.id) == before[1]


def test_a_check_reports_each_obstacle(world: IcebergWorld, namespace: str, tmp_path: Path) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert world.target.check([TABLE.id]) == []
    fixed = settings(world.spark, namespace=f"{namespace}_public", format_version="2")
    other = PLUGIN.open(fixed, world.spark)
    stranger = TableId("other", "schema", TABLE.id.name)
    assert [finding.id for finding in other.check([TABLE.id, stranger])] == [
        "iceberg.newer_format",
        "target.table_not_ours",
    ]
    for ask in (other.held, other.applied):
        with pytest.raises(OperatorNeeded) as caught:
            ask(stranger)
        assert caught.value.code == "target.not_ours"
    with pytest.raises(OperatorNeeded) as caught:
        PLUGIN.open(settings(world.spark, warehouse=str(tmp_path)), world.spark)
    assert caught.value.code == "iceberg.no_catalogue"
