"""Rows of a first load, or of events, appended: no merge looks for a row that can't be there.

In: a batch of rows that are all new, and the range of its keys.  Out: one commit that only adds files.  It is
right because no data file's bounds reach into the range, tombstones' files among them; and because the commit
is an overwrite of that range, in which nothing is there, and Iceberg refuses it if somebody has written
into the range since the properties were read.  So the same batch is never appended twice: the second time
its keys are there, and it is merged.
"""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import MergePlan, TableMode
from wrackline.consumers.lake.merge_sql import append_query, quote
from wrackline.consumers.targets.iceberg.applied import CURRENT, NO_SNAPSHOT


def has_none_of(session: SparkSession, plan: MergePlan, target: str) -> bool:
    """Whether every row of the batch is new, as no file of the table may hold one with its key.

    A batch of rows that were read is asked for, and one of a table that has a row for each event.
    """
    asked = plan.only_adds or (plan.loads and plan.mode is TableMode.UPSERT)
    if not asked or not plan.within:
        return False
    files = session.table(f"{target}.data_files").where("record_count > 0")
    return files.where(~_beside(plan)).isEmpty()


def append(
    session: SparkSession, plan: MergePlan, target: str, floor: str | None, properties: Mapping[str, str]
) -> None:
    """Add the batch's rows, unless somebody has written into their range since these properties."""
    rows: DataFrame = session.sql(append_query(plan, floor))
    # columns of the user's, or that the source has dropped: unlike INSERT, an overwrite needs them all
    lacked = (field for field in session.table(target).schema if field.name not in rows.columns)
    nulls = (F.lit(None).cast(field.dataType).alias(field.name) for field in lacked)
    rows = rows.select("*", *nulls)
    writer = rows.writeTo(target).option("isolation-level", "serializable")
    base = properties.get(CURRENT, NO_SNAPSHOT)
    if base != NO_SNAPSHOT:
        writer = writer.option("validate-from-snapshot-id", base)
    writer.overwrite(_inside(plan))


def _inside(plan: MergePlan) -> Column:
    return reduce(
        Column.__and__,
        (F.col(quote(name)).between(one.least, one.greatest) for name, one in plan.within.items()),
    )


def _beside(plan: MergePlan) -> Column:
    """Whether a file's bounds lie outside the range in one column of the key; unknown bounds do not."""

    def bound(name: str, which: str) -> Column:
        return F.col(f"readable_metrics.{quote(name)}.{which}")

    return reduce(
        Column.__or__,
        (
            F.coalesce(bound(name, "upper_bound") < one.least, F.lit(False))
            | F.coalesce(bound(name, "lower_bound") > one.greatest, F.lit(False))
            for name, one in plan.within.items()
        ),
    )
