"""Where the keys of a batch lie, so that a merge reads no more of a table than may hold one of them.

In: a batch's newest changes, and its plan.  Out: for each column of the key whose values Spark and every
target order alike, the least and the greatest; a target leaves out files that lie beside them.  It is right
because a row outside is no row of the batch.  A key may hold null, which no range does: such a column has
none.
"""

from collections.abc import Mapping
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.plan import KeyRange, MergePlan, Mode
from wrackline.schemas.types import Kind

_ORDERED = frozenset({Kind.INT16, Kind.INT32, Kind.INT64, Kind.DATE})


def key_ranges(newest: DataFrame, plan: MergePlan) -> Mapping[str, KeyRange]:
    """Return the ranges by the key's columns that have one; this computes the frame."""
    names = [
        column.target for column in plan.columns if column.target in plan.key and column.type.kind in _ORDERED
    ]
    if not names or plan.mode is not Mode.UPSERT:
        return {}
    values = [F.col("row").getField(name) for name in names]
    asked = [(F.min(value), F.max(value), F.count_if(value.isNull())) for value in values]
    (found,) = newest.agg(*(one for three in asked for one in three)).collect()
    ranges = {}
    for at, name in enumerate(names):
        least, greatest, nulls = found[3 * at : 3 * at + 3]
        if isinstance(least, int | date) and not nulls:
            ranges[name] = KeyRange(least, greatest)
    return ranges
