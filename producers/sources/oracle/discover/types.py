"""Oracle's types, and the kind of each.

In: a type as the catalogue has it.  Out: a `ColumnType`, or an error that names the setting.  Pure, so that a
column is the same in the catalogue, in the log and in a chunk.

Whatever their precision, moments are microseconds (`time.precision.mode`): what is finer is cut off.  The
check names such columns, and as text they have all places.  No key may have such a column, because two keys
could become one.

What SQL_REDO does not have, or not exactly, is `read_again`: the row is read by its key.  BINARY_FLOAT and
BINARY_DOUBLE belong there: a real server wrote -2.5E-300 as '0', and nothing tells such a text from a value.
They are not refused, because a chunk has them exactly, and a table with a key loses only time.
"""

import re
from types import MappingProxyType
from typing import Final

from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.types import MOST_DIGITS, ColumnType, Kind, exact_number

TYPE_REFUSED = define(
    "oracle.type_refused",
    OperatorNeeded,
    "column {column} has the type {type}, whose values LogMiner does not show",
    hint="leave it out: column.exclude.list = '{column}'",
)
KEY_INEXACT = define(
    "oracle.key_inexact",
    OperatorNeeded,
    "the key column {column} has the type {type}, and two of its values could become one",
    hint="carry it as text: column.as.text = '{column}'",
)
KEY_UNORDERED = define(
    "oracle.key_unordered",
    OperatorNeeded,
    "the key column {column} has the type {type}, which is not exact in the redo log, or has no order",
    hint="name other columns that distinguish the rows: message.key.columns; or leave the table out:"
    " table.exclude.list",
)
KEY_NEEDED = define(
    "oracle.key_needed",
    OperatorNeeded,
    "the redo log may lack values of column {column} of {table}, and no key of the table finds the row again",
    hint="name columns that distinguish the rows: message.key.columns = '{table}:<columns>'; or leave the"
    " column out: column.exclude.list = '{table}.{column}'",
)

_KINDS: Final = MappingProxyType(
    {
        name: kind
        for kind, names in {
            Kind.FLOAT32: ("BINARY_FLOAT",),
            Kind.FLOAT64: ("BINARY_DOUBLE",),
            Kind.STRING: ("CHAR", "VARCHAR2", "NCHAR", "NVARCHAR2", "CLOB", "NCLOB", "ROWID", "UROWID"),
            Kind.BYTES: ("RAW", "BLOB"),
            Kind.TIMESTAMP_MICROS: ("DATE", "TIMESTAMP"),
            Kind.ZONED_TIMESTAMP: ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"),
            Kind.INTERVAL: ("INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH"),
            Kind.XML: ("XMLTYPE",),
            Kind.JSON: ("JSON",),
            Kind.BOOLEAN: ("BOOLEAN",),
            Kind.TEXT_OF: ("VECTOR",),
        }.items()
        for name in names
    }
)
_NUMBERS: Final = frozenset({"NUMBER", "FLOAT"})
KNOWN: Final = frozenset({*_KINDS, *_NUMBERS})
INSTANTS: Final = frozenset({"TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"})
BINARY_FLOATS: Final = frozenset({"BINARY_FLOAT", "BINARY_DOUBLE"})
_LOBS: Final = frozenset({"CLOB", "NCLOB", "BLOB", "XMLTYPE", "JSON", "VECTOR", "BOOLEAN"})
# Longer ones are stored as large objects are; a character of VARCHAR2 may have four bytes.
_LONG: Final = MappingProxyType({"VARCHAR2": 4000, "NVARCHAR2": 2000, "RAW": 2000})
_PERHAPS_LONG: Final = MappingProxyType({**_LONG, "VARCHAR2": 1000})
_NO_KEY: Final = frozenset({*_LOBS, *BINARY_FLOATS, "ROWID", "UROWID"})
_LONGEST_KEY: Final = 4000
_XML_OWNERS: Final = frozenset({None, "SYS", "PUBLIC"})
_SIZE: Final = re.compile(r"\((\d+)\)", re.ASCII)
_INTEGERS: Final = ((4, Kind.INT16), (9, Kind.INT32), (18, Kind.INT64))  # as Debezium's


def family(sql_type: OracleType) -> str:
    """Return a type's name without sizes: `TIMESTAMP WITH TIME ZONE`; that of an object has its owner."""
    name = _SIZE.sub("", sql_type.name)
    foreign = sql_type.owner not in (_XML_OWNERS if name == "XMLTYPE" else {None})
    return f"{sql_type.owner}.{name}" if foreign else name


def type_text(sql_type: OracleType) -> str:
    """Write a type as the server does."""
    name = family(sql_type)
    if name == "NUMBER" and (sql_type.precision, sql_type.scale) != (None, None):
        precision = "*" if sql_type.precision is None else sql_type.precision
        return f"NUMBER({precision},{sql_type.scale or 0})"
    if name == "FLOAT" and sql_type.precision is not None:
        return f"FLOAT({sql_type.precision})"
    if name in {"CHAR", "VARCHAR2", "NCHAR", "NVARCHAR2", "RAW"} and sql_type.length is not None:
        return f"{name}({sql_type.length})"
    return sql_type.name if name in KNOWN else name


def finer_than_micros(sql_type: OracleType) -> bool:
    """Whether a moment can have places behind the microseconds, which are cut off."""
    size = _SIZE.search(sql_type.name)
    return sql_type.name.startswith("TIMESTAMP") and size is not None and int(size[1]) > 6


def may_lack(sql_type: OracleType) -> bool:
    """Whether a statement of SQL_REDO may not name the column, because its values are not in the row."""
    name = family(sql_type)
    return name in _LOBS or (sql_type.length or 0) > _PERHAPS_LONG.get(name, 1 << 31)


def read_again(sql_type: OracleType) -> bool:
    """Whether SQL_REDO lacks values, or does not have them exactly, so that a table needs a key."""
    name = family(sql_type)
    long = (sql_type.length or 0) > _LONG.get(name, 1 << 31)
    return name in _LOBS or name in BINARY_FLOATS or long


def column_type(
    sql_type: OracleType,
    *,
    column: str,
    as_text: bool = False,
    instants: Kind = Kind.ZONED_TIMESTAMP,
    keyed: bool = False,
) -> ColumnType:
    """Say which kind a column is; `column` is its full name, for the error's hint.

    `instants` is what a timestamp with a time zone becomes; `keyed`: it is part of the table's key.
    """
    name, text = family(sql_type), type_text(sql_type)
    if name not in KNOWN:
        raise TYPE_REFUSED(column=column, type=text)
    if keyed and (name in _NO_KEY or (sql_type.length or 0) > _LONGEST_KEY):
        raise KEY_UNORDERED(column=column, type=text)
    if keyed and finer_than_micros(sql_type) and not as_text:
        raise KEY_INEXACT(column=column, type=text)
    if as_text:
        return ColumnType(Kind.TEXT_OF, text)
    if name in _NUMBERS:
        return _number(sql_type, text)
    return ColumnType(instants if name in INSTANTS else _KINDS[name], text)


def _number(sql_type: OracleType, text: str) -> ColumnType:
    """Say what a number is; FLOAT is decimal too, and has a precision in bits."""
    if family(sql_type) == "FLOAT" or (sql_type.precision is None and sql_type.scale is None):
        return ColumnType(Kind.NUMERIC_TEXT, text)
    precision, scale = sql_type.precision or MOST_DIGITS, sql_type.scale or 0
    if scale <= 0:
        for digits, kind in _INTEGERS:
            if precision - scale <= digits:
                return ColumnType(kind, text)
    return exact_number(text, precision, scale)
