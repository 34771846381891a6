"""The errors that a pipeline has logged in the last seven days, by code.  Pure.

In: the counts that both halves have on the board.  Out: a line for each code, the newest first.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from wrackline.control.runtime.ground.number_text import ago_text, count_text
from wrackline.control.runtime.ground.times import utc_text
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.past.error_days import DAY_MS, MOST_DAYS, ErrorCount, ErrorDay

HEIGHT: Final = 18
WIDTH: Final = 9  # of a day, with the space behind it
_MOST: Final = 100  # codes that are listed

Counts = Mapping[Half, Sequence[tuple[ErrorDay, ErrorCount]]]


class DayBar(NamedTuple):
    """A day, as a bar."""

    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class PastError:
    """One code."""

    code: str
    kind: str
    halves: str
    times: str
    first: str
    first_ago: str
    last: str
    last_ago: str
    sentence: str
    bars: Sequence[DayBar]
    days: str  # the bars in words


def past_errors(counts: Counts, at_ms: int) -> Sequence[PastError]:
    """Return the codes of the last seven days."""
    today = at_ms // DAY_MS
    by_code: defaultdict[str, list[tuple[Half, int, ErrorCount]]] = defaultdict(list)
    for half, days in counts.items():
        for about, count in days:
            if today - MOST_DAYS < about.day <= today:
                by_code[about.code].append((half, about.day, count))
    found = sorted(by_code.items(), key=lambda item: -max(count.last_ms for _, _, count in item[1]))
    return [_line(code, its, today, at_ms) for code, its in found[:_MOST]]


def _line(code: str, its: Sequence[tuple[Half, int, ErrorCount]], today: int, at_ms: int) -> PastError:
    newest = max((count for _, _, count in its), key=lambda count: count.last_ms)
    first = min(count.first_ms for _, _, count in its)
    days = [sum(count.count for _, day, count in its if day == today - back) for back in range(MOST_DAYS)][
        ::-1
    ]
    most = max(days)
    heights = [0 if not day else max(2, round(HEIGHT * day / most)) for day in days]
    return PastError(
        code,
        newest.kind,
        ", ".join(half.value for half in Half if any(one is half for one, _, _ in its)),
        f"{sum(days):,}",
        utc_text(first),
        ago_text(first, at_ms),
        utc_text(newest.last_ms),
        ago_text(newest.last_ms, at_ms),
        newest.sentence,
        [DayBar(place * WIDTH, HEIGHT - height, height) for place, height in enumerate(heights)],
        f"{count_text(days[-1], 'time', 'times')} today, before that {', '.join(map(str, days[-2::-1]))}",
    )
