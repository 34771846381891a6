"""The model's tables: three keys, a write counter, an ordinary column and two that a log may leave out.

    pairs (k1, k2)    holes (n or null, m)    ones (id)     + version, a, big, huge, and what is added later
    bags (no key: rows come, and go all at once)

Keys are texts in a collation of their own (2 < 9 < 10 < 100, nulls last), so code that compares
them as texts goes wrong.  Rows are tuples of texts; as bytes they are Avro in Confluent's frame, which
is what the machine is given and what a reader of the topic decodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

Key = tuple[str | None, ...]
Row = tuple[str | None, ...]

TEXT = ColumnType(Kind.STRING, "text")
PLACES = {"2": 0, "9": 1, "10": 2, "100": 3, None: 4}  # the collation
LONG = ("big", "huge")  # a log may leave them out where they did not change
LAST = (len(PLACES),)  # behind every key
_NAMES = ("pairs", "holes", "ones", "bags")
BAG = 3  # rows are kept by their version, which is no key of theirs
_KEYS: tuple[tuple[tuple[str, bool], ...], ...] = (
    (("k1", False), ("k2", False)),
    (("n", True), ("m", False)),
    (("id", False),),
    (),
)
DOMAINS: tuple[tuple[Key, ...], ...] = (
    tuple((a, b) for a in ("2", "9", "10") for b in ("2", "10", "100")),
    tuple((a, b) for a in ("9", "10", None) for b in ("2", "9", "10")),
    tuple((a,) for a in ("2", "9", "10", "100")),
    (),
)


@dataclass(frozen=True, eq=False)
class Shape:
    """One table between two schema changes."""

    table: int
    number: int  # the schema id in a value's header; unique over all tables and shapes
    generation: int
    schema: TableSchema
    keys: int  # so many columns, the first ones, are the key
    fill: str | None = None  # what a column added by the last change holds in rows of before
    made_by: str = "create"

    @property
    def version(self) -> int:
        """Where the write counter stands."""
        return self.keys

    def long(self, name: str) -> int:
        """Where a long column stands."""
        return self.keys + 2 + LONG.index(name)

    @property
    def rewrites(self) -> bool:
        """Whether the change to it gave stored rows other values."""
        return self.made_by in {"add", "type"}

    @property
    def filled(self) -> frozenset[int]:
        """Columns that gave a value to rows from before them."""
        return frozenset(column.identity for column in self.schema.columns if column.name.startswith("x"))

    def key_bytes(self, key: Key) -> bytes:
        """The Kafka key, of a table that has one."""
        return _key_bytes(self.number % len(_NAMES), key)

    def head(self, before: Row | None, after: Row | None) -> bytes:
        """The value's first half."""
        return b"\x00%b%b%b" % (self.number.to_bytes(4, "big"), _image(before), _image(after))


def rank(key: Key) -> tuple[int, ...]:
    """Where a key stands in the database's own order."""
    return tuple([PLACES[part] for part in key])


@cache
def shape_after(table: int, changes: tuple[str, ...]) -> Shape:
    """The table's shape after these schema changes: add, null, rename, type, drop."""
    if not changes:
        return _created(table)
    old, change = shape_after(table, changes[:-1]), changes[-1]
    columns, fill = old.schema.columns, None
    newest = max(column.identity for column in columns) + len(changes)
    at = old.keys + 1
    if change in {"add", "null"}:
        fill = None if change == "null" else f"d{newest}"
        columns = (*columns, Column(f"{'x' if fill else 'y'}{newest}", newest, TEXT))
    elif change == "rename":
        columns = (*columns[:at], replace(columns[at], name=f"a{newest}"), *columns[at + 1 :])
    elif change == "type":
        wider = ColumnType(Kind.STRING, f"varchar({newest})")
        columns = (*columns[:at], replace(columns[at], type=wider), *columns[at + 1 :])
    elif change == "drop":
        columns = columns[:-1]
    schema = replace(old.schema, columns=columns)
    return _numbered(table, len(changes), schema, old.keys, fill, change)


def rewritten(shape: Shape, row: Row) -> Row:
    """A stored row as the change to `shape` leaves it, without any row event."""
    if shape.made_by in {"add", "null"}:
        return (*row, shape.fill)
    if shape.made_by == "drop":
        return row[:-1]
    if shape.made_by == "type":
        at = shape.keys + 1
        return (*row[:at], f"{row[at]}'", *row[at + 1 :])
    return row


def can_drop(shape: Shape) -> bool:
    """Whether there is a column that was added later."""
    return len(shape.schema.columns) > shape.keys + 2 + len(LONG)


def decoded(value: bytes) -> tuple[Shape, Row | None, Row | None, str]:
    """A value's shape, two images and its tail."""
    shape = _SHAPES[int.from_bytes(value[1:5], "big")]
    width = len(shape.schema.columns)
    before, at = _row(value, 5, width)
    after, at = _row(value, at, width)
    return shape, before, after, value[at:].decode()


_SHAPES: dict[int, Shape] = {}
_BY_NAME: dict[TableId, int] = {}
_BOUNDS: dict[bytes, Key] = {}


def bound(key: bytes) -> Key:
    """A Kafka key's columns."""
    return _BOUNDS[key]


def table_of(name: TableId) -> int:
    """Which of the tables this is."""
    return _BY_NAME[name]


def _created(table: int) -> Shape:
    columns = [Column(name, at, TEXT, nullable) for at, (name, nullable) in enumerate(_KEYS[table], start=1)]
    columns += [
        Column(name, at, TEXT) for at, name in enumerate(("version", "a", *LONG), start=len(columns) + 1)
    ]
    name = TableId("shop", "public", _NAMES[table])
    _BY_NAME[name] = table
    kind = (
        KeyKind.NONE
        if not _KEYS[table]
        else KeyKind.CUSTOM
        if any(nullable for _, nullable in _KEYS[table])
        else KeyKind.PRIMARY
    )
    schema = TableSchema(name, tuple(columns), tuple(name for name, _ in _KEYS[table]), kind)
    return _numbered(table, 0, schema, len(_KEYS[table]), None, "create")


def _numbered(
    table: int, generation: int, schema: TableSchema, keys: int, fill: str | None, change: str
) -> Shape:
    number = table + len(_NAMES) * (len(_SHAPES) + 1)
    made = Shape(table, number, generation, schema, keys, fill, change)
    _SHAPES[number] = made
    return made


@cache
def _key_bytes(table: int, key: Key) -> bytes:
    parts = [
        _text(part) if nullable else _text(part)[1:]
        for part, (_, nullable) in zip(key, _KEYS[table], strict=True)
    ]
    made = b"\x00" + (table + 1).to_bytes(4, "big") + b"".join(parts)
    _BOUNDS[made] = key
    return made


_TEXTS: dict[str | None, bytes] = {None: b"\x00"}


def _text(text: str | None) -> bytes:
    known = _TEXTS.get(text)
    if known is None:
        raw = (text or "").encode()
        known = _TEXTS[text] = bytes((2, 2 * len(raw))) + raw  # texts here are shorter than 64 bytes
    return known


def _image(row: Sequence[str | None] | None) -> bytes:
    return b"\x00" if row is None else b"\x02" + b"".join([_text(part) for part in row])


def _row(value: bytes, at: int, width: int) -> tuple[Row | None, int]:
    if value[at] == 0:
        return None, at + 1
    at += 1
    row: list[str | None] = []
    for _ in range(width):
        if value[at] == 0:
            row.append(None)
            at += 1
        else:
            end = at + 2 + value[at + 1] // 2
            row.append(value[at + 2 : end].decode())
            at = end
    return tuple(row), at
