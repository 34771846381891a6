"""The log's description of a table, which comes before its rows.  Pure.

    TABLE_MAP_EVENT's body  ->  TableMap(number, database, name, columns, key)

    number 6 | flags 2 | database | name | how many columns | types | meta | which may be null | fields

A field is a number, a length and its value: signs, collations, names, labels, the key.  Several lists have
entries only for some columns (columns with a sign, or with a collation).  `wire_types` says which.  This is
the only difference between MySQL and MariaDB here: in MariaDB geometry has a collation.

`binlog_row_metadata=FULL` writes all fields.  Without the columns' names a table can't be used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.charsets import BINARY, charset_of
from wrackline.schemas.errors import OperatorNeeded, define

METADATA_MINIMAL = define(
    "mysql.metadata_minimal",
    OperatorNeeded,
    "the log does not name the columns of {table}, because it was written without binlog_row_metadata=FULL",
    hint="as an administrator: SET GLOBAL binlog_row_metadata = FULL; and under [mysqld] in the server's"
    " file: binlog_row_metadata=FULL; then read the table again: wrackline snapshot start <pipeline.toml>"
    " '{table}'",
)
WIRE_TYPE_UNKNOWN = define(
    "mysql.wire_type_unknown",
    OperatorNeeded,
    "the log has a column of {table} with the unknown type number {number}",
    hint="see which type it is (SHOW CREATE TABLE {table}), and change it or leave the table out: "
    "table.exclude.list = '{table}'",
)
TABLE_MAP_BROKEN = define(
    "mysql.table_map_broken",
    OperatorNeeded,
    "the log describes {table} in an unknown form",
    hint="check whether a newer version supports this server: wrackline --version, SELECT VERSION()",
)


@dataclass(frozen=True, slots=True)
class WireColumn:
    """A column as the log describes it."""

    name: str
    wire: int  # MYSQL_TYPE_*: the real type (ENUM or SET, not STRING)
    meta: int  # what rows need: bytes, precision << 8 | scale, fractional digits, bits, pack length
    nullable: bool
    unsigned: bool
    collation: int | None  # of character, enum and set columns (63 is binary)
    labels: tuple[str, ...] = ()
    geometry: int | None = None
    dimension: int | None = None
    visible: bool = True


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table as the log describes it; `key` has the places of the primary key's columns."""

    number: int
    database: str
    name: str
    columns: tuple[WireColumn, ...]
    key: tuple[int, ...] = ()
    prefixed: bool = False  # a part of the primary key covers only the first characters of its column


_T = TypeVar("_T")


class _BrokenMap(Exception):  # noqa: N818 - as TABLE_MAP_BROKEN, which it becomes
    """The bytes are not what they should be."""


class _ColumnDraft(NamedTuple):
    """One column before the fields are read."""

    wire: int
    meta: int
    nullable: bool


_SIGNS, _COLLATION, _COLLATIONS, _NAMES, _SET_LABELS, _ENUM_LABELS, _GEOMETRY, _KEY, _PREFIX_KEY = range(
    1, 10
)
_LABEL_COLLATION, _LABEL_COLLATIONS, _VISIBLE, _DIMENSIONS = range(10, 14)


def parse(
    body: bytes | memoryview, *, mariadb: bool, charsets: Mapping[int, str] = MappingProxyType({})
) -> TableMap:
    """Parse an event's body (without its header and checksum).

    `charsets` has the character sets of the server's own collations, by number.
    """
    reader = _FieldReader(bytes(body))
    database = name = "a table"
    try:
        number = reader.number(6)
        reader.skip(2)
        database, name = reader.name(), reader.name()
        table = f"{database}.{name}"
        shapes = _shapes(reader, table)
        fields = dict(reader.fields())
        if _NAMES not in fields:
            raise METADATA_MINIMAL(table=table)
        columns = _columns(shapes, fields, table, charsets, mariadb=mariadb)
        return TableMap(number, database, name, columns, _key(fields, len(columns)), _PREFIX_KEY in fields)
    except (_BrokenMap, ValueError) as exc:  # ValueError: a name that is not UTF-8, or an unknown label
        raise TABLE_MAP_BROKEN(table=f"{database}.{name}") from exc


def _key(fields: Mapping[int, bytes], count: int) -> tuple[int, ...]:
    whole = _FieldReader(fields.get(_KEY, b"")).numbers()
    key = whole or _FieldReader(fields.get(_PREFIX_KEY, b"")).numbers()[::2]
    if max(key, default=-1) >= count or len(set(key)) < len(key):
        raise _BrokenMap
    return tuple(key)


def _shapes(reader: "_FieldReader", table: str) -> list[_ColumnDraft]:
    types = reader.take(reader.packed())
    meta = _FieldReader(reader.take(reader.packed()))
    nulls = reader.take((len(types) + 7) // 8)
    made = []
    for place, kind in enumerate(types):
        if kind not in wire.META_BYTES:
            raise WIRE_TYPE_UNKNOWN(table=table, number=kind)
        real, value = _meta(kind, meta.take(wire.META_BYTES[kind]))
        made.append(_ColumnDraft(real, value, bool(nulls[place >> 3] >> (place & 7) & 1)))
    return made


def _meta(kind: int, raw: bytes) -> tuple[int, int]:
    """Return the real type, and what rows need to know about it."""
    if kind in (wire.STRING, wire.VAR_STRING):
        real, length = raw[0] | 0x30, raw[1]
        if real not in wire.AS_STRING:
            raise _BrokenMap
        # two bits of a length above 255 are in the type, inverted
        kind, value = real, length | (raw[0] & 0x30 ^ 0x30) << 4
    elif kind == wire.BIT:
        value = raw[1] * 8 + raw[0] if raw[0] < 8 else 0
    else:
        value = int.from_bytes(raw, "big" if kind == wire.NEWDECIMAL else "little")
    if kind == wire.NEWDECIMAL and not (raw[1] <= raw[0] and raw[1] <= _MOST_PLACES):
        raise _BrokenMap
    if value not in wire.METAS.get(kind, (value,)):
        raise _BrokenMap
    return kind, value


def _columns(
    shapes: Sequence[_ColumnDraft],
    fields: Mapping[int, bytes],
    table: str,
    charsets: Mapping[int, str],
    *,
    mariadb: bool,
) -> tuple[WireColumn, ...]:
    kinds = [shape.wire for shape in shapes]
    characters = wire.CHARACTERS | {wire.GEOMETRY} if mariadb else wire.CHARACTERS
    names = _FieldReader(fields[_NAMES]).texts()
    visible = _bits(fields[_VISIBLE]) if _VISIBLE in fields else [True] * len(kinds)
    if len(names) != len(kinds) or len(set(names)) < len(names) or len(visible) < len(kinds):
        raise _BrokenMap
    signs = _by_place(kinds, wire.NUMBERS, _bits(fields.get(_SIGNS, b"")))
    collations = _by_place(kinds, characters, _collations(fields, _COLLATION, _COLLATIONS, kinds, characters))
    collations |= _by_place(
        kinds,
        wire.LABELLED,
        _collations(fields, _LABEL_COLLATION, _LABEL_COLLATIONS, kinds, wire.LABELLED),
    )
    if any(kind in wire.WITH_COLLATION and place not in collations for place, kind in enumerate(kinds)):
        raise _BrokenMap
    sets = _FieldReader(fields.get(_SET_LABELS, b"")).lists()
    if max(map(len, sets), default=0) > _MOST_IN_SET:
        raise _BrokenMap
    labels = _by_place(kinds, {wire.SET}, sets)
    labels |= _by_place(kinds, {wire.ENUM}, _FieldReader(fields.get(_ENUM_LABELS, b"")).lists())
    geometry = _by_place(kinds, {wire.GEOMETRY}, _FieldReader(fields.get(_GEOMETRY, b"")).numbers())
    if max(geometry.values(), default=0) > wire.LAST_GEOMETRY:
        raise _BrokenMap
    dimensions = _by_place(kinds, {wire.VECTOR}, _FieldReader(fields.get(_DIMENSIONS, b"")).numbers())
    return tuple(
        WireColumn(
            name := names[place].decode(),
            shape.wire,
            shape.meta,
            shape.nullable,
            bool(signs.get(place)),
            collations.get(place),
            _labels(labels.get(place, ()), collations.get(place), f"{table}.{name}", charsets),
            geometry.get(place),
            dimensions.get(place),
            visible[place],
        )
        for place, shape in enumerate(shapes)
    )


def _by_place(
    kinds: Sequence[int], wanted: frozenset[int] | set[int], values: Sequence[Any]
) -> dict[int, Any]:
    """Give each column of the wanted types its entry, in order; a missing list gives none."""
    places = [place for place, kind in enumerate(kinds) if kind in wanted]
    if values and len(values) < len(places):
        raise _BrokenMap
    return dict(zip(places, values, strict=False))


def _collations(
    fields: Mapping[int, bytes], default: int, each: int, kinds: Sequence[int], wanted: frozenset[int]
) -> list[int]:
    """Read the collations of some columns: one for each, or one for all and the exceptions."""
    if each in fields:
        return _FieldReader(fields[each]).numbers()
    if default not in fields:
        return []
    common, *rest = _FieldReader(fields[default]).numbers()
    exceptions = dict(zip(rest[::2], rest[1::2], strict=True))
    return [exceptions.get(nth, common) for nth in range(sum(kind in wanted for kind in kinds))]


def _labels(
    raw: Sequence[bytes], collation: int | None, column: str, charsets: Mapping[int, str]
) -> tuple[str, ...]:
    if not raw or collation is None:
        return ()
    read = None if collation == BINARY else charset_of(collation, column=column, charsets=charsets).reader
    return tuple(label.decode("utf-8", "replace") if read is None else read(label) for label in raw)


def _bits(raw: bytes) -> list[bool]:
    return [bool(byte << bit & 0x80) for byte in raw for bit in range(8)]


class _FieldReader:
    """Reads numbers, texts and lists from the front; bytes that end too early are a broken event."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        end = self._at + length
        if end > len(self._raw):
            raise _BrokenMap
        start, self._at = self._at, end
        return self._raw[start:end]

    def skip(self, length: int) -> None:
        """Leave some bytes out."""
        self.take(length)

    def number(self, length: int) -> int:
        """Return a number of this many bytes."""
        return int.from_bytes(self.take(length), "little")

    def packed(self) -> int:
        """Return a number that contains its own length."""
        first = self.number(1)
        return first if first < _LONGER else self.number(_PACKED.get(first, 0))

    def text(self) -> bytes:
        """Return a text after its length."""
        return self.take(self.packed())

    def name(self) -> str:
        """Return a name, which also ends with a zero byte."""
        name = self.text()
        self.skip(1)
        return name.decode()

    def numbers(self) -> list[int]:
        """Return all numbers to the end."""
        return list(self._all(self.packed))

    def texts(self) -> list[bytes]:
        """Return all texts to the end."""
        return list(self._all(self.text))

    def lists(self) -> list[list[bytes]]:
        """Return all lists of texts to the end."""
        return list(self._all(lambda: [self.text() for _ in range(self.packed())]))

    def fields(self) -> Iterator[tuple[int, bytes]]:
        """Return the fields to the end: number and value."""
        return self._all(lambda: (self.number(1), self.text()))

    def _all(self, one: Callable[[], _T]) -> Iterator[_T]:
        while self._at < len(self._raw):
            yield one()


_MOST_PLACES = 38  # decimal places: MariaDB's limit; MySQL has 30
_MOST_IN_SET = 64
_LONGER = 251  # from here on, the byte says how many bytes follow
_PACKED = {252: 2, 253: 3, 254: 8}
