"""Which columns had another name at first, through statements of the schema."""

import pytest

from wrackline.producers.sources.mysql.renaming import renamed, tables_of
from wrackline.producers.sources.mysql.statements import (
    Altered,
    Created,
    DatabaseDropped,
    Deed,
    Doubtful,
    Dropped,
    Emptied,
    Moved,
)
from wrackline.schemas.table import TableId

T, U, ELSEWHERE = TableId("d", "d", "t"), TableId("d", "d", "u"), TableId("e", "e", "t")
HAD = {"d.d.t": {"b": "a"}, "e.e.t": {"y": "x"}}


@pytest.mark.parametrize(
    ("deed", "names"),
    [
        (Altered(T, keeps=True, renamed=(("b", "c"),)), {"d.d.t": {"c": "a"}}),
        (Altered(T, keeps=True, renamed=(("b", "a"),)), {}),  # as it was at first
        (Altered(T, keeps=True, renamed=(("b", "p"), ("p", "b"))), {"d.d.t": {"p": "a", "b": "p"}}),
        (Altered(T, keeps=True, renamed=(("B", "C"),)), {"d.d.t": {"c": "a"}}),  # as the servers see it
        (Altered(T, keeps=True, renamed=(("B", "A"),)), {}),
        (Altered(T, keeps=True, dropped=("b",)), {}),
        (Altered(T, keeps=True, dropped=("B",)), {}),
        (Altered(T, keeps=False), {"d.d.t": {"b": "a"}}),
        (Altered(U, keeps=True, renamed=(("k", "l"),)), {"d.d.t": {"b": "a"}, "d.d.u": {"l": "k"}}),
        (Moved(T, U), {"d.d.u": {"b": "a"}}),
        (Dropped(T), {}),
        (Created(T, replaces=True), {}),
        (Created(T, perhaps=True), {"d.d.t": {"b": "a"}}),
        (DatabaseDropped("d"), {}),
        (Emptied(T), {"d.d.t": {"b": "a"}}),
    ],
)
def test_a_first_name_follows_its_column_and_ends_with_it(
    deed: Deed, names: dict[str, dict[str, str]]
) -> None:
    assert renamed(HAD, [deed]) == {**names, "e.e.t": {"y": "x"}}


def test_two_tables_that_swap_names_swap_their_columns() -> None:
    deeds = [Moved(T, U), Moved(ELSEWHERE, T)]
    assert renamed(HAD, deeds) == {"d.d.u": {"b": "a"}, "d.d.t": {"y": "x"}}


def test_the_tables_of_a_deed_are_all_that_it_names() -> None:
    assert [*tables_of(Moved(T, U))] == [T, U]
    assert [*tables_of(Dropped(T))] == [T]
    assert [*tables_of(Doubtful())] == []
