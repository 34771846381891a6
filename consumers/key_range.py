"""Where the keys of a batch lie, so that a merge reads no more of a table than may hold one of them.

In: a batch's newest changes, and its plan.  Out: for each column of the key whose values Spark and every
target order alike, the least and the greatest; a target leaves out files that lie beside them.  It is right
because a row outside is no row of the batch.  A key may hold null, which no range does: such a column has
none.
"""

from collections.abc import Iterable, Mapping
from datetime import date

from pyspark.sql import Column, Row
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.plan import KeyRange, MergePlan, Mode
from wrackline.schemas.types import Kind

_ORDERED = frozenset({Kind.INT16, Kind.INT32, Kind.INT64, Kind.DATE})


def bounds(plan: MergePlan) -> list[Column]:
    """Return what is to be asked of a batch's newest changes."""
    return [
        F.struct(F.min(value), F.max(value), F.count_if(value.isNull())) for value in _ordered(plan).values()
    ]


def key_ranges(bounds: Iterable[Row], plan: MergePlan) -> Mapping[str, KeyRange]:
    """Return the ranges by the key's columns that have one."""
    asked = zip(_ordered(plan), bounds, strict=True)
    return {
        name: KeyRange(least, greatest)
        for name, (least, greatest, nulls) in asked
        if isinstance(least, int | date) and not nulls
    }


def _ordered(plan: MergePlan) -> dict[str, Column]:
    if plan.mode is not Mode.UPSERT:
        return {}
    return {
        column.target: F.col("row").getField(column.target)
        for column in plan.columns
        if column.target in plan.key and column.type.kind in _ORDERED
    }
