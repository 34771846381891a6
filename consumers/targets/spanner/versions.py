"""A history as mutations: from all events of a batch's keys to their versions.

    stored rows of the keys, new events, truncates  ->  new rows, and what has changed of stored ones

Each event stays as a row of its own.  What follows for it from all events of its key (whether it is shown for
a version, from when to when that stood, and a value that it did not send) is written again where it changed,
so it is the same whatever came first.  testing/targets/history_model.py says the same in few lines.

Truncates have a key of their own, before all others.  Stored rows come in the order of the primary key, and
what is written is yielded key by key: a commit takes as many rows as it holds, and the next one finds what is
left to be done.  So a key may have more versions than a commit takes.  A version that stood across a new
truncate is written behind all else of its key, because the key is found by it.  Pure.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Final

from google.cloud.spanner_v1 import KeyRange, KeySet

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.targets.spanner.rows import (
    ChangedRow,
    StoredCells,
    WrittenRow,
    cell_bytes,
    read_list,
    write_list,
)
from wrackline.consumers.targets.spanner.types import carried_back, image, legal, span_places

Span = tuple[str | None, str | None]

TRUNCATES: Final = ""  # the key of their rows, which no hash is
TRUNCATE, DELETE = "t", "d"
_BEGINNINGS: Final = frozenset({"c", "r", "d"})  # nothing is carried into such an event
_MARKS: Final = 10  # our own columns: key, row, seq, op, deleted, unsent, missing, moment, start, end
_OF_NEIGHBOUR: Final = 5  # key, row, start, end, missing: what a new event changes of the one before it
_NOTHING: Final[frozenset[int]] = frozenset()


@dataclass(slots=True)
class KeyEvent:
    """One event of a key, with what follows for it from all of them."""

    row: str  # distinguishes it
    seq: str
    op: str
    unsent: frozenset[int]  # identities
    cells: list[Any]  # of the columns beside the key
    changed: ChangedRow | None = None  # where it is new
    stored: tuple[Span, frozenset[int], tuple[Any, ...]] | None = None  # what is stored of that
    epoch: int = 0  # how many truncates lie before it
    missing: frozenset[int] = _NOTHING
    span: Span = (None, None)


class VersionMerge:
    """The rules of one batch of events."""

    def __init__(self, plan: MergePlan, shape: StagedShape) -> None:
        self._is_whole = plan.lacking_is_null
        numbers = {one.target: at for at, one in enumerate(plan.columns)}
        keys, tracked = set(plan.key), plan.tracked
        self._key = [
            (one.place, numbers[one.column.target]) for one in shape.of_source if one.column.target in keys
        ]
        self._values = [one for one in shape.of_source if one.column.target not in keys]
        self._numbers = [numbers.get(one.column.target) for one in self._values]
        self._at = {one.column.identity: at for at, one in enumerate(self._values)}
        self._watched = [
            (at, one)
            for at, one in enumerate(self._values)
            if tracked is None or one.column.target in tracked
        ]
        ours = shape.ours
        key, row = legal(shape.key_place), legal(ours.row)
        seq, op, unsent, missing = map(legal, (ours.seq, ours.op, ours.unsent, ours.missing))
        start, end = span_places(ours)
        self._derived = (key, row, start, end, missing)
        self._sent = (seq, op, legal(ours.deleted), unsent, legal(ours.commit_ts))
        self.reads = (key, row, seq, op, unsent, missing, start, end, *(one.place for one in self._values))

    @property
    def mutations(self) -> int:
        """How many mutations an event counts as, with what it usually changes of another one."""
        return len(self._key) + len(self._values) + _MARKS + _OF_NEIGHBOUR

    def truncates(self, rows: Iterable[ChangedRow]) -> list[str]:
        """Return the places of the truncates among them."""
        return sorted({row.seq for row in rows if row.op == TRUNCATE})

    def keys(self, rows: Iterable[ChangedRow], others: Iterable[str] = ()) -> KeySet:
        """Return where the truncates and all events of their keys are found, and those of other keys."""
        touched = {row.key for row in rows if row.op != TRUNCATE}
        beginnings = ([key] for key in (TRUNCATES, *touched.union(others)))
        return KeySet(ranges=[KeyRange(start_closed=key, end_closed=key) for key in beginnings])

    def writes(self, rows: Sequence[ChangedRow], stored: Iterable[StoredCells]) -> Iterator[WrittenRow]:
        """Yield what they write, where `stored` is what was found under their keys, in its order."""
        new = truncates = self.truncates(rows)
        for key, events in self._by_key(rows, stored):
            if key == TRUNCATES:
                truncates = sorted({*truncates, *(one.seq for one in events)})
            else:
                self._derive(events, truncates)
            last = sorted(events, key=lambda one: _stood_across(one, new))
            yield from filter(None, (self._written(key, one) for one in last))

    def _by_key(
        self, rows: Iterable[ChangedRow], stored: Iterable[StoredCells]
    ) -> Iterator[tuple[str, list[KeyEvent]]]:
        """Yield each key's events in their order: first the keys that are stored, as they come."""
        fresh: defaultdict[str, list[KeyEvent]] = defaultdict(list)
        for row in rows:
            fresh[TRUNCATES if row.op == TRUNCATE else row.key].append(self._new(row))
        for key, group in groupby(stored, itemgetter(0)):
            there = {one.row: one for one in map(self._read, group)}
            new = (one for one in fresh.pop(key, ()) if one.row not in there)
            yield key, sorted([*there.values(), *new], key=_place)
        for key, events in fresh.items():
            yield key, sorted(events, key=_place)

    def _new(self, row: ChangedRow) -> KeyEvent:
        cells = [None if at is None else row.cells[at] for at in self._numbers]
        return KeyEvent(row.event, row.seq, row.op, self._known(row.unsent | row.missing), cells, changed=row)

    def _read(self, found: StoredCells) -> KeyEvent:
        _, row, seq, op, unsent, missing, start, end, *values = found
        cells = [carried_back(value, one.type) for value, one in zip(values, self._values, strict=True)]
        stored = (start, end), read_list(missing), tuple(cells)
        return KeyEvent(row, seq, op, self._known(read_list(unsent)), cells, stored=stored)

    def _known(self, identities: frozenset[int]) -> frozenset[int]:
        return identities & self._at.keys()

    def _derive(self, events: Sequence[KeyEvent], truncates: Sequence[str]) -> None:
        """Find out which events begin a version, and which are shown for one."""
        self._carry(events, truncates)
        looks = [self._look(one) for one in events]
        begins = [True, *(old != new or new[0] for old, new in pairwise(looks))]
        began = ""
        for one, is_first, is_last, follows in zip(
            events, begins, [*begins[1:], True], [*events[1:], None], strict=True
        ):
            began = one.seq if is_first else began
            if is_last and one.op != DELETE:
                ends = [*truncates[one.epoch : one.epoch + 1], *([follows.seq] if follows else [])]
                one.span = began, min(ends, default=None)

    def _carry(self, events: Sequence[KeyEvent], truncates: Sequence[str]) -> None:
        """Take what an event did not send from the one before, never over a beginning or a truncate."""
        before: KeyEvent | None = None
        for one in events:
            one.epoch = bisect_right(truncates, one.seq)
            lends = before is not None and before.op != DELETE and before.epoch == one.epoch
            lender = before if lends and one.op not in _BEGINNINGS else None
            if one.op != DELETE:
                for at in map(self._at.__getitem__, one.unsent):
                    one.cells[at] = None if lender is None else lender.cells[at]
                one.missing = one.unsent if lender is None else one.unsent & lender.missing
            before = one

    def _look(self, event: KeyEvent) -> tuple[Any, ...]:
        """Return what two events of a version have in common."""
        watched = (image(event.cells[at], one.type) for at, one in self._watched)
        return (event.op == DELETE, event.epoch, self._lacks(event), *watched)

    def _lacks(self, event: KeyEvent) -> frozenset[int]:
        return _NOTHING if self._is_whole else event.missing

    def _written(self, key: str, event: KeyEvent) -> WrittenRow | None:
        """Return all of an event that is new, or what has changed of a stored one; None: nothing."""
        carried = sorted(self._at[identity] for identity in event.unsent)
        derived = (key, event.row, *event.span, write_list(self._lacks(event)))
        if event.changed is not None:
            return self._inserted(key, event, event.changed, derived)
        if event.stored is None:
            return None
        span, missing, were = event.stored
        now = event.cells
        other = [at for at in carried if self._image(now, at) != self._image(were, at)]
        if not other and (span, missing) == (event.span, self._lacks(event)):
            return None
        places, values = (self._values[at].place for at in other), [now[at] for at in other]
        return WrittenRow(key, (*self._derived, *places), (*derived, *values), sum(map(cell_bytes, values)))

    def _inserted(
        self, key: str, event: KeyEvent, changed: ChangedRow, derived: tuple[str | None, ...]
    ) -> WrittenRow:
        sent = (event.seq, event.op, changed.deleted, write_list(event.unsent), changed.committed)
        places = (*(place for place, _ in self._key), *(one.place for one in self._values))
        cells = (*(changed.cells[at] for _, at in self._key), *event.cells)
        size = changed.bytes + sum(cell_bytes(event.cells[self._at[one]]) for one in event.unsent)
        return WrittenRow(key, (*self._derived, *self._sent, *places), (*derived, *sent, *cells), size)

    def _image(self, cells: Sequence[Any], at: int) -> Any:  # noqa: ANN401 - of any type
        return image(cells[at], self._values[at].type)


def _stood_across(event: KeyEvent, truncates: Iterable[str]) -> bool:
    """Whether this is what its key is found by, if the batch has no event of that."""
    start, end = (None, None) if event.stored is None else event.stored[0]
    if start is None:
        return False
    return any(start < seq and (end is None or seq < end) for seq in truncates)


def _place(event: KeyEvent) -> tuple[str, bool, str]:
    """At one place a delete comes first, because there a key was deleted and made again."""
    return event.seq, event.op != DELETE, event.row
