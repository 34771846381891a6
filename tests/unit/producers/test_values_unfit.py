"""A look at a table's rows before they are read: which columns are looked at, what the finding names."""

from dataclasses import replace

import pytest

from wrackline.producers.rows.unfit_values import columns_that_stop, unfit_finding
from wrackline.schemas.events.projection import Plain, project_all
from wrackline.schemas.language.findings import Rule, Severity
from wrackline.schemas.settings.filters import OnUnfit
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

ID = TableId("shop", "public", "orders")
NAMES = ("a", "b.c", "d")
DATE = ColumnType(Kind.DATE, "date")
TABLE = TableSchema(ID, tuple(Column(name, nth, DATE) for nth, name in enumerate(NAMES)), ("a",))
RULE = Rule(
    "test.values_unfit",
    Severity.WARNING,
    "",
    "{count} of {looked} of {path}: {columns}",
    "",
    "{listed} {could}",
)


def names(policies: tuple[OnUnfit, ...], dropped: str = "") -> list[str]:
    actions = tuple(Plain.DROP if name == dropped else Plain.KEEP for name in NAMES)
    columns = tuple(column for column in TABLE.columns if column.name != dropped)
    shape = replace(
        project_all(TABLE), table=replace(TABLE, columns=columns), actions=actions, on_unfit=policies
    )
    return [column.name for column in columns_that_stop(shape)]


def test_a_table_stops_at_columns_that_are_kept_and_have_no_other_policy() -> None:
    stop, letter, null = OnUnfit.STOP, OnUnfit.LETTER, OnUnfit.NULL
    assert names(()) == ["a", "b.c", "d"]
    assert names((stop, letter, null)) == ["a"]
    assert names((letter, stop, stop)) == ["b.c", "d"]
    assert names((letter, stop), dropped="a") == ["d"], "policies are of the columns that go out"


def test_the_finding_names_the_columns_that_were_met_and_those_that_may_be_the_next() -> None:
    found = unfit_finding(RULE, ID, NAMES, (9, 5, 0, 4, 2), ["a", "d"])
    assert found is not None
    assert (found.table, found.column) == (ID, "b.c")
    assert found.description == "5 of 9 of shop.public.orders: b.c, d"
    as_text, letter = found.suggestion.split()
    assert as_text == "public.orders.b[.]c,public.orders.d"
    assert letter == as_text + ",public.orders.a"


@pytest.mark.parametrize("counts", [(9, 0, 0, 0, 0), (0, None, None, None, None)])
def test_rows_that_fit_are_no_finding(counts: tuple[int | None, ...]) -> None:
    assert unfit_finding(RULE, ID, NAMES, counts, NAMES) is None, "of no rows, MySQL sums up to null"
