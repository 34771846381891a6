"""What each kind of value is in Snowflake, and how the primitives of a stage become it.

Native where Snowflake holds every value of the kind exactly; text elsewhere.  JSON and arrays are text,
because VARIANT changes numbers.

    decimal(12,2)   DECIMAL(38, 2)    TO_NUMBER(text, 38, 2); unused digits cost nothing
    timestamp       TIMESTAMPNTZ(6)   counted from 1970, so no zone has a part in it
    timestamptz     TIMESTAMPTZ(6)    counted from a literal with its zone

Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wrackline.consumers.staged.dialect import Primitive
from wrackline.schemas.tables.types import ColumnType, Kind

MOST_DIGITS: Final = 38
_MOST_SCALE: Final = 37

PRIMITIVE_TYPES: Final[Mapping[Primitive, str]] = MappingProxyType(
    {
        Primitive.BOOLEAN: "BOOLEAN",
        Primitive.BIGINT: "BIGINT",
        Primitive.DOUBLE: "DOUBLE",
        Primitive.BYTES: "BINARY",
        Primitive.TEXT: "VARCHAR",
    }
)
_PHYSICAL: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.UINT64: "DECIMAL(20, 0)",
        Kind.DECIMAL: "DECIMAL(38, {scale})",
        Kind.FLOAT32: "DOUBLE",
        Kind.FLOAT64: "DOUBLE",
        Kind.BYTES: "BINARY",
        Kind.BITS: "BINARY",
        Kind.DATE: "DATE",
        Kind.TIME_MICROS: "TIME(6)",
        Kind.TIMESTAMP_MICROS: "TIMESTAMPNTZ(6)",
        Kind.ZONED_TIMESTAMP: "TIMESTAMPTZ(6)",
        Kind.INSTANT_MICROS: "TIMESTAMPTZ(6)",
        **dict.fromkeys(
            (Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.DURATION_MICROS), "DECIMAL(19, 0)"
        ),
    }
)
_MOMENT: Final = "DATEADD(MICROSECOND, {x}, CAST('1970-01-01 00:00:00 +00:00' AS TIMESTAMPTZ(6)))"
_RESTORED: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        Kind.UINT64: "TO_NUMBER({x}, 20, 0)",
        Kind.DECIMAL: "TO_NUMBER({x}, 38, {scale})",
        Kind.DATE: "DATEADD(DAY, {x}, CAST('1970-01-01' AS DATE))",
        Kind.TIME_MICROS: "DATEADD(MICROSECOND, {x}, CAST('00:00:00' AS TIME(6)))",
        Kind.TIMESTAMP_MICROS: "DATEADD(MICROSECOND, {x}, CAST('1970-01-01' AS TIMESTAMPNTZ(6)))",
        Kind.ZONED_TIMESTAMP: _MOMENT,
        Kind.INSTANT_MICROS: _MOMENT,
    }
)
NATIVE: Final = frozenset(_PHYSICAL)
_WHOLE = (Kind.INT16, Kind.INT32, Kind.INT64)
WIDENS: Final = frozenset(
    {
        *((old, new) for at, old in enumerate(_WHOLE) for new in _WHOLE[at + 1 :]),
        *((old, Kind.DECIMAL) for old in (*_WHOLE, Kind.UINT64, Kind.DECIMAL)),
        (Kind.FLOAT32, Kind.FLOAT64),
    }
)


def physical(of: ColumnType) -> str:
    """Return the type that a column has."""
    return "VARCHAR" if _is_text(of) else _PHYSICAL[of.kind].format(scale=of.scale)


def restored(value: str, of: ColumnType) -> str:
    """Make a column's value of a primitive; a null stays null."""
    return value if _is_text(of) else _RESTORED.get(of.kind, "{x}").format(x=value, scale=of.scale)


def converted(value: str, old: ColumnType, new: ColumnType) -> str:
    """Give a stored value a wider type."""
    del old
    return f"CAST({value} AS {physical(new)})"


def image(value: str, of: ColumnType) -> str:
    """Write what is equal only for values that are exactly equal.

    A double's text need not have all its digits, and -0.0 is equal to 0.0: so the number and its text are
    compared.  NaN is equal to itself.
    """
    return f"{value}, TO_VARCHAR({value})" if physical(of) == "DOUBLE" else value


def moment(micros: str) -> str:
    """Make a moment with its zone of microseconds since 1970."""
    return _MOMENT.format(x=micros)


def _is_text(of: ColumnType) -> bool:
    return of.kind not in _PHYSICAL or (of.kind is Kind.DECIMAL and (of.scale or 0) > _MOST_SCALE)
