"""What keeps a table that takes small commits for ever fast and small.

In: a table, and before which moment a delete may be forgotten.  Out: the same table for every reader, with
the same progress.  In this order, each step safe to lose:

    forget     tombstones (forgetting.py); nothing of a history or of an append table
    compact    small files, and files of which much is deleted, into larger ones
    cut        once a day: what is applied is said anew, then the log behind the retention goes
    vacuum     once a day: files that no version within the retention needs

Delta cuts a log with a checkpoint alone, so the first of two changes of properties makes one, and the second
takes the leave to cut back: until the next time nobody else's checkpoint loses what is applied.  Where an
upkeep ended between the two, the next one begins with the second.  What time it is, the newest commit says.
A batch that commits meanwhile wins, and a batch that is disturbed merges again at once (merge.py).
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.failpoints import reach
from wrackline.consumers.forgetting import forget
from wrackline.consumers.merge_sql import quoted
from wrackline.consumers.plan import Mode
from wrackline.consumers.plugin import Removed, Upkept
from wrackline.consumers.spark_reader import incomplete
from wrackline.consumers.spark_table import Address, OfItself, say
from wrackline.consumers.targets.delta import progress
from wrackline.consumers.targets.delta.merge import FAILED, is_conflict
from wrackline.consumers.targets.delta.table import (
    CHECKPOINTS,
    CUTS_ITS_LOG,
    KEEPS_ITS_LOG,
    keep_log,
    kept_for,
)
from wrackline.schemas.table import TableId

T = TypeVar("T")

_CUT = "wrackline.cut"  # the newest commit when the log was last cut
_LOOKED_BACK = 20  # commits that may come while files go
_DAY_MS = 24 * 3_600_000
_SESSION = {
    "spark.databricks.delta.optimize.minFileSize": str(96 << 20),
    "spark.databricks.delta.optimize.maxFileSize": str(128 << 20),
    "spark.databricks.delta.vacuum.logging.enabled": "true",
}


def upkeep(
    session: SparkSession,
    target: Address,
    table: TableId,
    said: OfItself,
    properties: Mapping[str, str],
    *,
    forget_before_ms: int,
    retention_ms: int,
) -> Upkept:
    """Do what there is to do, in a session of its own."""
    for name, value in _SESSION.items():
        session.conf.set(name, value)
    _give_way(lambda: keep_log(session, target, properties))
    removed = {}
    if said.mode is Mode.UPSERT:
        tombstones = _give_way(lambda: forget(session, target.name, said.ours, forget_before_ms))
        removed[Removed.TOMBSTONES] = tombstones or 0
    reach("after_forget")
    _give_way(lambda: session.sql(f"OPTIMIZE {target.name}"))
    reach("after_compact")
    now = progress.read(session, target, table)
    if now.committed_ms - int(properties.get(_CUT, "0")) >= _DAY_MS:
        removed[Removed.FILES] = _shorten(session, target.name, said, now, retention_ms)
    return Upkept(removed, incomplete(session.table(target.name), said.ours, said.mode))


def _shorten(
    session: SparkSession, name: str, said: OfItself, now: progress.Progress, retention_ms: int
) -> int:
    """Let go of what no reader can need; return how many files went, as the log of Delta says."""
    _give_way(lambda: _cut(session, name, quoted(said.ours.seq), now, retention_ms))
    reach("after_expire")
    session.sql(f"VACUUM {name}")
    ended = session.sql(f"DESCRIBE HISTORY {name} LIMIT {_LOOKED_BACK}").where("operation = 'VACUUM END'")
    newest = ended.orderBy(F.desc("version")).select(F.col("operationMetrics")["numDeletedFiles"]).first()
    return 0 if newest is None else int(newest[0])


def _cut(session: SparkSession, name: str, seq: str, now: progress.Progress, retention_ms: int) -> None:
    with progress.saying(session, now.applied, now):
        session.sql(f"UPDATE {name} SET {seq} = {seq} WHERE false")  # noqa: S608 - names are quoted
    reach("after_restate")
    say(session, name, {CUTS_ITS_LOG: "true", CHECKPOINTS: "1", **kept_for(retention_ms)})
    reach("while_cutting")
    say(session, name, {**KEEPS_ITS_LOG, _CUT: str(now.committed_ms)})


def _give_way(step: Callable[[], T]) -> T | None:
    try:
        return step()
    except FAILED as exc:
        if not is_conflict(exc):
            raise
        return None
