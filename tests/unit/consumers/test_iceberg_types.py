"""What a table keeps of its columns, and the names that Iceberg keeps for itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as spark

from wrackline.consumers.contract.identifiers import target_name
from wrackline.consumers.contract.plan import PlannedColumn
from wrackline.consumers.lake import column_types
from wrackline.consumers.targets.iceberg import types
from wrackline.schemas.tables.types import ColumnType, Kind, exact_number

LEAVES = st.builds(
    ColumnType,
    st.sampled_from([kind for kind in Kind if kind not in (Kind.ARRAY, Kind.DECIMAL)]),
    st.text(),
    length=st.none() | st.integers(1, 99),
    labels=st.lists(st.text()).map(tuple),
) | st.builds(exact_number, st.text(), st.integers(1, 38), st.integers(-3, 12))
TYPES = LEAVES | st.builds(lambda leaf: ColumnType(Kind.ARRAY, "x[]", element=leaf), LEAVES)


@given(st.builds(PlannedColumn, st.integers(0, 2000), st.text(), st.text(), TYPES))
def test_a_column_is_read_as_it_was_planned(column: PlannedColumn) -> None:
    kept = json.loads(column_types.describe_columns([column]))
    assert column_types.planned_column(column.identity, column.target, kept[str(column.identity)]) == column


INT, LONG, TEXT = spark.IntegerType(), spark.LongType(), spark.StringType()


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        (INT, LONG, True),
        (LONG, INT, False),
        (spark.DecimalType(5, 2), spark.DecimalType(9, 2), True),
        (spark.DecimalType(5, 2), spark.DecimalType(9, 3), False),
        (spark.ArrayType(INT), spark.ArrayType(LONG), True),
        (spark.ArrayType(INT), INT, False),
        (spark.FloatType(), spark.DoubleType(), True),
        (TEXT, TEXT, True),
        (INT, TEXT, False),
    ],
)
def test_only_what_iceberg_does_in_place_widens(
    old: spark.DataType, new: spark.DataType, *, fits: bool
) -> None:
    assert types.can_widen(old, new) is fits


def test_names_that_iceberg_keeps_are_moved_aside() -> None:
    names = types.IDENTIFIERS
    assert [target_name(name, names) for name in ("_file", "_row_id", "_files", "a.b", "x_file", "é `")] == [
        "_fil_",
        "_row_i_",
        "_files",
        "a_b",
        "x_file",
        "é `",
    ]
