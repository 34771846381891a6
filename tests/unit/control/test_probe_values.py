"""What the trial of a target calls another value than the one that it merged."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest

from wrackline.consumers.contract.plan import PlannedColumn
from wrackline.control.runtime.probe.target_trial import changed_columns
from wrackline.schemas.tables.types import ColumnType, Kind

COLUMNS = [
    PlannedColumn(at, name, name.upper(), ColumnType(kind, source))
    for at, (name, kind, source) in enumerate(
        [
            ("id", Kind.INT64, "bigint"),
            ("price", Kind.DECIMAL, "numeric(12,2)"),
            ("bytes", Kind.BYTES, "bytea"),
            ("day", Kind.DATE, "date"),
            ("clock", Kind.TIME_MICROS, "time"),
            ("moment", Kind.TIMESTAMP_MICROS, "timestamp"),
            ("instant", Kind.ZONED_TIMESTAMP, "timestamptz"),
        ],
        start=1,
    )
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def merged(number: int) -> list[object]:
    """A row as a driver gives it."""
    clock = (EPOCH + timedelta(microseconds=number * 3_600_000_001)).time()
    moment = EPOCH + timedelta(days=number, microseconds=-1)
    instant = EPOCH + timedelta(days=number, microseconds=number - 1)
    day = date(1969, 12, 28) + timedelta(days=number)
    price, image = Decimal(f"{number - 5}.250"), bytearray([0, 255, number])
    return [number, price, image, day, clock, moment.replace(tzinfo=None), instant]


def test_values_are_compared_and_not_their_forms() -> None:
    rows = [merged(number) for number in reversed(range(10))]
    assert changed_columns(COLUMNS, rows) == []
    for number, row in zip(reversed(range(10)), rows, strict=True):
        row[2] = f"00FF0{number}"  # as Redshift is asked for bytes
    assert changed_columns(COLUMNS, rows) == []


@pytest.mark.parametrize(
    ("at", "other", "named"),
    [
        (1, Decimal("-0.26"), "price (numeric(12,2))"),
        (2, b"\0\xfe\5", "bytes (bytea)"),
        (3, date(1970, 1, 3), "day (date)"),
        (4, time(5), "clock (time)"),
        (5, None, "moment (timestamp)"),
        (6, EPOCH + timedelta(days=5), "instant (timestamptz)"),
    ],
)
def test_a_column_with_another_value_is_named_with_its_type(at: int, other: object, named: str) -> None:
    rows = [merged(number) for number in range(10)]
    rows[5][at] = other
    assert changed_columns(COLUMNS, rows) == [named]
