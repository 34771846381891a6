"""A record's key as its row's bound: to read the row by itself.

Comes in: the Kafka key of an event.  Goes out: each key column as text that the database reads as the same
value, or None where that is not certain for a column's text: then all rows are read instead.  A key with a
masked column must not come here, because the database has no such value.
"""

import struct
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from wrackline.producers.contract.row_chunks import Bound
from wrackline.schemas.events.splice import content, key_cells, number
from wrackline.schemas.tables.table import TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without zone has none here either
_DAY = 86_400_000_000


class _UnreadableText(Exception):  # noqa: N818 - it says that the text is not known
    """It is not certain that the database would read the text as the same value."""


def bound_of(table: TableSchema, key: bytes) -> Bound | None:
    """Return the bound of the row with this key, None where it is not known."""
    texts = []
    try:
        for column, cell in zip(table.key_columns, key_cells(key, table), strict=True):
            texts.append(None if cell is None else _text(column.type, cell))
    except _UnreadableText:
        return None
    return tuple(texts)


def _text(column: ColumnType, cell: bytes) -> str:
    if column.kind in {Kind.DECIMAL, Kind.UINT64}:
        units = int.from_bytes(content(cell), "big", signed=True)
        return str(Decimal(units).scaleb(-(column.scale or 0)))
    made = _TEXTS.get(column.kind)
    if made is None:
        raise _UnreadableText
    return made(cell)


def _moment(micros: int) -> str:
    try:
        return (_EPOCH + timedelta(microseconds=micros)).isoformat(" ")
    except OverflowError:  # beyond Python's calendar, not the database's
        raise _UnreadableText from None


def _time(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:06}"


def _float(cell: bytes) -> str:
    value: float = struct.unpack("<f" if len(cell) == 4 else "<d", cell)[0]
    return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))


def _zoned(cell: bytes) -> str:
    text = content(cell).decode()
    if text[4] != "-":  # before Christ, or after 9999
        raise _UnreadableText
    return text


def _plain(cell: bytes) -> str:
    return content(cell).decode()


def _count(cell: bytes) -> str:
    return str(number(cell))


_TEXTS: Mapping[Kind, Callable[[bytes], str]] = {
    Kind.BOOLEAN: lambda cell: "true" if cell == b"\x01" else "false",
    Kind.FLOAT32: _float,
    Kind.FLOAT64: _float,
    Kind.DATE: lambda cell: _moment(number(cell) * _DAY)[:10],
    Kind.TIME_MICROS: lambda cell: _time(number(cell)),
    Kind.TIMESTAMP_MICROS: lambda cell: _moment(number(cell)),
    Kind.INSTANT_MICROS: lambda cell: _moment(number(cell)) + "+00",
    Kind.ZONED_TIMESTAMP: _zoned,
    **dict.fromkeys((Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR), _count),
    **dict.fromkeys(
        (Kind.NUMERIC_TEXT, Kind.STRING, Kind.ZONED_TIME, Kind.INTERVAL, Kind.UUID, Kind.ENUM, Kind.TEXT_OF),
        _plain,
    ),
}
