"""The newest change of each key, as a target merges it, whatever the batch holds.

In: a batch's records and their outlines.  Out: the frame that a target stages, one row a key; where events
are kept, all of them.  A batch that was written as the table's newest change was is cheaper (fast_path.py).
"""

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame

from wrackline.consumers.contract.batch_scope import Outline
from wrackline.consumers.contract.plan import MergePlan, TableMode
from wrackline.consumers.records.decode import decode
from wrackline.consumers.records.dedupe import dedupe
from wrackline.consumers.records.event_rows import event_rows
from wrackline.consumers.records.writer_schema import WriterSchema

WriterSchemas = Mapping[tuple[int | None, int], WriterSchema]


def slow_newest_changes(
    records: DataFrame, outlines: Collection[Outline], writers: WriterSchemas, plan: MergePlan
) -> DataFrame:
    """Return the newest change of each key, as dedupe.py describes it."""
    if plan.mode is not TableMode.UPSERT:
        return event_rows(records, writers, plan)
    columns = [column.target for column in plan.columns]
    truncated = any(one.floor for one in outlines if one.pair in writers)
    changes = decode(records, writers, plan, truncated=truncated)
    return dedupe(changes, columns, plan.key, plan.lacking)
