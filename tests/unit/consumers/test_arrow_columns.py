"""Values to Arrow columns, as Iceberg wants them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from wrackline.consumers.targets.iceberg.direct.arrow_columns import UNFIT, arrow_column, arrow_type
from wrackline.schemas.tables.infinity import FIRST, LAST, LAST_DAY, LAST_MICROS
from wrackline.schemas.tables.types import FORMS, ColumnType, Kind, iceberg_type

MONEY = ColumnType(Kind.DECIMAL, "numeric(10,2)", precision=10, scale=2)
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)


def of(kind: Kind, element: ColumnType | None = None) -> ColumnType:
    return MONEY if kind is Kind.DECIMAL else ColumnType(kind, "x", element=element)


@pytest.mark.parametrize(
    ("its", "value", "expected"),
    [
        (of(Kind.BOOLEAN), False, False),
        (of(Kind.INT16), -7, -7),
        (of(Kind.INT64), -(2**63), -(2**63)),
        (of(Kind.FLOAT32), 1.5, 1.5),
        (of(Kind.STRING), "é\0😀", "é\0😀"),
        (of(Kind.BYTES), b"\0\xff", b"\0\xff"),
        (of(Kind.DATE), -1, date(1969, 12, 31)),
        (of(Kind.TIMESTAMP_MICROS), 1, datetime(1970, 1, 1, 0, 0, 0, 1)),  # noqa: DTZ001 - it has no zone
        (of(Kind.INSTANT_MICROS), 0, datetime(1970, 1, 1, tzinfo=UTC)),
        (of(Kind.ZONED_TIMESTAMP), "2026-01-02T12:00:00.123456Z", NOON),
        (of(Kind.ZONED_TIMESTAMP), "2026-01-02T12:00:00.1Z", NOON.replace(microsecond=100000)),
        (of(Kind.ZONED_TIMESTAMP), "2026-01-02T12:00:00Z", NOON.replace(microsecond=0)),
        (MONEY, Decimal("-12.34"), Decimal("-12.34")),
        (of(Kind.UINT64), Decimal(2**64 - 1), Decimal(2**64 - 1)),
        (of(Kind.ARRAY, MONEY), [Decimal("0.01"), None], [Decimal("0.01"), None]),
        (of(Kind.ARRAY, of(Kind.STRING)), [], []),
        (of(Kind.ARRAY, of(Kind.ZONED_TIMESTAMP)), ["2026-01-02T12:00:00.123456Z", None], [NOON, None]),
    ],
)
def test_a_value_becomes_what_it_says(its: ColumnType, value: Any, expected: object) -> None:
    given = pa.array([None, value, None, value], read_as(its))
    for values in (given.slice(1), pa.concat_arrays([given.slice(1)])):
        column = arrow_column(values, its)
        assert column.to_pylist() == [expected, None, expected]
        column.validate(full=True)


def read_as(its: ColumnType) -> pa.DataType:
    """Return the type that consumers/newest reads a column as."""
    if its.element is not None:
        return pa.list_(pa.field("element", read_as(its.element)))
    return pa.string() if its.kind is Kind.ZONED_TIMESTAMP else arrow_type(its)


def test_days_and_moments_that_python_has_not_are_kept_as_numbers() -> None:
    days = pa.array([LAST_DAY], pa.int32()).view(pa.date32())
    assert arrow_column(days, of(Kind.DATE)).cast(pa.int32()).to_pylist() == [LAST_DAY]
    micros = pa.array([LAST_MICROS], pa.int64()).view(pa.timestamp("us", "UTC"))
    moments = arrow_column(micros, of(Kind.INSTANT_MICROS))
    assert moments.cast(pa.int64()).to_pylist() == [LAST_MICROS]


@pytest.mark.parametrize(
    ("its", "values"),
    [
        (of(Kind.INT32), pa.array([7], pa.int64())),
        (MONEY, pa.array([Decimal("1.000")], pa.decimal128(10, 3))),
        (of(Kind.FLOAT64), pa.array([None, float("nan")])),  # Iceberg counts them, and Parquet does not
        (of(Kind.ZONED_TIMESTAMP), pa.array([None, FIRST])),
        (of(Kind.ZONED_TIMESTAMP), pa.array([LAST])),
        (of(Kind.ZONED_TIMESTAMP), pa.array(["12026-01-02T12:00:00Z"])),
        (of(Kind.ZONED_TIMESTAMP), pa.array(["2026-01-02T12:00:00"])),
        (of(Kind.ZONED_TIMESTAMP), pa.array(["2026-01-02T12:00:00Z\n"])),
        (of(Kind.ZONED_TIMESTAMP), pa.array(["2026-13-02T12:00:00Z"])),
        (of(Kind.ARRAY, of(Kind.FLOAT32)), pa.array([[float("nan")]], pa.list_(pa.float32()))),
    ],
)
def test_what_only_a_cast_of_spark_knows_is_refused(its: ColumnType, values: pa.Array) -> None:
    with pytest.raises(UNFIT):
        arrow_column(values, its)


def test_each_kind_has_the_type_that_iceberg_has_for_it() -> None:
    named = {
        pa.bool_(): "boolean",
        pa.int32(): "int",
        pa.int64(): "long",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.date32(): "date",
        pa.timestamp("us"): "timestamp",
        pa.timestamp("us", "UTC"): "timestamptz",
        pa.decimal128(10, 2): "decimal(10,2)",
        pa.decimal128(20, 0): "decimal(20,0)",
        pa.list_(pa.field("element", pa.string())): "list<string>",
    }
    for kind in FORMS:
        its = of(kind, of(Kind.STRING) if kind is Kind.ARRAY else None)
        assert named[arrow_column(pa.nulls(1), its).type] == iceberg_type(its)
