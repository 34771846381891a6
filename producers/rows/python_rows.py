"""Rows given as Python values into Avro: for drivers that hand out values, and for a fake.

In: a row in the table's column order, None for null, `UNSENT` for a value that the log left out.
Out: the bytes that `envelope.py` promises; the frame (frame.py) completes them to an event.
A value that does not fit its column raises; it is never rounded, cut or replaced.
"""

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from functools import partial

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.frame import avro_long
from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

VALUE_UNFIT = define(
    "value.unfit",
    OperatorNeeded,
    "a value of column {column} of {table} does not fit its type {type}: {reason}",
    hint="set column.as.text = '{table}.{column}' to carry the column as text, or correct the row in the"
    " source",
)


class _Unfit(ValueError):  # noqa: N818 - it names what the value is
    """The reason why a value does not fit; it never shows the value."""


class _Unsent(Enum):
    UNSENT = "unsent"


UNSENT = _Unsent.UNSENT  # in a row, in place of a value that the log did not send

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without zone has none here either
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)
_RANGES = {Kind.INT16: 15, Kind.INT32: 31, Kind.YEAR: 31}


def _decimal(value: object, scale: int) -> bytes:
    number = value if isinstance(value, Decimal) else Decimal(value) if isinstance(value, int) else None
    if number is None or not number.is_finite():
        raise _Unfit("it is not a finite number")
    sign, digits, exponent = number.as_tuple()
    shift = scale + int(exponent)
    units = int("".join(map(str, digits)))
    if shift < 0:
        units, rest = divmod(units, int(10**-shift))
        if rest:
            raise _Unfit("it has more decimal places than the column")
    else:
        units *= int(10**shift)
    units = -units if sign else units
    raw = units.to_bytes((units + (units < 0)).bit_length() // 8 + 1, "big", signed=True)
    return avro_long(len(raw)) + raw


def _zoned(value: object) -> bytes:
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            raise _Unfit("it has no time zone")
        text = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat()
        value = (text.rstrip("0") if "." in text else text) + "Z"
    return _text(value)


def _text(value: object) -> bytes:
    if not isinstance(value, str):
        raise _Unfit(f"it is a {type(value).__name__}, not text")
    raw = value.encode()
    return avro_long(len(raw)) + raw


def _raw(value: object) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise _Unfit(f"it is a {type(value).__name__}, not bytes")
    return avro_long(len(value)) + bytes(value)


def _array(value: object, element: Callable[[object], bytes]) -> bytes:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise _Unfit(f"it is a {type(value).__name__}, not a list")
    count = avro_long(len(value)) if value else b""
    return count + b"".join(b"\x00" if one is None else b"\x02" + element(one) for one in value) + b"\x00"


def _counted(value: object, kind: Kind) -> bytes:
    return avro_long(_number(value, kind))


def _number(value: object, kind: Kind) -> int:
    """Return what Avro counts: days, microseconds, or the number itself."""
    if isinstance(value, dt.datetime):
        if kind is Kind.INSTANT_MICROS:
            return (value - _EPOCH_UTC) // _MICROSECOND
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, dt.date):
        return value.toordinal() - _EPOCH_DAY
    if isinstance(value, dt.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    if isinstance(value, dt.timedelta):
        return value // _MICROSECOND
    if not isinstance(value, int):
        raise _Unfit(f"it is a {type(value).__name__}, not a number")
    most = _RANGES.get(kind, 63)
    if not -(1 << most) <= value < 1 << most:
        raise _Unfit("it is out of range")
    return int(value)


_COUNTED = {
    Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.DATE, Kind.TIME_MICROS,
    Kind.TIMESTAMP_MICROS, Kind.INSTANT_MICROS, Kind.DURATION_MICROS,
}  # fmt: skip
_OTHERWISE: dict[Kind, Callable[[object], bytes]] = {
    Kind.BOOLEAN: lambda value: b"\x01" if value else b"\x00",
    Kind.FLOAT32: partial(struct.pack, "<f"),
    Kind.FLOAT64: partial(struct.pack, "<d"),
    Kind.BYTES: _raw,
    Kind.BITS: _raw,
    Kind.ZONED_TIMESTAMP: _zoned,
}


def form_of(column: ColumnType) -> Callable[[object], bytes]:
    """Return what makes a value's Avro bytes, without a union's index."""
    kind = column.kind
    if kind is Kind.ARRAY and column.element is not None:
        return partial(_array, element=form_of(column.element))
    if kind in {Kind.DECIMAL, Kind.UINT64}:
        return partial(_decimal, scale=column.scale or 0)
    if kind in _COUNTED:
        return partial(_counted, kind=kind)
    return _OTHERWISE.get(kind, _text)


class RowEncoder:
    """Rows of one table at one shape; only heads and keys, a frame adds the tail."""

    def __init__(self, table: TableSchema, key_id: int, value_id: int) -> None:
        """Take the table and its schemas' registered ids."""
        self._table = table
        self._forms = [form_of(column.type) for column in table.columns]
        place = {column.name: i for i, column in enumerate(table.columns)}
        self._key = [(place[column.name], column.nullable) for column in table.key_columns]
        self._key_header = b"\x00" + key_id.to_bytes(4, "big")
        self._value_header = b"\x00" + value_id.to_bytes(4, "big")

    def key(self, row: Sequence[object]) -> bytes | None:
        """Return the record's key, or None for a table without one."""
        if not self._key:
            return None
        pieces = [self._key_header]
        for place, nullable in self._key:
            if row[place] is None and nullable:
                pieces.append(b"\x00")
            else:
                pieces.append((b"\x02" if nullable else b"") + self._one(place, row[place]))
        return b"".join(pieces)

    def head(self, before: Sequence[object] | None, after: Sequence[object] | None) -> bytes:
        """Return an event up to its source: the header, before and after."""
        pieces = [self._value_header]
        for row in (before, after):
            if row is None:
                pieces.append(b"\x00")
            else:
                pieces.append(b"\x02")
                self._row(row, pieces)
        return b"".join(pieces)

    def unsent(self, row: Sequence[object]) -> tuple[str, ...]:
        """Name the columns of this row whose value the log did not send."""
        return tuple(column.name for column, value in zip(self._columns, row, strict=True) if value is UNSENT)

    @property
    def _columns(self) -> tuple[Column, ...]:
        return self._table.columns

    def _row(self, row: Sequence[object], pieces: list[bytes]) -> None:
        place = 0
        try:
            for form in self._forms:
                value = row[place]
                if value is None or value is UNSENT:
                    pieces.append(b"\x00")
                else:
                    pieces.append(b"\x02")
                    pieces.append(form(value))
                place += 1
        except (ValueError, TypeError, OverflowError, struct.error) as exc:
            raise self._unfit(place, exc) from None

    def _one(self, place: int, value: object) -> bytes:
        try:
            return self._forms[place](value)
        except (ValueError, TypeError, OverflowError, struct.error) as exc:
            raise self._unfit(place, exc) from None

    def _unfit(self, place: int, exc: Exception) -> Exception:
        column = self._columns[place]
        reason = exc if isinstance(exc, _Unfit) else "the driver returned it in an unknown form"
        return VALUE_UNFIT(column=column.name, table=self._table.id, type=column.type.source, reason=reason)
