"""Values to Arrow columns, as Iceberg wants them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from wrackline.consumers.targets.iceberg.direct.arrow_columns import UNFIT, arrow_column
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
        (MONEY, b"\x04\xd2", Decimal("12.34")),
        (MONEY, b"\xff", Decimal("-0.01")),
        (of(Kind.UINT64), b"\0" + b"\xff" * 8, Decimal(2**64 - 1)),
        (of(Kind.ARRAY, MONEY), [b"\x01", None], [Decimal("0.01"), None]),
        (of(Kind.ARRAY, of(Kind.STRING)), [], []),
    ],
)
def test_a_value_becomes_what_it_says(its: ColumnType, value: Any, expected: object) -> None:
    column = arrow_column([value, None, value], its)
    assert column.to_pylist() == [expected, None, expected]
    column.validate(full=True)


def test_days_and_moments_that_python_has_not_are_kept_as_numbers() -> None:
    assert arrow_column([LAST_DAY], of(Kind.DATE)).cast(pa.int32()).to_pylist() == [LAST_DAY]
    moments = arrow_column([LAST_MICROS], of(Kind.INSTANT_MICROS))
    assert moments.cast(pa.int64()).to_pylist() == [LAST_MICROS]


@pytest.mark.parametrize(
    ("its", "value"),
    [
        (of(Kind.INT32), 2**31),
        (of(Kind.STRING), 7),
        (of(Kind.FLOAT64), float("nan")),  # Iceberg counts them, and Parquet does not
        (of(Kind.BOOLEAN), "true"),
        (of(Kind.ZONED_TIMESTAMP), FIRST),
        (of(Kind.ZONED_TIMESTAMP), LAST),
        (of(Kind.ZONED_TIMESTAMP), "12026-01-02T12:00:00Z"),
        (of(Kind.ZONED_TIMESTAMP), "2026-01-02T12:00:00"),
        (of(Kind.ZONED_TIMESTAMP), "2026-13-02T12:00:00Z"),
        (MONEY, (10**10).to_bytes(6, "big")),
        (MONEY, b""),
        (of(Kind.ARRAY, MONEY), [b""]),
    ],
)
def test_what_only_a_cast_of_spark_knows_is_refused(its: ColumnType, value: Any) -> None:
    with pytest.raises(UNFIT):
        arrow_column([None, value], its)


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
        assert named[arrow_column([None], its).type] == iceberg_type(its)
