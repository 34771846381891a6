"""One MERGE (merge_sql.py, versions_sql.py) brings a batch's changes and offsets into a table, in one commit.

Rows of a first load are appended instead where the table has none of their keys (append.py).

In: a batch that is staged in a session of its own (the commit's property is the session's), and a plan.
Out: a snapshot, also of a batch that has nothing but offsets.

Two writers can't both change rows over the same base: Iceberg refuses the second one's commit
(serializable isolation).  Where the first was somebody who looks after the table, the same MERGE is tried
again at once, so that no upkeep costs a batch its turn.  Where it was another driver, progress has moved, and
the next round does the batch again.
"""

from collections.abc import Mapping

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from wrackline.consumers.merge_sql import Staged
from wrackline.consumers.plan import MergePlan
from wrackline.consumers.spark_table import held
from wrackline.consumers.targets.iceberg import progress, table
from wrackline.consumers.targets.iceberg.append import append, has_none_of
from wrackline.consumers.targets.iceberg.progress import Progress
from wrackline.consumers.versions_sql import statement
from wrackline.schemas.errors import Transient, define

CONFLICT = define(
    "iceberg.conflict",
    Transient,
    "somebody else wrote to {target} while a batch was merged into it; nothing of the batch is there",
    hint="the next round does it again; if it goes on, look for a second driver:"
    " SELECT committed_at, summary FROM {target}.snapshots ORDER BY 1 DESC",
)

_LARGE = 32 << 20  # bytes of a table; to merge into a smaller one takes no shuffle of it
_RUNTIME = "spark.sql.optimizer.runtime.bloomFilter"
_FILTERED = {
    f"{_RUNTIME}.enabled": "true",
    f"{_RUNTIME}.creationSideThreshold": "1GB",
    f"{_RUNTIME}.applicationSideScanSizeThreshold": "1B",
    # else Spark takes the join for a broadcast of the batch, which an outer join can't be
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}

FAILED = (PySparkException, Py4JError)  # Java's own exceptions come as the second
_TRIES = 3
_CONFLICTS = (
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
)


def merge(staged: Staged, plan: MergePlan, target: str, properties: Mapping[str, str]) -> None:
    """Merge and commit, as long as nobody else merges; `properties` are those that the table had just now."""
    session = staged.session
    first = before = progress.read(session, target, properties)
    plan.check_follows(before.applied, target)
    for _ in range(_TRIES):
        if before.applied != first.applied:
            break
        if _done(session, plan, target, properties, before):
            staged.forget()
            return
        properties = table.properties(session, target) or {}
        before = progress.read(session, target, properties)
    raise CONFLICT(target=target)


def _done(
    session: SparkSession, plan: MergePlan, target: str, properties: Mapping[str, str], before: Progress
) -> bool:
    """Whether it was committed, or else somebody's commit came first."""
    after = before.applied.then(plan.upto)
    truncated = after.floor != before.floor
    text = statement(plan, target, held(session, target, properties), after.floor, truncated=truncated)
    new = not truncated and has_none_of(session, plan, target)
    with progress.saying(session, after):
        try:
            if new:
                append(session, plan, target, after.floor, properties)
            else:
                if before.size > _LARGE:
                    _filter_what_is_read(session)
                session.sql(text)
        except FAILED as exc:
            if not is_conflict(exc):
                raise
            return False
    return True


def _filter_what_is_read(session: SparkSession) -> None:
    """Have other rows fall out where the table is read, by a Bloom filter of the batch's keys."""
    for name, value in _FILTERED.items():
        session.conf.set(name, value)


def is_conflict(exc: Exception) -> bool:
    """Whether Iceberg refused a commit because somebody else's came first."""
    return any(name in str(exc) for name in _CONFLICTS)
