"""What becomes of the captured tables, as looks at the catalogue and the log's DDL show it."""

from collections.abc import Mapping

import pytest

from wrackline.producers.contract.steps import Appeared, Fault, Found, Renamed, Reshaped, Vanished
from wrackline.producers.sources.oracle.follow.ddl_statement import DdlDeed
from wrackline.producers.sources.oracle.follow.table_tracker import OracleTableTracker, SeenTable
from wrackline.producers.sources.oracle.transactions.open_transaction import ROLLBACK_UNMATCHED
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

A, B, C = (TableId("DB", "SHOP", name) for name in "ABC")
OTHER = TableId("DB", "SHOP", "OTHER")


def shape(table: TableId, *names: str) -> TableSchema:
    columns = tuple(Column(name, ord(name), ColumnType(Kind.STRING, "x")) for name in ("I", *names))
    return TableSchema(table, columns, ("I",), KeyKind.PRIMARY)


def seen(*tables: TableId, names: str = "") -> dict[int, SeenTable]:
    """Tables whose numbers are their places."""
    return {number: SeenTable(one, shape(one, *names)) for number, one in enumerate(tables, start=1)}


def a_tracker(*listed: TableId) -> OracleTableTracker:
    return OracleTableTracker(lambda table: table != OTHER, listed)


def look(
    tracker: OracleTableTracker, shown: Mapping[int, SeenTable], **more: Mapping[int, TableId]
) -> list[object]:
    names = more.get("names") or {number: one.table for number, one in shown.items()}
    return list(tracker.look(shown, names))


def test_a_listed_table_is_found_once_and_a_new_one_appears() -> None:
    tracker = a_tracker(A)
    filled = frozenset({7})
    first = {1: SeenTable(A, shape(A), filled), 2: SeenTable(B, shape(B))}
    assert look(tracker, first) == [Found(shape(A), filled), Appeared(B, complete=False, shape=shape(B))]
    assert look(tracker, first) == []


def test_a_table_that_is_gone_is_dropped_unless_its_name_is_there() -> None:
    tracker = a_tracker(A, B)
    look(tracker, seen(A, B))
    assert look(tracker, {}, names={2: B}) == [Vanished(A, dropped=True), Vanished(B, dropped=False)]
    assert look(a_tracker(A, B), {}, names={2: B}) == [Vanished(A, dropped=True), Vanished(B, dropped=False)]


def test_a_table_with_another_number_is_another_table() -> None:
    tracker = a_tracker(A)
    look(tracker, seen(A))
    news = look(tracker, {2: SeenTable(A, shape(A))})
    assert news == [Vanished(A, dropped=False), Appeared(A, complete=False, shape=shape(A))]


def test_a_renamed_table_takes_its_rows_with_it() -> None:
    tracker = a_tracker(A)
    look(tracker, seen(A))
    assert look(tracker, seen(B)) == [Renamed(A, B, shape(B))]
    assert look(tracker, {1: SeenTable(OTHER, None)}) == [Vanished(B, dropped=True)]
    assert look(tracker, seen(C)) == [Appeared(C, complete=False, shape=shape(C))]


def test_tables_that_exchange_names() -> None:
    tracker = a_tracker(A, B)
    look(tracker, seen(A, B))
    news = look(tracker, seen(B, A))
    assert {type(step) for step in news} <= {Renamed, Vanished, Appeared}
    assert tracker.tables.by_key[1].table == B
    assert tracker.tables.by_key[2].table == A


@pytest.mark.parametrize(("filled", "refresh"), [(frozenset[int](), False), (frozenset({ord("X")}), True)])
def test_a_column_that_comes_with_values_has_the_rows_read_again(
    filled: frozenset[int],
    refresh: bool,  # noqa: FBT001 - of a case
) -> None:
    tracker = a_tracker(A)
    look(tracker, seen(A))
    now = shape(A, "X")
    assert look(tracker, {1: SeenTable(A, now, filled)}) == [Reshaped(A, refresh, now, filled)]


def test_a_table_without_a_shape_is_a_fault_of_its_own() -> None:
    error = ROLLBACK_UNMATCHED(xid="1", table=A, scn=1, reason="it is so")
    tracker = a_tracker(A)
    assert look(tracker, {1: SeenTable(A, error), 2: SeenTable(B, shape(B))}) == [
        Fault(A, error),
        Appeared(B, complete=False, shape=shape(B)),
    ]


@pytest.mark.parametrize(
    ("deed", "reported", "expected"),
    [
        (DdlDeed.LOSES, {A}, [Reshaped(A, refresh=True, void=True)]),
        (DdlDeed.LEAVES, set(), [Reshaped(A, refresh=True, void=True)]),
        (DdlDeed.LEAVES, {A}, []),
        (DdlDeed.RENEWS, set(), [Reshaped(A, refresh=True)]),
        (DdlDeed.RENEWS, {A}, []),
        (DdlDeed.KEEPS, set(), []),
    ],
)
def test_what_the_log_says_of_a_name_and_the_catalogue_does_not_show(
    deed: DdlDeed, reported: set[TableId], expected: list[Reshaped]
) -> None:
    """A table that was dropped and made again while nobody read has the number of the new one."""
    tracker = a_tracker(A)
    look(tracker, seen(A))
    assert list(tracker.done(deed, A, reported)) == expected
    assert list(tracker.done(deed, B, reported)) == [], "it is not known"
    tracker.tables.aside.add(A)
    assert list(tracker.done(deed, A, reported)) == []
