"""Which records of a feed stand in a batch's way: found by halving, for a view tells of rows alone.

    a span of offsets -> is it sound? -> yes: none of it; no: its halves, down to single records

A span is judged by running the view over it, so this holds for views whose rows depend on one record each,
as filters, projections and explosions are.  It costs some looks for each bad record, and a bound ends it:
where there are more than may be kept as letters, nobody needs to know which.  Pure.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from wrackline.consumers.rounds import Range
from wrackline.schemas.errors import WracklineError


class Span(NamedTuple):
    """Some offsets of one partition: from (inclusive) and to (exclusive)."""

    partition: int
    start: int
    end: int


Judge = Callable[[Span], WracklineError | None]  # what is wrong with a span; None: nothing


def bad_records(within: Range, judge: Judge, most: int) -> Mapping[tuple[int, int], WracklineError]:
    """Return by partition and offset what is wrong with records, of more than `most` only so many and one."""
    found: dict[tuple[int, int], WracklineError] = {}
    left = [Span(at, within.start[at], end) for at, end in sorted(within.end.items(), reverse=True)]
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
