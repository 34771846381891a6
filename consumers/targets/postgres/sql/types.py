"""What each kind of value is in PostgreSQL, written as `format_type` writes it, and what can widen.

Native where PostgreSQL holds every value of the kind exactly; text elsewhere.  Bits stay bytes, because
a record's schema does not say how many there are; XML is text, because a server may be built without it;
`json` keeps a text as it was, and `jsonb` is taken where the source has it too, because its text is normal.
"""

from collections.abc import Mapping
from types import MappingProxyType

from wrackline.schemas.tables.types import ColumnType, Kind

_TYPES: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.BOOLEAN: "boolean",
        Kind.INT16: "smallint",
        Kind.INT32: "integer",
        Kind.INT64: "bigint",
        Kind.UINT64: "numeric(20,0)",
        Kind.FLOAT32: "real",
        Kind.FLOAT64: "double precision",
        Kind.DECIMAL: "numeric({precision},{scale})",
        Kind.NUMERIC_TEXT: "numeric",
        Kind.STRING: "text",
        Kind.BYTES: "bytea",
        Kind.BITS: "bytea",
        Kind.DATE: "date",
        Kind.TIME_MICROS: "time without time zone",
        Kind.TIMESTAMP_MICROS: "timestamp without time zone",
        Kind.ZONED_TIMESTAMP: "timestamp with time zone",
        Kind.INSTANT_MICROS: "timestamp with time zone",
        Kind.ZONED_TIME: "time with time zone",
        Kind.DURATION_MICROS: "interval",
        Kind.INTERVAL: "interval",
        Kind.YEAR: "integer",
        Kind.UUID: "uuid",
        Kind.JSON: "json",
        Kind.XML: "text",
        Kind.ENUM: "text",
        Kind.ENUM_SET: "text",
        Kind.TEXT_OF: "text",
        Kind.ARRAY: "{element}[]",
    }
)
WIDENS_IN_PLACE = frozenset(
    {
        (Kind.DECIMAL, Kind.NUMERIC_TEXT),
        (Kind.ENUM, Kind.ENUM),
        (Kind.ENUM, Kind.STRING),
        (Kind.ENUM_SET, Kind.ENUM_SET),
    }
)
WIDENS_BY_REWRITING = frozenset(  # the server writes every row again, and readers wait
    {
        (Kind.INT16, Kind.INT32),
        (Kind.INT16, Kind.INT64),
        (Kind.INT32, Kind.INT64),
        (Kind.INT16, Kind.FLOAT32),
        (Kind.INT16, Kind.FLOAT64),
        (Kind.INT32, Kind.FLOAT64),
        (Kind.FLOAT32, Kind.FLOAT64),
        (Kind.INT16, Kind.DECIMAL),
        (Kind.INT32, Kind.DECIMAL),
        (Kind.INT64, Kind.DECIMAL),
        (Kind.UINT64, Kind.DECIMAL),
        (Kind.DECIMAL, Kind.DECIMAL),  # only where the scale grows; more digits before it cost nothing
        (Kind.ARRAY, Kind.ARRAY),
    }
)

_OF_FORMS = frozenset(  # to `=` values that are written differently are one: -0 and 0, 1.0 and 1.00
    {Kind.FLOAT32, Kind.FLOAT64, Kind.NUMERIC_TEXT, Kind.INTERVAL, Kind.JSON}
)


def has_forms(of: ColumnType) -> bool:
    """Whether a value may be written in several ways."""
    return of.kind in _OF_FORMS


def column_type(of: ColumnType) -> str:
    """Return the type that a column has in the target."""
    if of.kind is Kind.JSON and of.source == "jsonb":
        return "jsonb"
    element = column_type(of.element) if of.element else None
    return _TYPES[of.kind].format(precision=of.precision, scale=of.scale, element=element)
