"""A Delta table: how it is created, and how its shape changes (spark_table.py).

In: a plan.  Out: a table with the plan's columns, whose properties say how it is written.  Columns are mapped
by name, so that one can be renamed or dropped without a row being written; names that differ in case alone
are one.  Only our upkeep cuts the log: what is applied stands in it, and a table that rests for long may be
looked after by others.
"""

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from wrackline.consumers import spark_table
from wrackline.consumers.plan import MergePlan
from wrackline.consumers.spark_table import Address
from wrackline.consumers.targets.delta import types

WAYS = spark_table.Ways(types.widens, str.casefold)
CUTS_ITS_LOG = "delta.enableExpiredLogCleanup"
CHECKPOINTS = "delta.checkpointInterval"
KEEPS_ITS_LOG = {CUTS_ITS_LOG: "false", CHECKPOINTS: "10"}
_PROPERTIES = {
    "delta.columnMapping.mode": "name",
    "delta.enableDeletionVectors": "true",
    "delta.enableTypeWidening": "true",
    "delta.isolationLevel": "Serializable",
    CUTS_ITS_LOG: "false",
}
_NO_TABLE = "DELTA_MISSING_DELTA_TABLE"


def properties(session: SparkSession, name: str) -> Mapping[str, str] | None:
    """Return the table's properties; None: there is no such table."""
    return spark_table.properties(session, name) if is_there(session, name) else None


def is_there(session: SparkSession, name: str) -> bool:
    """Whether a path has a Delta table; asked about one that has none, Delta raises."""
    try:
        return session.catalog.tableExists(name)
    except AnalysisException as exc:
        if exc.getCondition() != _NO_TABLE:
            raise
        return False


def create(session: SparkSession, plan: MergePlan, target: Address, retention_ms: int) -> None:
    """Create the table; one that somebody else has created just now stays as it is."""
    made = spark_table.definition(plan, "delta", _PROPERTIES | kept_for(retention_ms))
    session.sql(f"CREATE TABLE IF NOT EXISTS {target.name} {made}")


def keep_log(session: SparkSession, target: Address, properties: Mapping[str, str]) -> None:
    """Take back the leave to cut the log, where an upkeep ended before it did.

    To be called before any commit that does not say what is applied: with a checkpoint behind it, that commit
    would cut the newest text, if the table has rested for longer than its log is kept.
    """
    if properties.get(CUTS_ITS_LOG) != "false":
        spark_table.say(session, target.name, KEEPS_ITS_LOG)


def kept_for(retention_ms: int) -> dict[str, str]:
    """Return the properties that keep older versions for so long."""
    interval = f"interval {retention_ms} milliseconds"
    return {"delta.logRetentionDuration": interval, "delta.deletedFileRetentionDuration": interval}
