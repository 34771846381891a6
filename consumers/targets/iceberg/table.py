"""An Iceberg table: how it is created, and how its shape changes (lake/table_shape.py).

In: a plan.  Out: a table with the plan's columns, whose properties say how it is written.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.table_shape import TableAddress
from wrackline.consumers.targets.iceberg.connect import IcebergPlace

_PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # A writer that has read the table must fail if somebody else wrote meanwhile.
    "write.delete.isolation-level": "serializable",
    "write.merge.isolation-level": "serializable",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    # What is applied is in the snapshots: an expiry by somebody else leaves the last few.
    "history.expire.min-snapshots-to-keep": "20",
}


def properties(session: SparkSession, name: str) -> Mapping[str, str] | None:
    """Return the table's properties, its current snapshot among them; None: there is no such table."""
    return table_shape.properties(session, name) if session.catalog.tableExists(name) else None


def create(
    session: SparkSession, plan: MergePlan, target: TableAddress, *, place: IcebergPlace, version: int
) -> None:
    """Create the table; one that another driver has created just now stays as it is."""
    settings = {**_PROPERTIES, "format-version": str(version)}
    definition = table_shape.definition(plan, "iceberg", settings)
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {place.quoted_namespace(plan.table.id)}")
    session.sql(f"CREATE TABLE IF NOT EXISTS {target.name} {definition}")
