"""What becomes of captured tables, told by their numbers: names may move from one to another."""

from collections.abc import Mapping

import pytest

from tests.unit.producers.sqlserver.change_model import lsn
from wrackline.producers.contract.steps import Appeared, Found, Renamed, Reshaped, Step, Vanished
from wrackline.producers.sources.sqlserver.follow.instance_tracker import InstanceTracker, ShownTable
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

A, B, C = (TableId("shop", "dbo", name) for name in "abc")


def shape(table: TableId) -> TableSchema:
    return TableSchema(table, (), (), KeyKind.NONE)


def look(tracker: InstanceTracker, names: Mapping[int, TableId]) -> list[Step]:
    shown = {number: ShownTable(table, lsn(1), shape(table)) for number, table in names.items()}
    return list(tracker.update(shown, names, lsn(9)))


@pytest.fixture
def tracker() -> InstanceTracker:
    made = InstanceTracker(lambda _: True, [A, B])
    assert [type(step) for step in look(made, {1: A, 2: B})] == [Found, Found]
    return made


def test_a_table_leaves_its_name_before_another_takes_it(tracker: InstanceTracker) -> None:
    assert look(tracker, {2: A, 1: C}) == [Renamed(A, C, shape(C)), Renamed(B, A, shape(A))]


def test_tables_that_exchange_their_names_never_share_one(tracker: InstanceTracker) -> None:
    assert look(tracker, {1: B, 2: A}) == [
        Vanished(A),
        Renamed(B, A, shape(A)),
        Appeared(B, complete=False, shape=shape(B)),
    ]


def test_a_new_table_takes_the_name_of_one_that_is_renamed(tracker: InstanceTracker) -> None:
    assert look(tracker, {3: A, 1: C, 2: B}) == [
        Renamed(A, C, shape(C)),
        Appeared(A, complete=False, shape=shape(A)),
    ]


def test_a_table_that_takes_a_name_outside_of_the_filters_has_left_its_own(tracker: InstanceTracker) -> None:
    """It is captured on, so nobody has to act; the name may have gone to another table in the same moment."""
    shown = {2: ShownTable(A, lsn(1), shape(A))}
    assert list(tracker.update(shown, {1: C, 2: A}, lsn(9))) == [Vanished(A), Renamed(B, A, shape(A))]


def test_a_table_that_is_dropped_leaves_its_name_to_nobody(tracker: InstanceTracker) -> None:
    shown = {2: ShownTable(B, lsn(1), shape(B))}
    assert list(tracker.update(shown, {2: B}, lsn(9))) == [Vanished(A, dropped=True)]


def test_a_name_does_not_wait_for_an_instance_that_begins_later(tracker: InstanceTracker) -> None:
    """Rows of the older instance come under the new name at once, and have its columns."""
    wider = TableSchema(
        C, (Column("extra", 1, ColumnType(Kind.INT32, "int"), nullable=True),), (), KeyKind.NONE
    )
    names = {1: C, 2: B}
    shown = {1: ShownTable(C, lsn(20), wider), 2: ShownTable(B, lsn(1), shape(B))}
    assert list(tracker.update(shown, names, lsn(9))) == [Renamed(A, C, shape(C))]
    assert list(tracker.update(shown, names, lsn(20))) == [Reshaped(C, refresh=True, shape=wider)]


def test_a_table_that_was_renamed_while_nobody_read_is_reported_once() -> None:
    tracker = InstanceTracker(lambda _: True, [A, B], {1: A, 2: B})
    assert look(tracker, {1: C, 2: B}) == [Renamed(A, C, shape(C)), Found(shape(B), frozenset())]
    assert look(tracker, {1: C, 2: B}) == []
