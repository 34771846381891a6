"""Moments: this one, and one that somebody names on the command line."""

import time
from datetime import UTC, datetime

import typer


def now_ms() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def moment(text: str) -> datetime:
    """Read it as ISO writes it; without a zone it is UTC."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter("a moment is written as 2026-05-01T12:00:00+02:00") from None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
