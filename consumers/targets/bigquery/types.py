"""The names and types that BigQuery has, and how a column's type is made of a staged primitive.

    decimal(12,2)   NUMERIC(12, 2)     PARSE_NUMERIC(text)
    decimal(38,10)  BIGNUMERIC(38, 10) PARSE_BIGNUMERIC(text)
    timestamp       DATETIME           as if it were UTC, whatever the project's own zone is

Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.staged.dialect import Primitive
from wrackline.schemas.tables.types import ColumnType, Kind

_MOST_SCALE, _MOST_WHOLE = 9, 29  # digits of a NUMERIC behind its point and before it

_PREFIXES = {  # no column may begin so; the second part begins with the letter that is replaced
    "_": (
        "TABLE_",
        "FILE_",
        "PARTITION",
        "ROW_TIMESTAMP",
        "COLIDENTIFIER",
        "CHANGE_SEQUENCE_NUMBER",
        "CHANGE_TYPE",
        "CHANGE_TIMESTAMP",
    ),
    "__": ("ROOT__",),
}
_BEGINNINGS = "|".join(
    f"(?<=^{start}){rest[0]}(?={rest[1:]})" for start, rests in _PREFIXES.items() for rest in rests
)
COLUMNS: Final = Identifiers(300, case_sensitive=False, refused=rf"(?i:{_BEGINNINGS})|[^\w &%=+:'<>#|-]")
RELATIONS: Final = Identifiers(1024, refused="[^A-Za-z0-9_]")  # a dataset's name has no other character

PRIMITIVE_TYPES: Final[Mapping[Primitive, str]] = MappingProxyType(
    {
        Primitive.BOOLEAN: "BOOL",
        Primitive.BIGINT: "INT64",
        Primitive.DOUBLE: "FLOAT64",
        Primitive.BYTES: "BYTES",
        Primitive.TEXT: "STRING",
    }
)
_PHYSICAL = {
    Kind.BOOLEAN: "BOOL",
    Kind.UINT64: "NUMERIC(20, 0)",
    Kind.FLOAT32: "FLOAT64",
    Kind.FLOAT64: "FLOAT64",
    Kind.BYTES: "BYTES",
    Kind.BITS: "BYTES",
    Kind.DATE: "DATE",
    Kind.TIME_MICROS: "TIME",
    Kind.TIMESTAMP_MICROS: "DATETIME",
    Kind.ZONED_TIMESTAMP: "TIMESTAMP",
    Kind.INSTANT_MICROS: "TIMESTAMP",
    **dict.fromkeys((Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.DURATION_MICROS), "INT64"),
}
_RESTORED = {
    Kind.UINT64: "PARSE_NUMERIC({x})",
    Kind.DATE: "DATE_FROM_UNIX_DATE({x})",
    Kind.TIME_MICROS: "TIME_ADD(TIME '00:00:00', INTERVAL {x} MICROSECOND)",
    Kind.TIMESTAMP_MICROS: "DATETIME(TIMESTAMP_MICROS({x}), 'UTC')",
    Kind.ZONED_TIMESTAMP: "TIMESTAMP_MICROS({x})",
    Kind.INSTANT_MICROS: "TIMESTAMP_MICROS({x})",
}
NATIVE: Final = frozenset({*_PHYSICAL, Kind.DECIMAL})
_INTEGERS = (Kind.INT16, Kind.INT32, Kind.INT64)
_EXACT = (*_INTEGERS, Kind.UINT64, Kind.DECIMAL)
WIDENS: Final = frozenset(
    {(old, new) for at, old in enumerate(_INTEGERS) for new in _INTEGERS[at + 1 :]}
    | {(old, Kind.DECIMAL) for old in _EXACT}
    | {(Kind.FLOAT32, Kind.FLOAT64)}
)


def physical(of: ColumnType) -> str:
    """Return a column's type."""
    if of.kind is Kind.DECIMAL:
        return f"{_base(of)}({of.precision}, {of.scale})"
    return _PHYSICAL.get(of.kind, "STRING")


def restored(value: str, of: ColumnType) -> str:
    """Make the column's type of a primitive; the column's own type bounds the digits."""
    if of.kind is Kind.DECIMAL:
        return f"PARSE_{_base(of)}({value})"
    return _RESTORED.get(of.kind, "{x}").format(x=value)


def converted(value: str, old: ColumnType, new: ColumnType) -> str:
    """Take a stored number as it is: BigQuery makes any exact number of a narrower one that it assigns."""
    del old, new
    return value


def image(value: str, of: ColumnType) -> str:
    """Write a float as text, because floats can't be partitioned by; -0.0 is not 0.0."""
    if physical(of) != "FLOAT64":
        return value
    sign = f"CASE WHEN {value} = 0 AND IEEE_DIVIDE(1, {value}) < 0 THEN '-' ELSE '' END"
    return f"CONCAT({sign}, TO_JSON_STRING({value}))"


def _base(of: ColumnType) -> str:
    precision, scale = of.precision or 0, of.scale or 0
    return "NUMERIC" if scale <= _MOST_SCALE and precision - scale <= _MOST_WHOLE else "BIGNUMERIC"
