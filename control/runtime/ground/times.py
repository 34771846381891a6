"""Moments: the present one, and those that people write."""

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def parse_moment(text: str) -> datetime:
    """Read a moment as ISO writes it, without a zone in UTC; ValueError: it is none."""
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)
