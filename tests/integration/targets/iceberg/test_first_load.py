"""Rows of a first load: appended where no file holds one of their keys, merged elsewhere."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.iceberg.world import IcebergWorld
from wrackline.consumers.contract.plan import KeyColumnRange, MergePlan
from wrackline.consumers.targets.iceberg import apply
from wrackline.consumers.targets.iceberg.append import append
from wrackline.schemas.errors import Transient
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import HERE, TABLE, change, labels, plan_for, put


def chunk(*numbers: int) -> list[Change]:
    """Rows of one chunk; each number is its row's key and place."""
    return [change("r", ("a", number), number, f"read {number}") for number in numbers]


def load(world: IcebergWorld, offset: int, rows: Sequence[Change]) -> MergePlan:
    numbers = [int(str(row.key[1])) for row in rows]
    within = {"number": KeyColumnRange(min(numbers), max(numbers))}
    return replace(plan_for(world, offset), loads=True, within=within)


@pytest.fixture
def world(spark: SparkSession, namespace: str) -> IcebergWorld:
    return IcebergWorld(spark, namespace)


@pytest.fixture
def appended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note where each batch ends that is appended."""
    ends: list[int] = []

    def noted(session: SparkSession, plan: MergePlan, *more: Any) -> None:
        ends.append(plan.upto.offsets[HERE])
        append(session, plan, *more)

    monkeypatch.setattr(apply, "append", noted)
    return ends


def test_chunks_beside_each_other_are_appended_and_others_merged(
    world: IcebergWorld, appended: list[int]
) -> None:
    for offset, rows in ((2, chunk(1, 2)), (4, chunk(30, 40)), (6, chunk(10, 11))):
        put(world, load(world, offset, rows), *rows)
    assert appended == [2, 4, 6]
    stored = dict(world.stored(TABLE.id))
    assert len(stored) == 6
    put(world, load(world, 6, chunk(10, 11)), *chunk(10, 11))
    assert world.stored(TABLE.id) == stored, "the same batch again finds its keys"
    put(world, plan_for(world, 8), change("d", ("a", 30), 99), change("u", ("a", 40), 98, "newer"))
    put(world, load(world, 10, chunk(30, 40)), *chunk(30, 40))
    assert appended == [2, 4, 6], "tombstones are rows, and older rows come after newer ones"
    assert labels(world) == {("a", n): f"read {n}" for n in (1, 2, 10, 11)} | {("a", 40): "newer"}
    assert world.target.applied(TABLE.id).offsets == {HERE: 10}


def test_columns_that_the_plan_has_not_stay_null(world: IcebergWorld, appended: list[int]) -> None:
    """A user's own, or one that the source has dropped and the target keeps."""
    put(world, load(world, 2, chunk(1, 2)), *chunk(1, 2))
    world.spark.newSession().sql(f"ALTER TABLE {world.name(TABLE.id)} ADD COLUMN `it's mine` int")
    put(world, load(world, 4, chunk(30, 40)), *chunk(30, 40))
    assert appended == [2, 4]
    assert labels(world) == {("a", n): f"read {n}" for n in (1, 2, 30, 40)}


def test_an_append_over_rows_of_another_driver_is_refused(
    world: IcebergWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, rows in enumerate((chunk(1, 2), chunk(50, 60)), start=1):
        plan = load(world, 10 * number, rows)

        def overtaken(*given: Any, rows: Sequence[Change] = rows, plan: MergePlan = plan) -> None:
            monkeypatch.setattr(apply, "append", append)
            put(world, replace(plan, loads=False), *rows[:1])  # another driver, on another batch
            append(*given)

        monkeypatch.setattr(apply, "append", overtaken)
        with pytest.raises(Transient) as caught:
            put(world, plan, *rows)
        assert caught.value.code == "iceberg.conflict"
        assert len(world.stored(TABLE.id)) == 2 * number - 1, "nothing of it is there"
        put(world, plan, *rows)
        assert len(world.stored(TABLE.id)) == 2 * number
