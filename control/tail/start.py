"""Where each partition is begun, and whether what was read is enough.

    --from beginning | end | OFFSET | TIME; without it the newest few of each partition

The newest few events can't be told from offsets: marks of transactions take offsets too, and aborted records
are never seen.  So a stretch before the end is read, and a longer one where it held too little.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from typing import Final, NamedTuple

from wrackline.control.moments import moment
from wrackline.control.tail.decoded import Record

NEWEST: Final = 10
_STRETCH: Final = 4  # offsets for an event, at first: a row in a transaction of its own takes two
_LONGER: Final = 8  # times, where that was not enough
_OFFSET: Final = re.compile(r"[0-9]{1,18}")


class Spot(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Span:
    """What a partition has: its first offset, and the end of what may be read, as of one moment."""

    first: int
    end: int

    def within(self, offset: int) -> int:
        """Return the next offset that is there."""
        return max(self.first, min(offset, self.end))


Start = str | int | datetime | None  # "beginning", "end", an offset, a time; None: the newest few


def start(text: str | None) -> Start:
    """Read what --from says; a wrong one is the command line's fault."""
    if text is None or text in {"beginning", "end"}:
        return text
    return int(text) if _OFFSET.fullmatch(text) else moment(text)


def first_offset(begin: str | int, span: Span) -> int:
    """Return where a partition is begun; an offset that is gone, or not there yet, is the nearest that is."""
    if isinstance(begin, int):
        return span.within(begin)
    return span.first if begin == "beginning" else span.end


def stretch(span: Span, most: int, tries: int) -> int:
    """Return where to begin so as to find so many events before the end, at the first try or a later one."""
    return span.within(span.end - _STRETCH * most * _LONGER**tries)


def short(
    found: Mapping[Spot, Sequence[Record]], began: Mapping[Spot, int], spans: Mapping[Spot, Span], most: int
) -> list[Spot]:
    """Return the partitions that have more before what was read, and gave too little."""
    return [spot for spot, at in began.items() if at > spans[spot].first and len(found.get(spot, ())) < most]


def by_time(found: Iterable[Sequence[Record]]) -> Iterator[Record]:
    """Return the partitions' records as one; of each its own order stays, whatever their times."""
    return merge(*found, key=lambda record: record.ms or 0)
