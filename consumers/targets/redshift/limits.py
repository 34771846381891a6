"""What Redshift holds no value of, as data: a batch with such a value must be found before it is loaded.

A limit is about what a stage holds: bytes of a text, days and microseconds since 1970.  COPY refuses a text
that is too long, and with it the whole batch; a time of 24:00 would silently be 00:00.

    exceeded(LIMITS, Kind.STRING, "…")  ->  why it can't be held, or None
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from wrackline.consumers.targets.redshift.types import BYTES, NATIVE, TEXT_BYTES
from wrackline.schemas.tables.types import Kind

MOST_COLUMNS: Final = 1_600  # of a table, and of a view
STATEMENT_BYTES: Final = 16_777_216  # of one statement
NAME_BYTES: Final = 127
_DAY_MICROS: Final = 86_400_000_000
_LEAST_DAY, _GREATEST_DAY = -2_440_588, 106_751_990  # 4713 before our era to the year 294247, exclusive


@dataclass(frozen=True, slots=True)
class RedshiftLimit:
    """What the staged form of a value may not exceed."""

    most_bytes: int | None = None
    least: int | None = None
    greatest: int | None = None


_DAYS = RedshiftLimit(least=_LEAST_DAY, greatest=_GREATEST_DAY)
_MOMENTS = RedshiftLimit(least=_LEAST_DAY * _DAY_MICROS, greatest=_GREATEST_DAY * _DAY_MICROS)
_SIZES = {
    Kind.BYTES: RedshiftLimit(BYTES),
    Kind.BITS: RedshiftLimit(BYTES),
    Kind.DATE: _DAYS,
    Kind.TIME_MICROS: RedshiftLimit(least=0, greatest=_DAY_MICROS - 1),
    Kind.TIMESTAMP_MICROS: _MOMENTS,
    Kind.ZONED_TIMESTAMP: _MOMENTS,
    Kind.INSTANT_MICROS: _MOMENTS,
}
LIMITS: Mapping[Kind, RedshiftLimit] = MappingProxyType(
    {**{kind: RedshiftLimit(TEXT_BYTES) for kind in Kind if kind not in NATIVE}, **_SIZES}
)


def exceeded(kind: Kind, value: object) -> str | None:
    """Say why a staged value can't be held, without the value; None: it can."""
    limit = LIMITS.get(kind)
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
