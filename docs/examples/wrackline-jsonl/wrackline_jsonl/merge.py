"""A batch into the rows of a table: newer changes over older rows, and nothing that a truncate has voided."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row, or the tombstone of one."""

    values: Mapping[str, object]
    seq: str
    op: str
    deleted: bool
    missing: frozenset[str]  # columns whose value nobody has; no reader sees such a row
    committed_ms: int


@dataclass(frozen=True, slots=True)
class NewestChange:
    """What a batch has of one key; `unsent` columns keep the value that is stored."""

    row: StoredRow
    unsent: frozenset[str]


Rows = Mapping[Key, StoredRow]


def merge(rows: Rows, batch: Iterable[tuple[Key, NewestChange]], floor: str | None) -> dict[Key, StoredRow]:
    """Bring the newest changes into the rows that the newest truncate leaves."""
    merged = {key: row for key, row in rows.items() if floor is None or row.seq >= floor}
    for key, change in batch:
        stored = merged.get(key)
        if floor is not None and change.row.seq < floor:
            continue
        if stored is None or _place(change.row) > _place(stored):
            merged[key] = _follow(stored, change)
    return merged


def _place(row: StoredRow) -> tuple[str, bool]:
    return row.seq, not row.deleted  # at one place a key goes before it comes


def _follow(stored: StoredRow | None, change: NewestChange) -> StoredRow:
    if change.row.deleted:
        return replace(change.row, missing=frozenset())
    if stored is None or stored.deleted:
        return replace(change.row, missing=change.row.missing | change.unsent)
    lent = {name: stored.values[name] for name in change.unsent}
    missing = change.row.missing | (change.unsent & stored.missing)
    return replace(change.row, values={**change.row.values, **lent}, missing=missing)
