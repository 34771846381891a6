"""The merge of the design's section 7 in plain Python: small, pure, and the oracle for every target.

    changes --latest--> one change a key --merge--> rows      visible(rows): what a reader sees

A row is identified by its key; among changes of one key the greater seq is the newer.  A partial change names
columns that it did not send.  Their value is the row's own, from an earlier change of the batch or from
what is stored, and never that of an earlier row of the same key: a create, a snapshot row and a delete
start over.  A column without a known value is `missing`, and its row is not shown until an event brings it.

    events of a table without a key --halves--> changes      copies(rows): what a reader sees of them

There an event is its own row and never changes: what came (key: its seq), what went (its seq and a sign).
So any order and any repeat leaves the same rows, and a copy is shown as often as it came more than it went.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
    for change in sorted(changes, key=lambda change: (change.seq, change.op != "d")):
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
        if stored is None or _newer(change, stored):
            merged[key] = _store(stored, change)
    return merged


def _newer(change: Latest, stored: Stored) -> bool:
    """At one place a key is deleted and made where it changed to one that the target holds for the same."""
    return (change.seq, not change.deleted) > (stored.seq, not stored.deleted)


def _store(stored: Stored | None, change: Latest) -> Stored:
    """Make the row that a newer change leaves."""
    if change.deleted:
        return Stored(change.values, change.seq, change.op, True, NONE, change.commit_ts)
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


GONE = "-"  # behind the seq of what an event took away


@dataclass(frozen=True)
class Event:
    """One event of a table without a key: c, r (a row came), d (one went) or u (both)."""

    seq: str
    op: str
    before: Values | None = None
    after: Values | None = None
    commit_ts: int = 0


def halves(events: Iterable[Event], column: str) -> list[Change]:
    """Return what came and what went as changes; `column` is our own, which is their key."""
    return [
        Change((row,), event.seq, op, {column: row, **values}, commit_ts=event.commit_ts)
        for event in events
        for row, op, values in ((event.seq, event.op, event.after), (event.seq + GONE, "d", event.before))
        if values is not None
    ]


Content = tuple[str, ...]


def content(values: Values, columns: Sequence[str]) -> Content:
    """Return what distinguishes contents: exact values, so that -0.0 is not 0.0, and NaN is NaN."""
    return tuple(repr(values[name]) for name in columns)


def copies(rows: Rows, columns: Sequence[str]) -> Counter[Content]:
    """What a reader sees of a table without a key: how often each content stands."""
    came = Counter(content(row.values, columns) for row in rows.values() if not row.deleted)
    return came - Counter(content(row.values, columns) for row in rows.values() if row.deleted)


def settle(rows: Rows, before: int, columns: Sequence[str]) -> dict[Key, Stored]:
    """Drop pairs of what came and went, both committed before a moment; what has no partner stays."""
    old = sorted((row.seq, key) for key, row in rows.items() if row.commit_ts < before)
    waiting: dict[tuple[Content, bool], list[Key]] = {}
    dropped: set[Key] = set()
    for _, key in old:
        row = rows[key]
        its_content = content(row.values, columns)
        if partners := waiting.get((its_content, not row.deleted)):
            dropped |= {key, partners.pop(0)}
        else:
            waiting.setdefault((its_content, row.deleted), []).append(key)
    return {key: row for key, row in rows.items() if key not in dropped}
