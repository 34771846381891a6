"""Where the keys of a batch lie, so that a merge reads no more of a table than may hold one of them.

In: a batch's newest changes, and its plan.  Out: for each column of the key whose values Spark and every
target order alike, the least and the greatest; a target leaves out files that lie outside them.  It is right
because a row outside is not a row of the batch.  A key may hold null, which no range does: such a column has
no range, and neither has a column with a day that Python does not know.
"""

from collections.abc import Iterable, Mapping
from datetime import date

from pyspark.sql import Column, Row
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import ROW, KeyColumnRange, MergePlan, TableMode
from wrackline.schemas.tables.types import Kind

_ORDERED = frozenset({Kind.INT16, Kind.INT32, Kind.INT64, Kind.DATE})


def bound_columns(plan: MergePlan) -> list[Column]:
    """Return what a range needs from a batch's newest changes."""
    return [
        F.struct(_python_day(F.min(value), kind), _python_day(F.max(value), kind), F.count_if(value.isNull()))
        for value, kind in _ordered_columns(plan).values()
    ]


def key_ranges(bounds: Iterable[Row], plan: MergePlan) -> Mapping[str, KeyColumnRange]:
    """Return the ranges by the key's columns that have one."""
    asked = zip(_ordered_columns(plan), bounds, strict=True)
    return {
        name: KeyColumnRange(least, greatest)
        for name, (least, greatest, nulls) in asked
        if least is not None and greatest is not None and not nulls
    }


def _python_day(value: Column, kind: Kind) -> Column:
    """Return null for a day that Python does not have: Spark has more years."""
    if kind is not Kind.DATE:
        return value
    first, last = (F.expr(f"DATE '{day}'") for day in (date.min, date.max))
    return F.when(value.between(first, last), value)


def _ordered_columns(plan: MergePlan) -> dict[str, tuple[Column, Kind]]:
    """Return the columns of the key that every target orders alike.

    The rows of an event are distinguished by texts of ASCII letters, and found by them, except in a history:
    there an event may change the rows of older ones.
    """
    of_history = plan.mode is TableMode.HISTORY
    return {
        column.target: (F.col("row").getField(column.target), column.type.kind)
        for column in plan.columns
        if column.target in plan.key
        and (column.type.kind in _ORDERED or (column.identity == ROW and not of_history))
    }
