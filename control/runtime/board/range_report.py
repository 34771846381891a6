"""How far each key range of a table under way is.  Pure, but for what it remembers of a job.

In: a job as it is saved, and the chunks that are being read or held.  Out: for each range how much of it is
released, in percent.  The bounds themselves are values of rows, so they stay here.  A saved job has only the
ranges that are left, each from the last released key on, so how they were cut is remembered from the first
look on: after a restart a range counts from where it was found.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.snapshot.window import WindowStage
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.schemas.kafka.board_shapes import MOST_RANGES


@dataclass(slots=True)
class _KeyRange:
    after: Bound | None
    upto: Bound | None
    percent: float | None = 0  # None: it has begun, and its bounds do not say how far it is


@dataclass(slots=True)
class RangeReport:
    """The ranges of one job of one table."""

    job: str
    _ranges: dict[int, _KeyRange] = field(default_factory=dict)
    _waits: dict[str, int] = field(default_factory=dict)  # by ticket: since when it was seen to be held

    def look(self, job: Mapping[str, Any], reads: Sequence[ReadUnderWay], at_ms: int) -> dict[str, Any]:
        """Return the ranges, and since when the chunk that was held longest waits for its mark."""
        left = {number: (_bound(after), _bound(upto)) for number, after, upto, _ in job.get("ranges") or ()}
        for number, (after, upto) in left.items():
            one = self._ranges.setdefault(number, _KeyRange(after, upto))
            if after != one.after:
                one.percent = percent_of(one.after, after, upto)
                one.after = after if one.after is None else one.after
        by_range: defaultdict[int, list[ReadUnderWay]] = defaultdict(list)
        for read in reads:
            by_range[read.number].append(read)
        shown = [
            _shown(None if number in left else 100, one, by_range[number])
            for number, one in sorted(self._ranges.items())
        ]
        waiting = {read.ticket for read in reads if read.stage is WindowStage.WAITING}
        self._waits = {ticket: self._waits.get(ticket, at_ms) for ticket in waiting}
        return {"ranges": _joined(shown), "waits_since_ms": min(self._waits.values(), default=None)}


def percent_of(low: Bound | None, now: Bound | None, high: Bound | None) -> float | None:
    """Return how much of a range lies before a key, where numbers or times tell."""
    if low is None or now is None or high is None:
        return None
    for first, here, last in zip(low, now, high, strict=False):
        if first == last == here:
            continue
        numbers = [_number(text) for text in (first, here, last)]
        if None in numbers:
            return None
        begin, at, end = (number or 0.0 for number in numbers)
        return None if end <= begin else min(100.0, max(0.0, 100 * (at - begin) / (end - begin)))
    return None


def _shown(over: int | None, one: _KeyRange, reads: Sequence[ReadUnderWay]) -> dict[str, Any]:
    percent = one.percent if over is None else over
    return {
        "percent": None if percent is None else round(percent),
        "reading": sum(read.stage is WindowStage.READING for read in reads),
        "held": sum(read.rows for read in reads if read.stage is not WindowStage.READING),
    }


def _joined(ranges: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    size = -(-len(ranges) // MOST_RANGES) or 1
    groups = [ranges[first : first + size] for first in range(0, len(ranges), size)]
    return [
        {
            "percent": None if all(one["percent"] is None for one in group)
            else round(sum(one["percent"] or 0 for one in group) / len(group)),
            "reading": sum(one["reading"] for one in group),
            "held": sum(one["held"] for one in group),
        }
        for group in groups
    ]  # fmt: skip


def _bound(saved: Sequence[str | None] | None) -> Bound | None:
    return None if saved is None else tuple(saved)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None
