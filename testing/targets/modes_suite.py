"""The target contract of the other modes: every event, every version, and deletes that leave nothing.

A plan of such a table has a row of its own for each event (`_wl_row`): in an append table that is its key, in
a history it stands behind the source's.  What a reader sees of a history is that of `history_model`.
A target that lacks a mode skips its promises.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import pytest

from wrackline.consumers.batch.evolve import SchemaChangeBehaviour, reshape
from wrackline.consumers.contract.modes import OTHER_MODE
from wrackline.consumers.contract.plan import END, START, Deletes, MergePlan, TableMode
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.testing.targets.histories import KEY, NAMES, cuts, log
from wrackline.testing.targets.history_model import in_order, reader, told, truncate, versions
from wrackline.testing.targets.merge_model import Change, Rows, latest, merge
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    HERE,
    TABLE,
    TEXT,
    A,
    B,
    Crash,
    TargetWorld,
    alter,
    change,
    labels,
    partial,
    plan_for,
    put,
    seq,
)

Seen = Mapping[str, object]
RICH = 16  # a log with three truncates, six events that did not send all, and twelve versions


class ModesWorld(TargetWorld, Protocol):
    """A world that shows a reader's rows as they are."""

    def labels_at(self, name: str) -> Sequence[object]:
        """Return the labels in a table of another name, as its target calls it."""
        ...

    def seen(self, table: TableId) -> Sequence[Seen]:
        """Return what a reader sees of a table, every column by its name."""
        ...


def planned(world: ModesWorld, mode: TableMode, offset: int, table: TableSchema = TABLE) -> MergePlan:
    if mode not in world.target.can.modes:
        pytest.skip(f"this target has no mode {mode.value}")
    return plan_for(world, offset, table=table, mode=mode)


def tell(world: ModesWorld, plan: MergePlan, *changes: Change) -> None:
    put(world, plan, *told(changes, plan.ours.row, by_key=plan.mode is TableMode.HISTORY))


def emptied(number: int) -> Change:
    return truncate(seq(number), NAMES, KEY)


def picked(rows: Iterable[Seen], *names: str) -> list[tuple[object, ...]]:
    """Return these columns of rows, in order."""
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


def spans(world: ModesWorld, table: TableId = TABLE.id) -> list[tuple[object, ...]]:
    """Return each version's key, label, and from when to when it stood, as numbers."""
    return [
        (key, label, int(str(start), 16), None if end is None else int(str(end), 16))
        for key, label, start, end in picked(world.seen(table), "number", "label", START, END)
    ]


class HistoryPromises:
    """Versions."""

    def test_a_version_is_valid_until_the_next(self, world: ModesWorld) -> None:
        plan = planned(world, TableMode.HISTORY, 4)
        tell(world, plan, change("c", A, 1, "x"), change("c", B, 2, "y"), change("u", A, 3, "z"))
        assert spans(world) == [(1, "x", 1, 3), (1, "z", 3, None), (2, "y", 2, None)]
        tell(world, planned(world, TableMode.HISTORY, 6), change("d", A, 5), change("c", A, 8, "again"))
        tell(world, planned(world, TableMode.HISTORY, 7), change("u", B, 2, "y"), change("u", A, 4, "late"))
        assert spans(world) == [
            (1, "again", 8, None),
            (1, "late", 4, 5),
            (1, "x", 1, 3),
            (1, "z", 3, 4),
            (2, "y", 2, None),
        ]
        assert world.target.applied(TABLE.id).offsets == {HERE: 7}

    def test_any_order_and_cut_gives_the_same_history(self, world: ModesWorld) -> None:
        follow(world, RICH, batches=3)

    def test_what_is_read_again_is_no_new_version(self, world: ModesWorld) -> None:
        first = [change("c", A, 1, "x", "big"), partial("u", A, 3, "x"), change("r", A, 5, "x", "big")]
        tell(world, planned(world, TableMode.HISTORY, 1), *first[:1])
        stored = [spans(world)]
        for changes in (first[1:2], first[2:], first, [change("r", A, 2, "x", "big")]):
            tell(world, planned(world, TableMode.HISTORY, 2), *changes)
            stored.append(spans(world))
        assert stored == [[(1, "x", 1, None)]] * 5
        tell(world, planned(world, TableMode.HISTORY, 3), change("r", A, 9, "y", "big"))
        assert spans(world) == [(1, "x", 1, 9), (1, "y", 9, None)]

    def test_a_truncate_ends_what_lived(self, world: ModesWorld) -> None:
        tell(world, planned(world, TableMode.HISTORY, 1), change("c", A, 1, "x"), change("c", B, 2, "y"))
        tell(world, planned(world, TableMode.HISTORY, 2), change("c", A, 12, "x"), emptied(10))
        assert spans(world) == [(1, "x", 1, 10), (1, "x", 12, None), (2, "y", 2, 10)]
        tell(world, planned(world, TableMode.HISTORY, 3), emptied(5))
        assert spans(world) == [(1, "x", 1, 5), (1, "x", 12, None), (2, "y", 2, 5)], "it arrived late"
        tell(world, planned(world, TableMode.HISTORY, 4), change("r", B, 7, "y"))
        assert (2, "y", 7, 10) in spans(world)

    def test_untracked_columns_begin_no_version(self, world: ModesWorld) -> None:
        plan = replace(planned(world, TableMode.HISTORY, 2), tracked=frozenset({"label"}))
        tell(world, plan, change("c", A, 1, "x", "old"), change("u", A, 2, "x", "new"))
        tell(world, plan, change("u", A, 4, "y", "new"), change("u", A, 3, "x", "newer"))
        assert spans(world) == [(1, "x", 1, 4), (1, "y", 4, None)]
        assert picked(world.seen(TABLE.id), "label", "big") == [("x", "newer"), ("y", "new")]

    def test_what_was_not_sent_comes_from_the_event_before(self, world: ModesWorld) -> None:
        tell(world, planned(world, TableMode.HISTORY, 1), partial("u", A, 5, "z"), partial("c", B, 5, "new"))
        assert spans(world) == [], "nobody knows all of it"
        tell(world, planned(world, TableMode.HISTORY, 2), change("c", A, 1, "x", "old"))
        assert picked(world.seen(TABLE.id), "label", "big") == [("x", "old"), ("z", "old")]
        tell(world, planned(world, TableMode.HISTORY, 3), change("u", A, 3, "y", "new"), change("d", B, 4))
        seen = picked(world.seen(TABLE.id), "label", "big")
        assert seen == [("x", "old"), ("y", "new"), ("z", "new")], "what comes late is carried too"
        tell(world, planned(world, TableMode.HISTORY, 4), change("r", B, 6, "new", "big"))
        assert (2, "new", 6, None) in spans(world)

    def test_columns_of_a_history_come_and_change_their_names(self, world: ModesWorld) -> None:
        tell(
            world,
            planned(world, TableMode.HISTORY, 1),
            change("c", A, 1, "x", "kept"),
            partial("u", B, 2, "y"),
        )
        renamed = (*COLUMNS[:3], replace(COLUMNS[3], name="large"), Column("more", 9, TEXT))
        table = replace(TABLE, columns=renamed)
        plan = planned(world, TableMode.HISTORY, 2, table)
        alter(world, plan, plan_for(world, 1, mode=TableMode.HISTORY).table)
        later = replace(partial("u", A, 3, "x"), unsent=frozenset({"large"}))
        values = {"shop": "a", "number": 1, "label": "x", "large": None, "more": "m"}
        tell(world, plan, replace(later, values=values))
        first = {**values, "shop": "b", "number": 2, "label": "y", "large": "first", "more": None}
        tell(world, plan, Change(B, seq(1), "c", first))
        assert picked(world.seen(TABLE.id), "label", "large", "more", START) == [
            ("x", "kept", "m", seq(3)),
            ("x", "kept", None, seq(1)),
            ("y", "first", None, seq(1)),
        ]

    def test_what_a_dropped_column_held_stays_a_part_of_a_history(self, world: ModesWorld) -> None:
        tell(
            world,
            planned(world, TableMode.HISTORY, 1),
            change("c", A, 1, "x", "old"),
            change("u", A, 2, "x", "b"),
        )
        table = replace(TABLE, columns=(*COLUMNS[:3], Column("more", 9, TEXT)))
        held = world.target.held(TABLE.id)
        plan, changes = reshape(
            planned(world, TableMode.HISTORY, 2, table), held, world.target.can, SchemaChangeBehaviour.EVOLVE
        )
        world.target.alter(plan, changes)
        values = {"shop": "a", "number": 1, "label": "x", "more": None}
        late = Change(A, seq(3), "u", {**values, "big": "late"})
        tell(world, plan, Change(A, seq(4), "u", values), late)
        assert picked(world.seen(TABLE.id), "big", START, END) == [
            ("b", seq(2), seq(3)),
            ("late", seq(3), seq(4)),
            ("old", seq(1), seq(2)),
            (None, seq(4), None),
        ]
        again, changes = reshape(
            plan, world.target.held(TABLE.id), world.target.can, SchemaChangeBehaviour.EVOLVE
        )
        assert (again, changes) == (plan, ())

    def test_a_history_is_never_forgotten(self, world: ModesWorld) -> None:
        tell(world, planned(world, TableMode.HISTORY, 1), change("c", A, 1, "x"), change("d", A, 2))
        world.target.upkeep(TABLE.id, forget_before_ms=9000)
        tell(world, planned(world, TableMode.HISTORY, 1), change("c", A, 1, "x"))
        assert spans(world) == [(1, "x", 1, 2)]

    @pytest.mark.deep  # it is one commit as an upsert's, whose crashes are tried by default
    def test_a_crash_leaves_all_of_a_history_s_batch_or_nothing(self, world: ModesWorld) -> None:
        for number, point in enumerate(world.crash_points):
            table = replace(TABLE, id=replace_name(f"crash{number}"))
            plan = planned(world, TableMode.HISTORY, 1, table)
            tell(world, plan, change("c", A, 1, "x"))
            later = (change("u", A, 2, "y"), emptied(3))
            world.crash_next_apply(point)
            with suppress(Crash):  # not each of an upsert's points is passed
                tell(world, planned(world, TableMode.HISTORY, 2, table), *later)
            world.restart()
            assert spans(world, table.id) in ([(1, "x", 1, None)], [(1, "x", 1, 2), (1, "y", 2, 3)])
            tell(world, planned(world, TableMode.HISTORY, 2, table), *later)
            assert spans(world, table.id) == [(1, "x", 1, 2), (1, "y", 2, 3)]

    def test_a_table_of_another_mode_is_refused(self, world: ModesWorld) -> None:
        tell(world, planned(world, TableMode.HISTORY, 1), change("c", A, 1, "x"))
        for mode in (TableMode.UPSERT, TableMode.APPEND):
            with pytest.raises(OperatorNeeded) as refused:
                world.target.ensure_table(plan_for(world, 2, mode=mode))
            assert refused.value.code == OTHER_MODE.code
            assert 'target.mode = "history"' in str(refused.value.hint)


class AppendPromises:
    """Every event."""

    def test_every_event_is_a_row(self, world: ModesWorld) -> None:
        chunk = [change("r", A, 1, "x"), change("r", B, 1, "y")]
        more = [
            change("u", A, 5, "z"),
            change("d", B, 4),
            emptied(7),
            change("c", A, 6, "w"),
            change("d", A, 6),
        ]
        tell(world, planned(world, TableMode.APPEND, 1), *chunk)
        tell(world, planned(world, TableMode.APPEND, 2), *more)
        everything = [
            (None, None, "t", seq(7)),
            (1, "w", "c", seq(6)),
            (1, "x", "r", seq(1)),
            (1, "z", "u", seq(5)),
            (1, None, "d", seq(6)),
            (2, "y", "r", seq(1)),
            (2, None, "d", seq(4)),
        ]
        events = ("number", "label", "_wl_op", "_wl_seq")
        assert picked(world.seen(TABLE.id), *events) == sorted(everything, key=repr)
        world.restart()
        for changes in (more[2:], chunk[1:], [*more, *chunk]):
            tell(world, planned(world, TableMode.APPEND, 2), *changes)
        world.target.upkeep(TABLE.id, forget_before_ms=9000)
        assert picked(world.seen(TABLE.id), *events) == sorted(everything, key=repr)
        assert world.target.applied(TABLE.id).offsets == {HERE: 2}

    def test_an_event_that_did_not_send_all_is_shown(self, world: ModesWorld) -> None:
        tell(
            world, planned(world, TableMode.APPEND, 1), change("c", A, 1, "x", "big"), partial("u", A, 2, "y")
        )
        assert picked(world.seen(TABLE.id), "label", "big") == [("x", "big"), ("y", None)]


class HardDeletePromises:
    """Deletes that leave nothing."""

    def test_a_hard_delete_leaves_nothing(self, world: ModesWorld) -> None:
        if Deletes.HARD not in world.target.can.deletes:
            pytest.skip("this target has no hard deletes")

        def hard(offset: int) -> MergePlan:
            return replace(plan_for(world, offset), deletes=Deletes.HARD)

        put(world, hard(2), change("c", A, 1, "x"), change("c", B, 2, "y"), change("c", ("c", 3), 2, "z"))
        put(world, hard(4), change("d", A, 5), change("d", B, 1), change("d", ("d", 4), 4))
        assert set(world.stored(TABLE.id)) == {B, ("c", 3)}, "B's delete was older than B"
        put(world, hard(5), change("c", A, 6, "again"), change("d", ("c", 3), 7), partial("u", B, 8, "new"))
        assert labels(world) == {A: "again", B: "new"}
        assert set(world.stored(TABLE.id)) == {A, B}


def follow(world: ModesWorld, number: int, batches: int, *, every: bool = False) -> None:
    """Tell a log in batches, and compare the history with the model's after the last, or after every one."""
    table = replace(TABLE, id=replace_name(f"orders{number}"))
    rows: Rows = {}
    for offset, some in enumerate(cuts(log(number), number, batches), start=1):
        plan = planned(world, TableMode.HISTORY, offset, table)
        tell(world, plan, *some)
        rows = merge(rows, latest(told(some, plan.ours.row, by_key=True)))
        if offset == batches or every:
            wanted = reader(versions(rows, NAMES, KEY))
            names = (*NAMES, START, END)
            found = [{name: row[name] for name in names} for row in world.seen(table.id)]
            assert in_order(found) == in_order(wanted), f"log {number} after batch {offset}"


def replace_name(name: str) -> TableId:
    return TableId(TABLE.id.database, TABLE.id.schema, name)


class ModesSuite(HistoryPromises, AppendPromises, HardDeletePromises):
    """Everything that a target with these modes promises."""
