"""A column's number, found for an older relation message, is right or is not given."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.sources.postgres.discover.column_identity import (
    CatalogueColumn,
    LoggedColumn,
    likely_numbers,
    numbers_of,
)

NAMES = "abcdef"


@dataclass
class Table:
    """A table's columns as the catalogue keeps them."""

    columns: list[CatalogueColumn] = field(default_factory=list)

    def live(self) -> list[CatalogueColumn]:
        return [column for column in self.columns if column.name is not None]

    def change(self, kind: str, pick: int, name: str) -> None:
        live = self.live()
        taken = {column.name for column in live}
        if kind == "add" and name not in taken:
            self.columns.append(CatalogueColumn(len(self.columns) + 1, name))
        elif kind == "drop" and len(live) > 1:
            self._replace(live[pick % len(live)], None)
        elif kind == "rename" and live and name not in taken:
            self._replace(live[pick % len(live)], name)

    def _replace(self, column: CatalogueColumn, name: str | None) -> None:
        self.columns[column.number - 1] = column._replace(name=name)


CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "drop", "rename"]), st.integers(0, 9), st.sampled_from(NAMES)),
    max_size=8,
)


@given(CHANGES, CHANGES)
def test_a_number_is_right_or_not_given(
    before: list[tuple[str, int, str]], after: list[tuple[str, int, str]]
) -> None:
    table = Table([CatalogueColumn(1, "a"), CatalogueColumn(2, "b"), CatalogueColumn(3, "c")])
    for change in before:
        table.change(*change)
    then = table.live()
    for change in after:
        table.change(*change)
    found = numbers_of([column.name or "" for column in then], table.columns)
    if found is not None and not _borrowed(then, table):
        assert found == [column.number for column in then]


@given(CHANGES, CHANGES)
def test_a_likely_number_is_in_order_and_right_where_it_is_the_keys(
    before: list[tuple[str, int, str]], after: list[tuple[str, int, str]]
) -> None:
    table = Table([CatalogueColumn(1, "a"), CatalogueColumn(2, "b"), CatalogueColumn(3, "c")])
    for change in before:
        table.change(*change)
    then = table.live()
    for change in after:
        table.change(*change)
    truth = [column.number for column in then]
    key = [column.number for column in table.live()[:1]]
    found = likely_numbers([LoggedColumn(column.name or "", 0) for column in then], table.columns, key)
    if found is None:
        return
    assert found == sorted(set(found))
    assert len(found) == len(truth)
    assert [number for number in found if number in key] == [number for number in truth if number in key]
    assert all(n in found for n in truth if table.columns[n - 1].name is not None and n < max(found))


def _borrowed(then: list[CatalogueColumn], table: Table) -> bool:
    """Whether a name of then belongs to another column now: that alone can't be seen in the catalogue."""
    now = {column.name: column.number for column in table.live()}
    return any(now.get(column.name, column.number) != column.number for column in then)


@pytest.mark.parametrize(
    ("logged", "catalogue", "expected"),
    [
        ("ab", [(1, "a"), (2, "b"), (3, "c")], [1, 2]),
        ("abc", [(1, "a"), (2, None), (3, "c"), (4, "d")], [1, 2, 3]),
        ("abc", [(1, "a"), (2, "x"), (3, "c")], [1, 2, 3]),
        ("abc", [(1, "x"), (2, "y"), (3, "z")], [1, 2, 3]),
        ("ac", [(1, "a"), (2, None), (3, "x"), (4, None)], None),
        ("ac", [(1, "a"), (2, None), (3, "c")], [1, 3]),
        ("ab", [(1, "b"), (2, "a")], None),
        ("", [(1, "a")], []),
    ],
)
def test_what_can_be_known(
    logged: str, catalogue: list[tuple[int, str | None]], expected: list[int] | None
) -> None:
    assert numbers_of(list(logged), [CatalogueColumn(*column) for column in catalogue]) == expected


@pytest.mark.parametrize(
    ("logged", "catalogue", "key", "expected"),
    [
        ("avw", [(1, "a"), (2, None), (3, "w"), (4, "v")], [1], [1, 2, 3]),  # v dropped and added
        ("av", [(1, "a"), (2, None), (3, "v")], [1], [1, 3]),  # before or after it: the same message
        ("abc", [(1, "a"), (2, "c"), (3, "b")], [1], [1, 2, 3]),  # two names changed places
        ("abc", [(1, "a"), (2, None), (3, None), (4, "c")], [1], [1, 2, 4]),
        ("ab", [(1, "b"), (2, "a")], [1], None),  # a key that may be the other column
        ("vw", [(1, None), (2, "w"), (3, "v")], [2], None),
        ("abc", [(1, "a"), (2, "b")], [1], None),
    ],
)
def test_what_is_likely(
    logged: str, catalogue: list[tuple[int, str | None]], key: list[int], expected: list[int] | None
) -> None:
    columns = [CatalogueColumn(*column) for column in catalogue]
    assert likely_numbers([LoggedColumn(name, 0) for name in logged], columns, key) == expected


def test_a_type_distinguishes_columns() -> None:
    columns = [
        CatalogueColumn(1, "a", type_oid=1),
        CatalogueColumn(2, None),
        CatalogueColumn(3, "r", type_oid=25),
        CatalogueColumn(4, None),
    ]
    assert likely_numbers(
        [LoggedColumn("a", 1), LoggedColumn("p", 25), LoggedColumn("q", 23)], columns, [1]
    ) == [1, 3, 4]
    assert likely_numbers(
        [LoggedColumn("a", 1), LoggedColumn("p", 23), LoggedColumn("q", 25)], columns, [1]
    ) == [1, 2, 3]


def test_a_generated_column_is_no_candidate() -> None:
    columns = [CatalogueColumn(1, "a"), CatalogueColumn(2, "g", published=False), CatalogueColumn(3, "x")]
    assert numbers_of(["a", "c"], columns) == [1, 3]
