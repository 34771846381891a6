"""One MERGE (merge_sql.py, versions_sql.py) brings a batch and its offsets into a table, in one commit.

In: a batch that is staged in a session of its own (what the commit says is the session's), and a plan.
Out: a version of the table, also of a batch that has nothing but offsets.

Of two writers over the same base Delta refuses the second (serializable isolation).  Where that was somebody
who looks after the table, the same MERGE is tried again at once, so that no upkeep costs a batch its turn.
Where it was another driver, progress has moved, and the next round does the batch again.
"""

from collections.abc import Sequence

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wrackline.consumers.merge_sql import Staged
from wrackline.consumers.plan import MergePlan, PlannedColumn
from wrackline.consumers.spark_table import Address
from wrackline.consumers.targets.delta import progress
from wrackline.consumers.versions_sql import statement
from wrackline.schemas.errors import Transient, define

CONFLICT = define(
    "delta.conflict",
    Transient,
    "somebody else wrote to {target} while a batch was merged into it; nothing of the batch is there",
    hint="the next round does it again; if it goes on, look for a second driver: DESCRIBE HISTORY {target}",
)

FAILED = (PySparkException, Py4JError)  # Java's own exceptions come as the second
_CONFLICTS = "io.delta.exceptions."  # all of this package say that somebody else committed first
_TRIES = 3


def merge(staged: Staged, plan: MergePlan, target: Address, held: Sequence[PlannedColumn]) -> None:
    """Merge and commit, as long as nobody else merges; `held` are the columns that the table has."""
    session = staged.session
    first = before = progress.read(session, target, plan.table.id)
    plan.check_follows(before.applied, target.name)
    for _ in range(_TRIES):
        if before.number != first.number:
            break
        after = before.applied.then(plan.upto)
        truncated = after.floor != before.applied.floor
        text = statement(plan, target.name, held, after.floor, truncated=truncated)
        with progress.saying(session, after, before):
            if _done(session, text):
                staged.forget()
                return
        before = progress.read(session, target, plan.table.id)
    raise CONFLICT(target=target.name)


def is_conflict(exc: Exception) -> bool:
    """Whether Delta refused a commit because somebody else's came first."""
    return _CONFLICTS in str(exc)


def _done(session: SparkSession, text: str) -> bool:
    """Whether it was committed; one whose number was used meanwhile is skipped, and tells no counts."""
    try:
        return bool(session.sql(text).collect())
    except FAILED as exc:
        if not is_conflict(exc):
            raise
        return False
