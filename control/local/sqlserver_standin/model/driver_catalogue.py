"""What drivers ask for by procedures: tables, their columns and their keys, as ODBC describes them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.tables import Cells, ModelColumn, ModelTable
from wrackline.control.local.sqlserver_standin.model.type_numbers import type_columns
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType

Matches = Callable[[str], bool]

TABLES = (
    "TABLE_QUALIFIER sysname null; TABLE_OWNER sysname null; TABLE_NAME sysname null; "
    "TABLE_TYPE varchar(32) null; REMARKS varchar(254) null"
)
KEYS = (
    "TABLE_QUALIFIER sysname null; TABLE_OWNER sysname null; TABLE_NAME sysname; COLUMN_NAME sysname; "
    "KEY_SEQ smallint; PK_NAME sysname null"
)
COLUMNS = (
    "TABLE_QUALIFIER sysname null; TABLE_OWNER sysname null; TABLE_NAME sysname; COLUMN_NAME sysname; "
    "DATA_TYPE smallint; TYPE_NAME sysname; PRECISION int null; LENGTH int null; SCALE smallint null; "
    "RADIX smallint null; NULLABLE smallint; REMARKS varchar(254) null; COLUMN_DEF nvarchar(4000) null; "
    "SQL_DATA_TYPE smallint; SQL_DATETIME_SUB smallint null; CHAR_OCTET_LENGTH int null; "
    "ORDINAL_POSITION int; IS_NULLABLE varchar(254); SS_IS_SPARSE smallint; SS_IS_COLUMN_SET smallint; "
    "SS_IS_COMPUTED smallint; SS_IS_IDENTITY smallint; SS_UDT_CATALOG_NAME nvarchar(128) null; "
    "SS_UDT_SCHEMA_NAME nvarchar(128) null; SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(max) null; "
    "SS_XML_SCHEMACOLLECTION_CATALOG_NAME nvarchar(128) null; "
    "SS_XML_SCHEMACOLLECTION_SCHEMA_NAME nvarchar(128) null; "
    "SS_XML_SCHEMACOLLECTION_NAME nvarchar(128) null; SS_DATA_TYPE tinyint null"
)
_CODES: Mapping[str, int] = MappingProxyType(
    {
        "bit": -7,
        "tinyint": -6,
        "smallint": 5,
        "int": 4,
        "bigint": -5,
        "real": 7,
        "float": 6,
        "decimal": 3,
        "money": 3,
        "smallmoney": 3,
        "char": 1,
        "varchar": 12,
        "text": -1,
        "nchar": -8,
        "nvarchar": -9,
        "ntext": -10,
        "binary": -2,
        "varbinary": -3,
        "image": -4,
        "timestamp": -2,
        "date": 91,
        "time": -154,
        "datetime": 93,
        "smalldatetime": 93,
        "datetime2": 93,
        "datetimeoffset": -155,
        "uniqueidentifier": -11,
        "xml": -152,
        "sql_variant": -150,
        "hierarchyid": -151,
        "geometry": -151,
        "geography": -151,
        "json": -9,
        "vector": 12,
    }
)
_NUMBERS = frozenset(
    {"tinyint", "smallint", "int", "bigint", "real", "float", "decimal", "money", "smallmoney"}
)


def tables(database: ModelDatabase, name: Matches, schema: Matches) -> Iterator[Cells]:
    """List the tables whose names match, change tables too."""
    found = [(one.schema, one.name) for one in database.tables.values()]
    found += [("cdc", one.change_table) for one in (database.cdc.instances.values() if database.cdc else ())]
    for owner, table in sorted(found):
        if name(table) and schema(owner):
            yield (database.name, owner, table, "TABLE", None)


def keys(database: ModelDatabase, name: Matches, schema: Matches) -> Iterator[Cells]:
    """List the columns of the primary keys of the tables whose names match."""
    for table in _matching(database, name, schema):
        for at, column in enumerate(table.key, 1):
            yield (database.name, table.schema, table.name, column, at, f"PK_{table.name}")


def columns(database: ModelDatabase, name: Matches, schema: Matches) -> Iterator[Cells]:
    """List the columns of the tables whose names match."""
    for table in _matching(database, name, schema):
        for at, one in enumerate(table.columns, 1):
            yield (database.name, table.schema, table.name, one.name, *_described(one, at))


def _matching(database: ModelDatabase, name: Matches, schema: Matches) -> Iterator[ModelTable]:
    found = (one for one in database.tables.values() if name(one.name) and schema(one.schema))
    return iter(sorted(found, key=lambda one: (one.schema, one.name)))


def _described(one: ModelColumn, at: int) -> Cells:
    of, code = one.of, _CODES[one.of.name]
    _, _, length, precision, scale, _ = type_columns(of)
    bytes_long = max(int(str(length)), 0)
    shown = _shown_precision(of, bytes_long, int(str(precision)))
    radix = 10 if of.name in _NUMBERS else None
    octets = bytes_long if of.size or of.is_long else None
    nullable = ("NO", "YES")[one.nullable]
    flags = (0, 0, int(one.computed), int(one.identity))
    name = f"{of.name} identity" if one.identity else of.name
    default = None if one.default is None else f"({one.default})"
    return (
        *(code, name, shown, bytes_long, scale, radix, int(one.nullable), None, default, code, None, octets),
        *(at, nullable, *flags, None, None, None, None, None, None, None),
    )


def _shown_precision(of: SqlType, length: int, precision: int) -> int:
    """Return characters, bytes or digits; 0 is a value without a limit."""
    if precision:
        return precision
    return max(of.size, 0) if of.size else 0 if of.is_long else length
