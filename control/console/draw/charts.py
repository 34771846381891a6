"""The geometry of charts, drawn by the server: lines over time.

In: series of numbers.  Out: the points of SVG elements, and the labels of their axes.  Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Final

from wrackline.control.runtime.ground.number_text import duration_text

Series = Sequence[tuple[int, float]]  # milliseconds, value
BOX: Final = (600, 130)
_MOST_POINTS: Final = 120
_MOST_NUMBERS: Final = 20
_NOTHING: Final = "\u2013"
_STEPS: Final = (1, 2, 2.5, 5, 10)
_value: Final = itemgetter(1)


@dataclass(frozen=True, slots=True)
class Line:
    """One series: its name, its newest value as text, and its points."""

    name: str
    newest: str
    points: str  # of a polyline
    area: str  # of a polygon down to the axis
    tone: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over the same time and on the same scale."""

    title: str
    lines: Sequence[Line]
    width: int
    height: int
    top: str  # the label of the highest value
    middle: str
    since: str  # the label of the earliest moment
    table: Sequence[Sequence[str]]  # the same in numbers: a moment and a value of each line


def nice_top(most: float) -> float:
    """Return a round number that is not below the greatest value."""
    if most <= 0:
        return 1.0
    size = 1.0
    while size * 10 < most:
        size *= 10
    while size > most:
        size /= 10
    return next(size * step for step in _STEPS if size * step >= most)


def points(
    series: Series, since: int, until: int, top: float, box: tuple[int, int]
) -> list[tuple[float, float]]:
    """Place the values in a box whose origin is above left."""
    width, height = box
    span = max(1, until - since)
    return [
        (round((at - since) / span * width, 1), round(height - min(value, top) / top * height, 1))
        for at, value in series
        if at >= since
    ]


def polyline(placed: Sequence[tuple[float, float]]) -> str:
    """Write points as SVG does."""
    return " ".join(f"{x:g},{y:g}" for x, y in placed)


def area(placed: Sequence[tuple[float, float]], height: int) -> str:
    """Write the polygon between points and the axis."""
    if not placed:
        return ""
    return polyline([(placed[0][0], height), *placed, (placed[-1][0], height)])


def thinned(series: Series, most: int) -> Series:
    """Keep at most so many points, of each group the greatest, so that no peak is lost."""
    if len(series) <= most:
        return series
    size = -(-len(series) // most)
    groups = [series[first : first + size] for first in range(0, len(series), size)]
    return [(group[-1][0], max(group, key=_value)[1]) for group in groups]


def sparkline(series: Series, box: tuple[int, int] = (80, 20)) -> str:
    """Return the points of a small line without axes; nothing for less than two values."""
    few = thinned(series, box[0] // 4)
    if len(few) < 2:
        return ""
    top = nice_top(max(value for _, value in few))
    return polyline(points(few, few[0][0], few[-1][0], top, box))


def line_chart(title: str, series: Sequence[tuple[str, Series, str]], text: Callable[[float], str]) -> Chart:
    """Draw series, each with its name and its tone, on one scale; `text` writes a value."""
    width, height = BOX
    known = [values for _, values, _ in series if values]
    if not known:
        return Chart(title, (), width, height, "", "", "", ())
    since, until = min(values[0][0] for values in known), max(values[-1][0] for values in known)
    few = [(name, thinned(values, _MOST_POINTS), tone) for name, values, tone in series]
    top = nice_top(max(value for _, values, _ in few for _, value in values))
    lines = []
    for name, values, tone in few:
        placed = points(values, since, until, top, BOX)
        newest = text(values[-1][1]) if values else _NOTHING
        lines.append(Line(name, newest, polyline(placed), area(placed, height), tone))
    rows = [thinned(values, _MOST_NUMBERS) for _, values, _ in few]
    table = [
        [
            datetime.fromtimestamp(at / 1000, UTC).strftime("%H:%M:%S"),
            *(text(row[n][1]) for row in rows if n < len(row)),
        ]
        for n, (at, _) in enumerate(rows[0])
    ]
    ago = duration_text(until - since)
    return Chart(title, lines, width, height, text(top), text(top / 2), f"{ago} ago", table)
