"""MySQL's and MariaDB's types: which kind each is.

In: a type as information_schema.columns.column_type writes it (`int(10) unsigned`, `enum('a','b')`),
or the same facts from the binlog's table map.  Out: a `ColumnType`, or an error that names what to
set.  Pure, so that a column is the same whether it was met in the catalogue or in the log.

Geometry stays the bytes that the server keeps (SRID, then WKB): they are what both the log and a plain
SELECT give, so nothing is turned around on the way.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.types import ColumnType, Kind, exact_number

TYPE_UNKNOWN = define(
    "mysql.type_unknown",
    OperatorNeeded,
    "column {column} has the type {type}, which is not known here",
    hint="carry it as text: column.as.text={column}, or leave it out: column.exclude.list={column}",
)


@dataclass(frozen=True, slots=True)
class MySqlType:
    """A type taken apart: what decides how its values travel."""

    name: str  # lower case, without what follows: "int", "enum"
    written: str
    sizes: tuple[int, ...] = ()  # display width, length, precision and scale, fractional digits
    labels: tuple[str, ...] = ()  # enum and set
    unsigned: bool = False


def _table(kinds: Mapping[Kind, str]) -> Mapping[str, Kind]:
    return MappingProxyType({name: kind for kind, names in kinds.items() for name in names.split()})


SIGNED = _table(
    {
        Kind.INT16: "tinyint smallint",
        Kind.INT32: "mediumint int",
        Kind.INT64: "bigint",
        Kind.FLOAT32: "float",
        Kind.FLOAT64: "double",
        Kind.STRING: "char varchar tinytext text mediumtext longtext",
        Kind.BYTES: "binary varbinary tinyblob blob mediumblob longblob"
        " geometry point linestring polygon multipoint multilinestring multipolygon geometrycollection"
        " geomcollection",
        Kind.YEAR: "year",
        Kind.DATE: "date",
        Kind.DURATION_MICROS: "time",
        Kind.TIMESTAMP_MICROS: "datetime",
        Kind.JSON: "json",
        Kind.ENUM: "enum",
        Kind.ENUM_SET: "set",
        Kind.UUID: "uuid",
        Kind.XML: "xmltype",
        Kind.TEXT_OF: "inet4 inet6",
    }
)
UNSIGNED = _table(
    {
        Kind.INT16: "tinyint",
        Kind.INT32: "smallint mediumint",
        Kind.INT64: "int",
        Kind.UINT64: "bigint",
        Kind.FLOAT32: "float",
        Kind.FLOAT64: "double",
    }
)

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)
_MEANS = {"0": "\0", "n": "\n", "r": "\r"}


def parse(written: str) -> MySqlType:
    """Take a column_type apart; text in no known form becomes a name that no table has."""
    head, bracket, rest = written.partition("(")
    name = head.strip().lower()
    if bracket and name in {"enum", "set"}:
        labels = tuple(_unescaped(label) for label in _LABEL.findall(rest))
        return MySqlType(name, written, labels=labels)
    plain = _COMMENT.sub("", written).lower()
    sizes = re.search(r"\(([0-9, ]*)\)", plain)
    words = re.sub(r"\([^)]*\)", " ", plain).split()
    return MySqlType(
        words[0] if words else "",
        written,
        sizes=tuple(int(size) for size in sizes[1].split(",")) if sizes else (),
        # zerofill is unsigned whether it says so or not
        unsigned="unsigned" in words or "zerofill" in words,
    )


def column_type(
    mysql_type: MySqlType,
    *,
    column: str,
    as_text: bool = False,
    instants: Kind = Kind.ZONED_TIMESTAMP,
) -> ColumnType:
    """Say which kind a column is; `column` is its full name, for the error's hint.

    `instants` is what TIMESTAMP becomes: the server keeps it in UTC, unlike DATETIME.
    """
    name, text, sizes = mysql_type.name, mysql_type.written, mysql_type.sizes
    if as_text:
        return ColumnType(Kind.TEXT_OF, text)
    if name == "decimal":
        precision, scale = (*sizes, *(10, 0)[len(sizes) :])
        return exact_number(text, precision, scale)
    if name == "timestamp":
        return ColumnType(instants, text)
    if name == "bit":
        bits = sizes[0] if sizes else 1
        return ColumnType(Kind.BOOLEAN, text) if bits == 1 else ColumnType(Kind.BITS, text, length=bits)
    if name == "vector":
        return ColumnType(Kind.ARRAY, text, element=ColumnType(Kind.FLOAT32, "float"))
    kind = (UNSIGNED if mysql_type.unsigned else SIGNED).get(name)
    if kind is None:
        raise TYPE_UNKNOWN(column=column, type=text)
    return ColumnType(kind, text, labels=mysql_type.labels)


def _unescaped(label: str) -> str:
    return _ESCAPED.sub(lambda hit: _MEANS.get(hit[1], hit[1]) if hit[1] else "'", label)
