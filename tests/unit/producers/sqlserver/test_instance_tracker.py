"""What becomes of captured tables, told by their numbers: names may move from one to another."""

from collections.abc import Mapping

import pytest

from tests.unit.producers.sqlserver.change_model import lsn
from wrackline.producers.contract.steps import Appeared, Found, Renamed, Step, Vanished
from wrackline.producers.sources.sqlserver.follow.instance_tracker import InstanceTracker, ShownTable
from wrackline.schemas.tables.table import KeyKind, TableId, TableSchema

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
