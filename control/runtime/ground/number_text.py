"""Numbers as people read them: a count with its noun, bytes and durations with their units.  Pure."""

from typing import Final

_LONG: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"))


def count_text(number: int, one: str, many: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"


def size_text(count: int) -> str:
    """Write a number of bytes."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"


def duration_text(ms: float) -> str:
    """Write a duration; a long one in the largest unit of which there are two."""
    for long, unit in _LONG:
        if ms >= 2 * long:
            return f"{ms / long:.0f} {unit}"
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s" if ms < 10_000 else f"{ms / 1000:.0f} s"
