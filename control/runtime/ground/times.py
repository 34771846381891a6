"""Moments: the present one, those that people write, and how they are written for people."""

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


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
