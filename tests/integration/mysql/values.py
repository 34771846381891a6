"""A cell as a SELECT shows it and as another decoder of the log has it, as the value that our events carry.

Both readers know the bytes' meaning from elsewhere than we do, so what agrees with both is right.  What the
other decoder has wrong, or can't say, is `UNSAID`.
"""

import datetime as dt
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import pytest

from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import Kind

UNSAID: Final = object()
_LOOKS_LIKE_FLOAT32 = 1e-5  # a float is shown with six digits


def shown(kind: Kind, text: bytes) -> object:
    """What a SELECT's text says."""
    return _SHOWN.get(kind, bytes.decode)(text)


def micros(text: bytes) -> int:
    """A TIME's text as microseconds."""
    hours, minutes, seconds = text.decode().lstrip("-").split(":")
    whole = (int(hours) * 3600 + int(minutes) * 60) * 1_000_000 + int(Decimal(seconds) * 1_000_000)
    return -whole if text.startswith(b"-") else whole


def zoned(text: bytes) -> str:
    """A TIMESTAMP's text, of a session in UTC."""
    stamp = text.decode().replace(" ", "T")
    return (stamp.rstrip("0").rstrip(".") if "." in stamp else stamp) + "Z"


def decoded(column: Column, value: Any) -> object:
    """What mysql-replication's value says."""
    kind, written = column.type.kind, column.type.source
    if kind is Kind.ENUM_SET:  # an empty one is nothing to it
        return UNSAID if value is None else ",".join(label for label in column.type.labels if label in value)
    if value is None:
        return None
    if written in {"uuid", "inet4", "inet6"}:  # bytes to it, with those at the end left out
        return UNSAID
    return _DECODED.get(kind, _as_it_is)(value, written)


def same(ours: object, theirs: object) -> bool:
    """Whether two cells agree; JSON by what it says, for its text is each server's own."""
    if theirs is UNSAID:
        return True
    if isinstance(theirs, _Json):
        return isinstance(ours, str) and json.loads(ours) == theirs.value
    return ours == theirs


class _Json:
    """A JSON value, taken apart."""

    def __init__(self, value: object) -> None:
        self.value = _texts(value)


def _texts(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Mapping):
        return {_texts(key): _texts(one) for key, one in value.items()}
    return [_texts(one) for one in value] if isinstance(value, list) else value


def _time(value: dt.timedelta, _: str) -> object:
    if value < dt.timedelta() and value.microseconds:  # it takes the fraction for one that is not negative
        return UNSAID
    return value // dt.timedelta(microseconds=1)


def _zoned(value: dt.datetime, _: str) -> str:
    return zoned(value.isoformat(" ", "microseconds").encode())


def _bytes(value: bytes | str, written: str) -> bytes:
    """The log has no zeros at a BINARY's end; nothing at all is text to it."""
    size = int(written[7:-1]) if written.startswith("binary(") else 0
    return (value.encode() if isinstance(value, str) else value).ljust(size, b"\0")


def _text(value: str | bytes, _: str) -> object:
    return UNSAID if isinstance(value, bytes) else value  # of a charset that Python calls otherwise


def _bits(value: str, written: str) -> bytes:
    size = int(written[4:-1]) + 7 >> 3
    return int(value, 2).to_bytes(size, "little")


def _year(value: int, _: str) -> int:
    return 0 if value == 1900 else value  # a year is kept in one byte, and no byte means 1900


def _as_it_is(value: object, _: str) -> object:
    return value


_SHOWN: Final[Mapping[Kind, Callable[[bytes], object]]] = {
    Kind.INT16: int,
    Kind.INT32: int,
    Kind.INT64: int,
    Kind.YEAR: int,
    Kind.FLOAT32: lambda text: pytest.approx(float(text), rel=_LOOKS_LIKE_FLOAT32),
    Kind.FLOAT64: float,
    Kind.BYTES: bytes,
    Kind.BOOLEAN: lambda text: text == b"\x01",
    Kind.BITS: lambda text: text[::-1],
    Kind.DECIMAL: lambda text: Decimal(text.decode()),
    Kind.UINT64: lambda text: Decimal(text.decode()),
    Kind.DURATION_MICROS: micros,
    Kind.ZONED_TIMESTAMP: zoned,
    Kind.TIMESTAMP_MICROS: lambda text: dt.datetime.fromisoformat(text.decode()),
    Kind.DATE: lambda text: dt.date.fromisoformat(text.decode()),
}
_DECODED: Final[Mapping[Kind, Callable[[Any, str], object]]] = {
    Kind.STRING: _text,
    Kind.BITS: _bits,
    Kind.BOOLEAN: lambda value, _: value == "1",
    Kind.BYTES: _bytes,
    Kind.NUMERIC_TEXT: lambda value, _: format(value, "f"),
    Kind.UINT64: lambda value, _: Decimal(value),
    Kind.DURATION_MICROS: _time,
    Kind.ZONED_TIMESTAMP: _zoned,
    Kind.YEAR: _year,
    Kind.JSON: lambda value, _: _Json(value),
}
