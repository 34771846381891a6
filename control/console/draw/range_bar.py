"""The key ranges of a table under way as one bar: released, held, being read, to be read.  Pure.

In: the ranges as the source half reports them.  Out: rectangles, and the same in words.  Each range has the
same width, because their bounds are values of rows, which are not shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.control.runtime.ground.number_text import count_text

WIDTH: Final = 1_000
_GAP: Final = 3.0
_LEAST: Final = 5.0  # units: what is under way must be seen


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the bar: `kind` is released, begun, held, reading or left."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class RangeWords:
    """A range in words."""

    number: str
    percent: str
    held: str
    reading: str


@dataclass(frozen=True, slots=True)
class RangeBar:
    """The bar; `frames` are where each range begins and how wide it is, with its words as a title."""

    segments: Sequence[Segment]
    frames: Sequence[tuple[float, float, str]]
    ticks: Sequence[float]  # where a chunk ends
    words: Sequence[RangeWords]


def range_bar(ranges: Sequence[Mapping[str, Any]], percent: int | None, rows_of_each: int | None) -> RangeBar:
    """Draw it; `percent` is of the whole table, `rows_of_each` how many rows a range is expected to have."""
    count = max(1, len(ranges))
    wide = (WIDTH - _GAP * (count - 1)) / count
    segments: list[Segment] = []
    frames, ticks, words = [], [], []
    for number, one in enumerate(ranges):
        x = number * (wide + _GAP)
        own = percent if len(ranges) == 1 and percent is not None else one["percent"]
        parts = _parts(one, own, wide, rows_of_each)
        at = x
        for kind, width in parts:
            if width > 0:
                segments.append(Segment(kind, round(at, 1), round(width, 1)))
            at += width
            if kind in ("held", "reading"):
                ticks.append(round(at, 1))
        said = _words(number, count, one, own)
        words.append(said)
        title = ", ".join(text for text in (said.percent, said.held, said.reading) if text)
        frames.append((round(x, 1), round(wide, 1), f"range {said.number}: {title or 'to be read'}"))
    return RangeBar(segments, frames, ticks, words)


def _parts(
    one: Mapping[str, Any], percent: int | None, wide: float, rows_of_each: int | None
) -> Sequence[tuple[str, float]]:
    """Return what a range consists of, from its left to its right; together as wide as the range."""
    done = (
        wide * (50 if percent is None else max(0, min(100, percent))) / 100
    )  # where that is not known it is drawn as begun
    held = _width(one["held"], rows_of_each, wide) if one["held"] else 0.0
    reading = max(_LEAST, wide / 40) * one["reading"]
    under_way = min(held + reading, wide)
    done = min(done, wide - under_way)
    share = under_way / (held + reading) if under_way else 0.0
    return [
        ("begun" if percent is None else "released", done),
        ("held", held * share),
        ("reading", reading * share),
        ("left", wide - done - under_way),
    ]


def _width(rows: int, rows_of_each: int | None, wide: float) -> float:
    return max(_LEAST, wide * rows / rows_of_each if rows_of_each else 0.0)


def _words(number: int, count: int, one: Mapping[str, Any], percent: int | None) -> RangeWords:
    return RangeWords(
        f"{number + 1} of {count}",
        "begun" if percent is None else f"{percent} % released" if percent else "",
        f"{count_text(one['held'], 'row', 'rows')} held" if one["held"] else "",
        f"{count_text(one['reading'], 'chunk', 'chunks')} being read" if one["reading"] else "",
    )
