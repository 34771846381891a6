"""Values of a driver in the plain form of shops/shop.py, by the kind of their column.

a moment      microseconds since 1970, from the service's text
a date        days
bytes         hexadecimal
a decimal     a Decimal, though a driver makes an int of one without a fraction
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from wrackline.control.local.demo.shops.shop import Cells
from wrackline.schemas.tables.table import TableSchema
from wrackline.schemas.tables.types import Kind

MOMENTS = frozenset({Kind.TIMESTAMP_MICROS, Kind.ZONED_TIMESTAMP, Kind.INSTANT_MICROS})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def plain_row(table: TableSchema, row: Sequence[object]) -> Cells:
    """Return a row of a table's columns."""
    return [plain(column.type.kind, cell) for column, cell in zip(table.columns, row, strict=True)]


def plain(kind: Kind, cell: object) -> object:
    """Return one cell."""
    made = cell
    match cell:
        case int() if kind in (Kind.DECIMAL, Kind.UINT64):
            made = Decimal(cell)
        case str() if kind in MOMENTS:
            made = _micros(datetime.fromisoformat(cell))
        case datetime():
            made = _micros(cell)
        case date():
            made = (cell - _EPOCH.date()).days
        case time():
            made = _micros(datetime.combine(_EPOCH, cell))
        case bytes() | bytearray():
            made = cell.hex()
    return made


def _micros(moment: datetime) -> int:
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // _MICROSECOND
