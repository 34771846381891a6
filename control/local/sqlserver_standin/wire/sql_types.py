"""The data types: their names in T-SQL, and TYPE_INFO, which declares one on the wire ([MS-TDS] 2.2.5.4).

A `SqlType` is what a column, a parameter or an expression has.  `MAX` is the size of `varchar(max)` and its
kind.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from wrackline.control.local.sqlserver_standin.wire.byte_reader import ByteReader, long_text, short_text
from wrackline.control.local.sqlserver_standin.wire.collations import DEFAULT, Collation, of_bytes
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, protocol_error

MAX = -1
_PLP = 0xFFFF

# name: (token where NULL is possible, length there, token where it is not)
FIXED: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "bit": (0x68, 1, 0x32),
        "tinyint": (0x26, 1, 0x30),
        "smallint": (0x26, 2, 0x34),
        "int": (0x26, 4, 0x38),
        "bigint": (0x26, 8, 0x7F),
        "real": (0x6D, 4, 0x3B),
        "float": (0x6D, 8, 0x3E),
        "smallmoney": (0x6E, 4, 0x7A),
        "money": (0x6E, 8, 0x3C),
        "smalldatetime": (0x6F, 4, 0x3A),
        "datetime": (0x6F, 8, 0x3D),
        "uniqueidentifier": (0x24, 16, 0x24),
    }
)
SIZED: Mapping[str, int] = MappingProxyType(
    {"binary": 0xAD, "varbinary": 0xA5, "char": 0xAF, "varchar": 0xA7, "nchar": 0xEF, "nvarchar": 0xE7}
)
TIMES: Mapping[str, int] = MappingProxyType({"time": 0x29, "datetime2": 0x2A, "datetimeoffset": 0x2B})
LONG: Mapping[str, int] = MappingProxyType({"image": 0x22, "text": 0x23, "ntext": 0x63})
CLR = ("hierarchyid", "geography", "geometry")
TEXTS = frozenset({"char", "varchar", "nchar", "nvarchar", "text", "ntext", "xml", "json", "vector"})
_COLLATED = frozenset({"char", "varchar", "nchar", "nvarchar", "text", "ntext"})
_SYNONYMS = {
    "numeric": "decimal",
    "dec": "decimal",
    "integer": "int",
    "rowversion": "timestamp",
    "sysname": "nvarchar",
    "character": "char",
}
_FORM = re.compile(r"\s*\[?(\w+)\]?\s*(?:\(\s*(max|\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*", re.IGNORECASE)
_OF_TOKEN = {token: name for kinds in (SIZED, TIMES, LONG) for name, token in kinds.items()}
_OF_FIXED = {token: name for name, (_, _, token) in FIXED.items()}
_OF_NULLABLE = {(token, length): name for name, (token, length, _) in FIXED.items()}
_ASSEMBLY = "Microsoft.SqlServer.Types, Version=14.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91"


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type with what it was declared with; `size` counts characters or bytes."""

    name: str
    size: int = 0
    precision: int = 0
    scale: int = 0
    collation: Collation = DEFAULT

    @property
    def is_long(self) -> bool:
        """Whether values come in chunks, as `varchar(max)` does."""
        return self.size == MAX or self.name in {"xml", "json", "vector", *CLR}

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name in TIMES:
            return f"{self.name}({self.scale})"
        if self.name in SIZED:
            return f"{self.name}({'max' if self.size == MAX else self.size})"
        return self.name


def sql_type(text: str, collation: Collation = DEFAULT) -> SqlType:
    """Read a type as T-SQL declares it: `int`, `decimal(10,2)`, `nvarchar(max)`."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ServerError(2715, f"Cannot find data type {text}.")
    word, first, second = match[1].lower(), match[2], match[3]
    name = _SYNONYMS.get(word, word)
    if word == "sysname":
        return SqlType("nvarchar", 128, collation=collation)
    if name == "timestamp":
        return SqlType(name, 8)
    if name == "decimal":
        return SqlType(name, precision=int(first or 18), scale=int(second or 0))
    if name in TIMES:
        return SqlType(name, scale=7 if first is None else int(first))
    if name in SIZED:
        size = MAX if first and first.lower() == "max" else int(first or 1)
        return SqlType(name, size, collation=collation)
    if name == "float" and first and int(first) <= 24:
        return SqlType("real")
    if (
        name in FIXED
        or name in LONG
        or name in CLR
        or name in {"date", "xml", "sql_variant", "json", "vector"}
    ):
        return SqlType(name, collation=collation)
    raise ServerError(2715, f"Cannot find data type {text}.")


def type_info(of: SqlType, *, nullable: bool = True) -> bytes:
    """Write TYPE_INFO."""
    if of.name in FIXED:
        token, length, fixed = FIXED[of.name]
        if nullable or token == fixed:
            return bytes([token, length])
        return bytes([fixed])
    if of.name == "decimal":
        return bytes([0x6C, decimal_length(of.precision), of.precision, of.scale])
    if of.name == "date":
        return b"\x28"
    if of.name in TIMES:
        return bytes([TIMES[of.name], of.scale])
    if of.name in LONG:
        collation = b"" if of.name == "image" else of.collation.on_the_wire()
        return bytes([LONG[of.name]]) + struct.pack("<I", 0x7FFFFFFF) + collation
    if of.name == "xml":
        return b"\xf1\x00"
    if of.name == "sql_variant":
        return b"\x62" + struct.pack("<I", 8009)
    if of.name in CLR:
        names = short_text("") + short_text("sys") + short_text(of.name) + long_text(_assembly(of.name))
        return b"\xf0" + struct.pack("<H", _PLP) + names
    return _sized_info(_as_sent(of))


def _sized_info(of: SqlType) -> bytes:
    wide = 2 if of.name.startswith("n") else 1
    size = _PLP if of.size == MAX else max(of.size, 1) * wide
    info = bytes([SIZED[of.name]]) + struct.pack("<H", size)
    return info + (of.collation.on_the_wire() if of.name in _COLLATED else b"")


def _as_sent(of: SqlType) -> SqlType:
    """Return the type that a client is shown: the new ones need a feature that no client of ours asks for."""
    if of.name == "json":
        return replace(of, name="nvarchar", size=MAX)
    if of.name == "vector":
        return replace(of, name="varchar", size=MAX)
    return replace(of, name="binary") if of.name == "timestamp" else of


def _assembly(name: str) -> str:
    return f"Microsoft.SqlServer.Types.Sql{name.capitalize()}, {_ASSEMBLY}"


def decimal_length(precision: int) -> int:
    """Return the bytes of a decimal: its sign, and 4, 8, 12 or 16 for the digits."""
    return 5 if precision <= 9 else 9 if precision <= 19 else 13 if precision <= 28 else 17


def read_type(reader: ByteReader) -> tuple[SqlType, bool]:
    """Read TYPE_INFO; the second result says whether a value can be NULL, and so has a length."""
    token = reader.byte()
    if token in _OF_FIXED and token != 0x24:
        return SqlType(_OF_FIXED[token]), False
    if token in {0x24, 0x26, 0x68, 0x6D, 0x6E, 0x6F}:
        length = reader.byte()
        if (token, length) not in _OF_NULLABLE:
            raise protocol_error(f"type {token:#x} has a length of {length}")
        return SqlType(_OF_NULLABLE[token, length]), True
    if token in {0x6A, 0x6C}:
        reader.byte()
        precision, scale = reader.take(2)
        return SqlType("decimal", precision=precision, scale=scale), True
    if token == 0x28:
        return SqlType("date"), True
    if token in TIMES.values():
        return SqlType(_OF_TOKEN[token], scale=reader.byte()), True
    return _read_sized(reader, token), True


def _read_sized(reader: ByteReader, token: int) -> SqlType:
    if token in SIZED.values():
        name, size = _OF_TOKEN[token], reader.unpack("H")
        collation = of_bytes(reader.take(5)) if name in _COLLATED else DEFAULT
        wide = 2 if name.startswith("n") else 1
        return SqlType(name, MAX if size == _PLP else size // wide, collation=collation)
    if token in LONG.values():
        name = _OF_TOKEN[token]
        reader.take(4)
        return SqlType(name, collation=DEFAULT if name == "image" else of_bytes(reader.take(5)))
    if token == 0xF1:
        if reader.byte():
            raise protocol_error("an XML schema is not modelled")
        return SqlType("xml")
    if token == 0x62:
        reader.take(4)
        return SqlType("sql_variant")
    if token == 0x1F:
        return SqlType("null")
    raise protocol_error(f"type {token:#x} is not known")
