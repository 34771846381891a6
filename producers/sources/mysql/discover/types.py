"""MySQL's and MariaDB's types, and the kind of each.

In: a type as information_schema.columns.column_type writes it (`int(10) unsigned`, `enum('a','b')`),
or a column of the log's table map.  Out: a `ColumnType`, or an error that names the setting.  Pure, so that a
column is the same in the catalogue and in the log: `MySqlType` has what both know about it, in one spelling,
which is the servers' own without the parts that the log lacks (display widths, the digits of a float).

Geometry stays the bytes that the server stores (SRID, then WKB): both the log and a plain SELECT give them,
so nothing is converted on the way.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.charsets import BINARY, charset_of
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.types import ColumnType, Kind, exact_number

TYPE_UNKNOWN = define(
    "mysql.type_unknown",
    OperatorNeeded,
    "column {column} has the unknown type {type}",
    hint="carry it as text: column.as.text = '{column}', or leave it out: column.exclude.list = '{column}'",
)


@dataclass(frozen=True, slots=True)
class MySqlType:
    """The parts of a type that decide how its values are carried."""

    name: str  # lower case, only the first part: "int", "enum"
    sizes: tuple[int, ...] = ()  # length, precision and scale, fractional digits
    labels: tuple[str, ...] = ()  # enum and set; as the catalogue can say them
    unsigned: bool = False

    def __str__(self) -> str:
        inside = ",".join(map(_quoted, self.labels)) or ",".join(map(str, self.sizes))
        words = [f"{self.name}({inside})" if inside else self.name, "unsigned" if self.unsigned else ""]
        return " ".join(filter(None, words))


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
_WRITTEN = str.maketrans({"'": "''", "\\": "\\\\", "\0": "\\0", "\n": "\\n", "\r": "\\r"})
_BEYOND = re.compile("[\U00010000-\U0010ffff]")

_UNSIZED = frozenset(
    ("tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "year", "text", "blob")
)
_SIZED = MappingProxyType({"decimal": (10, 0), "bit": (1,), "char": (1,), "binary": (1,), "vector": (2048,)})
_TO_THE_SECOND = frozenset({"time", "datetime", "timestamp"})
_OTHER_NAMES = MappingProxyType({"geomcollection": "geometrycollection"})
# MariaDB's types that the log shows as their stored bytes
_KEPT_AS = MappingProxyType(
    {name: MySqlType("binary", (size,)) for name, size in (("uuid", 16), ("inet6", 16), ("inet4", 4))}
)


def parse(written: str) -> MySqlType:
    """Parse a column_type; text in an unknown form becomes an unknown name."""
    head, bracket, rest = written.partition("(")
    name = head.strip().lower()
    if bracket and name in {"enum", "set"}:
        return MySqlType(name, labels=_sayable(_unescaped(label) for label in _LABEL.findall(rest)))
    plain = _COMMENT.sub("", written).lower()
    sizes = re.search(r"\(([0-9, ]*)\)", plain)
    words = re.sub(r"\([^)]*\)", " ", plain).split()
    name = next((word for word in words if word not in _SIGNS), "")
    return MySqlType(
        _OTHER_NAMES.get(name, name),
        _sizes(name, tuple(int(size) for size in sizes[1].split(",")) if sizes else ()),
        # zerofill is always unsigned
        unsigned="unsigned" in words or "zerofill" in words,
    )


def of_wire(column: WireColumn, *, charsets: Mapping[int, str] = MappingProxyType({})) -> MySqlType:
    """Return a column's type as the log has it; `charsets`: those of the server's own collations."""
    kind, meta = column.wire, column.meta
    made = MySqlType(f"type {kind}")  # of a server before MySQL 5.0
    if kind in _NUMBERED:
        made = MySqlType(_NUMBERED[kind], unsigned=column.unsigned and kind != wire.YEAR)
    elif kind in _PLAIN:
        made = MySqlType(_PLAIN[kind], _sizes(_PLAIN[kind], (meta,) if kind in _FRACTIONS else ()))
    elif kind in (wire.BLOB, wire.BLOB_COMPRESSED):
        made = MySqlType(_LENGTHS[meta] + ("blob" if column.collation == BINARY else "text"))
    elif kind in _TEXTS:
        made = _text(column, charsets)
    elif kind in wire.LABELLED:
        made = MySqlType("enum" if kind == wire.ENUM else "set", labels=_sayable(column.labels))
    elif kind == wire.NEWDECIMAL:
        made = MySqlType("decimal", (meta >> 8, meta & 0xFF), unsigned=column.unsigned)
    elif kind == wire.VECTOR:
        made = MySqlType("vector", (column.dimension,) if column.dimension else ())
    elif kind == wire.GEOMETRY:
        made = MySqlType(_GEOMETRIES[column.geometry or 0])
    return made


def logged_type(mysql_type: MySqlType) -> MySqlType:
    """Return the type that the log shows for this one."""
    return _KEPT_AS.get(mysql_type.name, mysql_type)


def column_type(
    mysql_type: MySqlType,
    *,
    column: str,
    as_text: bool = False,
    instants: Kind = Kind.ZONED_TIMESTAMP,
) -> ColumnType:
    """Say which kind a column is; `column` is its full name, for the error's hint.

    `instants` is what TIMESTAMP becomes: the server stores it in UTC, unlike DATETIME.
    """
    name, text, sizes = mysql_type.name, str(mysql_type), mysql_type.sizes
    if as_text:
        return ColumnType(Kind.TEXT_OF, text)
    if name == "decimal":
        return exact_number(text, *sizes)
    if name == "timestamp":
        return ColumnType(instants, text)
    if name == "bit":
        return (
            ColumnType(Kind.BOOLEAN, text) if sizes == (1,) else ColumnType(Kind.BITS, text, length=sizes[0])
        )
    if name == "vector":
        return ColumnType(Kind.ARRAY, text, element=ColumnType(Kind.FLOAT32, "float"))
    kind = (UNSIGNED if mysql_type.unsigned else SIGNED).get(name)
    if kind is None:
        raise TYPE_UNKNOWN(column=column, type=text)
    return ColumnType(kind, text, labels=mysql_type.labels)


def _unescaped(label: str) -> str:
    return _ESCAPED.sub(lambda hit: _MEANS.get(hit[1], hit[1]) if hit[1] else "'", label)


def _text(column: WireColumn, charsets: Mapping[int, str]) -> MySqlType:
    length = column.meta - (column.wire == wire.VARCHAR_COMPRESSED)  # one more byte, for the method
    longest = charset_of(column.collation or 0, column=column.name, charsets=charsets).longest
    name = "binary" if column.collation == BINARY else "char"
    return MySqlType(name if column.wire == wire.STRING else f"var{name}", (length // longest,))


def _sizes(name: str, written: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes that the log has too: no display widths, and defaults as if they were written."""
    if name in _UNSIZED or (name in _TO_THE_SECOND and written == (0,)):
        return ()
    return (*written, *_SIZED.get(name, ())[len(written) :])


def _sayable(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels as the catalogue shows them: with a question mark for characters beyond 16 bits."""
    return tuple(_BEYOND.sub("?", label) for label in labels)


def _quoted(label: str) -> str:
    return f"'{label.translate(_WRITTEN)}'"


_SIGNS = frozenset({"unsigned", "signed", "zerofill"})
_NUMBERED = MappingProxyType(
    {
        wire.TINY: "tinyint",
        wire.SHORT: "smallint",
        wire.INT24: "mediumint",
        wire.LONG: "int",
        wire.LONGLONG: "bigint",
        wire.FLOAT: "float",
        wire.DOUBLE: "double",
        wire.YEAR: "year",
    }
)
_PLAIN = MappingProxyType(
    {
        wire.DATE: "date",
        wire.NEWDATE: "date",
        wire.TIME: "time",
        wire.TIME2: "time",
        wire.DATETIME: "datetime",
        wire.DATETIME2: "datetime",
        wire.TIMESTAMP: "timestamp",
        wire.TIMESTAMP2: "timestamp",
        wire.BIT: "bit",
        wire.JSON: "json",
    }
)
_FRACTIONS = frozenset({wire.TIME2, wire.DATETIME2, wire.TIMESTAMP2, wire.BIT})
_TEXTS = frozenset({wire.VARCHAR, wire.VAR_STRING, wire.STRING, wire.VARCHAR_COMPRESSED})
_LENGTHS = MappingProxyType({1: "tiny", 2: "", 3: "medium", 4: "long"})
_GEOMETRIES = (
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
)
