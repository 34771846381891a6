"""COLMETADATA: a result's columns, and how the cells of each are found ([MS-TDS] 2.2.7.4, 2.2.5.4).  Pure.

The bytes behind the token come in, and may end too early; columns and the place behind them go out.  A type
that we don't know has an unknown form of cells too, so the answer can't be read.
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.discover.types import WireType
from wrackline.schemas.errors import Transient, define

STREAM_BROKEN = define(
    "sqlserver.stream_broken",
    Transient,
    "the server's answer can't be read: {reason}",
    hint="it is retried automatically, on a new connection; if it comes again, report it with what this"
    " statement returns: SELECT @@VERSION;",
)

NOTHING, FIXED, SHORT, EXACT, LONG, PIECES, POINTED, VARIANT = range(8)
"""How a cell is found: no bytes; bytes of a fixed number; 1 byte of length, 0 for NULL, and no other length
than the type's, or any up to it (EXACT: decimals); 2 bytes of length, ffff for NULL; pieces behind 8 bytes; a
pointer, a time, and 4 bytes of length; 4 bytes of length, 0 for NULL."""

_NULLABLE: Final = 0x0001
_NO_COLUMNS: Final = 0xFFFF
_PLP: Final = 0xFFFF
_MOST_SHORT: Final = 8000
_TIME_LENGTH: Final = (3, 3, 3, 4, 4, 5, 5, 5)
_FIXED: Final = MappingProxyType(
    {0x30: 1, 0x32: 1, 0x34: 2, 0x38: 4, 0x3A: 4, 0x3B: 4, 0x3C: 8, 0x3D: 8, 0x3E: 8, 0x7A: 4, 0x7F: 8}
)
_SIZES: Final = MappingProxyType(
    {0x24: {16}, 0x26: {1, 2, 4, 8}, 0x68: {1}, 0x6D: {4, 8}, 0x6E: {4, 8}, 0x6F: {4, 8}}
)
_TIMES: Final = MappingProxyType({0x29: 0, 0x2A: 3, 0x2B: 5})  # the bytes beside the time of the day
_TEXTS: Final = frozenset({0xA7, 0xAF, 0xE7, 0xEF})
_BYTES: Final = frozenset({0xA5, 0xAD})


class TdsColumn(NamedTuple):
    """A column of a result."""

    name: str
    type: WireType
    is_nullable: bool
    form: int
    width: int  # of a cell, or the most


class CutError(Exception):
    """The bytes end inside a token."""


class ByteCursor:
    """Reads from bytes that may end anywhere."""

    def __init__(self, data: bytes | bytearray, at: int, end: int) -> None:
        self._data, self.at, self._end = data, at, end

    def take(self, size: int) -> bytes:
        """Read bytes."""
        if size > self._end - self.at:
            raise CutError
        self.at += size
        return bytes(self._data[self.at - size : self.at])

    def number(self, size: int) -> int:
        """Read a number without a sign."""
        return int.from_bytes(self.take(size), "little")

    def text(self, size: int) -> str:
        """Read a text behind its length, which has `size` bytes and counts characters."""
        return self.take(2 * self.number(size)).decode("utf-16-le", "replace")


def read_columns(cursor: ByteCursor) -> Sequence[TdsColumn]:
    """Read the columns behind the token's first byte."""
    count = cursor.number(2)
    return [] if count == _NO_COLUMNS else [_column(cursor) for _ in range(count)]


def _column(cursor: ByteCursor) -> TdsColumn:
    cursor.number(4)  # the type that a user gave a name to
    is_nullable = bool(cursor.number(2) & _NULLABLE)
    token = cursor.number(1)
    if token in _FIXED:
        of, form, width = WireType(token, _FIXED[token]), FIXED, _FIXED[token]
    else:
        of, form, width = _READERS.get(token, _unknown)(cursor, token)
    if form == POINTED:
        for _ in range(cursor.number(1)):  # the parts of its table's name
            cursor.text(2)
    return TdsColumn(cursor.text(1), of, is_nullable, form, width)


_Found = tuple[WireType, int, int]


def _unknown(_: ByteCursor, token: int) -> _Found:
    raise STREAM_BROKEN(reason=f"a column has the type {token:02x}")


def _sized(cursor: ByteCursor, token: int) -> _Found:
    size = cursor.number(1)
    if size not in _SIZES[token]:
        raise STREAM_BROKEN(reason=f"the type {token:02x} has {size} bytes")
    return WireType(token, size), SHORT, size


def _decimal(cursor: ByteCursor, token: int) -> _Found:
    size, precision, scale = cursor.take(3)
    if size not in {5, 9, 13, 17} or not 0 < precision <= 38 or scale > precision:
        raise STREAM_BROKEN(reason=f"a decimal has {size} bytes, and {precision} digits with {scale} places")
    return WireType(token, size, precision, scale), EXACT, size


def _time(cursor: ByteCursor, token: int) -> _Found:
    scale = cursor.number(1)
    if scale >= len(_TIME_LENGTH):
        raise STREAM_BROKEN(reason=f"a time has {scale} places")
    return WireType(token, scale=scale), SHORT, _TIME_LENGTH[scale] + _TIMES[token]


def _of_characters(cursor: ByteCursor, token: int) -> _Found:
    size = cursor.number(2)
    collation = cursor.take(5) if token in _TEXTS else bytes(5)
    if size != _PLP and size > _MOST_SHORT:
        raise STREAM_BROKEN(reason=f"a value has up to {size} bytes")
    return WireType(token, size, collation=collation), PIECES if size == _PLP else LONG, size


def _pointed(cursor: ByteCursor, token: int) -> _Found:
    size = cursor.number(4)
    return WireType(token, size, collation=bytes(5) if token == 0x22 else cursor.take(5)), POINTED, 0


def _xml(cursor: ByteCursor, token: int) -> _Found:
    if cursor.number(1):  # its schema
        cursor.text(1)
        cursor.text(1)
        cursor.text(2)
    return WireType(token), PIECES, 0


def _clr(cursor: ByteCursor, token: int) -> _Found:
    size = cursor.number(2)
    for width in (1, 1, 1, 2):  # database, schema, type, assembly
        cursor.text(width)
    return WireType(token, size), PIECES, 0


def _variant(cursor: ByteCursor, token: int) -> _Found:
    return WireType(token, cursor.number(4)), VARIANT, 0


_READERS: Final = MappingProxyType[int, Callable[[ByteCursor, int], _Found]](
    {
        0x1F: lambda _, token: (WireType(token), NOTHING, 0),
        0x28: lambda _, token: (WireType(token), SHORT, 3),
        0x62: _variant,
        0x6A: _decimal,
        0x6C: _decimal,
        0xF0: _clr,
        0xF1: _xml,
        **dict.fromkeys(_SIZES, _sized),
        **dict.fromkeys(_TIMES, _time),
        **dict.fromkeys(_TEXTS | _BYTES, _of_characters),
        **dict.fromkeys((0x22, 0x23, 0x63), _pointed),
    }
)
