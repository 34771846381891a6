"""Delta's part of an upkeep (lake/lake_upkeep.py).

In: a table.  Out: the same table for every reader, with the same progress.

    compact    small files, and files of which much is deleted, into larger ones
    shorten    cut       once a day: what is applied is written again, then the log behind the retention goes
               vacuum    once a day: files that no version within the retention needs

Delta cuts a log only with a checkpoint, so the first of two changes of properties makes one, and the second
takes back the permission to cut: until the next time no checkpoint of others loses what is applied.  Where an
upkeep ended between the two, the next one begins with the second.  The newest commit says what time it is.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.consumers.failpoints import reach
from wrackline.consumers.lake.merge_sql import quote
from wrackline.consumers.lake.table_format import LakeTable, unless_overtaken
from wrackline.consumers.lake.table_shape import set_properties
from wrackline.consumers.targets.delta.applied import DeltaApplied, commit_with_applied, read_applied
from wrackline.consumers.targets.delta.apply import is_conflict
from wrackline.consumers.targets.delta.table import (
    CHECKPOINTS,
    CUTS_ITS_LOG,
    KEEPS_ITS_LOG,
    retention_properties,
)

_CUT = "wrackline.cut"  # the newest commit when the log was last cut
_LOOKED_BACK = 20  # commits that may come while files go
_DAY_MS = 24 * 3_600_000
_FILE_SIZES = {
    "spark.databricks.delta.optimize.minFileSize": str(96 << 20),
    "spark.databricks.delta.optimize.maxFileSize": str(128 << 20),
}
_COUNTED = "spark.databricks.delta.vacuum.logging.enabled"


def compact(session: SparkSession, table: LakeTable) -> None:
    """Rewrite the table's small files."""
    for setting, value in _FILE_SIZES.items():
        session.conf.set(setting, value)
    session.sql(f"OPTIMIZE {table.name}")


def shorten(session: SparkSession, table: LakeTable, *, retention_ms: int) -> Mapping[UpkeepRemoval, int]:
    """Remove what no reader can need, once a day; return how many files went, as Delta's own log says."""
    name, seq = table.name, quote(table.origin.ours.seq)
    now = read_applied(session, table)
    if now.committed_ms - int(table.properties.get(_CUT, "0")) < _DAY_MS:
        return {}
    unless_overtaken(is_conflict, lambda: _cut(session, name, seq, now, retention_ms))
    reach("after_expire")
    session.conf.set(_COUNTED, "true")
    session.sql(f"VACUUM {name}")
    ended = session.sql(f"DESCRIBE HISTORY {name} LIMIT {_LOOKED_BACK}").where("operation = 'VACUUM END'")
    newest = ended.orderBy(F.desc("version")).select(F.col("operationMetrics")["numDeletedFiles"]).first()
    return {UpkeepRemoval.FILES: 0 if newest is None else int(newest[0])}


def _cut(session: SparkSession, name: str, seq: str, now: DeltaApplied, retention_ms: int) -> None:
    with commit_with_applied(session, now.applied, now):
        session.sql(f"UPDATE {name} SET {seq} = {seq} WHERE false")  # noqa: S608 - names are quoted
    reach("after_restate")
    set_properties(
        session, name, {CUTS_ITS_LOG: "true", CHECKPOINTS: "1", **retention_properties(retention_ms)}
    )
    reach("while_cutting")
    set_properties(session, name, {**KEEPS_ITS_LOG, _CUT: str(now.committed_ms)})
