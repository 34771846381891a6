"""Iceberg's part of an upkeep (lake/lake_upkeep.py).

In: a table.  Out: the same table for every reader, with the same progress.

    compact    small files, and files of which much is deleted, into larger ones
    shorten    restate    what is applied, in a commit of its own, where it is so far back that it
                          might expire
               expire     snapshots that no reader can need; behind the newest commit, so that no clock
                          is needed
               orphans    once a day, files of writers that died, if they are older than three days
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Row, SparkSession

from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.consumers.failpoints import reach
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.merge_sql import literal, quote
from wrackline.consumers.lake.table_format import LakeTable
from wrackline.consumers.targets.iceberg import table as tables
from wrackline.consumers.targets.iceberg.applied import commit_with_applied, read_applied
from wrackline.consumers.targets.iceberg.connect import CATALOG

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


def compact(session: SparkSession, table: LakeTable) -> None:
    """Rewrite the table's small files."""
    options = ", ".join(f"{literal(name)}, {literal(value)}" for name, value in _COMPACTION.items())
    _call(session, "rewrite_data_files", table.name, f"options => map({options})")


def shorten(session: SparkSession, table: LakeTable, *, retention_ms: int) -> Mapping[UpkeepRemoval, int]:
    """Remove what no reader can need."""
    target = table.name
    now = read_applied(session, table)
    if now.depth is None or now.depth > _FAR_BACK:
        if now.floor != now.applied.floor:
            return {}  # rows below the floor may be there: the next merge takes them, and says so
        _restate(session, target, now.applied)
        restated = tables.properties(session, target) or table.properties
        now = read_applied(session, replace(table, properties=restated))
    reach("after_restate")
    removed = Counter[UpkeepRemoval]()
    cutoff = expires_before(now.ages, retention_ms)
    if cutoff is not None:
        there = session.table(f"{target}.snapshots").count()
        kept = f"retain_last => {(now.depth or 0) + _KEPT}"
        before = f"older_than => timestamp_millis({cutoff})"
        (gone,) = _call(session, "expire_snapshots", target, f"{before}, {kept}")
        removed[UpkeepRemoval.FILES] = sum(gone)  # it says how many went of each kind
        left = session.table(f"{target}.snapshots").count()
        removed[UpkeepRemoval.SNAPSHOTS] = max(0, there - left)
    reach("after_expire")
    removed[UpkeepRemoval.FILES] += _orphans(session, target, table.properties, now.ages)
    return removed


def expires_before(ages: Sequence[int], retention_ms: int) -> int | None:
    """Return the moment before which snapshots go, from their times, newest first; None: all stay."""
    if not ages:
        return None
    cutoff = ages[0] - retention_ms
    if len(ages) > _MOST_SNAPSHOTS:
        cutoff = min(max(cutoff, ages[_MOST_SNAPSHOTS - 1]), ages[0] - _LEAST_MS)
    return cutoff if ages[-1] < cutoff else None


def _orphans(session: SparkSession, target: str, properties: Mapping[str, str], ages: Sequence[int]) -> int:
    """Look through all of the table's files, where its newest commit is a day after the last time."""
    if not ages:
        return 0
    last = int(properties.get(_LOOKED, "0"))
    if ages[0] - last < _DAY_MS:
        return 0
    gone = 0
    if last:  # a table that was never looked through is taken for new
        gone = len(_call(session, "remove_orphan_files", target, "prefix_listing => true"))
        reach("after_sweep")
    table_shape.set_properties(session, target, {_LOOKED: str(ages[0])})
    return gone


def _restate(session: SparkSession, target: str, applied: Applied) -> None:
    with commit_with_applied(session, applied):
        session.sql(f"INSERT INTO {target} SELECT * FROM {target} LIMIT 0")  # noqa: S608 - names are quoted


def _call(session: SparkSession, procedure: str, target: str, more: str) -> list[Row]:
    call = f"CALL {quote(CATALOG)}.system.{procedure}(table => {literal(target)}, {more})"
    return session.sql(call).collect()
