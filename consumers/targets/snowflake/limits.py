"""What Snowflake holds no value of, as data.

A VARCHAR and a BINARY without a length have these sizes.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wrackline.consumers.contract.limits import DAY_MICROS, TIME_OF_DAY, Limit
from wrackline.consumers.targets.snowflake.types import NATIVE
from wrackline.schemas.tables.types import Kind

TEXT_BYTES: Final = 16_777_216
BYTES: Final = 8_388_608
STATEMENT_BYTES: Final = 1_048_576  # of one statement's text
_LEAST_DAY, _GREATEST_DAY = -719_162, 2_932_896  # the years 1 to 9999

_MOMENTS = Limit(least=_LEAST_DAY * DAY_MICROS, greatest=(_GREATEST_DAY + 1) * DAY_MICROS - 1)
_SIZES = {
    Kind.BYTES: Limit(BYTES),
    Kind.BITS: Limit(BYTES),
    Kind.DATE: Limit(least=_LEAST_DAY, greatest=_GREATEST_DAY),
    Kind.TIME_MICROS: TIME_OF_DAY,
    Kind.TIMESTAMP_MICROS: _MOMENTS,
    Kind.ZONED_TIMESTAMP: _MOMENTS,
    Kind.INSTANT_MICROS: _MOMENTS,
}
LIMITS: Mapping[Kind, Limit] = MappingProxyType(
    {**{kind: Limit(TEXT_BYTES) for kind in Kind if kind not in NATIVE}, **_SIZES}
)
