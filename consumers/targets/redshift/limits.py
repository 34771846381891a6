"""What Redshift holds no value of, as data.

COPY refuses a text that is too long, and with it the whole batch.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wrackline.consumers.contract.limits import DAY_MICROS, TIME_OF_DAY, Limit
from wrackline.consumers.targets.redshift.types import BYTES, NATIVE, TEXT_BYTES
from wrackline.schemas.tables.types import Kind

ROW_BYTES: Final = 4_000_000  # of one that COPY reads; "4 MB", so the least that it can mean
STATEMENT_BYTES: Final = 16_777_216  # of one statement
NAME_BYTES: Final = 127
_LEAST_DAY, _GREATEST_DAY = -2_440_588, 106_751_990  # 4713 before our era to the year 294247, exclusive

_DAYS = Limit(least=_LEAST_DAY, greatest=_GREATEST_DAY)
_MOMENTS = Limit(least=_LEAST_DAY * DAY_MICROS, greatest=_GREATEST_DAY * DAY_MICROS)
_SIZES = {
    Kind.BYTES: Limit(BYTES),
    Kind.BITS: Limit(BYTES),
    Kind.DATE: _DAYS,
    Kind.TIME_MICROS: TIME_OF_DAY,
    Kind.TIMESTAMP_MICROS: _MOMENTS,
    Kind.ZONED_TIMESTAMP: _MOMENTS,
    Kind.INSTANT_MICROS: _MOMENTS,
}
LIMITS: Mapping[Kind, Limit] = MappingProxyType(
    {**{kind: Limit(TEXT_BYTES) for kind in Kind if kind not in NATIVE}, **_SIZES}
)
