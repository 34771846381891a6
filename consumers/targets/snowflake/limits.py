"""What Snowflake holds no value of, as data.

A limit is about what a stage holds: bytes of a text or of bytes, days and microseconds since 1970.  A VARCHAR
and a BINARY without a length have these sizes.  A time of 24:00 would silently be 00:00.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from wrackline.consumers.targets.snowflake.types import NATIVE
from wrackline.schemas.tables.types import Kind

TEXT_BYTES: Final = 16_777_216
BYTES: Final = 8_388_608
STATEMENT_BYTES: Final = 1_048_576  # of one statement's text
_DAY_MICROS: Final = 86_400_000_000
_LEAST_DAY, _GREATEST_DAY = -719_162, 2_932_896  # the years 1 to 9999


@dataclass(frozen=True, slots=True)
class SnowflakeLimit:
    """What the staged form of a value may not exceed."""

    most_bytes: int | None = None
    least: int | None = None
    greatest: int | None = None


_MOMENTS = SnowflakeLimit(least=_LEAST_DAY * _DAY_MICROS, greatest=(_GREATEST_DAY + 1) * _DAY_MICROS - 1)
_SIZES = {
    Kind.BYTES: SnowflakeLimit(BYTES),
    Kind.BITS: SnowflakeLimit(BYTES),
    Kind.DATE: SnowflakeLimit(least=_LEAST_DAY, greatest=_GREATEST_DAY),
    Kind.TIME_MICROS: SnowflakeLimit(least=0, greatest=_DAY_MICROS - 1),
    Kind.TIMESTAMP_MICROS: _MOMENTS,
    Kind.ZONED_TIMESTAMP: _MOMENTS,
    Kind.INSTANT_MICROS: _MOMENTS,
}
LIMITS: Mapping[Kind, SnowflakeLimit] = MappingProxyType(
    {**{kind: SnowflakeLimit(TEXT_BYTES) for kind in Kind if kind not in NATIVE}, **_SIZES}
)
