"""A cell's bytes on the wire as a value, and as the text that the server shows for it.  Pure.

    wire type  ->  what reads its cells  ->  a value that `form_of` (producers/rows/python_rows.py) writes

Log and chunk come in the same form, so one reader gives the same value both ways.  The text is exact and has
no language: it is the value of a column that is carried as text, and the bound of a key.

A value that its kind can't hold (half of a surrogate pair, a byte that its code page lacks) raises `Unfit`:
it is never written as null or as a similar value.  So does a moment that no server stores.
"""

import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Final
from uuid import UUID

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.sqlserver.discover.code_pages import decoded
from wrackline.producers.sources.sqlserver.discover.collations import codec_of
from wrackline.producers.sources.sqlserver.discover.types import WireType, of_wire
from wrackline.schemas.tables.types import ColumnType, Kind

Reader = Callable[[bytes], object]

_DAY_TICKS: Final = 24 * 60 * 60 * 10**7  # a tick is 100 ns
_EPOCH: Final = date(1970, 1, 1).toordinal()
_FROM_1900: Final = date(1900, 1, 1).toordinal() - 1  # days are counted from the first of year 1
_DAYS: Final = date.max.toordinal()
_MOST_OFFSET: Final = 14 * 60
_MOST_SCALE: Final = 38
_VARIANT: Final = 0x62
_TIMES: Final = frozenset({"datetime", "smalldatetime", "datetime2", "datetimeoffset"})


def reader_of(wire: WireType, column: ColumnType) -> Reader:
    """Return what reads the cells of a column."""
    if column.kind is Kind.TEXT_OF:
        return partial(text_of, wire)
    if column.kind is Kind.TIME_MICROS:
        return partial(_time_micros, wire)
    if column.kind in {Kind.TIMESTAMP_MICROS, Kind.INSTANT_MICROS}:
        return partial(_micros, wire)
    if column.kind is Kind.ZONED_TIMESTAMP:
        return partial(_zoned, wire)
    return partial(value_of, wire)


def value_of(wire: WireType, cell: bytes) -> object:
    """Return a value that is not a moment."""
    read = _READERS.get(of_wire(wire).name)
    return bytes(cell) if read is None else read(wire, cell)


def text_of(wire: WireType, cell: bytes) -> str:
    """Write a value as the server does, but bytes in hex, and a float with as few digits as it needs."""
    name = of_wire(wire).name
    if name == "sql_variant":
        return text_of(*_inner(cell))
    if name == "time":
        return _clock(_time_ticks(wire, cell), wire.scale)
    if name in _TIMES:
        return _moment_text(name, wire, cell)
    value = value_of(wire, cell)
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if name == "real":
        return _shortest(cell)
    return (
        str(int(value))
        if isinstance(value, bool)
        else f"{value:f}"
        if isinstance(value, Decimal)
        else str(value)
    )


def _exact(units: int, scale: int, *, negative: bool) -> Decimal:
    """Make a number of any length: arithmetic would round it to the digits of its context."""
    return Decimal((int(negative and units > 0), tuple(map(int, str(units))), -scale))


def _money(_: WireType, cell: bytes) -> Decimal:
    halves = cell[4:] + cell[:4]  # of eight bytes the high half comes first
    units = int.from_bytes(halves, "little", signed=True)
    return _exact(abs(units), 4, negative=units < 0)


def _wide_text(_: WireType, cell: bytes) -> str:
    try:
        return cell.decode("utf-16-le")
    except UnicodeDecodeError:
        raise Unfit("it has half of a surrogate pair") from None


def _coded_text(wire: WireType, cell: bytes) -> str:
    try:
        return decoded(cell, codec_of(wire.collation))
    except UnicodeDecodeError:
        raise Unfit("it has bytes that are no character") from None


def _moment(name: str, wire: WireType, cell: bytes) -> tuple[int, int, int]:
    """Return days since the first of year 1, ticks of the day, and minutes from UTC."""
    offset = 0
    match name:
        case "datetime":  # in three hundredths of a second, shown in thousandths
            days, units = (int(part) for part in struct.unpack("<iI", cell))
            days, ticks = days + _FROM_1900, (units * 10 + 1) // 3 * 10_000
        case "smalldatetime":
            days, minutes = (int(part) for part in struct.unpack("<HH", cell))
            days, ticks = days + _FROM_1900, minutes * 60 * 10**7
        case "datetimeoffset":
            offset = int.from_bytes(cell[-2:], "little", signed=True)
            days, ticks = int.from_bytes(cell[-5:-2], "little"), _ticks(cell[:-5], wire.scale)
        case _:
            days, ticks = int.from_bytes(cell[-3:], "little"), _ticks(cell[:-3], wire.scale)
    if not 0 <= days < _DAYS or ticks >= _DAY_TICKS or abs(offset) > _MOST_OFFSET:
        raise Unfit("it is not a moment that a server stores")
    return days, ticks, offset


def _ticks(cell: bytes, scale: int) -> int:
    return int.from_bytes(cell, "little") * int(10 ** (7 - scale))


def _time_ticks(wire: WireType, cell: bytes) -> int:
    ticks = _ticks(cell, wire.scale)
    if ticks >= _DAY_TICKS:
        raise Unfit("it is not a time that a server stores")
    return ticks


def _time_micros(wire: WireType, cell: bytes) -> int:
    return _time_ticks(wire, cell) // 10


def _micros(wire: WireType, cell: bytes) -> int:
    days, ticks, _ = _moment(of_wire(wire).name, wire, cell)
    return ((days + 1 - _EPOCH) * _DAY_TICKS + ticks) // 10


def _zoned(wire: WireType, cell: bytes) -> datetime:
    days, ticks, _ = _moment("datetimeoffset", wire, cell)
    return datetime(1, 1, 1, tzinfo=UTC) + timedelta(days=days, microseconds=ticks // 10)


def _moment_text(name: str, wire: WireType, cell: bytes) -> str:
    days, ticks, offset = _moment(name, wire, cell)
    days, ticks = divmod(days * _DAY_TICKS + ticks + offset * 60 * 10**7, _DAY_TICKS)
    scale = {"datetime": 3, "smalldatetime": 0}.get(name, wire.scale)
    made = f"{date.fromordinal(days + 1).isoformat()} {_clock(ticks, scale)}"
    if name != "datetimeoffset":
        return made
    hours, minutes = divmod(abs(offset), 60)
    return f"{made} {'-' if offset < 0 else '+'}{hours:02}:{minutes:02}"


def _clock(ticks: int, scale: int) -> str:
    seconds, rest = divmod(ticks, 10**7)
    made = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{made}.{rest:07}"[: len(made) + 1 + scale] if scale else made


def _shortest(cell: bytes) -> str:
    """Return the fewest digits that give the same four bytes."""
    (number,) = struct.unpack("<f", cell)
    made = (float(f"{number:.{digits}g}") for digits in range(6, 10))
    return str(next((one for one in made if struct.pack("<f", one) == cell), number))


def _inner(cell: bytes) -> tuple[WireType, bytes]:
    """Take a sql_variant apart: the type inside, the length of what it needs, what it needs, the value."""
    if len(cell) < 2 or len(cell) < 2 + cell[1] or cell[0] == _VARIANT:
        raise Unfit("it is not a sql_variant")
    token, needs, value = cell[0], cell[2 : 2 + cell[1]], cell[2 + cell[1] :]
    if token in {0x29, 0x2A, 0x2B, 0x6A, 0x6C} and needs[-1] > _MOST_SCALE:
        raise Unfit("it has a scale that no type has")
    if token in {0xA7, 0xAF, 0xE7, 0xEF}:
        return WireType(token, len(value), collation=needs[:5]), value
    if token in {0x6A, 0x6C}:
        return WireType(token, precision=needs[0], scale=needs[1]), value
    if token in {0x29, 0x2A, 0x2B}:
        return WireType(token, scale=needs[0]), value
    return WireType(token, len(value)), value


def _whole(_: WireType, cell: bytes) -> int:
    return int.from_bytes(cell, "little", signed=True)


_READERS: Final[Mapping[str, Callable[[WireType, bytes], object]]] = MappingProxyType(
    {
        "bit": lambda _, cell: cell[0] != 0,
        "tinyint": lambda _, cell: cell[0],
        **dict.fromkeys(("smallint", "int", "bigint"), _whole),
        "real": lambda _, cell: struct.unpack("<f", cell)[0],
        "float": lambda _, cell: struct.unpack("<d", cell)[0],
        **dict.fromkeys(
            ("decimal", "numeric"),
            lambda wire, cell: _exact(int.from_bytes(cell[1:], "little"), wire.scale, negative=not cell[0]),
        ),
        **dict.fromkeys(("money", "smallmoney"), _money),
        "date": lambda _, cell: date.fromordinal(int.from_bytes(cell, "little") + 1),
        "uniqueidentifier": lambda _, cell: str(UUID(bytes_le=cell)),
        **dict.fromkeys(("nchar", "nvarchar", "ntext", "xml"), _wide_text),
        **dict.fromkeys(("char", "varchar", "text"), _coded_text),
        "sql_variant": text_of,
    }
)
