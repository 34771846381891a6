"""What keeps a table fast and small although it takes small commits forever.

In: a table, and the moment before which a delete may be forgotten.  Out: the same table for every reader,
with the same progress.  In this order, each step with a bound of its own, and each safe to lose:

    vacuum     tombstones of deletes that no event can be older than any more (tombstone_vacuum.py); nothing
               of a history or of an append table
    compact    small files, and files of which much is deleted, into larger ones
    shorten    versions and files that no reader can need, as the format's upkeep.py says

A batch that commits meanwhile wins: the step that it disturbed is left for the next time.  A batch that is
disturbed merges again at once (lake_target.py).
"""

from collections import Counter
from dataclasses import replace

from pyspark.sql import SparkSession

from wrackline.consumers.contract.plan import TableMode
from wrackline.consumers.contract.target import UpkeepRemoval, UpkeepResult
from wrackline.consumers.failpoints import reach
from wrackline.consumers.lake.reader_view import count_incomplete
from wrackline.consumers.lake.table_format import LakeTable, P, TableFormat, unless_overtaken
from wrackline.consumers.lake.tombstone_vacuum import forget_tombstones


def upkeep(
    form: TableFormat[P], session: SparkSession, table: LakeTable, *, forget_before_ms: int
) -> UpkeepResult:
    """Do what there is to do; the session's commits must not say what is applied."""
    name, ours, mode = table.name, table.origin.ours, table.origin.mode
    removed = Counter[UpkeepRemoval]()
    unless_overtaken(form.is_conflict, lambda: form.keep_progress(session, table))
    if mode is TableMode.UPSERT:
        forgotten = unless_overtaken(
            form.is_conflict, lambda: forget_tombstones(session, name, ours, forget_before_ms)
        )
        removed[UpkeepRemoval.TOMBSTONES] = forgotten or 0
    reach("after_forget")
    unless_overtaken(form.is_conflict, lambda: form.compact(session, table))
    reach("after_compact")
    properties = form.properties(session, name)
    if properties is None:
        return UpkeepResult()  # dropped meanwhile
    removed.update(form.shorten(session, replace(table, properties=properties)))
    return UpkeepResult(removed, count_incomplete(session.table(name), ours, mode))
