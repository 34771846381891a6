"""Whether two rows of a table have the same key, where message.key.columns chose it.

    c of a key that is living  ->  two rows have it, and each event of one would replace the other in a copy

Pure.  It remembers the keys that the log and the reads have shown living, the newest `MOST` of all tables: so
what it finds is certain, and a row whose twin was not touched for long is not found.  Reads find those: they
refuse rows with the same key (contract/row_chunks.py).  A table is forgotten whenever rows may have gone
without a `d` of each, and one whose `d` or `t` are left out is not watched.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from wrackline.producers.contract.steps import RowChange
from wrackline.schemas.tables.table import KeyKind, TableId, TableSchema

MOST: Final = 100_000  # keys; 15 MB


class KeyMemory:
    """The living keys of the tables of one log."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._shapes: dict[int, TableSchema] = {}  # by ref: those whose keys the settings choose
        self._living: dict[tuple[TableId, bytes], None] = {}

    def shape(self, ref: int, table: TableSchema) -> None:
        """Take a table's shape from here on: another key begins anew."""
        if table.key_kind is KeyKind.CUSTOM:
            known = [one for one in self._shapes.values() if one.id == table.id]
            if any(one.key_columns != table.key_columns for one in known):
                self.emptied(table.id)
            self._shapes[ref] = table

    def columns(self, ref: int) -> Sequence[str]:
        """Return the names of a watched table's key columns."""
        return self._shapes[ref].key

    def rows(self, rows: Sequence[RowChange]) -> Mapping[int, int]:
        """Take changes; return which is the first, by ref, that creates a row whose key is living."""
        found: dict[int, int] = {}
        if not self._shapes:
            return found
        for place, (ref, op, key, _, _) in enumerate(rows):
            shape = self._shapes.get(ref)
            if shape is None or key is None:
                continue
            if op == "d":
                self._living.pop(_entry(shape.id, key), None)
            elif not self._lives(shape.id, key) and op == "c":
                found.setdefault(ref, place)
        return found

    def read(self, table: TableId, keys: Iterable[bytes | None]) -> None:
        """Take the keys of rows that were read."""
        if any(shape.id == table for shape in self._shapes.values()):
            for key in keys:
                if key is not None:
                    self._lives(table, key)

    def unfit(self, table: TableId, key: bytes) -> None:
        """Take a change that does not fit: perhaps the end of a row."""
        self._living.pop(_entry(table, key), None)

    def emptied(self, table: TableId) -> None:
        """Take that a table has no rows, or that nobody knows which."""
        for entry in [entry for entry in self._living if entry[0] == table]:
            del self._living[entry]

    def _lives(self, table: TableId, key: bytes) -> bool:
        """Note that a key is living; return whether that is news."""
        entry = _entry(table, key)
        is_new = entry not in self._living
        self._living.pop(entry, None)
        self._living[entry] = None
        if len(self._living) > self._most:
            del self._living[next(iter(self._living))]
        return is_new


def _entry(table: TableId, key: bytes) -> tuple[TableId, bytes]:
    return table, blake2b(key, digest_size=16).digest()
