"""Moments: the present one, those at which figures move, those that people write, and how people read them.

All clocks step together, so that a figure never waits twice: every other second halves report, then workers
look at what came, then pages that are open ask for it.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

FIGURES_S: Final = 2.0  # between two reports of a half
SAMPLE_S, SHOWN_S = 0.3, 0.5  # after a report: when workers look at it, and when pages ask
_STEP_MS: Final = 1_000  # a clock that is only corrected moves less between two looks


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class ClockSteps:
    """How far this machine's clock was set, forward or back, and how long the machine slept."""

    def __init__(
        self, wall_ms: Callable[[], int] = now_ms, steady_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the clock that may be set, and one that nobody sets and that rests while it sleeps."""
        self._wall_ms, self._steady_s = wall_ms, steady_s
        self._apart_ms = self._now_apart()

    def since_last_look(self) -> int:
        """Return by how many milliseconds; 0 where it only drifts."""
        apart = self._now_apart()
        step = apart - self._apart_ms
        if abs(step) < _STEP_MS:
            return 0
        self._apart_ms = apart
        return step

    def _now_apart(self) -> int:
        return self._wall_ms() - round(self._steady_s() * 1000)


def until_step(every_s: float, after_s: float = 0.0, now_s: float | None = None) -> float:
    """Return the seconds until the next step of a clock; all clocks of the same step are in step."""
    return every_s - ((time.time() if now_s is None else now_s) - after_s) % every_s


def utc_text(ms: int) -> str:
    """Write a moment to the second."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def exact_utc_text(ms: int) -> str:
    """Write a moment to the millisecond; the writer of a record may give it any time."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"
    except (ValueError, OverflowError, OSError):
        return str(ms)


def parse_moment(text: str) -> datetime:
    """Read a moment as ISO writes it, without a zone in UTC; ValueError: it is none."""
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)
