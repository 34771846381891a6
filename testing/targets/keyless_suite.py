"""The target contract of tables without a key, and of keys that change.

There is nothing new to merge: a plan of such a table has a key column of ours (`_wl_row`), and each event
brings rows of its own under it: what came as a row that lives, what went as a tombstone with its values.
What a target has to add is for readers: a content is shown as often as it came more than it went, contents
compared exactly (-0.0 is not 0.0, NaN is NaN, null is null); and in its upkeep, which drops pairs.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import nan
from typing import Protocol

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change, Content, Event, Values, content, halves
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    HERE,
    TABLE,
    TargetWorld,
    alter,
    change,
    labels,
    plan_for,
    put,
    seq,
)

BAG = TableSchema(
    TableId("db", "public", "bags"), (*COLUMNS[:3], Column("weight", 4, ColumnType(Kind.FLOAT64, "float8")))
)
NAMES = tuple(column.name for column in BAG.columns)
BY_LABEL = replace(TABLE, key=("label",))
NO_KEY = replace(TABLE, key=(), key_kind=KeyKind.NONE)
MORE = Column("more", 9, ColumnType(Kind.STRING, "text"))


class KeylessWorld(TargetWorld, Protocol):
    """A world that can count what a reader sees."""

    def copies(self, table: TableId, columns: tuple[str, ...]) -> Mapping[Content, int]:
        """Return how often a reader sees each content, as merge_model.content writes it."""
        ...


def row(shop: str | None, number: int | None = 1, label: str | None = None, weight: float = 1.0) -> Values:
    return {"shop": shop, "number": number, "label": label, "weight": weight}


def came(number: int, values: Values, op: str = "c") -> Event:
    return Event(seq(number), op, None, values, number * 1000)


def went(number: int, values: Values) -> Event:
    return Event(seq(number), "d", values, None, number * 1000)


def changed(number: int, before: Values, after: Values) -> Event:
    return Event(seq(number), "u", before, after, number * 1000)


def bag_plan(world: TargetWorld, offset: int, floor: int | None = None) -> MergePlan:
    return plan_for(world, offset, floor, BAG)


def tell(world: TargetWorld, plan: MergePlan, *events: Event) -> None:
    put(world, plan, *halves(events, plan.ours.row))


def bag(world: KeylessWorld) -> dict[Content, int]:
    return dict(world.copies(BAG.id, NAMES))


def of(*rows: Values) -> dict[Content, int]:
    return dict(Counter(content(one, NAMES) for one in rows))


class KeylessPromises:
    """A bag of rows."""

    def test_each_row_is_stored_as_often_as_it_came(self, world: KeylessWorld) -> None:
        """T-K15."""
        x, y, null = row("x"), row("y"), row(None, None)
        tell(world, bag_plan(world, 6), came(1, x), came(2, x), came(3, x, "r"), came(4, null), came(5, null))
        assert bag(world) == of(x, x, x, null, null)
        tell(world, bag_plan(world, 9), changed(6, x, y), went(7, null), went(8, x))
        assert bag(world) == of(x, y, null)
        tell(world, bag_plan(world, 12), changed(9, y, y), went(10, y), went(11, null))
        assert bag(world) == of(x)

    def test_a_delete_may_arrive_before_its_insert(self, world: KeylessWorld) -> None:
        x, y = row("x"), row("y")
        tell(world, bag_plan(world, 1), went(7, x), changed(8, y, x))
        assert bag(world) == {}
        world.restart()
        tell(world, bag_plan(world, 2), came(1, y))
        assert bag(world) == {}
        tell(world, bag_plan(world, 3), came(2, x), came(3, x), came(4, y))
        assert bag(world) == of(x, x, y)

    def test_an_event_twice_is_an_event_once(self, world: KeylessWorld) -> None:
        x, y = row("x"), row("y")
        events = [came(1, x), came(2, x), went(3, x), changed(4, x, y), came(5, x), changed(6, y, y)]
        tell(world, bag_plan(world, 3), *events[:3])
        tell(world, bag_plan(world, 6), *events[3:])
        once, applied = dict(world.stored(BAG.id)), world.target.applied(BAG.id)
        for part in (events[2:5], events[:1], [*events, *events]):
            tell(world, bag_plan(world, 6), *part)
        assert (world.stored(BAG.id), world.target.applied(BAG.id)) == (once, applied)
        assert bag(world) == of(x, y)

    def test_contents_are_compared_exactly(self, world: KeylessWorld) -> None:
        minus, zero, no_number = row("x", weight=-0.0), row("x", weight=0.0), row("x", weight=nan)
        tell(world, bag_plan(world, 4), came(1, minus), came(2, zero), came(3, no_number), came(4, no_number))
        assert bag(world) == of(minus, zero, no_number, no_number)
        assert len(bag(world)) == 3, "each of them is another content"
        tell(world, bag_plan(world, 6), went(5, zero), went(6, no_number))
        assert bag(world) == of(minus, no_number)
        tell(world, bag_plan(world, 8), came(7, zero), went(8, minus))
        assert bag(world) == of(zero, no_number), "whichever copy of a content is hidden"

    def test_a_floor_voids_what_came_and_what_went_before_it(self, world: KeylessWorld) -> None:
        x, y = row("x"), row("y")
        tell(world, bag_plan(world, 4), came(1, x), came(2, x), went(9, x), came(12, y))
        assert bag(world) == of(x, y)
        tell(world, bag_plan(world, 5, floor=8), came(3, y))
        assert bag(world) == of(y), "what went at 9 came behind the floor"
        tell(world, bag_plan(world, 6), came(8, x, "r"), went(7, y))
        assert bag(world) == of(y)

    def test_upkeep_drops_old_pairs_alone(self, world: KeylessWorld) -> None:
        x, y, z = row("x"), row("y"), row("z", weight=-0.0)
        tell(world, bag_plan(world, 4), came(1, x), came(2, x), went(3, x), went(4, y))
        tell(world, bag_plan(world, 9), came(5, z), went(8, x), came(6, row("z")))
        assert world.target.upkeep(BAG.id, forget_before_ms=7000).removed[UpkeepRemoval.TOMBSTONES] == 2
        stored = world.stored(BAG.id)
        assert len(stored) == 5, "one pair of x is gone; 8 is too young to be dropped, and y waits"
        assert bag(world) == of(z, row("z"))
        tell(world, bag_plan(world, 10), came(10, y))
        assert bag(world) == of(z, row("z"))
        assert world.target.applied(BAG.id).offsets == {HERE: 10}

    def test_a_row_goes_after_a_column_was_added(self, world: KeylessWorld) -> None:
        tell(world, bag_plan(world, 2), came(1, row("x")), came(2, row("x")))
        wider = replace(BAG, columns=(*BAG.columns, MORE))
        plan = plan_for(world, 3, table=wider)
        alter(world, plan, bag_plan(world, 2).table)
        tell(world, plan, changed(3, {**row("x"), "more": None}, {**row("x"), "more": "m"}))
        found = world.copies(BAG.id, (*NAMES, "more"))
        both = ({**row("x"), "more": more} for more in (None, "m"))
        assert dict(found) == {content(one, (*NAMES, "more")): 1 for one in both}


def under_label(op: str, label: str, number: int, key: tuple[str, int]) -> Change:
    """A change of the suite's table when `label` is its key."""
    return replace(change(op, key, number, label), key=(label,))


def rekeyed(world: TargetWorld, offset: int, floor: int, table: TableSchema) -> MergePlan:
    """Plan a batch of another key, as key_change.py has it: the floor is behind all that is stored."""
    plan = plan_for(world, offset, table=table)
    return replace(plan, upto=replace(plan.upto, floor=seq(floor) + "0"))


class KeyPromises:
    """Other columns are the key."""

    def test_a_table_with_another_key_starts_over(self, world: KeylessWorld) -> None:
        stored = [
            change("c", ("a", number), number, label) for number, label in ((1, "x"), (2, "x"), (3, "y"))
        ]
        put(world, plan_for(world, 3), *stored)
        plan = rekeyed(world, 5, 3, BY_LABEL)
        alter(world, plan, TABLE)
        for _ in range(2):
            put(world, plan, under_label("c", "x", 4, ("b", 1)), under_label("r", "z", 5, ("b", 1)))
            assert sorted(map(str, labels(world).values())) == ["x", "z"]
        world.restart()
        put(world, plan_for(world, 6, table=BY_LABEL), under_label("u", "x", 6, ("c", 9)))
        seen = world.visible(TABLE.id)
        assert {(values["shop"], values["label"]) for values in seen.values()} == {("c", "x"), ("b", "z")}

    def test_a_key_may_go_and_come_again(self, world: KeylessWorld) -> None:
        put(world, plan_for(world, 2), change("c", ("a", 1), 1, "x"), change("c", ("a", 2), 2, "y"))
        plan = rekeyed(world, 5, 2, NO_KEY)
        alter(world, plan, TABLE)
        values = dict(change("c", ("a", 1), 0, "x").values)
        tell(world, plan, came(4, values), came(5, values))
        names = tuple(column.name for column in COLUMNS)
        assert dict(world.copies(TABLE.id, names)) == {content(values, names): 2}
        again = rekeyed(world, 8, 5, TABLE)
        alter(world, again, plan.table)
        put(world, again, change("r", ("a", 1), 7, "x"))
        assert labels(world) == {("a", 1): "x"}

    def test_a_key_is_written_as_its_newest_change_has_it(self, world: KeylessWorld) -> None:
        """-0.0 is the key of 0.0 for a target, and another value."""
        by_weight = replace(BAG, key=("weight",), key_kind=KeyKind.PRIMARY)

        def told(op: str, weight: float, number: int) -> Change:
            values = dict(row("x", weight=weight))
            return Change((weight,), seq(number), op, values, commit_ts=number * 1000)

        for offset, one in enumerate((told("c", -0.0, 1), told("d", -0.0, 2), told("c", 0.0, 2)), start=1):
            put(world, plan_for(world, offset, table=by_weight), one)
        assert [str(one["weight"]) for one in world.visible(BAG.id).values()] == ["0.0"]
        put(world, plan_for(world, 9, table=by_weight), told("u", -0.0, 3))
        put(world, plan_for(world, 9, table=by_weight), told("u", 0.0, 1), told("d", 0.0, 2))
        assert [str(one["weight"]) for one in world.visible(BAG.id).values()] == ["-0.0"]

    def test_what_was_made_at_the_place_of_its_delete_lives(self, world: KeylessWorld) -> None:
        """Two keys of the source that are one for the target: -0.0 became 0.0, for both are 0."""
        a, b = ("a", 1), ("b", 2)
        put(world, plan_for(world, 4), change("c", a, 1, "old"), change("c", b, 1, "old"))
        put(world, plan_for(world, 5), change("d", a, 5), change("c", b, 5, "new"))
        put(world, plan_for(world, 6), change("c", a, 5, "new"), change("d", b, 5))
        assert labels(world) == {a: "new", b: "new"}
