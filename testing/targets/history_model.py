"""A table's history in plain Python, and the rows of event tables: the oracle for both modes.

    events, truncates --told--> rows, one an event --versions--> what a reader of a history sees

The rows are what was sent and never change, so any order, cut and repeat leaves the same ones; versions are
a pure function of them.  A version begins where a tracked column changes (or one that was missing comes), at
the first event of a key, behind its delete and behind a truncate.  It ends at the key's next event or at the
next truncate.  Events that change nothing tracked fall together: the newest is shown, from the first one's
seq on.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from wrackline.consumers.contract.plan import END, START
from wrackline.testing.targets.merge_model import GONE, NONE, Change, Rows, Stored, Values

TRUNCATE = "t"


def told(changes: Iterable[Change], column: str, *, by_key: bool) -> list[Change]:
    """Return changes as rows of their own: `column` distinguishes them, `by_key` beside the key."""
    return [_told(change, column, by_key=by_key) for change in changes]


def truncate(seq: str, columns: Iterable[str], key: Sequence[str]) -> Change:
    """Return a truncate as a change: it has no value, and no key."""
    return Change((None,) * len(key), seq, TRUNCATE, dict.fromkeys(columns))


def _told(change: Change, column: str, *, by_key: bool) -> Change:
    row = change.seq + (GONE if change.op == "d" else f":{change.key}" if change.op == "r" else "")
    key = (*change.key, row) if by_key else (row,)
    return replace(change, key=key, values={column: row, **change.values})


@dataclass(frozen=True)
class Version:
    """A version as a reader sees it; what it lacks hides it from him."""

    values: Values
    start: str
    end: str | None
    commit_ts: int
    missing: frozenset[str]


@dataclass(frozen=True)
class _Whole:
    """An event with what was carried forward to it."""

    row: Stored
    values: Values
    missing: frozenset[str]
    epoch: int  # how many truncates lie before it
    ends: str | None  # the first truncate behind it


def versions(
    rows: Rows, columns: Collection[str], key: Sequence[str], tracked: Collection[str] | None = None
) -> list[Version]:
    """Return the versions of all keys; `rows` are an event each, with the names that it lacks as missing."""
    truncates = sorted(row.seq for row in rows.values() if row.op == TRUNCATE)
    events = [row for row in rows.values() if row.op != TRUNCATE]
    watched = sorted(columns if tracked is None else set(columns) & set(tracked))

    def its_key(row: Stored) -> tuple[str, ...]:
        return tuple(repr(row.values[name]) for name in key)

    found = []
    for _, group in groupby(sorted(events, key=its_key), its_key):
        ordered = sorted(group, key=lambda row: (row.seq, row.op != "d"))
        found += _of_key(_carried(ordered, columns, truncates), watched)
    return found


def _carried(events: Sequence[Stored], columns: Collection[str], truncates: Sequence[str]) -> list[_Whole]:
    """Carry unsent values forward from the event before, never over a beginning or a truncate."""
    made: list[_Whole] = []
    for row in events:
        epoch = bisect_right(truncates, row.seq)
        ends = truncates[epoch] if epoch < len(truncates) else None
        before = made[-1] if made else None
        lends = row.op == "u" and before is not None and before.row.op != "d" and before.epoch == epoch
        values = {name: row.values[name] for name in columns}
        missing = NONE if row.op == "d" else row.missing
        if lends and before is not None:
            values |= {name: before.values[name] for name in row.missing}
            missing = row.missing & before.missing
        made.append(_Whole(row, values, missing, epoch, ends))
    return made


def _of_key(events: Sequence[_Whole], watched: Sequence[str]) -> list[Version]:
    begins = [True, *(_begins(before, event, watched) for before, event in pairwise(events))]
    found, start = [], ""
    for at, event in enumerate(events):
        start = event.row.seq if begins[at] else start
        follows = events[at + 1].row.seq if at + 1 < len(events) else None
        last = at + 1 == len(events) or begins[at + 1]
        if last and event.row.op != "d":
            end = min(filter(None, (follows, event.ends)), default=None)
            found.append(Version(event.values, start, end, event.row.commit_ts, event.missing))
    return found


def _begins(before: _Whole, event: _Whole, watched: Sequence[str]) -> bool:
    return (
        "d" in (before.row.op, event.row.op)
        or before.epoch != event.epoch
        or before.missing != event.missing
        or any(repr(before.values[name]) != repr(event.values[name]) for name in watched)
    )


def reader(found: Iterable[Version]) -> list[dict[str, object]]:
    """Return what a reader sees: whole versions, from when to when each stood."""
    return [{**one.values, START: one.start, END: one.end} for one in found if not one.missing]


def in_order(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Write rows so that two lists of them can be compared."""
    return sorted(repr(sorted(row.items())) for row in rows)


def events_seen(rows: Rows, columns: Collection[str], seq: str, op: str) -> list[dict[str, object]]:
    """Return what a reader of an append table sees: every event, with its place and what it was."""
    return [
        {**{name: row.values[name] for name in columns}, seq: row.seq, op: row.op} for row in rows.values()
    ]
