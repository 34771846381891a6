"""The demo's comparison sees every difference, says where, and never shows a value."""

from decimal import Decimal

import pytest

from wrackline.control.local.demo.parts.comparison import CopyComparison, Row, compare_rows, is_same_cell
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = TableSchema(
    TableId("shop", "public", "orders"),
    (
        Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
        Column("note", 2, ColumnType(Kind.STRING, "text")),
        Column("weight", 3, ColumnType(Kind.FLOAT64, "double precision")),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
ROWS: dict[Row, Row] = {(n,): (n, f"canary {n}", 0.5) for n in range(3)}


def test_equal_tables_are_equal() -> None:
    assert compare_rows(TABLE, ROWS, dict(ROWS)) == CopyComparison(3, 3)
    assert CopyComparison(3, 3).equal


def test_each_kind_of_difference_is_named_by_key_and_column_and_without_a_value() -> None:
    lake = dict(ROWS)
    del lake[0,]
    lake[1,] = (1, "canary X", None)
    lake[7,] = (7, "canary 7", 0.5)
    verdict = compare_rows(TABLE, ROWS, lake)
    assert verdict == CopyComparison(3, 3, missing=("0",), surplus=("7",), changed=("1: note, weight",))
    assert not verdict.equal
    assert "canary" not in repr(verdict)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (1, True),
        (1, 1.0),
        (1, Decimal(1)),
        ("", None),
        (0.0, -0.0),
        (float("nan"), 0.0),
        ("a", "a "),
        ([1, None], [1]),
        (0.1, 0.1 + 1e-17 * 4),
    ],
)
def test_what_only_looks_alike_differs(ours: object, theirs: object) -> None:
    assert not is_same_cell(ours, theirs)
    assert not is_same_cell(theirs, ours)


@pytest.mark.parametrize(
    "cell", [None, 1, "a", Decimal("1.50"), float("nan"), float("-inf"), -0.0, [1, None]]
)
def test_a_value_is_itself(cell: object) -> None:
    assert is_same_cell(cell, cell)
