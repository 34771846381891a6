"""An Iceberg table: how it is created, how its shape changes (spark_table.py), and how it goes.

In: a plan.  Out: a table with the plan's columns, whose properties say how it is written.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from wrackline.consumers import spark_files, spark_table
from wrackline.consumers.plan import MergePlan
from wrackline.consumers.spark_table import Address
from wrackline.consumers.targets.iceberg import types
from wrackline.schemas.errors import OperatorNeeded, define

KEEPS_FILES = define(
    "iceberg.keeps_files",
    OperatorNeeded,
    "{target} is not dropped: gc.enabled is false there, so others may need its files",
    hint="if nobody does: ALTER TABLE {target} SET TBLPROPERTIES ('gc.enabled' = 'true');"
    " if somebody does: {drop}",
)

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
_WITH_FOLDERS = ("file:", "hdfs:", "viewfs:")  # elsewhere a folder without files is none


def properties(session: SparkSession, name: str) -> Mapping[str, str] | None:
    """Return the table's properties, its current snapshot among them; None: there is no such table."""
    return spark_table.properties(session, name) if session.catalog.tableExists(name) else None


def create(session: SparkSession, plan: MergePlan, name: str, namespace: str, version: int) -> None:
    """Create the table; one that somebody else has created just now stays as it is."""
    settings = {**_PROPERTIES, "format-version": str(version)}
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    session.sql(f"CREATE TABLE IF NOT EXISTS {name} {spark_table.definition(plan, 'iceberg', settings)}")


def check_goes(found: Mapping[str, str], target: Address) -> None:
    """Refuse to drop a table whose files Iceberg would not let go."""
    if found.get("gc.enabled") == "false":
        raise KEEPS_FILES(target=target.name, drop=target.drop)


def drop(session: SparkSession, name: str) -> None:
    """Drop the table with its files; folders that the catalogue leaves behind them go too."""
    told = session.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Location'").collect()
    place = told[-1]["data_type"]  # a column of that name comes before
    session.sql(f"DROP TABLE {name} PURGE")
    if place.startswith(_WITH_FOLDERS):
        folder = spark_files.folder(session, place)
        if folder is not None and folder.holds_no_file():
            folder.remove()
