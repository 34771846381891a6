"""Where each partition begins, and whether what was read is enough.

    --from beginning | end | OFFSET | TIME; without it the newest few of each partition

The newest few events can't be derived from offsets: marks of transactions take offsets too, and aborted
records are never seen.  So a stretch before the end is read, and a longer one if it held too little.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from typing import Final

from wrackline.control.runtime.events.record_decoder import TopicRecord
from wrackline.control.runtime.ground.times import parse_moment
from wrackline.control.runtime.services.topic_ends import OffsetSpan, TopicSlice

NEWEST: Final = 10
_STRETCH: Final = 4  # offsets for an event, at first: a row in a transaction of its own takes two
_LONGER: Final = 8  # times, where that was not enough
_OFFSET: Final = re.compile(r"[0-9]{1,18}")


Start = str | int | datetime | None  # "beginning", "end", an offset, a time; None: the newest few


def read_start(text: str | None) -> Start:
    """Read where to begin; ValueError: it is none of these."""
    if text is None or text in {"beginning", "end"}:
        return text
    return int(text) if _OFFSET.fullmatch(text) else parse_moment(text)


def first_offset(begin: str | int, span: OffsetSpan) -> int:
    """Return where a partition begins; for an offset that does not exist, the nearest that does."""
    if isinstance(begin, int):
        return span.within(begin)
    return span.first if begin == "beginning" else span.end


def stretch_back(span: OffsetSpan, most: int, tries: int) -> int:
    """Return where to begin to find this many events before the end, at the first try or a later one."""
    return span.within(span.end - _STRETCH * most * _LONGER**tries)


def short_slices(
    found: Mapping[TopicSlice, Sequence[TopicRecord]],
    began: Mapping[TopicSlice, int],
    spans: Mapping[TopicSlice, OffsetSpan],
    most: int,
) -> list[TopicSlice]:
    """Return the partitions that have more before what was read, and gave too little."""
    return [spot for spot, at in began.items() if at > spans[spot].first and len(found.get(spot, ())) < most]


def merge_by_time(found: Iterable[Sequence[TopicRecord]]) -> Iterator[TopicRecord]:
    """Return the partitions' records as one; of each its own order stays, whatever their times."""
    return merge(*found, key=lambda record: record.ms or 0)
