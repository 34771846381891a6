"""How far a table has come: read from its snapshots, written in the commit that brings its rows.

In: an Iceberg table.  Out: what its history has applied, as direct/snapshot_history.py reads it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.applied_text import text
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.targets.iceberg.direct.snapshot_history import (
    APPLIED_PROPERTY,
    SIZE,
    IcebergApplied,
    IcebergSnapshot,
    walk_snapshots,
)

CURRENT, NO_SNAPSHOT = "current-snapshot-id", "none"  # a property that Iceberg shows, and its value


def read_applied(session: SparkSession, table: LakeTable) -> IcebergApplied:
    """Read what the table says, from its current snapshot back."""
    current = table.properties.get(CURRENT, NO_SNAPSHOT)
    if current == NO_SNAPSHOT:
        return IcebergApplied(Applied(), (), None, None)
    rows = session.table(f"{table.name}.snapshots").select(
        "snapshot_id",
        "parent_id",
        F.unix_millis("committed_at"),
        F.col("summary").getItem(APPLIED_PROPERTY),
        F.col("summary").getItem(SIZE).cast("bigint"),
    )
    snapshots = {row[0]: IcebergSnapshot(*row[1:]) for row in rows.collect()}
    return walk_snapshots(snapshots, int(current), table.name)


@contextmanager
def commit_with_applied(session: SparkSession, applied: Applied) -> Iterator[None]:
    """Let the session's commits say what is applied after them; Iceberg looks when it commits."""
    name = f"spark.sql.iceberg.snapshot-property.{APPLIED_PROPERTY}"
    session.conf.set(name, text(applied))
    try:
        yield
    finally:
        session.conf.unset(name)
