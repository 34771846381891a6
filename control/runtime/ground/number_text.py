"""Numbers as people read them: counts with their nouns, bytes and durations with their units.  Pure."""

from collections.abc import Mapping
from typing import Final

_LONG: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"))
_DONE: Final = {"c": "inserted", "u": "updated", "d": "deleted", "r": "read", "t": "truncated"}


def count_text(number: int, one: str, many: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def events_text(events: Mapping[str, int]) -> str:
    """Write how many events of each kind there were; nothing for none."""
    return ", ".join(f"{count:,} {_DONE.get(op, op)}" for op, count in events.items())


def size_text(count: int) -> str:
    """Write a number of bytes."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"


def unread_text(size: int | None, through_ms: int | None, at_ms: int) -> str | None:
    """Write how much of a log is not in Kafka; by `through_ms`, until when all is, where it has no bytes."""
    if size is not None:
        return size_text(size)
    return None if through_ms is None else f"at most {duration_text(max(0, at_ms - through_ms))}"


def duration_text(ms: float) -> str:
    """Write a duration; a long one in the largest unit of which there are two."""
    for long, unit in _LONG:
        if ms >= 2 * long:
            return f"{ms / long:.0f} {unit}"
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s" if ms < 10_000 else f"{ms / 1000:.0f} s"


def ago_text(ms: int, at_ms: int) -> str:
    """Write how long ago a moment was."""
    return f"{duration_text(max(0, at_ms - ms))} ago"
