"""Which records of a feed make a batch fail: found by halving, because a view knows only rows.

    a span of offsets -> is it sound? -> yes: none of it; no: its halves, down to single records

A span is judged by running the view over it, so this holds for views whose rows depend on one record each,
as filters, projections and explosions are.  It costs some looks for each bad record, and a bound ends it:
where there are more than may be kept as letters, it does not matter which they are.  Pure.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.schemas.errors import WracklineError


class RecordSpan(NamedTuple):
    """Some offsets of one partition: from (inclusive) and to (exclusive)."""

    partition: int
    start: int
    end: int


Judge = Callable[[RecordSpan], WracklineError | None]  # what is wrong with a span; None: nothing


def bad_records(within: BatchRange, judge: Judge, most: int) -> Mapping[tuple[int, int], WracklineError]:
    """Return what is wrong with records, by partition and offset; of more than `most`, one more than that."""
    found: dict[tuple[int, int], WracklineError] = {}
    left = [RecordSpan(at, within.start[at], end) for at, end in sorted(within.end.items(), reverse=True)]
    while left and len(found) <= most:
        span = left.pop()
        error = judge(span) if span.start < span.end else None
        if error is None:
            continue
        if span.end - span.start == 1:
            found[span.partition, span.start] = error
            continue
        middle = (span.start + span.end) // 2
        left += [span._replace(start=middle), span._replace(end=middle)]
    return found
