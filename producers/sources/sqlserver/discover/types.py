"""SQL Server's types, and the kind of each.

In: a type as the catalogue has it, or as a result's column has it on the wire.  Out: a `ColumnType`, or an
error that names the setting.  Pure, so that a column is the same in the catalogue, in the log and in a chunk.

A change table has the types of its table but one: a rowversion is stored there, so it is a binary(8).

Whatever their precision, times are microseconds (`time.precision.mode`): of seven decimal places the last is
cut off.  The check names such columns, and as text they have all places.  No key may have such a column,
because two keys could become one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.types import ColumnType, Kind, exact_number

TYPE_UNKNOWN = define(
    "sqlserver.type_unknown",
    OperatorNeeded,
    "column {column} has the unknown type {type}",
    hint="carry it as text: column.as.text = '{column}', or leave it out: column.exclude.list = '{column}'",
)
KEY_INEXACT = define(
    "sqlserver.key_inexact",
    OperatorNeeded,
    "the key column {column} has the type {type}, and two of its values could become one",
    hint="carry it as text: column.as.text = '{column}'",
)

KEY_UNORDERED = define(
    "sqlserver.key_unordered",
    OperatorNeeded,
    "the key column {column} has the type {type}, by which no chunk of rows can be bounded",
    hint="give the key another type: ALTER TABLE ... ALTER COLUMN ...; or leave the table out:"
    " table.exclude.list",
)

MAX: Final = -1  # the length of varchar(max), nvarchar(max), varbinary(max)


class WireType(NamedTuple):
    """A column's type as COLMETADATA has it."""

    token: int
    size: int = 0  # of a value, or the longest; 0xFFFF: (max)
    precision: int = 0
    scale: int = 0
    collation: bytes = bytes(5)


@dataclass(frozen=True, slots=True)
class SqlServerType:
    """A type as the server writes it; `length` is in characters or bytes, MAX for (max)."""

    name: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        if self.length is not None:
            return f"{self.name}({'max' if self.length == MAX else self.length})"
        if self.precision is not None:
            return f"{self.name}({self.precision},{self.scale})"
        return self.name if self.scale is None else f"{self.name}({self.scale})"

    @property
    def long(self) -> bool:
        """Whether an update that does not touch it leaves it out of the image before."""
        return self.length == MAX or self.name in _LONG

    @property
    def lost_before(self) -> bool:
        """Whether change tables never have its value before a change."""
        return self.name in {"text", "ntext", "image"}


_PLAIN: Final = MappingProxyType(
    {
        name: kind
        for kind, names in {
            Kind.BOOLEAN: "bit",
            Kind.INT16: "tinyint smallint",  # tinyint has no sign
            Kind.INT32: "int",
            Kind.INT64: "bigint",
            Kind.FLOAT32: "real",
            Kind.FLOAT64: "float",
            Kind.STRING: "char varchar text nchar nvarchar ntext",
            Kind.BYTES: "binary varbinary image timestamp rowversion hierarchyid geography geometry clr",
            Kind.DATE: "date",
            Kind.TIME_MICROS: "time",
            Kind.TIMESTAMP_MICROS: "datetime smalldatetime datetime2",
            Kind.UUID: "uniqueidentifier",
            Kind.XML: "xml",
            Kind.JSON: "json",
            Kind.TEXT_OF: "sql_variant vector",
        }.items()
        for name in names.split()
    }
)
_MONEY: Final = MappingProxyType({"money": (19, 4), "smallmoney": (10, 4)})
_LONG: Final = frozenset(
    {"text", "ntext", "image", "xml", "hierarchyid", "geography", "geometry", "clr", "json"}
)
_WIDE: Final = frozenset({"nchar", "nvarchar"})  # two bytes a character
_LENGTHS: Final = frozenset({"char", "varchar", "nchar", "nvarchar", "binary", "varbinary"})
_SCALED_WIDTHS: Final = MappingProxyType({"time": 3, "datetime2": 6, "datetimeoffset": 8})  # up to scale 2
_SCALED: Final = frozenset(_SCALED_WIDTHS)
_WIDTHS: Final = MappingProxyType(
    {
        name: width
        for width, names in {
            1: "bit tinyint",
            2: "smallint",
            3: "date",
            4: "int real smallmoney smalldatetime",
            8: "bigint float money datetime",
            16: "uniqueidentifier",
        }.items()
        for name in names.split()
    }
)
_EXACT: Final = frozenset({"decimal", "numeric"})
_MOST_BYTES: Final = 8000
_NO_KEY: Final = frozenset({"sql_variant"})
KNOWN: Final = frozenset({*_PLAIN, *_EXACT, *_MONEY, "datetimeoffset"})


def of_catalogue(name: str, max_length: int, precision: int, scale: int) -> SqlServerType:
    """Take a row of sys.columns with the name of its system type; a CLR type of a user's is `clr`."""
    if name in _LENGTHS:
        return SqlServerType(name, max_length // 2 if name in _WIDE and max_length != MAX else max_length)
    if name in _EXACT:
        return SqlServerType(name, precision=precision, scale=scale)
    return SqlServerType(name, scale=scale if name in _SCALED else None)


def ciphertext(max_length: int) -> SqlServerType:
    """Return what comes of an encrypted column, whose length is that of its values."""
    return SqlServerType("varbinary", MAX if max_length == MAX else _MOST_BYTES)


def of_wire(wire: WireType) -> SqlServerType:
    """Take a column of a result; a CLR type's own name is not looked at."""
    if wire.token in _SIZED:
        return SqlServerType(_SIZED[wire.token].get(wire.size, f"type {wire.token:02x} of {wire.size}"))
    name = _NAMES.get(wire.token, f"type {wire.token:02x}")
    return of_catalogue(name, MAX if wire.size == 0xFFFF else wire.size, wire.precision, wire.scale)


def width_of(wire: WireType) -> int:
    """Return the size that a type's cells have; 0: any."""
    name = of_wire(wire).name
    if name in _SCALED:
        return _SCALED_WIDTHS[name] + (wire.scale > 2) + (wire.scale > 4)
    return _WIDTHS.get(name, 0)


def column_type(
    sql_type: SqlServerType,
    *,
    column: str,
    as_text: bool = False,
    instants: Kind = Kind.ZONED_TIMESTAMP,
    keyed: bool = False,
) -> ColumnType:
    """Say which kind a column is; `column` is its full name, for the error's hint.

    `instants` is what datetimeoffset becomes; `keyed`: it is part of the table's key.
    """
    name, text = sql_type.name, str(sql_type)
    if keyed and name in _NO_KEY:
        raise KEY_UNORDERED(column=column, type=text)
    if keyed and seventh_place(sql_type) and not as_text:
        raise KEY_INEXACT(column=column, type=text)
    if as_text:
        return ColumnType(Kind.TEXT_OF, text)
    if name in _EXACT:
        return exact_number(text, sql_type.precision, sql_type.scale or 0)
    if name in _MONEY:
        return exact_number(text, *_MONEY[name])
    kind = instants if name == "datetimeoffset" else _PLAIN.get(name)
    if kind is None:
        raise TYPE_UNKNOWN(column=column, type=text)
    return ColumnType(kind, text)


def seventh_place(sql_type: SqlServerType) -> bool:
    """Whether a value can have a place behind the microseconds, which is cut off."""
    return sql_type.name in _SCALED and sql_type.scale == 7


_NUMBERS: Final = {1: "tinyint", 2: "smallint", 4: "int", 8: "bigint"}
_SIZED: Mapping[int, Mapping[int, str]] = MappingProxyType(
    {
        0x26: _NUMBERS,
        0x6D: {4: "real", 8: "float"},
        0x6E: {4: "smallmoney", 8: "money"},
        0x6F: {4: "smalldatetime", 8: "datetime"},
    }
)
_NAMES: Mapping[int, str] = MappingProxyType(
    {
        0x22: "image",
        0x23: "text",
        0x24: "uniqueidentifier",
        0x28: "date",
        0x29: "time",
        0x2A: "datetime2",
        0x2B: "datetimeoffset",
        0x30: "tinyint",
        0x32: "bit",
        0x34: "smallint",
        0x38: "int",
        0x3A: "smalldatetime",
        0x3B: "real",
        0x3C: "money",
        0x3D: "datetime",
        0x3E: "float",
        0x62: "sql_variant",
        0x63: "ntext",
        0x68: "bit",
        0x6A: "decimal",
        0x6C: "numeric",
        0x7A: "smallmoney",
        0x7F: "bigint",
        0xA5: "varbinary",
        0xA7: "varchar",
        0xAD: "binary",
        0xAF: "char",
        0xE7: "nvarchar",
        0xEF: "nchar",
        0xF0: "clr",
        0xF1: "xml",
    }
)
