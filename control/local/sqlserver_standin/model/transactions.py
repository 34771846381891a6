"""Transactions: what they have written, the log records of it, their locks and savepoints.

A transaction writes the log as it goes; the commit's record comes last, and its number is the commit's.
What is deferred (an UPDATE of a key or unique column) is logged as deletes, then inserts, with a command of
its own each.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from wrackline.control.local.sqlserver_standin.model.ordering import order_key
from wrackline.control.local.sqlserver_standin.model.tables import Cells, ModelColumn, ModelTable, RowKey
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import LONG, SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell, codec_of

if TYPE_CHECKING:
    from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase

Where = Mapping[str, Cell] | Callable[[Mapping[str, Cell]], bool] | None


class LockWait(Exception):  # noqa: N818 - it is no error: the statement is tried again when the other has ended
    """Another transaction holds a lock that a statement needs."""


class ChangeKind(IntEnum):
    """What a log record says of a row."""

    DELETE = 1
    INSERT = 2
    UPDATE = 3


class RowRecord(NamedTuple):
    """A log record of a row, in the columns that the table had then."""

    table: ModelTable
    columns: tuple[ModelColumn, ...]
    kind: ChangeKind
    before: Cells | None
    after: Cells | None
    number: bytes
    command: int


class Savepoint(NamedTuple):
    """What a transaction goes back to."""

    name: str
    number: bytes
    records: int
    rows: Mapping[ModelTable, Mapping[RowKey, Cells | None]]


@dataclass(slots=True, eq=False)
class ModelTransaction:
    """A transaction of one database.  Each public method is one statement."""

    database: "ModelDatabase"
    number: int
    began_at: dt.datetime
    began: bytes
    last: bytes
    snapshot: int | None = None
    records: list[RowRecord] = field(default_factory=list)
    rows: dict[ModelTable, dict[RowKey, Cells | None]] = field(default_factory=dict)
    savepoints: list[Savepoint] = field(default_factory=list)
    command: int = 0

    def insert(self, table: str, *rows: Mapping[str, Cell]) -> None:
        """Insert rows."""
        with self.database.lock:
            found = self.database.table(table)
            self.insert_rows(found, [found.made(row) for row in rows])

    def update(
        self,
        table: str,
        change: Mapping[str, Cell] | Callable[[Mapping[str, Cell]], Mapping[str, Cell]],
        where: Where = None,
    ) -> int:
        """Update the rows that fit, with values or with a function of the row."""
        with self.database.lock:
            found = self.database.table(table)
            pairs = []
            for key, row in self._fitting(found, where):
                values = change(_named(found, row)) if callable(change) else change
                pairs.append((key, found.made(values, row)))
            self.update_rows(found, pairs)
            return len(pairs)

    def delete(self, table: str, where: Where = None) -> int:
        """Delete the rows that fit."""
        with self.database.lock:
            found = self.database.table(table)
            keys = [key for key, _ in self._fitting(found, where)]
            self.delete_rows(found, keys)
            return len(keys)

    def _fitting(self, table: ModelTable, where: Where) -> list[tuple[RowKey, Cells]]:
        if where is None:
            return list(self.own_rows(table))
        if callable(where):
            return [(key, row) for key, row in self.own_rows(table) if where(_named(table, row))]
        if table.key and set(where) == set(table.key):
            key = tuple(order_key(table.columns[table.place(name)].of, where[name]) for name in table.key)
            row = self._current(table, key)
            return [] if row is None else [(key, row)]
        wanted = [(table.place(name), value) for name, value in where.items()]
        return [
            (key, row)
            for key, row in self.own_rows(table)
            if all(row[place] == value for place, value in wanted)
        ]

    def own_rows(self, table: ModelTable, low: RowKey = (), high: RowKey = ()) -> list[tuple[RowKey, Cells]]:
        """Return the newest rows as this transaction sees them: what is committed and what it wrote."""
        mine = self.rows.get(table, {})
        keys = table.keys_between(low, high, mine)
        pairs = ((key, mine[key] if key in mine else table.seen(key, None)) for key in keys)
        return [(key, row) for key, row in pairs if row is not None]

    def insert_rows(self, table: ModelTable, rows: Sequence[Cells]) -> None:
        """Insert rows that are made."""
        rows = [self._stamped(table, row) for row in rows]
        keys = [table.key_of(row) for row in rows]
        self._claim(table, keys)
        if len(set(keys)) < len(keys) or any(self._current(table, key) is not None for key in keys):
            text = "Violation of PRIMARY KEY constraint. Cannot insert duplicate key in object"
            raise ServerError(2627, f"{text} '{table.full_name}'.")
        self._check_sizes(table, rows)
        command = self._next_command()
        for key, row in zip(keys, rows, strict=True):
            self._put(table, key, row)
            self._log(table, ChangeKind.INSERT, None, row, command)

    def delete_rows(self, table: ModelTable, keys: Sequence[RowKey]) -> None:
        """Delete rows by their keys."""
        self._claim(table, keys)
        command = self._next_command()
        for key in keys:
            before = self._current(table, key)
            self._put(table, key, None)
            self._log(table, ChangeKind.DELETE, before, None, command)

    def update_rows(self, table: ModelTable, pairs: Sequence[tuple[RowKey, Cells]]) -> None:
        """Update rows: each key with the row that it becomes."""
        old = {key: self._current(table, key) for key, _ in pairs}
        pairs = [(key, row) for key, row in pairs if row != old[key]]  # nothing changed: nothing is logged
        pairs = [(key, self._stamped(table, row)) for key, row in pairs]
        befores = [before for key, _ in pairs if (before := old[key]) is not None]
        news = [table.key_of(row) if table.key else key for key, row in pairs]
        self._claim(table, [key for key, _ in pairs] + news)
        self._check_sizes(table, [row for _, row in pairs])
        moved = {new for (key, _), new in zip(pairs, news, strict=True) if new != key}
        leaving = {key for key, _ in pairs}
        if len(set(news)) < len(news) or any(
            new not in leaving and self._current(table, new) is not None for new in moved
        ):
            raise ServerError(2627, f"Violation of PRIMARY KEY constraint in '{table.full_name}'.")
        for key, _ in pairs:
            self._put(table, key, None)
        for new, (_, row) in zip(news, pairs, strict=True):
            self._put(table, new, row)
        self._log_update(table, befores, [row for _, row in pairs])

    def _log_update(self, table: ModelTable, befores: Sequence[Cells], afters: Sequence[Cells]) -> None:
        command = self._next_command()
        places = {table.place(name) for name in (*table.key, *table.unique)}
        moves = any(
            before[at] != after[at] for before, after in zip(befores, afters, strict=True) for at in places
        )
        if not moves or (len(befores) == 1 and not table.defers):
            for before, after in zip(befores, afters, strict=True):
                self._log(table, ChangeKind.UPDATE, before, after, command)
            return
        inserts = self._next_command()
        by_key = any(
            before[table.place(name)] != after[table.place(name)]
            for before, after in zip(befores, afters, strict=True)
            for name in table.key
        )
        numbers = [self._log(table, ChangeKind.DELETE, before, None, command) for before in befores]
        for number, after in zip(numbers, afters, strict=True):
            shared = number if len(befores) == 1 or not by_key else None
            self._log(table, ChangeKind.INSERT, None, after, inserts, shared)

    def save(self, name: str) -> bytes:
        """Set a savepoint; its log record has a place in the log, which is returned."""
        with self.database.lock:
            self.last = self.database.numbers.next()
            rows = {table: dict(changes) for table, changes in self.rows.items()}
            self.savepoints.append(Savepoint(name, self.last, len(self.records), rows))
            return self.last

    def back_to(self, name: str) -> None:
        """Roll back to a savepoint; the locks stay."""
        with self.database.lock:
            found = [at for at, one in enumerate(self.savepoints) if one.name == name]
            if not found:
                raise ServerError(
                    6401, f"Cannot roll back {name}. No transaction or savepoint of that name was found."
                )
            point = self.savepoints[found[-1]]
            del self.savepoints[found[-1] + 1 :]
            del self.records[point.records :]
            self.rows = {table: dict(changes) for table, changes in point.rows.items()}
            self.last = self.database.numbers.next()

    def commit(self) -> bytes:
        """Commit, and return the commit's LSN."""
        with self.database.lock:
            return self.database.end(self, commits=True)

    def rollback(self) -> None:
        """Roll back everything."""
        with self.database.lock:
            self.database.end(self, commits=False)

    def lock_table(self, table: ModelTable) -> None:
        """Take a shared lock of the whole table until the end: nobody writes it meanwhile."""
        if any(writer is not self for writer in table.writers.values()):
            raise LockWait
        table.lockers.add(self)

    def _claim(self, table: ModelTable, keys: Sequence[RowKey]) -> None:
        """Take the locks of rows, all or none."""
        if any(locker is not self for locker in table.lockers):
            raise LockWait
        if any(table.writers.get(key, self) is not self for key in keys):
            raise LockWait
        if self.snapshot is not None and any(self._written_since(table, key) for key in keys):
            raise ServerError(3960, "Snapshot isolation transaction aborted due to update conflict.")
        table.writers.update(dict.fromkeys(keys, self))

    def _written_since(self, table: ModelTable, key: RowKey) -> bool:
        return any(number > (self.snapshot or 0) for number, _ in table.versions.get(key, ()))

    def _current(self, table: ModelTable, key: RowKey) -> Cells | None:
        mine = self.rows.get(table, {})
        return mine[key] if key in mine else table.seen(key, None)

    def _put(self, table: ModelTable, key: RowKey, row: Cells | None) -> None:
        self.rows.setdefault(table, {})[key] = row

    def _stamped(self, table: ModelTable, row: Cells) -> Cells:
        """Give a `rowversion` column its next value."""
        places = {at for at, column in enumerate(table.columns) if column.of.name == "timestamp"}
        if not places:
            return row
        stamp = self.database.next_rowversion()
        return tuple(stamp if at in places else cell for at, cell in enumerate(row))

    def _check_sizes(self, table: ModelTable, rows: Sequence[Cells]) -> None:
        """Refuse what is larger than a captured column may be."""
        if not self.database.captures(table):
            return
        most = self.database.max_text_repl_size
        long = [at for at, column in enumerate(table.columns) if column.of.is_long or column.of.name in LONG]
        for row in rows:
            for at in long:
                size = _size(table.columns[at].of, row[at])
                if size > most:
                    text = f"Length of LOB data ({size}) to be replicated exceeds configured maximum {most}."
                    raise ServerError(7139, text)

    def _next_command(self) -> int:
        self.command += 1
        return self.command

    def _log(
        self,
        table: ModelTable,
        kind: ChangeKind,
        before: Cells | None,
        after: Cells | None,
        command: int,
        number: bytes | None = None,
    ) -> bytes:
        self.last = number or self.database.numbers.next()
        self.records.append(RowRecord(table, table.columns, kind, before, after, self.last, command))
        return self.last


def _named(table: ModelTable, row: Cells) -> Mapping[str, Cell]:
    return {column.name: cell for column, cell in zip(table.columns, row, strict=True)}


def _size(of: SqlType, cell: Cell) -> int:
    """Return how many bytes a long value has."""
    if isinstance(cell, str):
        return len(cell.encode(codec_of(of), "surrogatepass"))
    return len(cell) if isinstance(cell, bytes) else 0
