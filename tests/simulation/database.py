"""The model database: several writers, and a log whose order is not the order in which rows are seen.

    open --commit--> in the log, hidden --show--> visible          open --roll back--> gone

A writer holds the keys that it wrote until others can see what it did, as row locks do; so a key's
changes have one order, while transactions become visible in any.  Truncates and schema changes
wait for their table to be free, and are seen at once: nobody can read a table that is locked whole.
Every write counts a version, which stands in the row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tests.simulation.chance import Chance
from tests.simulation.shapes import (
    BAG,
    DOMAINS,
    LAST,
    LONG,
    Key,
    Row,
    Shape,
    can_drop,
    rank,
    rewritten,
    shape_after,
)
from wrackline.producers.contract.steps import Unsent

Touched: TypeAlias = tuple[Key, Row | None, int]  # what a write left of a key, and its version


class Wrote(NamedTuple):
    """One row change as the server logs it: one part, or two where the key changed."""

    shape: Shape
    parts: tuple[tuple[str, bytes | None, bytes, Unsent | None], ...]  # op, key, head, partial
    touched: tuple[Touched, ...]


class Emptied(NamedTuple):
    """A truncate."""

    shape: Shape
    version: int


class Altered(NamedTuple):
    """A schema change; a log may say so at once, or not before a row needs it."""

    shape: Shape


class Spoiled(NamedTuple):
    """A row that no stream can decode: its table is set aside there."""

    shape: Shape


class Signalled(NamedTuple):
    """A row for the signal table."""

    id: str
    type: str
    data: str


class Spoke(NamedTuple):
    """A logical message."""

    content: bytes
    alone: bool  # outside any transaction


Entry = Wrote | Emptied | Altered | Spoiled | Signalled | Spoke


class Logged(NamedTuple):
    """One transaction in the log; without entries it is nobody's business, and only moves the log."""

    name: str
    entries: Sequence[Entry]


@dataclass(eq=False)
class Transaction:
    """A writer's."""

    name: str
    entries: list[Entry] = field(default_factory=list)
    left: dict[tuple[int, Key], Row | None] = field(default_factory=dict)  # what only it sees


@dataclass(eq=False)
class Table:
    """What a SELECT sees, and who holds which key."""

    shape: Shape
    changes: tuple[str, ...] = ()
    rows: dict[Key, Row] = field(default_factory=dict)
    held: dict[Key, Transaction] = field(default_factory=dict)


@dataclass(frozen=True)
class Writes:
    """How often writers do what, as weights; and what a log may leave out."""

    partial: float = 0.4
    key_change: float = 0.2
    delete: float = 0.25
    hidden: float = 0.4
    shown: float = 0.35  # how soon a hidden transaction is seen
    roll_back: float = 0.1
    truncate: float = 0.03
    alter: float = 0.04
    idle: float = 0.08
    spoil: float = 0.0


class Database:
    """One database with its log; everything in it happens by chance."""

    def __init__(
        self, chance: Chance, writes: Writes, tables: int, note: Callable[[str], None] | None
    ) -> None:
        self._chance, self._writes, self._note = chance, writes, note
        self.tables = [Table(shape_after(table, ())) for table in range(tables)]
        self.log: list[Logged] = []
        self.open: list[Transaction] = []
        self.hidden: list[Transaction] = []
        self.version = self._named = 0
        for at, table in enumerate(self.tables):
            for key in DOMAINS[at]:
                if chance.happens(0.6):
                    self.version += 1
                    table.rows[key] = (*key, str(self.version), "i", f"B{self.version}", f"H{self.version}")
            if at == BAG:
                for _ in range(chance.below(8)):
                    self.version += 1
                    row = self._fresh(table.shape, ())
                    table.rows[row[:1]] = row

    @property
    def end(self) -> int:
        """The place behind all that was logged; a transaction's end is the next one's start."""
        return len(self.log) + 1

    def append(self, *entries: Entry) -> None:
        """Log a transaction that is visible at once: a mark, a signal, or nothing of ours."""
        self._named += 1
        self.log.append(Logged(f"t{self._named}", entries))
        if self._note:
            self._note(f"log {len(self.log)}: {_words(entries) or 'nothing of ours'}")

    def act(self) -> None:
        """Let one thing happen."""
        chance, writes = self._chance, self._writes
        what = chance.number()
        if what < writes.idle:
            self.append()
        elif what < writes.idle + writes.truncate + writes.alter:
            self._whole_table(alter=what < writes.idle + writes.alter)
        elif what > 1 - writes.spoil:
            self.append(Spoiled(chance.pick(self.tables).shape))
        elif self.hidden and chance.happens(writes.shown):
            self.show(chance.below(len(self.hidden)))
        elif self.open and chance.happens(0.5):
            self._end(chance.below(len(self.open)))
        else:
            if len(self.open) < 2 and (not self.open or chance.happens(0.4)):
                self._named += 1
                self.open.append(Transaction(f"t{self._named}"))
            self._write(chance.pick(self.open))

    def show(self, at: int) -> None:
        """Let everybody see a committed transaction."""
        self._seen(self.hidden.pop(at))

    def settle(self) -> None:
        """Let all writers end, and write once more to each table whose shape has changed."""
        while self.hidden or self.open:
            if self.hidden:
                self.show(0)
            else:
                self._end(0)
        for at, table in enumerate(self.tables):
            if table.changes:
                last = Transaction(f"settled{at}")
                while not last.entries:
                    self._write(last, at)
                self.log.append(Logged(last.name, last.entries))
                self._seen(last)

    def _end(self, at: int) -> None:
        transaction = self.open.pop(at)
        if self._chance.happens(self._writes.roll_back) or not transaction.entries:
            self._release(transaction)
            return
        self.log.append(Logged(transaction.name, transaction.entries))
        hidden = self._chance.happens(self._writes.hidden)
        if self._note:
            seen = ", hidden" if hidden else ""
            self._note(
                f"log {len(self.log)}: {transaction.name} commits{seen}: {_words(transaction.entries)}"
            )
        if hidden:
            self.hidden.append(transaction)
        else:
            self._seen(transaction)

    def _seen(self, transaction: Transaction) -> None:
        for (at, key), row in transaction.left.items():
            if row is None:
                self.tables[at].rows.pop(key, None)
            else:
                self.tables[at].rows[key] = row
        self._release(transaction)
        if self._note:
            self._note(f"{transaction.name} is visible")

    def _release(self, transaction: Transaction) -> None:
        for at, key in transaction.left:
            self.tables[at].held.pop(key, None)

    def _whole_table(self, *, alter: bool) -> None:
        """A transaction that changes a table as a whole, with row changes around it."""
        at = self._chance.below(len(self.tables))
        table = self.tables[at]
        if table.held:
            return
        self._named += 1
        whole = Transaction(f"t{self._named}")
        while self._chance.happens(0.3):
            self._write(whole, at)
        self._seen(whole)
        if alter:
            self._alter(table, at, whole)
        else:
            self.version += 1
            whole.entries.append(Emptied(table.shape, self.version))
            table.rows.clear()
        whole.left.clear()
        while self._chance.happens(0.4):
            self._write(whole, at)
        self.log.append(Logged(whole.name, whole.entries))
        if self._note:
            self._note(f"log {len(self.log)}: {whole.name} commits: {_words(whole.entries)}")
        self._seen(whole)

    def _alter(self, table: Table, at: int, whole: Transaction) -> None:
        change = self._chance.pick(("add", "null", "rename", "type", "drop"))
        if at == BAG:
            return
        if len(table.changes) > 3 or (change == "drop" and not can_drop(table.shape)):
            return
        table.changes = (*table.changes, change)
        table.shape = shape_after(at, table.changes)
        whole.entries.append(Altered(table.shape))
        table.rows = {key: rewritten(table.shape, row) for key, row in table.rows.items()}

    def _write(self, transaction: Transaction, at: int | None = None) -> None:
        """Write to a key that nobody else holds."""
        chance, writes = self._chance, self._writes
        if at is None:
            at = chance.below(len(self.tables))
        table = self.tables[at]
        if at == BAG:
            self._drop_in(transaction, table)
            return
        key = chance.pick(DOMAINS[at])
        if table.held.get(key, transaction) is not transaction:
            return
        left = transaction.left
        row = left[at, key] if (at, key) in left else table.rows.get(key)
        self.version += 1
        if row is None:
            self._put(transaction, table, None, None, key, self._fresh(table.shape, key))
        elif chance.happens(writes.delete):
            self._put(transaction, table, key, row, None, None)
        else:
            new, shape = key, table.shape
            if chance.happens(writes.key_change):
                new = chance.pick(DOMAINS[at])
                there = left[at, new] if (at, new) in left else table.rows.get(new)
                if there is not None or table.held.get(new, transaction) is not transaction:
                    new = key
            after = self._fresh(shape, new)
            unsent: tuple[str, ...] = ()
            if chance.happens(writes.partial):
                same = chance.pick((LONG, LONG[:1], LONG[1:]))
                unsent = tuple(name for name in same if row[shape.long(name)] is not None)
                for name in unsent:
                    after = _with(after, shape.long(name), row[shape.long(name)])
            self._put(transaction, table, key, row, new, after, unsent)

    def _drop_in(self, transaction: Transaction, table: Table) -> None:
        """Write one more row into a table without a key."""
        self.version += 1
        row = self._fresh(table.shape, ())
        transaction.left[BAG, row[:1]] = row
        table.held[row[:1]] = transaction
        parts = (("c", None, table.shape.head(None, row), None),)
        transaction.entries.append(Wrote(table.shape, parts, ((row[:1], row, self.version),)))

    def _fresh(self, shape: Shape, key: Key) -> Row:
        """A row as its writer makes it; now and then without a long value."""
        now = str(self.version)
        long = [None if self._chance.happens(0.1) else f"{name[0].upper()}{now}" for name in LONG]
        later = len(shape.schema.columns) - shape.keys - 2 - len(LONG)
        return (*key, now, f"a{now}", *long, *[f"x{now}"] * later)

    def _put(
        self,
        transaction: Transaction,
        table: Table,
        old: Key | None,
        before: Row | None,
        new: Key | None,
        after: Row | None,
        unsent: tuple[str, ...] = (),
    ) -> None:
        """Take down one row change, as the log will carry it."""
        shape, version, at = table.shape, self.version, table.shape.table
        touched: list[Touched] = []
        if old is not None and old != new:
            touched.append((old, None, version))
        if new is not None:
            touched.append((new, after, version))
        for key, row, _ in touched:
            transaction.left[at, key] = row
            table.held[key] = transaction
        sent = after
        for name in unsent:
            sent = None if sent is None else _with(sent, shape.long(name), None)
        named = None if before is None else (*before[: shape.keys], *[None] * (len(before) - shape.keys))
        old_bytes = b"" if old is None else shape.key_bytes(old)
        new_bytes = b"" if new is None else shape.key_bytes(new)
        parts: tuple[tuple[str, bytes | None, bytes, Unsent | None], ...]
        if old is None:
            parts = (("c", new_bytes, shape.head(None, sent), None),)
        elif new is None:
            parts = (("d", old_bytes, shape.head(named, None), None),)
        elif old == new:
            parts = (("u", new_bytes, shape.head(named, sent), Unsent(unsent) if unsent else None),)
        else:
            parts = (
                ("d", old_bytes, shape.head(named, None), Unsent(unsent, new_bytes) if unsent else None),
                ("c", new_bytes, shape.head(None, sent), Unsent(unsent, old_bytes) if unsent else None),
            )
        transaction.entries.append(Wrote(shape, parts, tuple(touched)))


def _with(row: Row, at: int, cell: str | None) -> Row:
    return (*row[:at], cell, *row[at + 1 :])


def select(table: Table, after: Key | None, upto: Key | None, only: Sequence[Key]) -> list[tuple[Key, Row]]:
    """Rows with after < key <= upto as everybody sees them now, in the database's order."""
    low = () if after is None else rank(after)
    high = LAST if upto is None else rank(upto)
    found = [(rank(key), key) for key in table.rows if not only or key in only]
    return [(key, table.rows[key]) for place, key in sorted(found) if low < place <= high]


def _words(entries: Sequence[Entry]) -> str:
    """What a transaction did, in words."""
    said = []
    for entry in entries:
        if isinstance(entry, Wrote):
            partial = " partial" if any(part[3] for part in entry.parts) else ""
            keys = " then ".join(
                f"{part[0]} {'/'.join(map(str, touched[0]))} v{touched[2]}"
                for part, touched in zip(entry.parts, entry.touched, strict=True)
            )
            said.append(f"{entry.shape.schema.id.name}{partial} {keys}")
        elif isinstance(entry, Emptied):
            said.append(f"truncate {entry.shape.schema.id.name}")
        elif isinstance(entry, Altered):
            said.append(f"{entry.shape.made_by} on {entry.shape.schema.id.name}")
        elif isinstance(entry, Spoiled):
            said.append(f"{entry.shape.schema.id.name} can't be read")
        elif isinstance(entry, Signalled):
            said.append(f"signal {entry.type} {entry.id}")
        else:
            said.append(f"message {entry.content.decode()}")
    return ", ".join(said)
