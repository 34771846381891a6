"""The merge of the design's section 7 in plain Python: small, pure, and the oracle for every target.

    changes --latest--> one change a key --merge--> rows      visible(rows): what a reader sees

A row is told by its key; among changes of one key the greater seq is the newer.  A partial change names
columns that it did not send.  Their value is the row's own, from an earlier change of the batch or from
what is stored, and never that of an earlier row of the same key: a create, a snapshot row and a delete
begin anew.  A column whose value nobody has is `missing`, and its row is not shown until somebody has it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

Key = tuple[object, ...]
Values = Mapping[str, object]
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Change:
    """One event: op is c, u, d or r; `values` has every column, null where unsent."""

    key: Key
    seq: str
    op: str
    values: Values
    unsent: frozenset[str] = NONE
    commit_ts: int = 0


@dataclass(frozen=True)
class Latest:
    """The newest change of a key in a batch, with what earlier ones of the batch knew."""

    seq: str
    op: str
    values: Values
    unsent: frozenset[str]  # the stored value stays
    missing: frozenset[str]  # nobody has a value
    commit_ts: int

    @property
    def deleted(self) -> bool:
        return self.op == "d"


@dataclass(frozen=True)
class Stored:
    """A row of the table, tombstones included."""

    values: Values
    seq: str
    op: str
    deleted: bool
    missing: frozenset[str]
    commit_ts: int


Rows = Mapping[Key, Stored]


def latest(changes: Iterable[Change], floor: str | None = None) -> dict[Key, Latest]:
    """Fold a batch to one change a key; what is older than the floor is void."""
    folded: dict[Key, Latest] = {}
    for change in sorted(changes, key=lambda change: change.seq):
        if floor is None or change.seq >= floor:
            folded[change.key] = _follow(folded.get(change.key), change)
    return folded


def _follow(held: Latest | None, change: Change) -> Latest:
    """Put a change after the newest of its key so far."""
    made = Latest(change.seq, change.op, change.values, change.unsent, NONE, change.commit_ts)
    if change.op == "d":
        return replace(made, unsent=NONE)
    if change.op in {"c", "r"} or (held is not None and held.deleted):
        return replace(made, unsent=NONE, missing=change.unsent)
    if held is None:
        return made
    return replace(
        made,
        values={**change.values, **{name: held.values[name] for name in change.unsent}},
        unsent=change.unsent & held.unsent,
        missing=change.unsent & held.missing,
    )


def merge(rows: Rows, batch: Mapping[Key, Latest], floor: str | None = None) -> dict[Key, Stored]:
    """Bring a batch into a table; only what is newer than its row has an effect."""
    merged = {key: row for key, row in rows.items() if floor is None or row.seq >= floor}
    for key, change in batch.items():
        stored = merged.get(key)
        if floor is not None and change.seq < floor:
            continue
        if stored is None or change.seq > stored.seq:
            merged[key] = _store(stored, change)
    return merged


def _store(stored: Stored | None, change: Latest) -> Stored:
    """Make the row that a newer change leaves."""
    if change.deleted:
        values = change.values if stored is None else stored.values
        return Stored(values, change.seq, change.op, True, NONE, change.commit_ts)
    values, missing = change.values, change.missing | change.unsent
    if stored is not None and not stored.deleted:
        values = {**values, **{name: stored.values[name] for name in change.unsent}}
        missing = change.missing | (change.unsent & stored.missing)
    return Stored(values, change.seq, change.op, False, missing, change.commit_ts)


def visible(rows: Rows) -> dict[Key, Values]:
    """What a reader sees: rows that live and are complete."""
    return {key: row.values for key, row in rows.items() if not row.deleted and not row.missing}


def forget(rows: Rows, before: int) -> dict[Key, Stored]:
    """Drop the tombstones of deletes that were committed before a moment."""
    return {key: row for key, row in rows.items() if not (row.deleted and row.commit_ts < before)}
