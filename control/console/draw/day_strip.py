"""A cell for each day: how many of its minutes were good.  Pure.

In: days with their counts.  Out: rectangles as high as what was good, each with its words, so that no state
is in the colour alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from wrackline.schemas.minutes.minute_counts import MinuteCounts

_STEP: Final = 14  # units of a day, its gap included
_HIGH: Final = 36
_LEAST: Final = 6  # of a day of which something is known
_ALL_GOOD: Final = 100.0


class DayCell(NamedTuple):
    """A day."""

    x: int
    y: int
    height: int
    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class DayStrip:
    """All days, oldest first."""

    cells: Sequence[DayCell]
    width: int
    height: int = _HIGH
    cell_width: int = _STEP - 3


def day_strip(days: Sequence[tuple[int, MinuteCounts]], percent: float) -> DayStrip:
    """Draw days; one with less good minutes than so many percent is half as high at most."""
    cells = [_cell(number, day_ms, counts, percent) for number, (day_ms, counts) in enumerate(days)]
    return DayStrip(cells, max(1, len(days)) * _STEP)


def _cell(number: int, day_ms: int, counts: MinuteCounts, percent: float) -> DayCell:
    day = datetime.fromtimestamp(day_ms / 1000, UTC).strftime("%b %d")
    good = counts.percent
    if good is None:
        words = "paused" if counts.paused else "nothing counted"
        return DayCell(number * _STEP, _HIGH - _LEAST, _LEAST, "idle", f"{day}: {words}")
    if good < percent:
        kind, height = "bad", max(_LEAST, round(_HIGH / 2 * good / percent))
    else:
        kind, height = ("good", _HIGH) if good == _ALL_GOOD else ("warn", round(_HIGH * 0.8))
    words = f"{day}: {good:.2f} % good, {counts.bad:,} bad minutes"
    return DayCell(number * _STEP, _HIGH - height, height, kind, words)
