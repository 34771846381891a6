"""PostgreSQL's types, and the kind of each.

In: a type as pg_type describes it, resolved down to its element or base by the caller, and the
column's typmod.  Out: a `ColumnType`, or an error that names the setting.  Pure, so that a column is the
same in the catalogue and in the log.

A type that has no better form is carried as the server's own text: every type has one, it is exact, and
the session's settings make it the same in the log and in a chunk.  Unknown types are refused, and carried
as text only if the settings say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.types import ColumnType, Kind, exact_number

TYPE_UNKNOWN = define(
    "pg.type_unknown",
    OperatorNeeded,
    "column {column} has the unknown type {type}",
    hint="carry it as text: column.as.text = '{column}', or leave it out: column.exclude.list = '{column}'",
)


@dataclass(frozen=True, slots=True)
class PgType:
    """A row of pg_type, with the types that it consists of instead of their oids."""

    oid: int
    name: str
    schema: str = "pg_catalog"
    kind: str = "b"  # typtype: base, composite, domain, enum, pseudo, range, multirange
    category: str = "U"  # typcategory; only A, array, is looked at
    delimiter: str = ","  # typdelim: between elements of an array of this type
    element: "PgType | None" = None  # typelem
    base: "PgType | None" = None  # typbasetype, of a domain
    typmod: int = -1  # typtypmod, of a domain
    labels: tuple[str, ...] = ()  # pg_enum, in its order


def _table(kinds: Mapping[Kind, str]) -> Mapping[str, Kind]:
    return MappingProxyType({name: kind for kind, names in kinds.items() for name in names.split()})


BUILT_IN = _table(
    {
        Kind.BOOLEAN: "bool",
        Kind.INT16: "int2",
        Kind.INT32: "int4",
        Kind.INT64: "int8 oid xid cid",  # oid and xid: 32 bits without sign
        Kind.UINT64: "xid8",
        Kind.FLOAT32: "float4",
        Kind.FLOAT64: "float8",
        Kind.STRING: "text varchar bpchar char name",
        Kind.BYTES: "bytea",
        Kind.DATE: "date",
        Kind.TIME_MICROS: "time",
        Kind.TIMESTAMP_MICROS: "timestamp",
        Kind.ZONED_TIME: "timetz",
        Kind.INTERVAL: "interval",
        Kind.UUID: "uuid",
        Kind.JSON: "json jsonb",
        Kind.XML: "xml",
        # varbit: its text, because Bits would lose the number of leading zeros
        Kind.TEXT_OF: "varbit inet cidr macaddr macaddr8 jsonpath tsvector tsquery pg_lsn tid aclitem"
        " refcursor point line lseg box path polygon circle int2vector oidvector pg_snapshot"
        " txid_snapshot regclass regcollation regconfig regdictionary regnamespace regoper regoperator"
        " regproc regprocedure regrole regtype",
    }
)
# Names that extensions use, in any schema.
EXTENSIONS = _table(
    {
        Kind.STRING: "citext",
        Kind.TEXT_OF: "hstore ltree lquery ltxtquery cube seg isbn isbn13 ismn ismn13 issn issn13 ean13 upc"
        " geometry geography box2d box3d raster vector halfvec sparsevec",
    }
)
AS_TEXT = MappingProxyType({"c": "composite", "r": "range", "m": "multirange"})  # typtypes

_WRITTEN = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "bool": "boolean",
    "varchar": "character varying",
    "bpchar": "character",
    "char": '"char"',
    "varbit": "bit varying",
}
_ZONES = {
    "time": " without time zone",
    "timetz": " with time zone",
    "timestamp": " without time zone",
    "timestamptz": " with time zone",
}
_INTERVAL_BITS = {"year": 2, "month": 1, "day": 3, "hour": 10, "minute": 11, "second": 12}


def column_type(
    pg_type: PgType,
    typmod: int = -1,
    *,
    column: str,
    as_text: bool = False,
    instants: Kind = Kind.ZONED_TIMESTAMP,
) -> ColumnType:
    """Say which kind a column is; `column` is its full name, for the error's hint.

    `instants` is what timestamptz becomes.
    """
    if as_text:
        return ColumnType(Kind.TEXT_OF, type_text(pg_type, typmod))
    made = _column_type(pg_type, typmod, instants)
    if made is None:
        raise TYPE_UNKNOWN(column=column, type=type_text(pg_type, typmod))
    return made


def _column_type(pg_type: PgType, typmod: int, instants: Kind) -> ColumnType | None:
    """Return the column's type, or None for an unknown type."""
    if pg_type.kind == "d" and pg_type.base is not None:
        return _column_type(pg_type.base, pg_type.typmod, instants)
    if pg_type.kind == "e":
        return ColumnType(Kind.ENUM, type_text(pg_type), labels=pg_type.labels)
    if pg_type.kind in AS_TEXT:
        return ColumnType(Kind.TEXT_OF, type_text(pg_type))
    if pg_type.kind != "b":
        return None
    if is_array(pg_type) and pg_type.element is not None:
        return _array(pg_type.element, typmod, instants)
    return _named_type(pg_type, typmod, instants)


def _array(element: PgType, typmod: int, instants: Kind) -> ColumnType | None:
    """Return an array's type: its text where the elements are arrays too, or are not separated by commas."""
    text = f"{type_text(element, typmod)}[]"
    inner = _column_type(element, typmod, instants)
    if inner is None:
        return None
    if inner.kind is Kind.ARRAY or element.delimiter != ",":
        return ColumnType(Kind.TEXT_OF, text)
    return ColumnType(Kind.ARRAY, text, element=inner)


def _named_type(pg_type: PgType, typmod: int, instants: Kind) -> ColumnType | None:
    """Return a type that is known by its name and its typmod."""
    text, name = type_text(pg_type, typmod), pg_type.name
    if pg_type.schema != "pg_catalog":
        kind = EXTENSIONS.get(name)
    elif name == "numeric":
        return exact_number(text, *numeric_digits(typmod))
    elif name == "money":  # 64 bits; two digits, because the session's lc_monetary is C
        return exact_number(text, 19, 2)
    elif name == "bit" and typmod > 1:
        return ColumnType(Kind.BITS, text, length=typmod)
    elif name == "bit":  # without a length it holds any number of bits
        kind = Kind.BOOLEAN if typmod == 1 else Kind.TEXT_OF
    else:
        kind = instants if name == "timestamptz" else BUILT_IN.get(name)
    return ColumnType(kind, text) if kind else None


def is_array(pg_type: PgType) -> bool:
    """Whether it is a true array, not a type that only has elements, such as point and int2vector."""
    return (
        pg_type.category == "A"
        and pg_type.element is not None
        and pg_type.name not in {"int2vector", "oidvector"}
    )


def numeric_digits(typmod: int) -> tuple[int | None, int]:
    """Unpack a numeric's typmod: precision, None where it has none, and scale, which may be negative."""
    if typmod < 4:
        return None, 0
    packed = typmod - 4
    return packed >> 16 & 0xFFFF, (packed & 0x7FF ^ 0x400) - 0x400


def type_text(pg_type: PgType, typmod: int = -1) -> str:
    """Write a type as the server's format_type does; a type that is not the server's own has its schema."""
    if is_array(pg_type) and pg_type.element is not None:
        return f"{type_text(pg_type.element, typmod)}[]"
    if pg_type.schema != "pg_catalog" and pg_type.name not in EXTENSIONS:
        return f"{pg_type.schema}.{pg_type.name}"
    name = pg_type.name
    return f"{_WRITTEN.get(name, _without_zone(name))}{_modifier(name, typmod)}{_ZONES.get(name, '')}"


def _without_zone(name: str) -> str:
    return name.removesuffix("tz") if name in _ZONES else name


def _modifier(name: str, typmod: int) -> str:
    if typmod < 0:
        return ""
    if name == "numeric":
        precision, scale = numeric_digits(typmod)
        return f"({precision},{scale})"
    if name in {"varchar", "bpchar"}:
        return f"({typmod - 4})"
    if name == "interval":
        return _interval_modifier(typmod)
    if name in {"bit", "varbit", *_ZONES, "vector", "halfvec", "sparsevec"}:
        return f"({typmod})"
    return ""


def _interval_modifier(typmod: int) -> str:
    """Write an interval's fields and precision: ` day to second(3)`."""
    fields = [name for name, bit in _INTERVAL_BITS.items() if typmod >> 16 & 1 << bit]
    precision = "" if typmod & 0xFFFF == 0xFFFF else f"({typmod & 0xFFFF})"
    if len(fields) in {0, len(_INTERVAL_BITS)}:
        return precision
    return f" {fields[0]}{precision}" if len(fields) == 1 else f" {fields[0]} to {fields[-1]}{precision}"
