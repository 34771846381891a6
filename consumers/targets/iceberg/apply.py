"""One MERGE (merge_sql.py, versions_sql.py) brings a batch's changes and offsets into a table, in one commit.

Rows of a first load are appended instead where the table has none of their keys (append.py).

In: a batch that is staged in a session of its own (the commit's property is the session's), and a plan.
Out: a snapshot, also of a batch that has nothing but offsets.

Two writers can't both change rows over the same base: Iceberg refuses the second one's commit
(serializable isolation).
"""

from pyspark.sql import SparkSession

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.lake.table_shape import held_columns
from wrackline.consumers.lake.versions_sql import batch_statement
from wrackline.consumers.targets.iceberg.append import append, has_none_of
from wrackline.consumers.targets.iceberg.applied import commit_with_applied
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergApplied
from wrackline.schemas.errors import Transient, define

CONFLICT = define(
    "iceberg.conflict",
    Transient,
    "another writer changed {target} while a batch was merged into it; nothing of the batch was written",
    hint="the next round merges the batch again; if this keeps happening, look for a second driver:"
    " SELECT committed_at, summary FROM {target}.snapshots ORDER BY 1 DESC",
)

_LARGE = 32 << 20  # bytes of a table; a merge into a smaller one takes no shuffle of it
_RUNTIME = "spark.sql.optimizer.runtime.bloomFilter"
_FILTERED = {
    f"{_RUNTIME}.enabled": "true",
    f"{_RUNTIME}.creationSideThreshold": "1GB",
    f"{_RUNTIME}.applicationSideScanSizeThreshold": "1B",
    # else Spark takes the join for a broadcast of the batch, which an outer join can't be
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}

_CONFLICTS = (
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
)


def merge(session: SparkSession, plan: MergePlan, table: LakeTable, before: IcebergApplied) -> bool:
    """Merge and commit what is staged in the session; `before` was read from the table just now."""
    after = before.applied.then(plan.upto)
    truncated = after.floor != before.floor
    held = held_columns(session, table.name, table.properties)
    text = batch_statement(plan, table.name, held, after.floor, truncated=truncated)
    new = not truncated and has_none_of(session, plan, table.name)
    with commit_with_applied(session, after):
        if new:
            append(session, plan, table.name, after.floor, table.properties)
        else:
            if before.size > _LARGE:
                _filter_what_is_read(session)
            session.sql(text)
    return True


def _filter_what_is_read(session: SparkSession) -> None:
    """Drop other rows where the table is read, by a Bloom filter of the batch's keys."""
    for name, value in _FILTERED.items():
        session.conf.set(name, value)


def is_conflict(exc: Exception) -> bool:
    """Whether Iceberg refused a commit because somebody else's came first."""
    return any(name in str(exc) for name in _CONFLICTS)
