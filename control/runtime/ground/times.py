"""Moments: the present one, those at which figures move, those that people write, and how people read them.

All clocks step together, so that a figure never waits twice: each other second halves report, then workers
look at what came, then pages that are open ask for it.
"""

import time
from datetime import UTC, datetime
from typing import Final

FIGURES_S: Final = 2.0  # between two reports of a half
SAMPLE_S, SHOWN_S = 0.3, 0.5  # after a report: when workers look at it, and when pages ask


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


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
