"""Where the keys of a batch lie, so that a merge reads no more of a table than may hold one of them.

In: a batch's newest changes, and its plan.  Out: for each column of the key whose values Spark and every
target order alike, the least and the greatest; a target leaves out files that lie beside them.  It is right
because a row outside is no row of the batch.  A key may hold null, which no range does: such a column has
none, nor has one with a day that Python does not know.
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
        F.struct(_known(F.min(value), kind), _known(F.max(value), kind), F.count_if(value.isNull()))
        for value, kind in _ordered(plan).values()
    ]


def key_ranges(bounds: Iterable[Row], plan: MergePlan) -> Mapping[str, KeyRange]:
    """Return the ranges by the key's columns that have one."""
    asked = zip(_ordered(plan), bounds, strict=True)
    return {
        name: KeyRange(least, greatest)
        for name, (least, greatest, nulls) in asked
        if least is not None and greatest is not None and not nulls
    }


def _known(value: Column, kind: Kind) -> Column:
    """Return null for a day that Python has not: Spark's years are more."""
    if kind is not Kind.DATE:
        return value
    first, last = (F.expr(f"DATE '{day}'") for day in (date.min, date.max))
    return F.when(value.between(first, last), value)


def _ordered(plan: MergePlan) -> dict[str, tuple[Column, Kind]]:
    if plan.mode is not Mode.UPSERT:
        return {}
    return {
        column.target: (F.col("row").getField(column.target), column.type.kind)
        for column in plan.columns
        if column.target in plan.key and column.type.kind in _ORDERED
    }
