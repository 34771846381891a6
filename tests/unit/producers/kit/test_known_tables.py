"""Tables by a number that outlives names, and by name: what each report or snapshot makes of them."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.contract.steps import Appeared, Found, Renamed, Vanished
from wrackline.producers.kit.known_tables import KnownTable, KnownTables
from wrackline.producers.kit.log_reports import LogReports
from wrackline.schemas.tables.table import TableId, TableSchema

NOTHING = frozenset[int]()


def named(name: str) -> TableId:
    return TableId("d", "s", name)


A, B, C, OUT = named("a"), named("b"), named("c"), named("x")


@dataclass(frozen=True)
class Moment:
    begun: int
    unsettled: Collection[Hashable] = ()


def captured(table: TableId) -> bool:
    return not table.name.startswith("x")


class Numbered:
    """Tables by number, in which these are known."""

    def __init__(self, **names: int) -> None:
        self.reports = LogReports()
        self.tables = KnownTables[int, None](captured, self.reports, rename=lambda old, new: f"{old} {new}")
        for name, number in names.items():
            self.tables.by_key[number] = KnownTable(named(name), None, captured(named(name)))

    def move(self, number: int, table: TableId) -> object:
        known = self.tables.by_key[number]
        return self.tables.move(known, table, None, captured=self.tables.captures(table))


def test_a_table_that_is_set_aside_is_not_captured() -> None:
    tables = Numbered(a=1).tables
    assert (tables.captures(A), tables.captures(OUT)) == (True, False)
    tables.aside.add(A)
    assert not tables.captures(A)
    assert tables.captures(B)


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        ("a", "a", []),
        ("a", "b", [Renamed(A, B, None, f"{A} {B}")]),
        ("a", "x", [Vanished(A, dropped=True)]),
        ("x", "b", [Appeared(B, complete=False)]),
        ("x", "xx", []),
    ],
)
def test_a_move_is_what_the_filters_make_of_it(before: str, after: str, steps: list[object]) -> None:
    world = Numbered(**{before: 1})
    assert world.move(1, named(after)) == steps
    assert world.move(1, named(after)) == [], "it is reported once"


def test_a_table_that_cannot_be_copied_any_more_vanishes_under_its_name() -> None:
    world = Numbered(a=1)
    assert world.tables.move(world.tables.by_key[1], A, None, captured=False) == [Vanished(A)]


def test_a_table_that_is_set_aside_has_not_vanished_until_it_leaves_its_name() -> None:
    world = Numbered(a=1)
    world.tables.aside.add(A)
    assert world.move(1, A) == []
    world = Numbered(a=1)
    world.tables.aside.add(A)
    assert world.move(1, OUT) == [Vanished(A, dropped=True)]


def test_a_step_that_makes_the_caller_read_notes_when_it_did() -> None:
    world = Numbered(a=1, x=2)
    world.reports.add(1)
    world.move(1, B)
    assert world.tables.by_key[1].last_request == 1
    world.reports.add(2)
    world.move(2, C)
    assert world.tables.by_key[2].last_request == 2
    world.reports.add(2)
    world.move(2, C)
    assert world.tables.by_key[2].last_request == 2, "nothing was reported"


def test_a_listed_table_is_found_once_and_only_with_a_shape() -> None:
    tables, shape = Numbered().tables, TableSchema(A, ())
    known = KnownTable(A, None, is_reported=False)
    assert tables.find(known, None, NOTHING) == []
    assert tables.find(known, shape, frozenset({3})) == [Found(shape, frozenset({3}))]
    assert tables.find(known, shape, NOTHING) == []
    assert tables.find(KnownTable(A, None, captured=False, is_reported=False), shape, NOTHING) == []


def test_a_name_belongs_to_one_table_at_a_time() -> None:
    world = Numbered(a=1, x=2)
    assert world.tables.release_name(1, A) == [], "it is its own"
    assert world.tables.release_name(3, OUT) == [], "nobody copied it"
    assert Numbered(a=1, x=2).tables.release_name(2, A) == [Vanished(A)], "it has another name so far"
    assert world.tables.release_name(3, A) == [Vanished(A)]
    assert world.tables.release_name(3, A) == []
    assert world.tables.by_key[1].table is None
    assert world.move(1, B) == [Appeared(B, complete=False)], "its rows are not in the topic of the new name"


def test_a_table_that_is_gone_vanishes_if_it_was_copied() -> None:
    tables = Numbered(a=1, x=2).tables
    assert tables.remove(1, dropped=True) == [Vanished(A, dropped=True)]
    assert tables.remove(1, dropped=True) == []
    assert tables.remove(2, dropped=True) == []
    assert Numbered(a=1).tables.remove(1, dropped=False) == [Vanished(A)], "it may only be hidden"
    assert tables.by_key == {}


def test_a_snapshot_shows_nothing_of_a_table_that_the_log_reported_since() -> None:
    world = Numbered(a=1, b=2, c=3)
    moment = Moment(world.reports.count, {3})
    world.reports.add(1)
    assert [world.tables.shows(moment, number) for number in (1, 2, 3, 4)] == [False, True, False, True]
    assert world.tables.missing(moment, {2}) == []
    assert world.tables.missing(moment, ()) == [2]
    assert world.tables.missing(Moment(world.reports.count), {3}) == [1, 2]


def test_a_snapshot_takes_no_name_that_the_log_has_given_to_another_table_since() -> None:
    world = Numbered(a=1, b=2, c=3)
    moment = Moment(world.reports.count)
    world.reports.add(2)
    shown = {1: B, 2: A, 3: C, 4: OUT}
    assert world.tables.current_names(moment, shown) == {3: C, 4: OUT}
    assert world.tables.current_names(Moment(world.reports.count), shown) == shown


def test_a_report_of_many_tables_counts_for_each() -> None:
    """By name, as where a statement drops a whole database."""
    reports = LogReports()
    tables = KnownTables[TableId, None](captured, reports, lambda table: (table, table.database))
    tables.by_key[A] = KnownTable(A, None)
    moment = Moment(reports.count)
    reports.add("d")
    assert not tables.shows(moment, A)
    assert not tables.shows(moment, B), "nor of one that was never known"
    assert tables.shows(moment, TableId("e", "e", "a"))
    assert tables.missing(moment, ()) == []


NUMBERS = st.permutations(range(4))


@given(NUMBERS, NUMBERS)
def test_a_table_leaves_its_name_before_another_takes_it(before: list[int], after: list[int]) -> None:
    """Whatever the renames, only a circle of them has a name taken before it is free."""
    tables = Numbered(**{f"t{name}": number for number, name in enumerate(before)}).tables
    names = {number: named(f"t{name}") for number, name in enumerate(after)}
    order = tables.in_order(names)
    assert sorted(order) == [0, 1, 2, 3]
    holds = {named(f"t{name}"): number for number, name in enumerate(before)}
    for at, number in enumerate(order):
        holder = holds[names[number]]
        if holder not in order[: at + 1]:
            circle, last = [number], holder
            while last not in circle:
                circle.append(last)
                last = holds[names[last]]
            assert last == number


def test_an_order_of_renames_without_a_circle_is_kept() -> None:
    tables = Numbered(a=1, b=2, c=3).tables
    assert tables.in_order({1: B, 2: C, 3: named("d")}) == [3, 2, 1]
    assert tables.in_order({3: C, 1: A, 4: named("d")}) == [3, 1, 4], "one that stays does not wait"
    assert tables.in_order({4: A}) == [4], "the snapshot says nothing of the table that had the name"
