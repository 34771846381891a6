"""A Delta table: how it is created, and how its shape changes (lake/table_shape.py).

In: a plan.  Out: a table with the plan's columns, whose properties say how it is written.  Columns are mapped
by name, so that one can be renamed or dropped without a row being written; names that differ only in case
are one.  Only our upkeep cuts the log: what is applied is in it, and others may look after a table that rests
for long.
"""

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from wrackline.consumers.contract.plan import Applied, MergePlan
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.lake.table_shape import TableAddress
from wrackline.consumers.targets.delta.applied import commit_with_applied

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
    return table_shape.properties(session, name) if is_there(session, name) else None


def is_there(session: SparkSession, name: str) -> bool:
    """Whether a path has a Delta table; for a path that has none, Delta raises."""
    try:
        return session.catalog.tableExists(name)
    except AnalysisException as exc:
        if exc.getCondition() != _NO_TABLE:
            raise
        return False


def create(session: SparkSession, plan: MergePlan, target: TableAddress, *, retention_ms: int) -> None:
    """Create the table, unless another driver just has; its first commit says that nothing is applied."""
    made = table_shape.definition(plan, "delta", _PROPERTIES | retention_properties(retention_ms))
    with commit_with_applied(session, Applied(), None):
        session.sql(f"CREATE TABLE IF NOT EXISTS {target.name} {made}")


def keep_log(session: SparkSession, table: LakeTable) -> None:
    """Take back the permission to cut the log, where an upkeep ended before it did.

    Call it before any commit that does not say what is applied: with a checkpoint behind it, that commit
    would cut the newest text, if the table has rested for longer than its log is kept.
    """
    if table.properties.get(CUTS_ITS_LOG) != "false":
        table_shape.set_properties(session, table.name, KEEPS_ITS_LOG)


def retention_properties(retention_ms: int) -> dict[str, str]:
    """Return the properties that keep older versions for this time."""
    interval = f"interval {retention_ms} milliseconds"
    return {"delta.logRetentionDuration": interval, "delta.deletedFileRetentionDuration": interval}
