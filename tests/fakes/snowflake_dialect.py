"""Snowflake's SQL, as far as the texts of a staged target are looked at before its target is there.

Names are upper case, because unquoted SQL finds only those; a backslash in a literal escapes.
"""

from wrackline.consumers.contract.identifiers import Case, Identifiers
from wrackline.consumers.staged.dialect import PRIMITIVES, Primitive, StagedDialect
from wrackline.schemas.tables.types import ColumnType, Kind

_MOST_SCALE = 37  # of a NUMBER

_MOMENT = "DATEADD(MICROSECOND, {x}, CAST('1970-01-01 00:00:00 +00:00' AS TIMESTAMPTZ(6)))"

_PHYSICAL = {
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
    **dict.fromkeys((Kind.INT16, Kind.INT32, Kind.INT64, Kind.YEAR, Kind.DURATION_MICROS), "DECIMAL(19, 0)"),
}
_RESTORED = {
    Kind.UINT64: "TO_NUMBER({x}, 20, 0)",
    Kind.DECIMAL: "TO_NUMBER({x}, 38, {scale})",
    Kind.DATE: "DATEADD(DAY, {x}, CAST('1970-01-01' AS DATE))",
    Kind.TIME_MICROS: "DATEADD(MICROSECOND, {x}, CAST('00:00:00' AS TIME(6)))",
    Kind.TIMESTAMP_MICROS: "DATEADD(MICROSECOND, {x}, CAST('1970-01-01' AS TIMESTAMPNTZ(6)))",
    Kind.ZONED_TIMESTAMP: _MOMENT,
    Kind.INSTANT_MICROS: _MOMENT,
}


def _is_text(of: ColumnType) -> bool:
    return of.kind not in _PHYSICAL or (of.kind is Kind.DECIMAL and (of.scale or 0) > _MOST_SCALE)


def physical(of: ColumnType) -> str:
    return "VARCHAR" if _is_text(of) else _PHYSICAL[of.kind].format(scale=of.scale)


def restored(value: str, of: ColumnType) -> str:
    return value if _is_text(of) else _RESTORED.get(of.kind, "{x}").format(x=value, scale=of.scale)


DIALECT = StagedDialect(
    identifiers=Identifiers(255, Case.UPPER, case_sensitive=False, refused="\0"),
    native=frozenset(_PHYSICAL),
    most_decimal_digits=38,
    widens=frozenset({(Kind.INT16, Kind.INT32), (Kind.INT32, Kind.INT64), (Kind.INT32, Kind.DECIMAL)}),
    conditional_merge=True,
    types={
        Primitive.BOOLEAN: "BOOLEAN",
        Primitive.BIGINT: "BIGINT",
        Primitive.DOUBLE: "DOUBLE",
        Primitive.BYTES: "BINARY",
        Primitive.TEXT: "VARCHAR",
    },
    moment_type="TIMESTAMPTZ(6)",
    quoted=lambda name: '"' + name.upper().replace('"', '""') + '"',
    literal=lambda text: "'" + text.replace("\\", "\\\\").replace("'", "''") + "'",
    carried=lambda of: PRIMITIVES.get(of.kind, Primitive.TEXT),
    physical=physical,
    restored=restored,
    converted=lambda value, _, new: f"CAST({value} AS {physical(new)})",
    image=lambda value, of: f"TO_VARCHAR({value})" if physical(of) == "DOUBLE" else value,
    moment=lambda micros: _MOMENT.format(x=micros),
)
