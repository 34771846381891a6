"""What each kind of value is in Redshift, and how the primitives of a stage become it.

Native where Redshift holds every value of the kind exactly; text elsewhere.  JSON and arrays are text,
because SUPER changes numbers.  A VARCHAR has no longer form than 65,535 bytes; a VARBYTE is given the length
that every version of Redshift has.

    moment    since TIMESTAMP 'epoch': whole seconds by one interval, the rest by another.  One product of
              all microseconds would be a double, which has too few digits
    bytes     as they are, because COPY reads them from Parquet
    decimal   with 20 digits instead of 19, because 19 are kept in 8 bytes, which hold no 9999999999999999999
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wrackline.consumers.staged.dialect import Primitive
from wrackline.schemas.tables.types import ColumnType, Kind

TEXT_BYTES: Final = 65_535
BYTES: Final = 1_024_000
MOST_DIGITS: Final = 38
_MOST_SCALE: Final = 37
_TEXT = f"VARCHAR({TEXT_BYTES})"

PRIMITIVE_TYPES: Mapping[Primitive, str] = MappingProxyType(
    {
        Primitive.BOOLEAN: "BOOLEAN",
        Primitive.BIGINT: "BIGINT",
        Primitive.DOUBLE: "DOUBLE PRECISION",
        Primitive.BYTES: f"VARBYTE({BYTES})",
        Primitive.TEXT: _TEXT,
    }
)
_PHYSICAL: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.UINT64: "DECIMAL(20, 0)",
        Kind.DECIMAL: "DECIMAL({precision}, {scale})",
        Kind.FLOAT32: "DOUBLE PRECISION",
        Kind.FLOAT64: "DOUBLE PRECISION",
        Kind.BYTES: f"VARBYTE({BYTES})",
        Kind.BITS: f"VARBYTE({BYTES})",
        Kind.DATE: "DATE",
        Kind.TIME_MICROS: "TIME",
        Kind.TIMESTAMP_MICROS: "TIMESTAMP",
        Kind.ZONED_TIMESTAMP: "TIMESTAMPTZ",
        Kind.INSTANT_MICROS: "TIMESTAMPTZ",
        **dict.fromkeys((Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.DURATION_MICROS), "BIGINT"),
    }
)
NATIVE = frozenset(_PHYSICAL)
WIDENS = frozenset(
    {
        (Kind.INT16, Kind.INT32),
        (Kind.INT16, Kind.INT64),
        (Kind.INT32, Kind.INT64),
        (Kind.FLOAT32, Kind.FLOAT64),
        (Kind.INT16, Kind.DECIMAL),
        (Kind.INT32, Kind.DECIMAL),
        (Kind.INT64, Kind.DECIMAL),
        (Kind.UINT64, Kind.DECIMAL),
        (Kind.DECIMAL, Kind.DECIMAL),
        (Kind.DECIMAL, Kind.NUMERIC_TEXT),
        (Kind.ENUM, Kind.ENUM),
        (Kind.ENUM, Kind.STRING),
        (Kind.ENUM_SET, Kind.ENUM_SET),
    }
)
_SECOND, _MICROSECOND = "INTERVAL '1 second'", "INTERVAL '1 microsecond'"
_SINCE = f"(CAST('epoch' AS TIMESTAMP) + ({{x}} / 1000000) * {_SECOND} + ({{x}} % 1000000) * {_MICROSECOND})"
_ZONED = f"({_SINCE} AT TIME ZONE 'UTC')"
_RESTORED: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.UINT64: "CAST({x} AS DECIMAL(20, 0))",
        Kind.DECIMAL: "CAST({x} AS DECIMAL({precision}, {scale}))",
        Kind.DATE: "(CAST('1970-01-01' AS DATE) + CAST({x} AS INTEGER))",
        Kind.TIME_MICROS: f"CAST({_SINCE} AS TIME)",
        Kind.TIMESTAMP_MICROS: _SINCE,
        Kind.ZONED_TIMESTAMP: _ZONED,
        Kind.INSTANT_MICROS: _ZONED,
    }
)


def physical(of: ColumnType) -> str:
    """Return the type that a column has."""
    if _is_text(of):
        return _TEXT
    return _PHYSICAL[of.kind].format(precision=_digits(of), scale=of.scale)


def restored(value: str, of: ColumnType) -> str:
    """Make a column's value of a primitive; a null stays null."""
    if _is_text(of):
        return value
    return _RESTORED.get(of.kind, "{x}").format(x=value, precision=_digits(of), scale=of.scale)


def converted(value: str, old: ColumnType, new: ColumnType) -> str:
    """Give a stored value a wider type."""
    del old
    return f"CAST({value} AS {physical(new)})"


def image(value: str, of: ColumnType) -> str:
    """Write what is equal only for values that are exactly equal.

    A double's text has 15 digits, and to `=` -0.0 is 0.0: so both say what it is, the value for all but NaN.
    """
    if physical(of) != "DOUBLE PRECISION":
        return value
    text = f"CAST({value} AS VARCHAR(32))"
    return f"CASE WHEN {text} <> 'NaN' THEN {value} END, {text}"


def moment(micros: str) -> str:
    """Make a moment with its zone of microseconds since 1970."""
    return _ZONED.format(x=micros)


def _digits(of: ColumnType) -> int | None:
    return 20 if of.precision == 19 else of.precision


def _is_text(of: ColumnType) -> bool:
    too_fine = of.kind is Kind.DECIMAL and (of.scale or 0) > _MOST_SCALE
    return of.kind not in _PHYSICAL or too_fine


def shown(value: str, of: ColumnType) -> str:
    """Show bytes as hexadecimal: the driver takes them for a text in UTF-8."""
    return f"FROM_VARBYTE({value}, 'hex')" if of.kind in (Kind.BYTES, Kind.BITS) else value
