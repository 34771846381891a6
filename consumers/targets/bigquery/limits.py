"""What BigQuery allows, as data: each figure is one of its quota page or of the page of its DDL.

A limit that a value, a table or a statement of ours can reach is looked at before BigQuery refuses it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wrackline.consumers.contract.limits import DAY_MICROS, TIME_OF_DAY, Limit
from wrackline.consumers.targets.bigquery.types import NATIVE
from wrackline.schemas.tables.types import Kind

MOST_TEXT: Final = 1024 * 1024  # bytes of a query before names are resolved
MOST_CLUSTER_COLUMNS: Final = 4
MOST_PARTITIONS: Final = 4_000  # that one job may change
MOST_LOADS: Final = 100_000  # load jobs of a project and a day
MOST_LABEL: Final = 63  # characters of a job's label
ROW_BYTES: Final = 100_000_000
CLUSTERS: Final = frozenset(  # types, without their parameters
    {"BIGNUMERIC", "BOOL", "DATE", "DATETIME", "INT64", "NUMERIC", "STRING", "TIMESTAMP"}
)

_LEAST_DAY, _GREATEST_DAY = -719_162, 2_932_896  # the years 1 to 9999
_SIZE = Limit(ROW_BYTES)
_MOMENTS = Limit(least=_LEAST_DAY * DAY_MICROS, greatest=(_GREATEST_DAY + 1) * DAY_MICROS - 1)
LIMITS: Final[Mapping[Kind, Limit]] = MappingProxyType(
    {
        **{kind: _SIZE for kind in Kind if kind not in NATIVE},
        Kind.BYTES: _SIZE,
        Kind.BITS: _SIZE,
        Kind.DATE: Limit(least=_LEAST_DAY, greatest=_GREATEST_DAY),
        Kind.TIME_MICROS: TIME_OF_DAY,
        **dict.fromkeys((Kind.TIMESTAMP_MICROS, Kind.ZONED_TIMESTAMP, Kind.INSTANT_MICROS), _MOMENTS),
    }
)
