"""How much of the log is kept, and when that reaches its limit: a line into the future.  Pure.

    past ______/  now - - - - - - - -x  limit

In: what is kept, how much more may be, and when that is used up.  Out: points of lines in a box.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wrackline.control.console.draw.charts import Series, nice_top, polyline, thinned
from wrackline.control.runtime.ground.number_text import duration_text, size_text

_BOX: Final = (330, 120)
_PAST: Final = 0.3  # of the width
_LEAST_AHEAD_S: Final = 3_600
_MOST_POINTS: Final = 60
_ROOM: Final = 1.15  # what lies behind the limit, so that it is seen


@dataclass(frozen=True, slots=True)
class LogForecast:
    """The drawing."""

    title: str
    words: str
    past: str  # points of a polyline
    ahead: str
    now_x: float
    limit_y: float
    lost_x: float | None  # where the line meets the limit
    top: str
    limit: str
    since: str
    until: str
    width: int
    height: int


def size_forecast(
    past: Series, kept: int, spare: int, lost_in_s: int | None, rate: int | None
) -> LogForecast:
    """Draw bytes that are kept towards their limit."""
    limit = kept + max(0, spare)
    ahead_s = max(_LEAST_AHEAD_S, lost_in_s * _ROOM if lost_in_s is not None else 86_400)
    then = kept + (rate or 0) * ahead_s if lost_in_s is None else kept + spare * ahead_s / max(1, lost_in_s)
    words = "at the present rate it does not come near the limit"
    if lost_in_s is not None:
        words = (
            f"the limit is reached in {duration_text(lost_in_s * 1000)}, if nothing is confirmed meanwhile"
        )
    return _drawn(
        "bytes kept", words, thinned(past, _MOST_POINTS), (kept, limit, then), lost_in_s, ahead_s, _size
    )


def age_forecast(kept_s: int, expires_s: int) -> LogForecast:
    """Draw the age of the oldest needed file towards what the server keeps."""
    age = max(0, kept_s - expires_s)
    ahead_s = max(_LEAST_AHEAD_S, expires_s * _ROOM)
    words = (
        f"the oldest needed file expires in {duration_text(expires_s * 1000)}, if nothing is read meanwhile"
    )
    return _drawn(
        "age of the oldest needed file", words, (), (age, kept_s, age + ahead_s), expires_s, ahead_s, _age
    )


def _drawn(
    title: str,
    words: str,
    past: Series,
    heights: tuple[float, float, float],  # now, the limit, and at the right edge
    lost_in_s: int | None,
    ahead_s: float,
    text: Callable[[float], str],
) -> LogForecast:
    width, height = _BOX
    now, limit, then = heights
    top = nice_top(limit * _ROOM)
    now_x = round(width * _PAST, 1)

    def y(value: float) -> float:
        return round(height - min(value, top) / top * height, 1)

    since, until = (past[0][0], past[-1][0]) if past else (0, 1)
    placed = [(round((at - since) / max(1, until - since) * now_x, 1), y(value)) for at, value in past]
    lost_x = None if lost_in_s is None else round(now_x + (width - now_x) * min(1, lost_in_s / ahead_s), 1)
    end = (width, y(then)) if lost_x is None else (lost_x, y(limit))
    return LogForecast(
        title,
        words,
        polyline([*placed, (now_x, y(now))]) if placed else "",
        polyline([(now_x, y(now)), end]),
        now_x,
        y(limit),
        lost_x,
        text(top),
        text(limit),
        f"{duration_text(until - since)} ago" if past else "",
        f"in {duration_text(ahead_s * 1000)}",
        width,
        height,
    )


def _size(count: float) -> str:
    return size_text(round(count))


def _age(seconds: float) -> str:
    return duration_text(seconds * 1000)
