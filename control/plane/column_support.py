"""What a column is in the target, how far its values are carried, and what is lost: by its kind.  Pure.

In: a column's type, and the kind of the target.  Out: its type there, and support.  The page docs/types.md is
printed from the same tables, so that what is promised and what is assessed can't disagree.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from wrackline.consumers.targets.bigquery import types as of_bigquery
from wrackline.consumers.targets.postgres.sql import types as of_postgres
from wrackline.consumers.targets.redshift import types as of_redshift
from wrackline.consumers.targets.snowflake import types as of_snowflake
from wrackline.consumers.targets.spanner import types as of_spanner
from wrackline.schemas.language.findings import Support
from wrackline.schemas.tables.types import ColumnType, Kind, delta_type, iceberg_type

TARGET_TYPES: Final[Mapping[str, Callable[[ColumnType], str]]] = {
    "iceberg": iceberg_type,
    "delta": delta_type,
    "postgres": of_postgres.column_type,
    "bigquery": of_bigquery.physical,
    "redshift": of_redshift.physical,
    "snowflake": of_snowflake.physical,
    "spanner": of_spanner.physical,
}
_TEXT: Final = "it is the server's own text, so it sorts and compares as text"
_NUMBER: Final = "it is a number of microseconds"
_LAKE: Final[Mapping[Kind, str]] = {
    Kind.NUMERIC_TEXT: "it is text, because it has more than 38 digits or no precision, and sorts as text",
    Kind.TIME_MICROS: _NUMBER,
    Kind.DURATION_MICROS: _NUMBER,
    Kind.ZONED_TIME: _TEXT,
    Kind.INTERVAL: "it is text of ISO 8601, so it sorts and compares as text",
    Kind.BITS: "it is bytes, the lowest first",
    Kind.ENUM: "it is its label, and sorts by that",
    Kind.ENUM_SET: "it is its labels, joined by commas",
    Kind.TEXT_OF: _TEXT,
}
_WAREHOUSE: Final[Mapping[Kind, str]] = {
    kind: loss for kind, loss in _LAKE.items() if kind is not Kind.TIME_MICROS
}
LOSSES: Final[Mapping[str, Mapping[Kind, str]]] = {
    "iceberg": _LAKE,
    "delta": _LAKE,
    "postgres": {kind: _LAKE[kind] for kind in (Kind.BITS, Kind.ENUM, Kind.ENUM_SET, Kind.TEXT_OF)},
    "bigquery": _WAREHOUSE,
    "redshift": _WAREHOUSE,
    "snowflake": _WAREHOUSE,
    "spanner": _WAREHOUSE,
}


class ColumnInTarget(NamedTuple):
    """A column's type in the target, and what its values lose; empty: nothing."""

    type: str
    loss: str

    @property
    def support(self) -> Support:
        """How far it is carried."""
        return Support.PARTIAL if self.loss else Support.YES


def column_in_target(column: ColumnType, target: str) -> ColumnInTarget:
    """Say what a column is in a kind of target; without a known kind, only what any target would lose."""
    type_of = TARGET_TYPES.get(target)
    losses = LOSSES.get(target, LOSSES["postgres"])
    kind = column.element.kind if column.element else column.kind
    return ColumnInTarget("" if type_of is None else type_of(column), losses.get(kind, ""))
