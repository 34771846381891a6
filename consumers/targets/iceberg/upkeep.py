"""What keeps a table that takes small commits for ever fast and small.

In: a table, and before which moment a delete may be forgotten.  Out: the same table for every reader, with
the same progress.  In this order, each step with a bound of its own, and each safe to lose:

    vacuum     tombstones of deletes that no event can be older than any more; without a key, pairs of
               what came and went; nothing of a history or of an append table
    compact    small files, and files of which much is deleted, into larger ones
    restate    what is applied, in a commit of its own, where it stands so far back that it might expire
    expire     snapshots that no reader can need; behind the newest commit, so that no clock is asked
    orphans    once a day, files of writers that died, if they are older than three days

A batch that commits meanwhile wins: the step that it disturbed is left for the next time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from pyspark.sql import Row, SparkSession

from wrackline.consumers import spark_table
from wrackline.consumers.failpoints import reach
from wrackline.consumers.forgetting import forget
from wrackline.consumers.merge_sql import literal, quoted
from wrackline.consumers.plan import Applied, Mode, OurColumns
from wrackline.consumers.plugin import Removed, Upkept
from wrackline.consumers.spark_reader import incomplete
from wrackline.consumers.spark_table import OfItself
from wrackline.consumers.targets.iceberg import progress, table
from wrackline.consumers.targets.iceberg.connect import CATALOG
from wrackline.consumers.targets.iceberg.merge import FAILED, is_conflict

_KEPT = 20  # snapshots behind the one that says what is applied
_MOST_SNAPSHOTS = 500  # a table's metadata holds them all, and is written with each commit
_LEAST_MS = 10 * 60_000  # that even they are kept
_FAR_BACK = 100
_DAY_MS = 24 * 3_600_000
_LOOKED = "wrackline.orphans"  # the newest commit when files without an owner were last looked for
_COMPACTION = {
    "min-input-files": "5",
    "delete-ratio-threshold": "0.3",
    "max-files-to-rewrite": "200",
    "max-file-group-size-bytes": str(1 << 30),
    "max-concurrent-file-group-rewrites": "1",
    "remove-dangling-deletes": "true",
}


def upkeep(
    session: SparkSession, target: str, said: OfItself, *, forget_before_ms: int, retention_ms: int
) -> Upkept:
    """Do what there is to do; the session's commits must say nothing of what is applied."""
    removed = Counter[Removed]()
    if said.mode is Mode.UPSERT:
        removed[Removed.TOMBSTONES] = _vacuum(session, target, said.ours, forget_before_ms)
    reach("after_forget")
    _compact(session, target)
    reach("after_compact")
    properties = table.properties(session, target)
    if properties is None:
        return Upkept()  # dropped meanwhile
    removed.update(_shorten(session, target, properties, retention_ms))
    return Upkept(removed, incomplete(session.table(target), said.ours, said.mode))


def _shorten(
    session: SparkSession, target: str, properties: Mapping[str, str], retention_ms: int
) -> Mapping[Removed, int]:
    """Let go of what no reader can need."""
    now = progress.read(session, target, properties)
    if now.depth is None or now.depth > _FAR_BACK:
        if now.floor != now.applied.floor:
            return {}  # rows below the floor may be there: the next merge takes them, and says so
        _restate(session, target, now.applied)
        now = progress.read(session, target, table.properties(session, target) or properties)
    reach("after_restate")
    removed = Counter[Removed]()
    cutoff = expires_before(now.ages, retention_ms)
    if cutoff is not None:
        there = session.table(f"{target}.snapshots").count()
        kept = f"retain_last => {(now.depth or 0) + _KEPT}"
        before = f"older_than => timestamp_millis({cutoff})"
        (gone,) = _call(session, "expire_snapshots", target, f"{before}, {kept}")
        removed[Removed.FILES] = sum(gone)  # it says how many went of each kind
        left = session.table(f"{target}.snapshots").count()
        removed[Removed.SNAPSHOTS] = max(0, there - left)
    reach("after_expire")
    removed[Removed.FILES] += _orphans(session, target, properties, now.ages)
    return removed


def expires_before(ages: Sequence[int], retention_ms: int) -> int | None:
    """Return the moment before which snapshots go, from their times, newest first; None: all stay."""
    if not ages:
        return None
    cutoff = ages[0] - retention_ms
    if len(ages) > _MOST_SNAPSHOTS:
        cutoff = min(max(cutoff, ages[_MOST_SNAPSHOTS - 1]), ages[0] - _LEAST_MS)
    return cutoff if ages[-1] < cutoff else None


def _vacuum(session: SparkSession, target: str, ours: OurColumns, forget_before_ms: int) -> int:
    try:
        return forget(session, target, ours, forget_before_ms)
    except FAILED as exc:
        if not is_conflict(exc):
            raise
        return 0


def _compact(session: SparkSession, target: str) -> None:
    options = ", ".join(f"{literal(name)}, {literal(value)}" for name, value in _COMPACTION.items())
    try:
        _call(session, "rewrite_data_files", target, f"options => map({options})")
    except FAILED as exc:
        if not is_conflict(exc):
            raise


def _orphans(session: SparkSession, target: str, properties: Mapping[str, str], ages: Sequence[int]) -> int:
    """Look through all of the table's files, where the table has gone on for a day since the last time."""
    if not ages:
        return 0
    last = int(properties.get(_LOOKED, "0"))
    if ages[0] - last < _DAY_MS:
        return 0
    gone = 0
    if last:  # a table never looked through is taken for new
        gone = len(_call(session, "remove_orphan_files", target, "prefix_listing => true"))
        reach("after_sweep")
    spark_table.say(session, target, {_LOOKED: str(ages[0])})
    return gone


def _restate(session: SparkSession, target: str, applied: Applied) -> None:
    with progress.saying(session, applied):
        session.sql(f"INSERT INTO {target} SELECT * FROM {target} LIMIT 0")  # noqa: S608 - names are quoted


def _call(session: SparkSession, procedure: str, target: str, more: str) -> list[Row]:
    call = f"CALL {quoted(CATALOG)}.system.{procedure}(table => {literal(target)}, {more})"
    return session.sql(call).collect()
