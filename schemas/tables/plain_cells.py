"""Values of a driver in a plain form, by the kind of their column, so that those of two can be compared.

a moment      microseconds since 1970, also from a text
a time        microseconds
a date        days
bytes         hexadecimal, also from such a text
a decimal     a Decimal, though a driver makes an int of one without a fraction
"""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from wrackline.schemas.tables.types import Kind

MOMENTS = frozenset({Kind.TIMESTAMP_MICROS, Kind.ZONED_TIMESTAMP, Kind.INSTANT_MICROS})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def plain(kind: Kind, cell: object) -> object:
    """Return one cell."""
    made = cell
    match cell:
        case int() if kind in (Kind.DECIMAL, Kind.UINT64):
            made = Decimal(cell)
        case str() if kind in MOMENTS:
            made = _micros(datetime.fromisoformat(cell))
        case str() if kind in (Kind.BYTES, Kind.BITS):
            made = cell.lower()
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
