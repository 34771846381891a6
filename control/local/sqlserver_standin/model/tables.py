"""Tables with versions of their rows: what is committed, what is being written, what a snapshot sees.

A row is a tuple of cells.  Its key is what the primary key's cells sort by; a table without one counts its
rows. Each commit has a number; a snapshot is such a number, and it sees the last version up to it.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wrackline.control.local.sqlserver_standin.model.ordering import order_key
from wrackline.control.local.sqlserver_standin.wire.collations import COLLATIONS, Collation
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, sql_type
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_FEW = 100  # keys: more are taken out of the order all at once
Cells = tuple[Cell, ...]
RowKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ModelColumn:
    """A column; its number is never used again, so a column that comes back under a name is another one."""

    name: str
    of: SqlType
    nullable: bool = True
    identity: bool = False
    computed: bool = False
    number: int = 0
    default: Cell = None
    masked: bool = False
    """Whether who lacks UNMASK sees another value; the stand-in shows all of them the value."""
    encrypts: SqlType | None = None
    """The type that only the catalogue shows of an encrypted column, whose own is varbinary."""


@dataclass(slots=True, eq=False)
class ModelTable:
    """A table of a database."""

    object_id: int
    schema: str
    name: str
    columns: tuple[ModelColumn, ...]
    key: tuple[str, ...]
    unique: tuple[str, ...]
    """Columns of unique indexes that are not the key."""
    defers: bool
    """Whether an UPDATE of one row's key or unique column is a delete and an insert, as of many rows."""
    versions: dict[RowKey, list[tuple[int, Cells | None]]] = field(default_factory=dict)
    keys: list[RowKey] = field(default_factory=list)
    """The keys of all versions, in order."""
    writers: dict[RowKey, object] = field(default_factory=dict)
    """Who holds the lock of a row: a transaction."""
    lockers: set[object] = field(default_factory=set)
    """Who holds a shared lock of the whole table."""
    next_row: int = 1
    next_identity: int = 1
    next_number: int = 1
    _places: dict[str, int] = field(default_factory=dict)
    _placed: tuple[ModelColumn, ...] | None = None
    """The columns whose places are known."""

    @property
    def full_name(self) -> str:
        """Return schema and name."""
        return f"{self.schema}.{self.name}"

    def place(self, name: str) -> int:
        """Return at which place of a row a column is."""
        if self._placed is not self.columns:
            self._places = {column.name.lower(): at for at, column in enumerate(self.columns)}
            self._placed = self.columns
        if (at := self._places.get(name.lower())) is not None:
            return at
        raise ServerError(207, f"Invalid column name '{name}'.")

    def made(self, values: Mapping[str, Cell], old: Cells | None = None) -> Cells:
        """Make a row of named values; what is not named is as it was, or NULL, or the next identity."""
        cells: list[Cell] = list(old) if old is not None else [None] * len(self.columns)
        named = set()
        for name, value in values.items():
            at = self.place(name)
            named.add(at)
            cells[at] = fitted(self.columns[at].of, value)
        for at, column in enumerate(self.columns):
            if old is None and at not in named:
                cells[at] = fitted(column.of, column.default)
            if old is None and column.identity and at not in named:
                cells[at] = fitted(column.of, self.next_identity)
                self.next_identity += 1
            if column.of.name == "timestamp" or column.computed:
                continue
            if cells[at] is None and not column.nullable:
                raise ServerError(
                    515,
                    f"Cannot insert the value NULL into column '{column.name}', table '{self.full_name}'.",
                )
        return tuple(cells)

    def key_of(self, row: Cells) -> RowKey:
        """Return a row's key; a row of a table without one gets a new number."""
        if self.key:
            places = [self.place(name) for name in self.key]
            return tuple(order_key(self.columns[at].of, row[at]) for at in places)
        self.next_row += 1
        return (self.next_row,)

    def seen(self, key: RowKey, snapshot: int | None) -> Cells | None:
        """Return the committed version of a row: the last, or the last up to a snapshot."""
        for number, row in reversed(self.versions.get(key, ())):
            if snapshot is None or number <= snapshot:
                return row
        return None

    def keys_between(self, low: RowKey, high: RowKey, more: Iterable[RowKey] = ()) -> Iterator[RowKey]:
        """Give the keys from `low` on, up to those that begin with `high`, and `more` of them, in order."""
        first = bisect_left(self.keys, low)
        last = bisect_right(self.keys, high, key=lambda key: key[: len(high)]) if high else len(self.keys)
        found = (self.keys[at] for at in range(first, last))
        added = [key for key in more if not key < low and not (high and key[: len(high)] > high)]
        return iter(sorted({*found, *added})) if added else found

    def store(self, number: int, changes: Mapping[RowKey, Cells | None], *, keep: bool) -> None:
        """Commit changes; older versions are only kept while a snapshot may need them."""
        for key, row in changes.items():
            if key not in self.versions:
                insort(self.keys, key)
                self.versions[key] = []
            versions = self.versions[key]
            if not keep:
                versions.clear()
            versions.append((number, row))
        if not keep and any(row is None for row in changes.values()):
            gone = {key for key, row in changes.items() if row is None}
            for key in gone:
                del self.versions[key]
            if len(gone) > _FEW:
                self.keys = [key for key in self.keys if key not in gone]
            else:
                for key in gone:
                    del self.keys[bisect_left(self.keys, key)]

    def reshape(self, columns: Sequence[ModelColumn], fill: Mapping[int, Cell]) -> None:
        """Give the table other columns: rows keep the cells of columns that stay, by number."""
        places = {column.number: at for at, column in enumerate(self.columns)}

        def again(row: Cells) -> Cells:
            return tuple(
                fitted(one.of, row[places[one.number]] if one.number in places else fill.get(one.number))
                for one in columns
            )

        for versions in self.versions.values():
            versions[:] = [(number, None if row is None else again(row)) for number, row in versions]
        self.columns = tuple(columns)

    def numbered(self, columns: Iterable[ModelColumn]) -> Iterator[ModelColumn]:
        """Give new columns their numbers."""
        for column in columns:
            yield replace(column, number=self.next_number)
            self.next_number += 1


_DECLARATION = re.compile(
    r"(?P<type>\w+\s*(?:\([^)]*\))?)(?:\s+collate\s+(?P<collation>\w+))?(?P<identity>\s+identity(?:\(1,\s*1\))?)?"
    r"(?P<computed>\s+computed)?(?P<null>\s+(?:not\s+)?null)?",
    re.IGNORECASE,
)


def declared(
    name: str, text: str, collation: Collation, *, is_key: bool = False, default: Cell = None
) -> ModelColumn:
    """Read `nvarchar(50) collate X identity computed not null`; all but the type may be left out."""
    match = _DECLARATION.fullmatch(text.strip())
    if match is None:
        raise ServerError(102, f"Incorrect syntax near '{text}'.", severity=15)
    of = sql_type(match["type"], COLLATIONS[match["collation"]] if match["collation"] else collation)
    nullable = not is_key and "not" not in (match["null"] or "").lower()
    identity, computed = bool(match["identity"]), bool(match["computed"])
    return ModelColumn(name, of, nullable, identity, computed, default=fitted(of, default))
