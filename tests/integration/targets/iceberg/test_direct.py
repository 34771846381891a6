"""The same contract, where what can be merged directly is: in files and a commit of our own."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from tests.fakes.direct_changes import direct_changes
from tests.fixtures.tiers import alternatives
from tests.integration.targets.iceberg.world import IcebergWorld
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.iceberg.direct import java_table
from wrackline.consumers.targets.iceberg.direct.table_memory import Memories
from wrackline.testing.targets.merge_model import Change, Key, Stored, latest, merge, visible
from wrackline.testing.targets.target_suite import (
    HERE,
    TABLE,
    A,
    B,
    CommitPromises,
    Crash,
    MergePromises,
    change,
    labels,
    partial,
    plan_for,
    put,
)


class DirectWorld(IcebergWorld):
    """Merges directly where the batch and the table allow it, and counts it."""

    merged = 0
    may = True

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        self._changes = changes
        return super().frame(changes, plan)

    def restart(self) -> None:
        world = self
        super().restart()
        by_spark = self.opened.apply

        def apply(staged: object, plan: MergePlan) -> None:
            world.reach("before the merge")
            begun = None if plan.keyless or not world.may else world.opened.begin_direct(plan)
            if begun is not None and begun.merge(
                direct_changes(latest(world._changes, plan.floor), plan), plan
            ):
                world.merged += 1
                world.reach("after the commit")
            else:
                by_spark(staged, plan)

        self.opened.apply = apply


@pytest.fixture
def world(spark: SparkSession, namespace: str) -> DirectWorld:
    return DirectWorld(spark, namespace)


class TestShortly:
    """The promises in which the direct merge and its commit have the largest part."""

    test_twice = MergePromises.test_a_batch_twice_is_a_batch_once
    test_older = MergePromises.test_an_older_change_never_wins
    test_delete = MergePromises.test_a_delete_keeps_its_seq
    test_partial = MergePromises.test_a_partial_update_keeps_what_is_stored
    test_truncate = MergePromises.test_a_truncate_is_a_floor
    test_applied = CommitPromises.test_applied_offsets_are_those_of_the_commits
    test_crash = CommitPromises.test_a_crash_leaves_all_of_a_batch_or_nothing


@pytest.mark.full  # MERGE's run of them is in the gate
class TestMerge(MergePromises, CommitPromises):
    """What the direct merge and its commit decide, and what is left to MERGE beside them."""


def write(world: DirectWorld, offset: int, *changes: Change) -> bool:
    """Merge a batch; return whether it was merged directly."""
    before = world.merged
    put(world, plan_for(world, offset), *changes)
    return world.merged > before


def test_what_both_ways_have_written_is_one_table(world: DirectWorld) -> None:
    assert not write(world, 3, change("c", A, 1, "x"), change("c", B, 2, "y"), change("c", ("c", 3), 3, "z"))
    assert write(world, 6, change("u", A, 4, "direct"), change("d", B, 5), change("c", ("d", 4), 6, "new"))
    assert write(world, 8, change("u", A, 7, "twice"), change("c", B, 8, "again"))
    world.spark.sql(f"UPDATE {world.name(TABLE.id)} SET label = 'by hand' WHERE shop = 'c'")
    by_spark(world, 10, change("u", A, 9, "by MERGE"))
    assert write(world, 12, change("u", ("c", 3), 11, "last"), change("u", A, 12, "last", "é\n'\"\\ ${x} 😀"))
    assert labels(world) == {A: "last", B: "again", ("c", 3): "last", ("d", 4): "new"}
    assert world.visible(TABLE.id)[A]["big"] == "é\n'\"\\ ${x} 😀"
    world.target.upkeep(TABLE.id, forget_before_ms=0)
    assert write(world, 14, change("d", ("d", 4), 13), change("u", B, 14, "after the compaction"))
    assert labels(world) == {A: "last", B: "after the compaction", ("c", 3): "last"}
    assert world.target.applied(TABLE.id).offsets == {HERE: 14}


def test_a_value_that_is_not_sent_is_found_where_it_is_stored(world: DirectWorld) -> None:
    """In a file of Spark's, in one of ours, in no file, and in a row whose key was deleted."""
    write(world, 2, change("c", A, 1, "x", "big a"), change("c", B, 2, "y", "big b"))
    assert write(world, 4, partial("u", A, 3, "x2"), partial("u", ("c", 3), 4, "half"))
    assert write(world, 6, partial("u", A, 5, "x3"), change("d", B, 6))
    assert write(world, 8, partial("c", B, 7, "again"), partial("u", ("c", 3), 8, "still half"))
    rows = world.stored(TABLE.id)
    assert (rows[A].values["label"], rows[A].values["big"]) == ("x3", "big a")
    lacking = [{"big"}, {"big"}]
    assert [rows[key].missing for key in (B, ("c", 3))] == lacking
    world.spark.sql(f"UPDATE {world.name(TABLE.id)} SET label = 'by hand' WHERE shop = 'c'")
    assert write(world, 9, partial("u", ("c", 3), 9, "still"))
    assert write(world, 11, change("u", ("c", 3), 10, "whole", "big c"), partial("u", A, 11, "x4"))
    seen = {key: (row["label"], row["big"]) for key, row in world.visible(TABLE.id).items()}
    assert seen == {A: ("x4", "big a"), ("c", 3): ("whole", "big c")}


@pytest.mark.parametrize("merged_at", alternatives(["2", "100"]))
def test_a_row_keeps_the_identity_that_iceberg_gives_it(world: DirectWorld, merged_at: str) -> None:
    def identities() -> dict[str, int]:
        rows = world.spark.newSession().sql(f"SELECT shop, _row_id FROM {world.name(TABLE.id)}").collect()
        return {row["shop"]: row["_row_id"] for row in rows}

    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    name = world.name(TABLE.id)
    world.spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('commit.manifest.min-count-to-merge' = '{merged_at}')"
    )
    before = identities()
    assert write(world, 4, change("u", B, 3, "z"), change("c", ("c", 3), 4, "new"))
    made = identities()["c"]
    assert write(world, 7, change("u", B, 5, "w"), change("u", ("c", 3), 6, "w"), change("c", ("d", 4), 7))
    assert write(world, 9, change("u", ("d", 4), 8, "w"), change("u", A, 9, "w"))
    after = identities()
    assert (after["a"], after["b"], after["c"]) == (before["a"], before["b"], made)
    assert len(set(after.values())) == 4


@pytest.mark.parametrize(
    "key",
    [
        "a' OR '1'='1\\`x`${spark.app.name}\n日本",
        *(
            pytest.param(one, marks=pytest.mark.full)
            for one in ("'", "\\", "${spark.app.name}", "`x`", "\n", "日本", "a' OR '1'='1")
        ),
    ],
)
def test_a_key_is_found_whatever_is_in_it(world: DirectWorld, key: str) -> None:
    write(world, 2, change("c", (key, 1), 1, "x"), change("c", B, 2, "y"))
    assert write(world, 3, change("u", (key, 1), 3, "z"))
    assert labels(world) == {(key, 1): "z", B: "y"}


def test_what_is_committed_meanwhile_is_not_lost(world: DirectWorld) -> None:
    """Another driver, and a compaction."""
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    plan = replace(plan_for(world, 4), since=world.target.applied(TABLE.id))
    begun = world.opened.begin_direct(plan)
    assert begun is not None
    name = world.name(TABLE.id)
    world.spark.sql(f"UPDATE {name} SET label = 'theirs' WHERE shop = 'a'")
    files = world.spark.sql(f"SELECT file_path FROM {name}.files").collect()
    changes = direct_changes(latest([change("u", A, 3, "ours"), change("u", B, 4, "ours")]), plan)
    assert not begun.merge(changes, plan)
    assert labels(world) == {A: "theirs", B: "y"}
    assert world.spark.sql(f"SELECT file_path FROM {name}.files").collect() == files
    assert world.target.applied(TABLE.id).offsets == {HERE: 2}


def test_rows_that_are_added_meanwhile_are_not_added_twice(world: DirectWorld) -> None:
    """Nothing goes, so only the checks for others' files can refuse it."""
    write(world, 2, change("c", A, 1, "x"))
    plan = replace(plan_for(world, 4), since=world.target.applied(TABLE.id))
    begun = world.opened.begin_direct(plan)
    assert begun is not None
    name = world.name(TABLE.id)
    theirs = world.spark.table(name).withColumns({"shop": F.lit("b"), "number": F.lit(2)})
    theirs.writeTo(name).append()
    changes = direct_changes(latest([change("c", B, 4, "ours")]), plan)
    assert not begun.merge(changes, plan)
    assert labels(world) == {A: "x", B: "x"}


def by_spark(world: DirectWorld, offset: int, *changes: Change) -> None:
    world.may = False
    write(world, offset, *changes)
    world.may = True


def test_a_batch_without_rows_knows_nothing_of_the_rows(world: DirectWorld) -> None:
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    world.restart()
    assert write(world, 3)
    assert write(world, 4, change("u", A, 4, "z"))
    by_spark(world, 6, change("u", B, 5, "by MERGE"), change("c", ("c", 3), 6, "n"))
    assert write(world, 7)
    assert write(world, 9, change("u", ("c", 3), 8, "n2"), change("u", B, 9, "last"))
    assert labels(world) == {A: "z", B: "last", ("c", 3): "n2"}
    assert world.target.applied(TABLE.id).offsets == {HERE: 9}


@pytest.mark.parametrize("landed", [True, False])
def test_a_commit_of_which_nothing_is_known_keeps_its_files(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch, *, landed: bool
) -> None:
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    commit = java_table.JavaTable.commit

    def interrupted(table: java_table.JavaTable, done: Any, is_refused: Any) -> bool:
        if landed:
            commit(table, done, is_refused)
        raise Crash

    monkeypatch.setattr(java_table.JavaTable, "commit", interrupted)
    with pytest.raises(Crash):
        write(world, 3, change("u", A, 3, "z"))
    monkeypatch.undo()
    assert labels(world) == ({A: "z", B: "y"} if landed else {A: "x", B: "y"})
    assert write(world, 4, change("u", B, 4, "y2"))
    assert write(world, 6, change("u", A, 6, "last"))
    assert labels(world) == {A: "last", B: "y2"}


def test_an_error_behind_the_commit_deletes_nothing_of_it(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalogue may have committed what it could not answer."""
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))

    def lost(self: java_table.JavaTable, done: java_table.PreparedCommit, is_refused: Any) -> bool:
        real = done.change

        class Change:
            def commit(self) -> None:
                real.commit()
                raise Py4JError("the answer is lost")

        done.change = Change()
        return commit(self, done, is_refused)

    commit = java_table.JavaTable.commit
    monkeypatch.setattr(java_table.JavaTable, "commit", lost)
    with pytest.raises(Py4JError):
        write(world, 3, change("u", A, 3, "z"))
    monkeypatch.undo()
    assert labels(world) == {A: "z", B: "y"}


def test_another_key_is_looked_up_anew(world: DirectWorld) -> None:
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    assert write(world, 3, change("u", B, 3, "y2"))
    plan = replace(plan_for(world, 4), since=world.target.applied(TABLE.id), key=("number",))
    begun = world.opened.begin_direct(plan)
    changes = direct_changes(latest([change("u", A, 4, "z")]), plan)
    assert begun is not None
    assert begun.merge(changes, plan)
    assert labels(world) == {A: "z", B: "y2"}


def test_a_row_that_was_changed_by_hand_is_left_to_merge(world: DirectWorld) -> None:
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    world.spark.sql(f"UPDATE {world.name(TABLE.id)} SET _wl_seq = NULL WHERE shop = 'a'")
    assert not write(world, 3, change("u", A, 3, "z"))
    assert write(world, 4, change("u", B, 4, "y2"))


def test_a_table_that_was_upgraded_is_left_to_merge_once(spark: SparkSession, namespace: str) -> None:
    """Its rows have no identities before Spark has written to it."""
    world = DirectWorld(spark, namespace, format_version="2")
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    world.spark.sql(f"ALTER TABLE {world.name(TABLE.id)} SET TBLPROPERTIES ('format-version' = '3')")
    assert not write(world, 3, change("u", A, 3, "z"))
    world.opened._direct._memories.of(TABLE.id).rest = 0
    assert write(world, 4, change("u", B, 4, "y2"))
    assert labels(world) == {A: "z", B: "y2"}


@pytest.mark.parametrize(
    "statement",
    [
        "ADD COLUMN users_own string",
        pytest.param("SET TBLPROPERTIES ('write.format.default' = 'orc')", marks=pytest.mark.full),
        pytest.param("ALTER COLUMN number TYPE bigint", marks=pytest.mark.full),
    ],
)
def test_a_table_that_is_not_as_it_was_made_is_left_to_merge(world: DirectWorld, statement: str) -> None:
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    world.spark.sql(f"ALTER TABLE {world.name(TABLE.id)} {statement}")
    assert not write(world, 3, change("u", A, 3, "z"))
    assert labels(world) == {A: "z", B: "y"}


def test_a_table_of_version_2_is_left_to_merge(spark: SparkSession, namespace: str) -> None:
    """It has no deletion vectors."""
    world = DirectWorld(spark, namespace, format_version="2")
    write(world, 1, change("c", A, 1, "x"))
    assert not write(world, 2, change("u", A, 2, "z"))
    assert labels(world) == {A: "z"}


def test_files_are_read_through_iceberg_where_they_are_not_local(
    world: DirectWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_table, "_LOCAL", "s3:")
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    assert write(world, 3, change("u", A, 3, "z"))
    assert labels(world) == {A: "z", B: "y"}


def test_a_table_whose_keys_take_too_much_memory_is_left_to_merge(world: DirectWorld) -> None:
    write(world, 2, change("c", A, 1, "x"), change("c", B, 2, "y"))
    world.opened._direct._memories = Memories(most_bytes=40)
    assert not write(world, 3, change("u", A, 3, "z"))
    assert labels(world) == {A: "z", B: "y"}
    world.opened._direct._memories = Memories()
    assert write(world, 4, change("u", A, 4, "again"))


def some_change(chance: random.Random, number: int) -> Change:
    key = (chance.choice("abcdef"), 1)
    if chance.random() < 0.3:
        return partial(chance.choice("uuc"), key, number, f"v{number}")
    op = chance.choice("cuudr")
    return change(op, key, number, f"v{number}", None if op == "d" else f"b{number}")


@pytest.mark.full
def test_any_history_leaves_what_the_model_says(world: DirectWorld) -> None:
    """Batches of both ways, repeats and late changes, compactions, and drivers that start again."""
    chance, rows, offset = random.Random(8), dict[Key, Stored](), 0
    batches: list[list[Change]] = []
    for step in range(60):
        if batches and chance.random() < 0.2:
            batch = chance.choice(batches)
        else:
            numbers = chance.sample(range(step * 5, step * 5 + 20), 5)
            batch = [some_change(chance, number) for number in numbers]
        batches.append(batch)
        offset += 5
        if step % 7 == 3:
            batch = []
        match chance.randrange(12):
            case 0:
                world.target.upkeep(TABLE.id, forget_before_ms=0)
            case 1:
                world.restart()
            case 2:
                world.may = not world.may
        write(world, offset, *batch)
        rows = merge(rows, latest(batch))
        assert world.visible(TABLE.id) == visible(rows)
    assert 20 < world.merged < 58
