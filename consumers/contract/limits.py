"""What a target holds no value of, as data: a batch with such a value must be found before it is loaded.

A limit is about what a stage holds: bytes of a text or of bytes, days and microseconds since 1970.

    exceeded(LIMITS, Kind.STRING, "…")  ->  why it can't be held, or None
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wrackline.schemas.tables.types import Kind

DAY_MICROS: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Limit:
    """What the staged form of a value may not exceed."""

    most_bytes: int | None = None
    least: int | None = None
    greatest: int | None = None


TIME_OF_DAY: Final = Limit(least=0, greatest=DAY_MICROS - 1)  # 24:00 would silently be 00:00


def exceeded(limits: Mapping[Kind, Limit], kind: Kind, value: object) -> str | None:
    """Say why a staged value can't be held, without the value; None: it can."""
    limit = limits.get(kind)
    if limit is None or value is None:
        return None
    if isinstance(value, int):
        below = limit.least is not None and value < limit.least
        above = limit.greatest is not None and value > limit.greatest
        return f"not from {limit.least} to {limit.greatest}" if below or above else None
    size = (
        len(value.encode() if isinstance(value, str) else bytes(value))
        if isinstance(value, str | bytes)
        else 0
    )
    if limit.most_bytes is not None and size > limit.most_bytes:
        return f"longer than {limit.most_bytes} bytes"
    return None
