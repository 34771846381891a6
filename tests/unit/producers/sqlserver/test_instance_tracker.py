"""What becomes of captured tables, told by their numbers: names may move from one to another."""

from collections.abc import Iterable, Mapping

import pytest

from tests.unit.producers.sqlserver.change_model import lsn
from wrackline.producers.contract.steps import Appeared, Fault, Found, Renamed, Reshaped, Step, Vanished
from wrackline.producers.sources.sqlserver.follow.capture_instances import enable_sql
from wrackline.producers.sources.sqlserver.follow.instance_tracker import (
    CAPTURE_ENDED,
    InstanceTracker,
    ShownTable,
    names_at,
)
from wrackline.producers.sources.sqlserver.log.position import FollowedInstance
from wrackline.schemas.errors import Definite
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

A, B, C = (TableId("shop", "dbo", name) for name in "abc")


NARROW, WIDE = ColumnType(Kind.INT32, "int"), ColumnType(Kind.INT64, "bigint")
ODD = Definite("a.b", "its shape can't be read", "look")


def shape(table: TableId, *columns: str) -> TableSchema:
    """Return a table with these columns; one with an exclamation mark has a wider type."""
    made = [Column(name, ord(name[0]), WIDE if "!" in name else NARROW, nullable=True) for name in columns]
    return TableSchema(table, tuple(made), (), KeyKind.NONE)


def ended(table: TableId, position: str = "00000000:00000000:0009") -> Fault:
    return Fault(table, CAPTURE_ENDED(table=table, position=position, statement=enable_sql(table)))


def told(steps: Iterable[Step]) -> list[object]:
    """Return the steps, each error by its text: errors of the same words are not equal."""
    return [(step.table, str(step.error)) if isinstance(step, Fault) else step for step in steps]


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
    wider = shape(C, "extra")
    names = {1: C, 2: B}
    shown = {1: ShownTable(C, lsn(20), wider), 2: ShownTable(B, lsn(1), shape(B))}
    assert list(tracker.update(shown, names, lsn(9))) == [Renamed(A, C, shape(C))]
    assert list(tracker.update(shown, names, lsn(20))) == [Reshaped(C, refresh=True, shape=wider)]


def test_a_table_that_was_renamed_while_nobody_read_is_reported_once() -> None:
    tracker = InstanceTracker(lambda _: True, [A, B], {1: A, 2: B})
    assert look(tracker, {1: C, 2: B}) == [Renamed(A, C, shape(C)), Found(shape(B), frozenset())]
    assert look(tracker, {1: C, 2: B}) == []


def test_names_of_a_place_are_those_that_it_has() -> None:
    instances = {
        "a": FollowedInstance(11, lsn(1), 1, ("dbo", "a")),
        "a2": FollowedInstance(12, lsn(2), 1, ("dbo", "a")),
        "old": FollowedInstance(13, lsn(2), 2),
    }
    assert names_at(instances, "shop") == {1: A}


def test_a_listed_table_that_is_not_there_is_reported_once() -> None:
    tracker = InstanceTracker(lambda _: True, [A, B, C])
    shown = {3: ShownTable(C, lsn(1), shape(C))}
    first = told(tracker.update(shown, {2: B, 3: C}, lsn(9)))
    assert len(first) == 3
    assert first[2] == Found(shape(C), frozenset())
    assert sorted(first[:2], key=str) == sorted([Vanished(A, dropped=True), *told([ended(B)])], key=str)
    assert told(tracker.update(shown, {2: B, 3: C}, lsn(9))) == []


def test_a_table_that_is_captured_no_more_is_reported_once(tracker: InstanceTracker) -> None:
    shown = {2: ShownTable(B, lsn(1), shape(B))}
    names = {1: A, 2: B}
    assert told(tracker.update(shown, names, lsn(9))) == told([ended(A)])
    assert told(tracker.update(shown, names, lsn(9))) == []


def test_a_table_outside_of_the_filters_is_no_news_whatever_becomes_of_it() -> None:
    tracker = InstanceTracker(lambda table: table != A, [A])
    for shown in (shape(A), shape(A, "extra"), ODD):
        assert told(tracker.update({1: ShownTable(A, lsn(1), shown)}, {1: A}, lsn(9))) == []
    assert told(tracker.update({}, {1: A}, lsn(9))) == [], "nobody has to capture it again"


def test_a_shape_that_cannot_be_read_is_a_fault_and_then_a_table_is_found(tracker: InstanceTracker) -> None:
    odd = {1: ShownTable(A, lsn(1), ODD), 2: ShownTable(B, lsn(10), ODD)}
    assert told(tracker.update(odd, {1: A, 2: B}, lsn(9))) == told([Fault(A, ODD)]), "B's begins later"
    assert look(tracker, {1: A, 2: B}) == []
    listed = InstanceTracker(lambda _: True, [A])
    assert told(listed.update({1: odd[1]}, {1: A}, lsn(9))) == told([Fault(A, ODD)])
    assert look(listed, {1: A}) == [Found(shape(A), frozenset())]


def test_a_table_with_another_name_and_no_shape_gets_one_later(tracker: InstanceTracker) -> None:
    odd = {1: ShownTable(C, lsn(1), ODD), 2: ShownTable(B, lsn(1), shape(B))}
    assert told(tracker.update(odd, {1: C, 2: B}, lsn(9))) == told([Renamed(A, C, None), Fault(C, ODD)])
    full = {1: ShownTable(C, lsn(1), shape(C, "id")), 2: odd[2]}
    assert list(tracker.update(full, {1: C, 2: B}, lsn(9))) == [
        Reshaped(C, refresh=True, shape=shape(C, "id"))
    ]


def test_nothing_is_said_of_an_instance_that_begins_later() -> None:
    tracker = InstanceTracker(lambda _: True, [A], {1: A})
    shown = {1: ShownTable(A, lsn(20), shape(A)), 2: ShownTable(B, lsn(10), shape(B))}
    names = {1: A, 2: B}
    assert list(tracker.update(shown, names, lsn(9))) == []
    assert [tracker.waits(shown, lsn(place)) for place in (9, 19, 20)] == [True, True, False]
    assert list(tracker.update(shown, names, lsn(10))) == [Appeared(B, complete=False, shape=shape(B))]
    assert list(tracker.update(shown, names, lsn(20))) == [Found(shape(A), frozenset())]


def test_a_table_that_has_left_the_filters_may_be_altered() -> None:
    tracker = InstanceTracker(lambda table: table != C, [A])
    assert look(tracker, {1: A}) == [Found(shape(A), frozenset())]
    assert look(tracker, {1: C}) == [Vanished(A, dropped=True)]
    assert list(tracker.update({1: ShownTable(C, lsn(1), shape(C, "id"))}, {1: C}, lsn(9))) == []


def test_a_later_instance_that_cannot_be_read_is_no_fault_yet(tracker: InstanceTracker) -> None:
    shown = {1: ShownTable(C, lsn(20), ODD), 2: ShownTable(B, lsn(1), shape(B))}
    assert told(tracker.update(shown, {1: C, 2: B}, lsn(9))) == [Renamed(A, C, shape(C))]
    assert told(tracker.update(shown, {1: C, 2: B}, lsn(20))) == told([Fault(C, ODD)])


def test_a_new_name_before_any_shape_was_known_comes_with_the_newest_shape() -> None:
    tracker = InstanceTracker(lambda _: True, [A], {1: A})
    shown = {1: ShownTable(C, lsn(20), shape(C, "id"))}
    assert list(tracker.update(shown, {1: C}, lsn(9))) == [Renamed(A, C, shape(C, "id"))]


def test_a_table_takes_the_name_of_a_listed_one_that_is_gone() -> None:
    tracker = InstanceTracker(lambda _: True, [A, B], {2: B})
    assert look(tracker, {2: A}) == [Renamed(B, A, shape(A))]


@pytest.mark.parametrize(
    ("before", "after", "refresh"),
    [(["a", "b"], ["a"], False), (["a"], ["a", "b"], True), (["a", "b"], ["a", "b!"], True)],
)
def test_rows_are_read_again_for_a_column_or_a_type_that_they_lack(
    before: list[str], after: list[str], *, refresh: bool
) -> None:
    tracker = InstanceTracker(lambda _: True, [A])
    for columns in (before, after):
        shown = {1: ShownTable(A, lsn(1), shape(A, *columns))}
        steps = list(tracker.update(shown, {1: A}, lsn(9)))
    assert steps == [Reshaped(A, refresh=refresh, shape=shape(A, *after))]


def test_the_statement_that_captures_a_table_again_has_its_names_quoted() -> None:
    odd = TableId("sh]op", "dbo", "o'dd")
    tracker = InstanceTracker(lambda _: True, [odd])
    look(tracker, {1: odd})
    [step] = tracker.update({}, {1: odd}, lsn(9))
    assert isinstance(step, Fault)
    assert "EXEC [sh]]op].sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'o''dd'" in str(
        step.error
    )
