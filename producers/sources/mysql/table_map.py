"""The log's description of a table, which stands before its rows.  Pure.

    TABLE_MAP_EVENT's body  ->  TableMap(number, database, name, columns, key)

    number 6 | flags 2 | database | name | how many columns | types | meta | which may be null | fields

A field is a number, a length and its value: signs, collations, names, labels, the key.  Several lists
hold an entry for some columns alone (those with a sign, those with a collation); which these are, is in
`wire_types`, and is the one thing in which MySQL and MariaDB differ here: geometry has a collation there.

`binlog_row_metadata=FULL` writes all fields.  Without the columns' names nothing can be said of a table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from wrackline.producers.sources.mysql import wire_types as wire
from wrackline.producers.sources.mysql.charsets import BINARY, charset_of
from wrackline.schemas.errors import OperatorNeeded, define

METADATA_MINIMAL = define(
    "mysql.metadata_minimal",
    OperatorNeeded,
    "the log does not name the columns of {table}, for it was written without binlog_row_metadata=FULL",
    hint="as an administrator: SET GLOBAL binlog_row_metadata = FULL; and under [mysqld] in the server's "
    "file: binlog_row_metadata=FULL; then read the table anew: "
    "wrackline snapshot start <pipeline.toml> '{table}'",
)
WIRE_TYPE_UNKNOWN = define(
    "mysql.wire_type_unknown",
    OperatorNeeded,
    "the log has a column of {table} with the type number {number}, which is not known here",
    hint="see which type it is (SHOW CREATE TABLE {table}), and change it or leave the table out: "
    "table.exclude.list={table}",
)
TABLE_MAP_BROKEN = define(
    "mysql.table_map_broken",
    OperatorNeeded,
    "the log describes {table} in a form that is not known here",
    hint="look whether a newer version knows this server: wrackline --version, SELECT VERSION()",
)


@dataclass(frozen=True, slots=True)
class WireColumn:
    """A column as the log describes it."""

    name: str
    wire: int  # MYSQL_TYPE_*: the real one (ENUM, SET out of STRING)
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
    """A table as the log describes it; `key` holds the primary key's columns, by their places."""

    number: int
    database: str
    name: str
    columns: tuple[WireColumn, ...]
    key: tuple[int, ...] = ()
    prefixed: bool = False  # a part of the primary key covers the first characters of its column alone


_T = TypeVar("_T")


class _Broken(Exception):  # noqa: N818 - as TABLE_MAP_BROKEN, which it becomes
    """The bytes are not what they should be."""


class _Shape(NamedTuple):
    """One column before the fields are looked at."""

    wire: int
    meta: int
    nullable: bool


_SIGNS, _COLLATION, _COLLATIONS, _NAMES, _SET_LABELS, _ENUM_LABELS, _GEOMETRY, _KEY, _PREFIX_KEY = range(
    1, 10
)
_LABEL_COLLATION, _LABEL_COLLATIONS, _VISIBLE, _DIMENSIONS = range(10, 14)


def parse(
    body: bytes | memoryview, *, mariadb: bool, said: Mapping[int, str] = MappingProxyType({})
) -> TableMap:
    """Take an event's body apart (without its header and checksum).

    `said` is what the server says of collations of its own, by number.
    """
    reader = _Reader(bytes(body))
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
        columns = _columns(shapes, fields, table, said, mariadb=mariadb)
        return TableMap(number, database, name, columns, _key(fields, len(columns)), _PREFIX_KEY in fields)
    except (_Broken, ValueError) as exc:  # ValueError: a name that is no UTF-8, a label in no form
        raise TABLE_MAP_BROKEN(table=f"{database}.{name}") from exc


def _key(fields: Mapping[int, bytes], count: int) -> tuple[int, ...]:
    whole = _Reader(fields.get(_KEY, b"")).numbers()
    key = whole or _Reader(fields.get(_PREFIX_KEY, b"")).numbers()[::2]
    if max(key, default=-1) >= count or len(set(key)) < len(key):
        raise _Broken
    return tuple(key)


def _shapes(reader: "_Reader", table: str) -> list[_Shape]:
    types = reader.taken(reader.packed())
    meta = _Reader(reader.taken(reader.packed()))
    nulls = reader.taken((len(types) + 7) // 8)
    made = []
    for place, kind in enumerate(types):
        if kind not in wire.META_BYTES:
            raise WIRE_TYPE_UNKNOWN(table=table, number=kind)
        real, value = _meta(kind, meta.taken(wire.META_BYTES[kind]))
        made.append(_Shape(real, value, bool(nulls[place >> 3] >> (place & 7) & 1)))
    return made


def _meta(kind: int, raw: bytes) -> tuple[int, int]:
    """Return the type that it really is, and what rows need to know of it."""
    if kind in (wire.STRING, wire.VAR_STRING):
        real, length = raw[0] | 0x30, raw[1]
        if real not in wire.AS_STRING:
            raise _Broken
        # two bits of a length above 255 stand in the type, inverted
        kind, value = real, length | (raw[0] & 0x30 ^ 0x30) << 4
    elif kind == wire.BIT:
        value = raw[1] * 8 + raw[0] if raw[0] < 8 else 0
    else:
        value = int.from_bytes(raw, "big" if kind == wire.NEWDECIMAL else "little")
    if kind == wire.NEWDECIMAL and not (raw[1] <= raw[0] and raw[1] <= _MOST_PLACES):
        raise _Broken
    if value not in wire.METAS.get(kind, (value,)):
        raise _Broken
    return kind, value


def _columns(
    shapes: Sequence[_Shape],
    fields: Mapping[int, bytes],
    table: str,
    said: Mapping[int, str],
    *,
    mariadb: bool,
) -> tuple[WireColumn, ...]:
    kinds = [shape.wire for shape in shapes]
    characters = wire.CHARACTERS | {wire.GEOMETRY} if mariadb else wire.CHARACTERS
    names = _Reader(fields[_NAMES]).texts()
    visible = _bits(fields[_VISIBLE]) if _VISIBLE in fields else [True] * len(kinds)
    if len(names) != len(kinds) or len(set(names)) < len(names) or len(visible) < len(kinds):
        raise _Broken
    signs = _placed(kinds, wire.NUMBERS, _bits(fields.get(_SIGNS, b"")))
    collations = _placed(kinds, characters, _collations(fields, _COLLATION, _COLLATIONS, kinds, characters))
    collations |= _placed(
        kinds,
        wire.LABELLED,
        _collations(fields, _LABEL_COLLATION, _LABEL_COLLATIONS, kinds, wire.LABELLED),
    )
    if any(kind in wire.WITH_COLLATION and place not in collations for place, kind in enumerate(kinds)):
        raise _Broken
    sets = _Reader(fields.get(_SET_LABELS, b"")).lists()
    if max(map(len, sets), default=0) > _MOST_IN_SET:
        raise _Broken
    labels = _placed(kinds, {wire.SET}, sets)
    labels |= _placed(kinds, {wire.ENUM}, _Reader(fields.get(_ENUM_LABELS, b"")).lists())
    geometry = _placed(kinds, {wire.GEOMETRY}, _Reader(fields.get(_GEOMETRY, b"")).numbers())
    if max(geometry.values(), default=0) > wire.LAST_GEOMETRY:
        raise _Broken
    dimensions = _placed(kinds, {wire.VECTOR}, _Reader(fields.get(_DIMENSIONS, b"")).numbers())
    return tuple(
        WireColumn(
            name := names[place].decode(),
            shape.wire,
            shape.meta,
            shape.nullable,
            bool(signs.get(place)),
            collations.get(place),
            _labels(labels.get(place, ()), collations.get(place), f"{table}.{name}", said),
            geometry.get(place),
            dimensions.get(place),
            visible[place],
        )
        for place, shape in enumerate(shapes)
    )


def _placed(kinds: Sequence[int], wanted: frozenset[int] | set[int], values: Sequence[Any]) -> dict[int, Any]:
    """Give each column of the wanted types its entry, in order; a list that is missing gives none."""
    places = [place for place, kind in enumerate(kinds) if kind in wanted]
    if values and len(values) < len(places):
        raise _Broken
    return dict(zip(places, values, strict=False))


def _collations(
    fields: Mapping[int, bytes], default: int, each: int, kinds: Sequence[int], wanted: frozenset[int]
) -> list[int]:
    """Read the collations of some columns: one for each, or one for all and the exceptions."""
    if each in fields:
        return _Reader(fields[each]).numbers()
    if default not in fields:
        return []
    common, *rest = _Reader(fields[default]).numbers()
    exceptions = dict(zip(rest[::2], rest[1::2], strict=True))
    return [exceptions.get(nth, common) for nth in range(sum(kind in wanted for kind in kinds))]


def _labels(
    raw: Sequence[bytes], collation: int | None, column: str, said: Mapping[int, str]
) -> tuple[str, ...]:
    if not raw or collation is None:
        return ()
    read = None if collation == BINARY else charset_of(collation, column=column, said=said).reader
    return tuple(label.decode("utf-8", "replace") if read is None else read(label) for label in raw)


def _bits(raw: bytes) -> list[bool]:
    return [bool(byte << bit & 0x80) for byte in raw for bit in range(8)]


class _Reader:
    """Reads numbers, texts and lists from the front; bytes that end too early are a broken event."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def taken(self, length: int) -> bytes:
        """Return the next bytes."""
        end = self._at + length
        if end > len(self._raw):
            raise _Broken
        start, self._at = self._at, end
        return self._raw[start:end]

    def skip(self, length: int) -> None:
        """Leave some bytes out."""
        self.taken(length)

    def number(self, length: int) -> int:
        """Return a number of so many bytes."""
        return int.from_bytes(self.taken(length), "little")

    def packed(self) -> int:
        """Return a number that says itself how long it is."""
        first = self.number(1)
        return first if first < _LONGER else self.number(_PACKED.get(first, 0))

    def text(self) -> bytes:
        """Return a text after its length."""
        return self.taken(self.packed())

    def name(self) -> str:
        """Return a name, which a zero byte ends too."""
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


_MOST_PLACES = 38  # of a decimal behind its point: MariaDB's; MySQL has 30
_MOST_IN_SET = 64
_LONGER = 251  # from here on, the byte says how many bytes follow
_PACKED = {252: 2, 253: 3, 254: 8}
