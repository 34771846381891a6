"""A tiny in-memory database with a log: what the source suite writes to, and the fake source reads.

Transactions are appended to the log whole, in commit order.  What a SELECT sees is the log replayed
without the transactions that are still hidden, so log order and visibility order can differ, as they do
in real servers.  An entry keeps the images that a log would carry, and the shape of its moment.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.fakes.place import Place
from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.testing.sources.source_world import (
    TEXT,
    Change,
    ColumnAdded,
    Delete,
    Elsewhere,
    Insert,
    Said,
    Truncated,
    Update,
    Values,
)


@dataclass(frozen=True)
class RowLogged:
    """A row change, with both images; `unsent` columns are not in the log's copy of `after`."""

    shape: TableSchema
    before: Values | None
    after: Values | None
    unsent: tuple[str, ...] = ()


@dataclass(frozen=True)
class TruncateLogged:
    shape: TableSchema


@dataclass(frozen=True)
class SignalLogged:
    id: str
    type: str
    data: str


Entry = RowLogged | TruncateLogged | SignalLogged | Said


@dataclass(frozen=True)
class Transaction:
    lsn: int
    name: str
    committed_ms: int
    entries: tuple[Entry, ...]

    @property
    def published(self) -> str:
        return f"{self.name}:{self.lsn}"

    @property
    def end(self) -> int:
        """The next transaction's place, as in PostgreSQL: only the class in seq distinguishes them."""
        return self.lsn + 1


@dataclass
class Database:
    """One database with one captured table and its log."""

    shape: TableSchema
    may_be_unsent: frozenset[str] = frozenset()
    log: list[Transaction] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    in_use: bool = False  # one stream at a time, as a replication slot allows
    told: Place | None = None  # the last confirmed position
    _rows: dict[tuple[object, ...], Values] = field(default_factory=dict)  # the log's truth

    @property
    def end(self) -> int:
        """The place behind everything that was logged."""
        return self.log[-1].end if self.log else 1

    def commit(self, *changes: Change | SignalLogged, hidden: bool = False) -> str:
        """Log one transaction; hidden, it is in the log and no SELECT sees it yet."""
        entries = tuple(entry for change in changes for entry in self._logged(change))
        number = len(self.log) + 1
        name = f"tx{number}"
        self.log.append(Transaction(number, name, 1_700_000_000_000 + number, entries))
        if hidden:
            self.hidden.add(name)
        return name

    def visible(self) -> Collection[Values]:
        """What a SELECT of the whole table returns now."""
        rows: dict[tuple[object, ...], Values] = {}
        for transaction in self.log:
            if transaction.name not in self.hidden:
                for entry in transaction.entries:
                    _replay(rows, entry)
        return rows.values()

    def logged(self) -> Collection[Values]:
        """The table as the log has it."""
        return self._rows.values()

    def _logged(self, change: Change | SignalLogged) -> Iterator[Entry]:
        if isinstance(change, SignalLogged | Said):
            yield change
        elif isinstance(change, ColumnAdded):
            column = Column(change.name, max(c.identity for c in self.shape.columns) + 1, TEXT)
            self.shape = replace(self.shape, columns=(*self.shape.columns, column))
        elif not isinstance(change, Elsewhere):
            entry = self._row_change(change)
            _replay(self._rows, entry)
            yield entry

    def _row_change(self, change: Insert | Update | Delete | Truncated) -> RowLogged | TruncateLogged:
        match change:
            case Insert(values):
                return RowLogged(self.shape, None, self._whole(values))
            case Update(key, values):
                before = self._rows[key]
                after = self._whole({**before, **values})
                unsent = tuple(
                    name
                    for name in sorted(self.may_be_unsent)
                    if name not in values and before.get(name) is not None
                )
                return RowLogged(self.shape, before, after, unsent)
            case Delete(key):
                return RowLogged(self.shape, self._rows[key], None)
            case Truncated():
                return TruncateLogged(self.shape)

    def _whole(self, values: Values) -> Values:
        return {column.name: values.get(column.name) for column in self.shape.columns}


def key_of(shape: TableSchema, values: Mapping[str, object]) -> tuple[object, ...]:
    """The key of a row."""
    return tuple(values[name] for name in shape.key)


def _replay(rows: dict[tuple[object, ...], Values], entry: Entry) -> None:
    if isinstance(entry, TruncateLogged):
        rows.clear()
    elif isinstance(entry, RowLogged):
        if entry.before is not None:
            rows.pop(key_of(entry.shape, entry.before), None)
        if entry.after is not None:
            rows[key_of(entry.shape, entry.after)] = entry.after
