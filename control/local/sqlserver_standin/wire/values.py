"""Values as bytes: each cell of ROW and each parameter of an RPC, from the tables of [MS-TDS] 2.2.5.5.

The Python side of a type is what `fitted` returns: `bool`, `int`, `float`, `Decimal`, `str`, `bytes`,
`date`, `UUID`, the three types of `moments`, and `Variant`; NULL is `None`.  `put` writes what `fitted`
returned, `read` returns the same.
"""

import datetime as dt
import struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from types import MappingProxyType
from typing import NamedTuple, cast

from wrackline.control.local.sqlserver_standin.wire.byte_reader import ByteReader
from wrackline.control.local.sqlserver_standin.wire.moments import (
    TICKS_OF_SECOND,
    Moment,
    TimeOfDay,
    ZonedMoment,
    of_thirds,
    to_thirds,
)
from wrackline.control.local.sqlserver_standin.wire.server_error import protocol_error
from wrackline.control.local.sqlserver_standin.wire.sql_types import (
    CLR,
    FIXED,
    LONG,
    SIZED,
    TIMES,
    SqlType,
    decimal_length,
    read_type,
    type_info,
)

Cell = object  # one of the Python types above, or None
_1900 = dt.date(1900, 1, 1).toordinal() - 1
_PLP_NULL = b"\xff" * 8
_PLP_UNKNOWN = 0xFFFFFFFFFFFFFFFE
_PLP_PIECE = 8000
_TEXT_POINTER = b"\x10" + b"wrackline-pointe" + b"\x00" * 8
_PACKED: Mapping[str, str] = MappingProxyType(
    {
        "bit": "<B",
        "tinyint": "<B",
        "smallint": "<h",
        "int": "<i",
        "bigint": "<q",
        "real": "<f",
        "float": "<d",
        "smallmoney": "<i",
    }
)
_TIME_LENGTH = (3, 3, 3, 4, 4, 5, 5, 5)


class Variant(NamedTuple):
    """A value of `sql_variant`: it carries its own type."""

    of: SqlType
    value: Cell


def put(of: SqlType, value: Cell, *, nullable: bool = True) -> bytes:
    """Write a value with the length that its type needs before it."""
    if of.is_long:
        return _PLP_NULL if value is None else _chunks(_core(of, value))
    if of.name in LONG:
        if value is None:
            return b"\x00"
        core = _core(of, value)
        return _TEXT_POINTER + struct.pack("<I", len(core)) + core
    if of.name == "sql_variant":
        return b"\x00" * 4 if value is None else _variant(cast("Variant", value))
    if of.name in SIZED or of.name == "timestamp":
        if value is None:
            return b"\xff\xff"
        core = _core(of, value)
        return struct.pack("<H", len(core)) + core
    if value is None:
        return b"\x00"
    core = _core(of, value)
    if of.name in FIXED and not nullable and of.name != "uniqueidentifier":
        return core
    return bytes([len(core)]) + core


def _chunks(core: bytes) -> bytes:
    """Write bytes in pieces behind their whole length, and an empty piece as the end."""
    pieces = [core[at : at + _PLP_PIECE] for at in range(0, len(core), _PLP_PIECE)]
    body = b"".join(struct.pack("<I", len(piece)) + piece for piece in pieces)
    return struct.pack("<Q", len(core)) + body + b"\x00" * 4


def _core(of: SqlType, value: Cell) -> bytes:
    """Write a value without its length."""
    if form := _PACKED.get(of.name):
        number = round(cast("Decimal", value) * 10_000) if of.name == "smallmoney" else value
        return struct.pack(form, number)
    if isinstance(value, str):
        return value.encode(codec_of(of), "surrogatepass" if codec_of(of) == "utf-16-le" else "strict")
    if isinstance(value, bytes):
        return value
    return _WRITERS[of.name](of, value)


def codec_of(of: SqlType) -> str:
    """Return the codec of a text type: UTF-16, or the code page of the collation."""
    wide = of.name in {"nchar", "nvarchar", "ntext", "xml", "json"}
    return "utf-16-le" if wide else of.collation.codec


def _money(_of: SqlType, value: Cell) -> bytes:
    scaled = round(cast("Decimal", value) * 10_000)
    return struct.pack("<iI", scaled >> 32, scaled & 0xFFFFFFFF)


def _decimal(of: SqlType, value: Cell) -> bytes:
    number = cast("Decimal", value)
    digits = int(number.copy_abs().scaleb(of.scale, _CONTEXT))
    length = decimal_length(of.precision) - 1
    return bytes([number >= 0]) + digits.to_bytes(length, "little")


def _date(_of: SqlType, value: Cell) -> bytes:
    return (cast("dt.date", value).toordinal() - 1).to_bytes(3, "little")


def _ticks(scale: int, ticks: int) -> bytes:
    return (ticks // int(10 ** (7 - scale))).to_bytes(_TIME_LENGTH[scale], "little")


def _time(of: SqlType, value: Cell) -> bytes:
    return _ticks(of.scale, cast("TimeOfDay", value).ticks)


def _datetime2(of: SqlType, value: Cell) -> bytes:
    day, ticks = cast("Moment", value)
    return _ticks(of.scale, ticks) + day.to_bytes(3, "little")


def _datetimeoffset(of: SqlType, value: Cell) -> bytes:
    day, ticks, minutes = cast("ZonedMoment", value)
    return _ticks(of.scale, ticks) + day.to_bytes(3, "little") + struct.pack("<h", minutes)


def _datetime(_of: SqlType, value: Cell) -> bytes:
    day, ticks = cast("Moment", value)
    return struct.pack("<iI", day - _1900, to_thirds(ticks))


def _smalldatetime(_of: SqlType, value: Cell) -> bytes:
    day, ticks = cast("Moment", value)
    return struct.pack("<HH", day - _1900, ticks // (60 * TICKS_OF_SECOND))


_CONTEXT = Context(prec=60)
_WRITERS: Mapping[str, Callable[[SqlType, Cell], bytes]] = MappingProxyType(
    {
        "money": _money,
        "decimal": _decimal,
        "date": _date,
        "time": _time,
        "datetime2": _datetime2,
        "datetimeoffset": _datetimeoffset,
        "datetime": _datetime,
        "smalldatetime": _smalldatetime,
        "uniqueidentifier": lambda _of, value: cast("uuid.UUID", value).bytes_le,
    }
)


def _variant(value: Variant) -> bytes:
    """Write a `sql_variant`: base type, properties and value behind the length of all three."""
    of, core = value.of, _core(value.of, value.value)
    if of.name in TIMES:
        properties = bytes([of.scale])
    elif of.name == "decimal":
        properties = bytes([of.precision, of.scale])
    elif of.name in {"binary", "varbinary"}:
        properties = struct.pack("<H", of.size)
    elif of.name in SIZED:
        wide = 2 if of.name.startswith("n") else 1
        properties = of.collation.on_the_wire() + struct.pack("<H", of.size * wide)
    else:
        properties = b""
    token = type_info(of, nullable=False)[:1]
    body = token + bytes([len(properties)]) + properties + core
    return struct.pack("<I", len(body)) + body


def read(of: SqlType, reader: ByteReader, *, nullable: bool = True) -> Cell:
    """Read a value that `put`, or a client, wrote."""
    if of.is_long:
        core = _read_chunks(reader)
    elif of.name in LONG:
        core = _read_long(reader)
    elif of.name == "sql_variant":
        length = reader.unpack("I")
        return None if length == 0 else _read_variant(reader, length)
    elif of.name in SIZED or of.name == "timestamp":
        length = reader.unpack("H")
        core = None if length == 0xFFFF else reader.take(length)
    elif of.name == "null":
        return None
    elif of.name in FIXED and not nullable and of.name != "uniqueidentifier":
        core = reader.take(FIXED[of.name][1])
    else:
        length = reader.byte()
        core = reader.take(length) if length else None
    return None if core is None else _value(of, core)


def _read_chunks(reader: ByteReader) -> bytes | None:
    total = reader.take(8)
    if total == _PLP_NULL:
        return None
    pieces = []
    while size := reader.unpack("I"):
        pieces.append(reader.take(size))
    core = b"".join(pieces)
    whole = int.from_bytes(total, "little")
    if whole not in {len(core), _PLP_UNKNOWN}:
        raise protocol_error(f"{whole} bytes are announced, {len(core)} came in pieces")
    return core


def _read_long(reader: ByteReader) -> bytes | None:
    if not (size := reader.byte()):
        return None
    reader.take(size + 8)
    return reader.take(reader.unpack("I"))


def _read_variant(reader: ByteReader, length: int) -> Variant:
    inner = ByteReader(reader.take(length))
    token, count = inner.byte(), inner.byte()
    properties = inner.take(count)
    of = _variant_type(token, properties)
    return Variant(of, _value(of, inner.take(inner.rest)))


def _variant_type(token: int, properties: bytes) -> SqlType:
    """Make TYPE_INFO of a variant's base type and properties, which come in another order, and read that."""
    if token in {0x6A, 0x6C}:
        info = bytes([token, decimal_length(properties[0])]) + properties
    elif token in SIZED.values() and len(properties) == 7:
        info = bytes([token]) + properties[5:] + properties[:5]
    else:
        info = bytes([token]) + (b"\x10" if token == 0x24 else properties)
    return read_type(ByteReader(info))[0]


def _value(of: SqlType, core: bytes) -> Cell:
    """Make a value of its bytes without length."""
    if form := _PACKED.get(of.name):
        (number,) = struct.unpack(form, core)
        if of.name == "smallmoney":
            return Decimal(number).scaleb(-4)
        return bool(number) if of.name == "bit" else number
    if of.name in {"binary", "varbinary", "image", "timestamp", *CLR}:
        return core
    if reader := _READERS.get(of.name):
        return reader(of, core)
    return core.decode(codec_of(of), "surrogatepass" if codec_of(of) == "utf-16-le" else "strict")


def _read_money(_of: SqlType, core: bytes) -> Cell:
    high, low = struct.unpack("<iI", core)
    return Decimal(high << 32 | low).scaleb(-4, _CONTEXT)


def _read_decimal(of: SqlType, core: bytes) -> Cell:
    digits = Decimal(int.from_bytes(core[1:], "little"))
    return (digits if core[0] else digits.copy_negate()).scaleb(-of.scale, _CONTEXT)


def _day(core: bytes) -> int:
    return int.from_bytes(core, "little")


def _read_datetime(_of: SqlType, core: bytes) -> Cell:
    days, thirds = struct.unpack("<iI", core)
    return Moment(_1900 + days, of_thirds(thirds))


def _read_smalldatetime(_of: SqlType, core: bytes) -> Cell:
    days, minutes = struct.unpack("<HH", core)
    return Moment(_1900 + days, minutes * 60 * TICKS_OF_SECOND)


def _read_time(of: SqlType, core: bytes) -> int:
    return _day(core) * int(10 ** (7 - of.scale))


_READERS: Mapping[str, Callable[[SqlType, bytes], Cell]] = MappingProxyType(
    {
        "money": _read_money,
        "decimal": _read_decimal,
        "date": lambda _of, core: dt.date.fromordinal(_day(core) + 1),
        "time": lambda of, core: TimeOfDay(_read_time(of, core)),
        "datetime2": lambda of, core: Moment(_day(core[-3:]), _read_time(of, core[:-3])),
        "datetimeoffset": lambda of, core: ZonedMoment(
            _day(core[-5:-2]), _read_time(of, core[:-5]), int.from_bytes(core[-2:], "little", signed=True)
        ),
        "datetime": _read_datetime,
        "smalldatetime": _read_smalldatetime,
        "uniqueidentifier": lambda _of, core: uuid.UUID(bytes_le=core),
    }
)
