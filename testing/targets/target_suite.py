"""The target contract as tests: what every target promises its pipeline.

A real target runs all of it in a few lines:

    class TestIceberg(TargetSuite):
        @pytest.fixture
        def world(self, iceberg_world: IcebergWorld) -> TargetWorld:
            return iceberg_world

Changes are those of testing/targets/merge_model.py, with values under the target's names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import pytest

from wrackline.consumers.contract.identifiers import Case
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.plan import (
    Applied,
    KeyColumnRange,
    MergePlan,
    NewestChange,
    PlannedColumn,
    TableMode,
    TopicPartition,
    plan_merge,
)
from wrackline.consumers.contract.target import Reading, Target, UpkeepRemoval
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables import evolution
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.plain_cells import plain
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change, Key, Stored, Values

TEXT, INTEGER = ColumnType(Kind.STRING, "text"), ColumnType(Kind.INT32, "integer")
BOOLEAN = ColumnType(Kind.BOOLEAN, "boolean")
COLUMNS = (
    Column("shop", 1, TEXT, nullable=False),
    Column("number", 2, INTEGER, nullable=False),
    Column("label", 3, TEXT),
    Column("big", 4, TEXT),
)
TABLE = TableSchema(
    TableId("db", "public", "orders"), COLUMNS, key=("shop", "number"), key_kind=KeyKind.PRIMARY
)
HERE, THERE = TopicPartition("server.db.public.orders", 0), TopicPartition("server.db.public.orders", 1)
A, B = ("a", 1), ("b", 2)
BIG = frozenset({"big"})


class Crash(BaseException):
    """The process that applies a batch ends here; nothing in a target may catch it."""


class TargetWorld(Protocol):
    """A connected target, and its storage from the reader's side."""

    target: Target[Any, Any]
    crash_points: tuple[str, ...]  # moments in `apply` at which this world can end the process

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        """Make the frame that the pipeline would stage: deduped, and without what the floor voids."""
        ...

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        """Return every row of the table, with our columns; nothing where there is no table."""
        ...

    def visible(self, table: TableId) -> Mapping[Key, Values]:
        """Return what a reader sees."""
        ...

    def crash_next_apply(self, point: str) -> None:
        """Make the next apply end there with a Crash."""
        ...

    def restart(self) -> None:
        """Open the target again on what is left."""
        ...


def seq(number: int) -> str:
    """A seq: text, of fixed width."""
    return f"{number:020x}"


def change(
    op: str, key: tuple[str, int], number: int, label: object = None, big: object = None, **more: object
) -> Change:
    """One change of the suite's table."""
    values = {"shop": key[0], "number": key[1], "label": label, "big": big, **more}
    return Change(key, seq(number), op, values, commit_ts=number * 1000)


def partial(op: str, key: tuple[str, int], number: int, label: object = None) -> Change:
    """The same, with `big` not sent."""
    return replace(change(op, key, number, label), unsent=BIG)


def plan_for(
    world: TargetWorld,
    offset: int,
    floor: int | None = None,
    table: TableSchema = TABLE,
    mode: TableMode = TableMode.UPSERT,
) -> MergePlan:
    """Plan a batch that ends at an offset."""
    upto = Applied({HERE: offset}, None if floor is None else seq(floor), NewestChange(seq(offset), 1, 2))
    return plan_merge(table, world.target.can.identifiers, upto, mode=mode)


def alter(world: TargetWorld, plan: MergePlan, before: TableSchema) -> None:
    """Bring the target's table to the plan's shape."""
    asked = AddColumn | DropColumn | RenameColumn | ChangeType
    changes = evolution.changes(before, plan.table)
    world.target.alter(plan, [change for change in changes if isinstance(change, asked)])


def put(world: TargetWorld, plan: MergePlan, *changes: Change) -> None:
    """Merge one batch as the pipeline does: it knows where it begins, and which columns some change lacks."""
    if plan.since == Applied():
        plan = replace(plan, since=world.target.applied(plan.table.id))
    if plan.mode is TableMode.UPSERT:
        plan = replace(plan, lacking=frozenset().union(*(one.unsent for one in changes)))
    world.target.ensure_table(plan)
    world.target.apply(world.target.stage(world.frame(changes, plan), plan), plan)


def labels(world: TargetWorld) -> dict[Key, object]:
    """What a reader sees of `label`."""
    return {key: row["label"] for key, row in world.visible(TABLE.id).items()}


class MergePromises:
    """Rows."""

    def test_changes_become_rows(self, world: TargetWorld) -> None:
        """T-S4."""
        put(world, plan_for(world, 3), change("c", A, 1, "x"), change("c", B, 2, "y", "é\n'\"\\ 😀"))
        assert world.visible(TABLE.id)[B] == {"shop": "b", "number": 2, "label": "y", "big": "é\n'\"\\ 😀"}
        put(world, plan_for(world, 5), change("u", A, 3, "new"), change("d", B, 4))
        assert labels(world) == {A: "new"}

    def test_rows_are_read_as_they_were_merged(self, world: TargetWorld) -> None:
        more = Column("share", 5, ColumnType(Kind.FLOAT64, "float8")), Column("yes", 6, BOOLEAN)
        plan, target = plan_for(world, 3, table=replace(TABLE, columns=(*COLUMNS, *more))), world.target
        if not isinstance(target, Reading):
            pytest.skip("this target can't read")
        assert list(target.read(TABLE.id)) == []
        merged = change("c", A, 1, "", "é\n'\"\\ 😀", share=0.1, yes=True), change("c", B, 2, share=-1e300)
        put(world, plan, *merged, change("d", ("c", 3), 3))
        held = world.target.held(TABLE.id) or ()
        rows = sorted(map(list, target.read(TABLE.id)), key=lambda row: str(row[0]))
        found = [[plain(one.type.kind, cell) for one, cell in zip(held, row, strict=True)] for row in rows]
        assert found == [[row.values.get(one.target) for one in held] for row in merged]

    def test_a_batch_twice_is_a_batch_once(self, world: TargetWorld) -> None:
        """T-S5, kafka-connect-bigquery#369."""
        first = [change("c", A, 1, "x", "big"), change("c", B, 2, "y")]
        second = [partial("u", A, 3, "new"), change("d", B, 4), change("r", ("c", 3), 5, "z")]
        put(world, plan_for(world, 2), *first)
        put(world, plan_for(world, 5), *second)
        once, applied = dict(world.stored(TABLE.id)), world.target.applied(TABLE.id)
        put(world, plan_for(world, 5), *second)
        put(world, plan_for(world, 2), *first)
        put(world, plan_for(world, 5), *first, *second)
        assert world.stored(TABLE.id) == once
        assert world.target.applied(TABLE.id) == applied

    def test_an_older_change_never_wins(self, world: TargetWorld) -> None:
        """T-K08, debezium-server-bigquery#386, debezium-server-iceberg#661."""
        put(world, plan_for(world, 1), change("u", A, 16, "newer"))
        put(world, plan_for(world, 2), change("r", A, 9, "older"))
        put(world, plan_for(world, 3), change("d", A, 15))
        assert labels(world) == {A: "newer"}

    def test_a_delete_takes_the_values_along(self, world: TargetWorld) -> None:
        """artie#796."""
        put(world, plan_for(world, 1), change("c", A, 1, "x", "secret"))
        put(world, plan_for(world, 2), change("d", A, 2))
        assert {row.values["big"] for row in world.stored(TABLE.id).values()} == {None}

    def test_a_delete_keeps_its_seq(self, world: TargetWorld) -> None:
        """T-K08."""
        put(world, plan_for(world, 1), change("c", A, 1, "x"))
        put(world, plan_for(world, 2), change("d", A, 8), change("d", B, 9))
        for key, number in ((A, 8), (B, 9)):
            row = world.stored(TABLE.id)[key]
            assert (row.deleted, row.seq, row.op) == (True, seq(number), "d")
        put(world, plan_for(world, 3), change("u", A, 5, "late"), change("c", B, 3, "late"))
        assert labels(world) == {}
        put(world, plan_for(world, 4), change("c", A, 10, "again"))
        assert labels(world) == {A: "again"}

    def test_a_partial_update_keeps_what_is_stored(self, world: TargetWorld) -> None:
        """T-T01, artie#100."""
        put(world, plan_for(world, 1), change("c", A, 1, "x", "kept"))
        put(world, plan_for(world, 2), partial("u", A, 2, "new"))
        assert world.visible(TABLE.id)[A] == {"shop": "a", "number": 1, "label": "new", "big": "kept"}
        put(world, plan_for(world, 4), change("u", A, 3, "y", "in batch"), partial("u", A, 4, "z"))
        assert world.visible(TABLE.id)[A]["big"] == "in batch"
        put(world, plan_for(world, 5), change("u", A, 5, "z", None))
        assert world.visible(TABLE.id)[A]["big"] is None

    def test_a_partial_insert_is_incomplete_until_a_full_image(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 2), partial("c", A, 1, "x"), partial("u", B, 2, "y"))
        assert labels(world) == {}
        assert {row.missing for row in world.stored(TABLE.id).values()} == {BIG}
        put(world, plan_for(world, 3), partial("u", A, 3, "still"))
        assert labels(world) == {}
        put(world, plan_for(world, 5), change("r", A, 4, "x", "whole"), change("u", B, 5, "y"))
        assert labels(world) == {A: "x", B: "y"}
        assert {row.missing for row in world.stored(TABLE.id).values()} == {frozenset()}

    def test_a_new_row_takes_nothing_of_an_old_one(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 2), change("c", A, 1, "x", "old"), change("c", B, 2, "x", "old"))
        put(world, plan_for(world, 4), change("d", A, 3), partial("c", A, 4, "new"))
        put(world, plan_for(world, 5), change("d", B, 5))
        put(world, plan_for(world, 6), partial("u", B, 6, "new"))
        assert labels(world) == {}
        assert [world.stored(TABLE.id)[key].missing for key in (A, B)] == [BIG, BIG]

    def test_an_unsent_value_is_null_where_the_plan_says_so(self, world: TargetWorld) -> None:
        def plan(offset: int) -> MergePlan:
            return replace(plan_for(world, offset), lacking_is_null=True)

        put(world, plan(2), partial("u", A, 1, "x"), change("u", B, 2, "y", "kept"))
        put(world, plan(3), partial("u", B, 3, "new"))
        assert {key: (row["label"], row["big"]) for key, row in world.visible(TABLE.id).items()} == {
            A: ("x", None),
            B: ("new", "kept"),
        }
        put(world, plan(4), change("d", B, 4))
        put(world, plan(5), partial("u", B, 5, "again"))
        assert world.visible(TABLE.id)[B]["big"] is None

    def test_rows_of_a_load_are_there_once_and_never_win(self, world: TargetWorld) -> None:
        """Where the table has none of their keys a target may only add them."""

        def load(offset: int, *numbers: int) -> None:
            within = {"number": KeyColumnRange(min(numbers), max(numbers))}
            plan = replace(plan_for(world, offset), loads=True, within=within)
            rows = [change("r", ("a", number), 10 + number, f"read {number}") for number in numbers]
            put(world, plan, *rows)

        load(2, 1, 2)
        load(4, 7, 9)
        stored = dict(world.stored(TABLE.id))
        load(4, 7, 9)
        assert world.stored(TABLE.id) == stored
        put(world, plan_for(world, 6), change("u", ("a", 7), 98, "newer"), change("d", ("a", 9), 99))
        load(9, 7, 8, 9)
        read = {("a", number): f"read {number}" for number in (1, 2, 8)}
        assert labels(world) == read | {("a", 7): "newer"}
        assert world.target.applied(TABLE.id).offsets == {HERE: 9}

    def test_a_truncate_is_a_floor(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 2), change("c", A, 1, "x"), change("c", B, 2, "x"))
        put(world, plan_for(world, 4, floor=10), change("c", A, 11, "after"), change("u", B, 9, "void"))
        assert labels(world) == {A: "after"}
        world.restart()
        put(world, plan_for(world, 5), change("u", B, 8, "from another partition"))
        assert labels(world) == {A: "after"}
        put(world, plan_for(world, 6, floor=5), change("c", B, 7, "before the greater floor"))
        assert labels(world) == {A: "after"}
        put(world, plan_for(world, 7), partial("u", B, 12, "no row to keep from"))
        assert labels(world) == {A: "after"}

    def test_upkeep_forgets_only_old_tombstones_and_counts_incomplete_rows(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 2), change("c", A, 1, "x"), change("c", B, 2), change("c", ("c", 3), 3))
        put(world, plan_for(world, 4), change("d", B, 4), change("d", ("c", 3), 9), partial("u", ("d", 4), 5))
        done = world.target.upkeep(TABLE.id, forget_before_ms=5000)
        assert set(world.stored(TABLE.id)) == {A, ("c", 3), ("d", 4)}
        assert (done.removed[UpkeepRemoval.TOMBSTONES], done.incomplete) == (1, 1)
        put(world, plan_for(world, 6), change("u", ("d", 4), 6))
        done = world.target.upkeep(TABLE.id, forget_before_ms=5000)
        assert (done.removed[UpkeepRemoval.TOMBSTONES], done.incomplete) == (0, 0)
        assert world.target.applied(TABLE.id).offsets == {HERE: 6}


class CommitPromises:
    """Offsets, and what a crash leaves."""

    def test_applied_offsets_are_those_of_the_commits(self, world: TargetWorld) -> None:
        """T-S7."""
        assert world.target.applied(TABLE.id) == Applied()
        plan = plan_for(world, 3)
        put(world, plan, change("c", A, 1, "x"))
        assert world.target.applied(TABLE.id) == Applied({HERE: 3}, None, NewestChange(seq(3), 1, 2))
        newest = NewestChange(seq(9), None, 4)
        put(world, replace(plan, upto=Applied({THERE: 7}, seq(1))))
        put(world, replace(plan, upto=Applied({HERE: 5, THERE: 7}, None, newest)))
        put(world, replace(plan, upto=Applied({HERE: 4}, seq(0), NewestChange(seq(8), 3, 5))))
        world.restart()
        assert world.target.applied(TABLE.id) == Applied({HERE: 5, THERE: 7}, seq(1), newest)

    def test_a_batch_is_refused_where_what_it_follows_is_gone(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 3), change("c", A, 1, "x"))
        here = replace(plan_for(world, 5), since=Applied({HERE: 3}))
        for since in (Applied({HERE: 4}), Applied({HERE: 3, THERE: 1})):
            with pytest.raises(Transient, match=r"target\.set_back"):
                put(world, replace(here, since=since), change("c", B, 5, "behind a gap"))
        world.restart()
        assert (labels(world), world.target.applied(TABLE.id).offsets) == ({A: "x"}, {HERE: 3})
        put(world, here, change("c", B, 5, "y"))
        assert (labels(world), world.target.applied(TABLE.id).offsets) == ({A: "x", B: "y"}, {HERE: 5})

    def test_a_batch_is_refused_where_another_consumer_went_further(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 3), change("c", A, 1, "x"))
        late = replace(plan_for(world, 9), since=Applied({HERE: 3}))
        put(world, late, change("c", B, 5, "y"))
        for since in (Applied({HERE: 3}), Applied({THERE: 0})):
            ends = Applied({HERE: 10, THERE: 1}, None, NewestChange(seq(10), 1, 2))
            with pytest.raises(Transient, match=r"target\.moved_on"):
                put(world, replace(late, since=since, upto=ends), change("c", ("c", 3), 10, "late"))
        world.restart()
        assert (labels(world), world.target.applied(TABLE.id).offsets) == ({A: "x", B: "y"}, {HERE: 9})
        other = replace(late, since=Applied({HERE: 3}), upto=Applied({HERE: 3, THERE: 1}))
        put(world, other, change("c", ("c", 3), 4, "z"))
        assert labels(world) == {A: "x", B: "y", ("c", 3): "z"}, "only the other partition has moved"

    def test_a_topic_is_known_by_its_id(self, world: TargetWorld) -> None:
        """snowflake-kafka-connector#690."""
        put(world, plan_for(world, 3), change("c", A, 1, "x"))
        plan = plan_for(world, 4)
        named = replace(plan.upto, topic_ids={HERE.topic: "00ab"})
        put(world, replace(plan, upto=named))
        put(world, plan_for(world, 5), change("c", B, 2, "y"))
        world.restart()
        assert world.target.applied(TABLE.id) == Applied(
            {HERE: 5}, None, NewestChange(seq(5), 1, 2), {HERE.topic: "00ab"}
        )

    def test_what_is_staged_is_not_seen(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 1), change("c", A, 1, "x"))
        plan = plan_for(world, 2)
        world.target.stage(world.frame([change("u", A, 2, "staged")], plan), plan)
        assert labels(world) == {A: "x"}
        world.restart()
        assert labels(world) == {A: "x"}
        assert world.target.applied(TABLE.id).offsets == {HERE: 1}

    def test_a_crash_leaves_all_of_a_batch_or_nothing(self, world: TargetWorld) -> None:
        """snowflake-kafka-connector#710."""
        assert world.crash_points, "a target that can't be ended proves nothing"
        for number, point in enumerate(world.crash_points, start=1):
            before = (dict(world.stored(TABLE.id)), world.target.applied(TABLE.id))
            plan = plan_for(world, number * 10, floor=number * 10)
            batch = [change("c", A, number * 10 + 1, f"a{number}"), change("c", B, number * 10 + 2, "b")]
            world.crash_next_apply(point)
            with pytest.raises(Crash):
                put(world, plan, *batch)
            world.restart()
            left = (dict(world.stored(TABLE.id)), world.target.applied(TABLE.id))
            put(world, plan, *batch)
            after = (dict(world.stored(TABLE.id)), world.target.applied(TABLE.id))
            assert left in (before, after)
            assert labels(world) == {A: f"a{number}", B: "b"}
            assert after[1].offsets == {HERE: number * 10}


def letter(offset: int, partition: int = 0, table: str = "orders", **other: Any) -> DeadLetter:
    """One record that could not become a row."""
    made = DeadLetter(
        RecordPosition(f"server.db.public.{table}", partition, offset),
        "some.code",
        "why",
        b"key",
        b"value",
        1000,
    )
    return replace(made, **other)


class LetterPromises:
    """Records that can't become rows."""

    def test_letters_are_kept_as_they_are(self, world: TargetWorld) -> None:
        assert list(world.target.letters.kept(TABLE.id)) == []
        odd = b"\0\xff'\\\n" + "é😀".encode()
        kept = [
            letter(0, key=None, value=odd),
            letter(9, value=b"", reason="a value of column 'it''s' \\ does not fit"),
            letter(10, key=odd, kept_ms=1_700_000_000_123),
            letter(2**40, 1, value=None),
        ]
        world.target.letters.keep(TABLE.id, [kept[3], kept[1], kept[0], kept[2]])
        world.restart()
        assert list(world.target.letters.kept(TABLE.id)) == kept, "in the order of their spots"
        assert world.target.letters.spots(TABLE.id) == {one.spot for one in kept}

    def test_a_letter_twice_is_a_letter_once(self, world: TargetWorld) -> None:
        letters = world.target.letters
        letters.keep(TABLE.id, [letter(1), letter(2), letter(2)])
        letters.keep(TABLE.id, [letter(2, code="another", kept_ms=2000), letter(2, 1), letter(3)])
        assert list(letters.kept(TABLE.id)) == [letter(1), letter(2), letter(3), letter(2, 1)]

    def test_letters_are_a_tables_own(self, world: TargetWorld) -> None:
        other, letters = TABLE.id._replace(name="more_orders"), world.target.letters
        letters.keep(TABLE.id, [letter(1), letter(2), letter(1, 1)])
        letters.keep(other, [letter(1, table="more_orders")])
        letters.remove(TABLE.id, {letter(1).spot, letter(7).spot})
        assert list(letters.kept(TABLE.id)) == [letter(2), letter(1, 1)]
        letters.remove(TABLE.id, {letter(2).spot, letter(1, 1).spot})
        assert list(letters.kept(TABLE.id)) == []
        assert list(letters.kept(other)) == [letter(1, table="more_orders")]
        letters.keep(TABLE.id, [letter(1)])
        assert letters.spots(TABLE.id) == {letter(1).spot}, "what was removed may come again"

    def test_letters_are_no_rows(self, world: TargetWorld) -> None:
        world.target.letters.keep(TABLE.id, [letter(1)])
        assert world.target.held(TABLE.id) is None
        assert world.target.applied(TABLE.id) == Applied()
        put(world, plan_for(world, 2), change("c", A, 1, "x"))
        world.target.letters.keep(TABLE.id, [letter(5)])
        world.target.letters.remove(TABLE.id, {letter(1).spot})
        assert labels(world) == {A: "x"}
        assert world.target.applied(TABLE.id).offsets == {HERE: 2}


class LimitPromises:
    """Values that a target can't hold."""

    def test_a_value_beyond_a_limit_is_refused_before_anything_is_kept(self, world: TargetWorld) -> None:
        """Of a target without a limit, a long text is held (airbyte#12680)."""
        limit = world.target.can.limits.get(Kind.STRING)
        most = 100_000 if limit is None or limit.most_bytes is None else limit.most_bytes
        longest = "é" * (most // 2) + "x" * (most % 2)
        put(world, plan_for(world, 1), change("c", A, 1, longest))
        assert labels(world) == {A: longest}
        if limit is not None and limit.most_bytes is not None:
            longer = change("u", A, 2, "secret" + longest)
            with pytest.raises(OperatorNeeded, match=r"target\.value_refused.*'label'.*longer than") as found:
                put(world, plan_for(world, 2), longer)
            assert "secret" not in str(found.value)
            assert labels(world) == {A: longest}
            assert world.target.applied(TABLE.id).offsets == {HERE: 1}
        put(world, plan_for(world, 2), change("u", A, 2, "y"))
        assert labels(world) == {A: "y"}

    def test_a_character_that_is_not_held_is_refused_before_anything_is_kept(
        self, world: TargetWorld
    ) -> None:
        put(world, plan_for(world, 1), change("c", A, 1, "a\x01b"))
        for character in world.target.can.unheld:
            with pytest.raises(OperatorNeeded, match=r"target\.character_refused") as found:
                put(world, plan_for(world, 2), change("u", A, 2, f"secret{character}"))
            assert "secret" not in str(found.value)
        assert labels(world) == {A: "a\x01b"}


class ShapePromises:
    """Columns and their names."""

    def test_a_table_is_created_once(self, world: TargetWorld) -> None:
        assert world.target.held(TABLE.id) is None
        plan = plan_for(world, 1)
        put(world, plan, change("c", A, 1, "x"))
        assert world.target.held(TABLE.id) == plan.columns
        world.target.ensure_table(plan)
        assert labels(world) == {A: "x"}

    def test_an_added_column_is_null_in_old_rows(self, world: TargetWorld) -> None:
        put(world, plan_for(world, 1), change("c", A, 1, "x"))
        wider = replace(TABLE, columns=(*COLUMNS, Column("extra", 5, TEXT)))
        plan = plan_for(world, 2, table=wider)
        for _ in range(2):  # a repeated alteration changes nothing
            alter(world, plan, TABLE)
        assert world.target.held(TABLE.id) == plan.columns
        put(world, plan, change("c", B, 2, "y", extra="e"))
        assert {key: row["extra"] for key, row in world.visible(TABLE.id).items()} == {A: None, B: "e"}

    def test_a_renamed_column_keeps_its_values(self, world: TargetWorld) -> None:
        """airbyte#12089: with columns that were changed, the rows that were there went."""
        if not world.target.can.renames:
            pytest.skip("this target can't rename")
        put(world, plan_for(world, 1), change("c", A, 1, "x", "kept"), partial("c", B, 2, "y"))
        swapped = (*COLUMNS[:2], replace(COLUMNS[2], name="big"), replace(COLUMNS[3], name="label"))
        plan = plan_for(world, 2, table=replace(TABLE, columns=swapped))
        alter(world, plan, TABLE)
        assert world.target.held(TABLE.id) == plan.columns
        assert world.visible(TABLE.id) == {A: {"shop": "a", "number": 1, "big": "x", "label": "kept"}}
        assert world.stored(TABLE.id)[B].missing == {"label"}

    def test_a_column_that_comes_again_is_another(self, world: TargetWorld) -> None:
        """posthog#98692: a column that was dropped ended the copy of its table."""
        if not world.target.can.drops:
            pytest.skip("this target can't drop")
        put(world, plan_for(world, 1), change("c", A, 1, "x", "gone"))
        plan = plan_for(
            world, 2, table=replace(TABLE, columns=(*COLUMNS[:3], replace(COLUMNS[3], identity=9)))
        )
        alter(world, plan, TABLE)
        assert world.target.held(TABLE.id) == plan.columns
        assert world.visible(TABLE.id)[A]["big"] is None

    def test_a_widened_column_keeps_its_values(self, world: TargetWorld) -> None:
        if (Kind.INT32, Kind.INT64) not in world.target.can.widens:
            pytest.skip("this target can't widen integers")
        count = Column("count", 5, INTEGER)
        narrow = replace(TABLE, columns=(*COLUMNS, count))
        put(world, plan_for(world, 1, table=narrow), change("c", A, 1, "x", count=7))
        wide = replace(TABLE, columns=(*COLUMNS, replace(count, type=ColumnType(Kind.INT64, "bigint"))))
        plan = plan_for(world, 2, table=wide)
        alter(world, plan, narrow)
        put(world, plan, change("c", B, 2, "y", count=1 << 40))
        assert {k: row["count"] for k, row in world.visible(TABLE.id).items()} == {A: 7, B: 1 << 40}

    def test_names_are_mapped_and_collisions_refused(self, world: TargetWorld) -> None:
        can = world.target.can.identifiers
        long = "n" * (can.most_characters + 1)
        hard = Column("né e/x", 5, TEXT), Column(long, 6, TEXT), Column(long + "!", 7, TEXT)
        table = replace(TABLE, columns=(*COLUMNS, *hard))
        plan = plan_for(world, 1, table=table)
        names = [column.target for column in plan.columns[4:]]
        values: dict[str, object] = {name: f"value {at}" for at, name in enumerate(names)}
        put(world, plan, change("c", A, 1, "x", **values))
        seen = world.visible(TABLE.id)[A]
        assert {name: seen[name] for name in names} == values
        twice = replace(TABLE, columns=(*COLUMNS, Column("LABEL", 5, TEXT)))
        if can.case_sensitive and can.case is Case.KEEP:
            assert plan_for(world, 1, table=twice).columns[-1].target == "LABEL"
        else:
            with pytest.raises(OperatorNeeded):
                plan_for(world, 1, table=twice)

    def test_identities_outlive_a_restart(self, world: TargetWorld) -> None:
        plan = plan_for(world, 1)
        put(world, plan, change("c", A, 1, "x"))
        world.restart()
        held: tuple[PlannedColumn, ...] | None = world.target.held(TABLE.id)
        assert held == plan.columns

    def test_a_check_changes_nothing_and_closing_twice_is_harmless(self, world: TargetWorld) -> None:
        for finding in world.target.check([TABLE.id]):
            assert finding.suggestion
        assert world.target.held(TABLE.id) is None
        world.target.close()
        world.target.close()


class TargetSuite(MergePromises, CommitPromises, LetterPromises, LimitPromises, ShapePromises):
    """Everything that a target promises."""
