"""One MERGE (merge_sql.py, versions_sql.py) brings a batch and its offsets into a table, in one commit.

In: a batch that is staged in a session of its own (what the commit says is the session's), and a plan.
Out: a version of the table, also of a batch that has nothing but offsets.

Of two writers over the same base Delta refuses the second (serializable isolation).
"""

from pyspark.sql import SparkSession

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.lake.table_shape import held_columns
from wrackline.consumers.lake.versions_sql import batch_statement
from wrackline.consumers.targets.delta.applied import DeltaApplied, commit_with_applied
from wrackline.schemas.errors import Transient, define

CONFLICT = define(
    "delta.conflict",
    Transient,
    "another writer changed {target} while a batch was merged into it; nothing of the batch was written",
    hint="the next round merges the batch again; if this keeps happening, look for a second driver:"
    " DESCRIBE HISTORY {target}",
)

_CONFLICTS = "io.delta.exceptions."  # all of this package say that somebody else committed first


def merge(session: SparkSession, plan: MergePlan, table: LakeTable, before: DeltaApplied) -> bool:
    """Merge and commit what is staged in the session; `before` was read from the table just now.

    False: the commit's number was used meanwhile.  Such a commit is skipped, and returns no counts.
    """
    after = before.applied.then(plan.upto)
    truncated = after.floor != before.applied.floor
    held = held_columns(session, table.name, table.properties)
    text = batch_statement(plan, table.name, held, after.floor, truncated=truncated)
    with commit_with_applied(session, after, before):
        return bool(session.sql(text).collect())


def is_conflict(exc: Exception) -> bool:
    """Whether Delta refused a commit because somebody else's came first."""
    return _CONFLICTS in str(exc)
