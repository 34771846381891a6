"""An Iceberg table: how it is created, and how its shape changes (spark_table.py).

In: a plan.  Out: a table with the plan's columns, whose properties say how it is written.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from wrackline.consumers import spark_table
from wrackline.consumers.plan import MergePlan
from wrackline.consumers.targets.iceberg import types

WAYS = spark_table.Ways(types.widens)
_PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # Who reads the table to write it must fail when somebody else wrote meanwhile.
    "write.delete.isolation-level": "serializable",
    "write.merge.isolation-level": "serializable",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    # What is applied stands in the snapshots: an expiry by somebody else leaves the last few.
    "history.expire.min-snapshots-to-keep": "20",
}


def properties(session: SparkSession, name: str) -> Mapping[str, str] | None:
    """Return the table's properties, its current snapshot among them; None: there is no such table."""
    return spark_table.properties(session, name) if session.catalog.tableExists(name) else None


def create(session: SparkSession, plan: MergePlan, name: str, namespace: str, version: int) -> None:
    """Create the table; one that somebody else has created just now stays as it is."""
    settings = {**_PROPERTIES, "format-version": str(version)}
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    session.sql(f"CREATE TABLE IF NOT EXISTS {name} {spark_table.definition(plan, 'iceberg', settings)}")
