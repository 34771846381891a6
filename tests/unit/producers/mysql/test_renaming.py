"""Which columns had another name at first, through statements of the schema."""

import pytest

from wrackline.producers.sources.mysql.ddl.column_renames import apply_renames, tables_of
from wrackline.producers.sources.mysql.ddl.ddl_effects import (
    DatabaseDropped,
    DdlEffect,
    TableAltered,
    TableCreated,
    TableDropped,
    TableEmptied,
    TableRenamed,
    UnknownEffect,
)
from wrackline.schemas.tables.table import TableId

T, U, ELSEWHERE = TableId("d", "d", "t"), TableId("d", "d", "u"), TableId("e", "e", "t")
HAD = {"d.d.t": {"b": "a"}, "e.e.t": {"y": "x"}}


@pytest.mark.parametrize(
    ("deed", "names"),
    [
        (TableAltered(T, keeps=True, renamed=(("b", "c"),)), {"d.d.t": {"c": "a"}}),
        (TableAltered(T, keeps=True, renamed=(("b", "a"),)), {}),  # as it was at first
        (TableAltered(T, keeps=True, renamed=(("b", "p"), ("p", "b"))), {"d.d.t": {"p": "a", "b": "p"}}),
        (TableAltered(T, keeps=True, renamed=(("B", "C"),)), {"d.d.t": {"c": "a"}}),  # as the servers see it
        (TableAltered(T, keeps=True, renamed=(("B", "A"),)), {}),
        (TableAltered(T, keeps=True, dropped=("b",)), {}),
        (TableAltered(T, keeps=True, dropped=("B",)), {}),
        (TableAltered(T, keeps=False), {"d.d.t": {"b": "a"}}),
        (TableAltered(U, keeps=True, renamed=(("k", "l"),)), {"d.d.t": {"b": "a"}, "d.d.u": {"l": "k"}}),
        (TableRenamed(T, U), {"d.d.u": {"b": "a"}}),
        (TableDropped(T), {}),
        (TableCreated(T, replaces=True), {}),
        (TableCreated(T, perhaps=True), {"d.d.t": {"b": "a"}}),
        (DatabaseDropped("d"), {}),
        (TableEmptied(T), {"d.d.t": {"b": "a"}}),
    ],
)
def test_a_first_name_follows_its_column_and_ends_with_it(
    deed: DdlEffect, names: dict[str, dict[str, str]]
) -> None:
    assert apply_renames(HAD, [deed]) == {**names, "e.e.t": {"y": "x"}}


def test_two_tables_that_swap_names_swap_their_columns() -> None:
    deeds = [TableRenamed(T, U), TableRenamed(ELSEWHERE, T)]
    assert apply_renames(HAD, deeds) == {"d.d.u": {"b": "a"}, "d.d.t": {"y": "x"}}


def test_the_tables_of_a_deed_are_all_that_it_names() -> None:
    assert [*tables_of(TableRenamed(T, U))] == [T, U]
    assert [*tables_of(TableDropped(T))] == [T]
    assert [*tables_of(UnknownEffect())] == []
