"""A reader of the topic: what it must never see, and the table that it makes of what it saw.

Comes in: the topic's committed records, in order.  Goes out: a replica as the merge makes it (the newest
by seq, unsent columns carried forward, tombstones, incomplete rows left out), and the first broken rule:

    no key goes back to an older version or shape        a log event is there once, with one seq
    no key's seq goes back                               one seq never means two versions
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.simulation.database import Database
from tests.simulation.shapes import BAG, Row, Shape, decoded, table_of
from wrackline.schemas.tables.table import TableId

Record: TypeAlias = tuple[TableId, bytes | None, bytes]
Values: TypeAlias = dict[int, str | None]  # by the column's identity


class Broken(Exception):  # noqa: N818 - it is the history's end, and what a test reads
    """A history broke a rule."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule


@dataclass(slots=True)
class Stored:
    """A row of the replica; a tombstone has no values."""

    seq: str
    values: Values | None
    missing: frozenset[int]  # columns whose value nobody has sent


@dataclass(slots=True)
class Seen:
    """What a reader knows of a key, or of a table since its last truncate."""

    version: int = 0
    generation: int = 0
    seq: str = ""


@dataclass(eq=False)
class Reader:
    """Reads one topic a table, from the start."""

    skipped: str = ""  # operations that are left out of the topic
    rows: dict[tuple[int, bytes], Stored] = field(default_factory=dict)
    log_events: Counter[int] = field(default_factory=Counter)  # by table
    _seen: dict[tuple[int, bytes], Seen] = field(default_factory=dict)
    _floors: dict[int, Seen] = field(default_factory=dict)
    _ids: set[tuple[int, bytes, str]] = field(default_factory=set)
    bags: dict[int, list[tuple[str, Row]]] = field(default_factory=dict)  # seq and row, where there is no key
    _numbers: set[tuple[int, str]] = field(default_factory=set)

    def read(self, records: Sequence[Record]) -> None:
        """Take the next records; a broken rule raises."""
        for name, key, value in records:
            shape, _, after, tail = decoded(value)
            op, seq = tail[0], tail[1:19]
            version, _, unsent = tail[20:].partition("~")
            table = table_of(name)
            if key is None:
                self._of_no_row(table, op, seq, int(version or 0), after)
                continue
            if shape.table != table or (after is not None and shape.key_bytes(after[: shape.keys]) != key):
                raise Broken("value", f"the row of {name} {key!r} is another's")
            self._follow(table, key, seq, shape, int(version or (after or ())[shape.version] or 0))
            if op != "r":
                self.log_events[table] += 1
                if (table, key, tail) in self._ids:
                    raise Broken("twice", f"{_named(shape, key)} {tail} was published twice")
                self._ids.add((table, key, tail))
            self._merge(table, key, seq, op, shape, after, unsent.split(",") if unsent else ())

    def _of_no_row(self, table: int, op: str, seq: str, version: int, after: Row | None) -> None:
        """An event without a key: a truncate, or a row of a table that has none."""
        if op != "t":
            self._drop_in(table, op, seq, after)
        elif version:
            self._truncate(table, seq, version)
        else:
            self._void(table, seq)

    def _drop_in(self, table: int, op: str, seq: str, row: Row | None) -> None:
        self.log_events[table] += op != "r"
        if (table, seq) in self._numbers and seq >= self._floors.get(table, Seen()).seq:
            raise Broken("twice", f"two rows of table {table} have seq {seq}")
        self._numbers.add((table, seq))
        self.bags.setdefault(table, []).append((seq, row or ()))

    def _truncate(self, table: int, seq: str, version: int) -> None:
        self.log_events[table] += 1
        floor = self._floors.get(table)
        if floor is not None and seq <= floor.seq:
            raise Broken("twice", f"the truncate {seq} was published twice")
        self._floors[table] = Seen(version, 0, seq)
        self._empty(table, seq)

    def _void(self, table: int, seq: str) -> None:
        """A `t` event that is not the log's: rows that are as old as may be come behind it."""
        floor = self._floors.get(table, Seen())
        if seq < floor.seq:
            raise Broken("seq", f"table {table} is void at {seq}, after its truncate {floor.seq}")
        self._floors[table] = Seen(floor.version, 0, seq)
        self._empty(table, seq)

    def _empty(self, table: int, seq: str) -> None:
        for place, stored in list(self.rows.items()):
            if place[0] == table and stored.seq < seq:
                del self.rows[place]
        self.bags[table] = [one for one in self.bags.get(table, ()) if one[0] >= seq]

    def _follow(self, table: int, key: bytes, seq: str, shape: Shape, version: int) -> None:
        """No reader sees an older version after a newer one."""
        seen = self._seen.get((table, key))
        floor = self._floors.get(table)
        if floor is not None and version < floor.version:
            raise Broken("older", f"{_named(shape, key)} v{version} after the truncate v{floor.version}")
        if seen is None:
            self._seen[table, key] = Seen(version, shape.generation, seq)
            return
        if version < seen.version or shape.generation < seen.generation:
            raise Broken(
                "older",
                f"{_named(shape, key)} v{version} shape {shape.generation} after v{seen.version} "
                f"shape {seen.generation}",
            )
        if seq < seen.seq or (seq == seen.seq and version != seen.version):
            raise Broken("seq", f"{_named(shape, key)} v{version} has seq {seq} after {seen.seq}")
        seen.version, seen.generation, seen.seq = version, shape.generation, seq

    def _merge(
        self,
        table: int,
        key: bytes,
        seq: str,
        op: str,
        shape: Shape,
        after: Row | None,
        unsent: Sequence[str],
    ) -> None:
        floor = self._floors.get(table)
        stored = self.rows.get((table, key))
        if floor is not None and seq < floor.seq:
            return
        if stored is not None and seq <= stored.seq:
            return
        if after is None:
            self.rows[table, key] = Stored(seq, None, frozenset())
            return
        values = {column.identity: cell for column, cell in zip(shape.schema.columns, after, strict=True)}
        missing: frozenset[int] = frozenset()
        if unsent:
            lacking = {shape.schema.columns[shape.long(name)].identity for name in unsent}
            if op == "c" or stored is None or stored.values is None:
                missing = frozenset(lacking)
            else:
                missing = stored.missing & lacking
                values |= {identity: stored.values.get(identity) for identity in lacking}
        self.rows[table, key] = Stored(seq, values, missing)

    def compare(self, database: Database, tables: Collection[TableId]) -> None:
        """After quiet the replica equals these tables, value for value."""
        for at, table in enumerate(database.tables):
            shape, expected = table.shape, {}
            if shape.schema.id not in tables:
                continue
            if at == BAG:
                self._compare_bag(at, list(table.rows.values()))
                continue
            for key, row in table.rows.items():
                expected[shape.key_bytes(key)] = row
            self._compare(at, shape, expected)

    def _compare_bag(self, at: int, rows: Sequence[Row]) -> None:
        """What is not older than the newest truncate is each row as often as it is there."""
        floor = self._floors.get(at, Seen()).seq
        found = Counter(row for seq, row in self.bags.get(at, ()) if seq >= floor)
        if found != (wanted := Counter(rows)):
            raise Broken("bag", f"more than there is: {found - wanted}, less: {wanted - found}")

    def _compare(self, at: int, shape: Shape, expected: dict[bytes, Row]) -> None:
        for key, row in expected.items():
            stored = self.rows.get((at, key))
            if stored is None or stored.values is None:
                raise Broken("replica", f"{_named(shape, key)} is missing")
            if stored.missing:
                raise Broken("incomplete", f"{_named(shape, key)} lacks a value")
            got = tuple(stored.values.get(column.identity) for column in shape.schema.columns)
            if got != row:
                raise Broken("replica", f"{_named(shape, key)} is {got} and should be {row}")
        if "d" in self.skipped:
            return
        for (table, key), stored in self.rows.items():
            if table == at and stored.values is not None and key not in expected:
                raise Broken("replica", f"{_named(shape, key)} should be gone")


def _named(shape: Shape, key: bytes) -> str:
    return f"{shape.schema.id.name} {key[5:]!r}"
