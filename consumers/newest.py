"""The newest change of each key, as a target merges it, whatever the batch holds.

In: a batch's records and their outlines.  Out: the frame that a target stages, one row a key; where events
are kept, all of them.  A batch that is as the table's newest change was is cheaper (as_known.py).
"""

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame

from wrackline.consumers.decode import decode
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.events import event_rows
from wrackline.consumers.plan import MergePlan, Mode
from wrackline.consumers.rounds import Outline
from wrackline.consumers.writers import Writer

Writers = Mapping[tuple[int | None, int], Writer]


def latest(records: DataFrame, outlines: Collection[Outline], writers: Writers, plan: MergePlan) -> DataFrame:
    """Return the newest change of each key, as dedupe.py describes it."""
    if plan.mode is not Mode.UPSERT:
        return event_rows(records, writers, plan)
    columns = [column.target for column in plan.columns]
    truncated = any(one.floor for one in outlines if one.pair in writers)
    changes = decode(records, writers, plan, truncated=truncated)
    return dedupe(changes, columns, plan.key, plan.lacking)
