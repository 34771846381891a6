"""A small batch, merged by the driver itself: no job of Spark's reads or plans it.

    plan as known -> the table -> records -> newest rows -> commit

It is a shorter way to the same commit: wherever something is not as expected, nothing is changed, and the
batch is merged as any other.
"""

from collections import Counter
from dataclasses import replace
from typing import Final

from wrackline.consumers.batch.as_known import plan_as_known
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.batch.report import Step, Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange, applied_after
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.direct import DirectTarget
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.failpoints import reach
from wrackline.consumers.records.direct_rows import newest_rows

MOST_OFFSETS: Final = 5_000  # of a small batch


def merge_directly(
    wanted: BatchRange, before: Applied, target: SparkTarget, rules: BatchRules, watch: Stopwatch
) -> tuple[Applied, BatchCounts] | None:
    """Merge a batch; None: nothing is changed, and Spark has to do it."""
    reader = rules.reader
    if reader is None or wanted.offsets > MOST_OFFSETS or not isinstance(target, DirectTarget):
        return None
    expected = plan_as_known(wanted, before, target, rules)
    if expected is None:
        return None
    known, writer, plan = expected
    begun = target.begin_direct(plan)
    watch.lap(Step.SHAPE)
    records = None if begun is None else reader.read(wanted)
    found = None if records is None else newest_rows(records, known, writer, plan)
    watch.lap(Step.READ)
    if begun is None or found is None:
        return None
    plan = replace(
        plan, upto=plan.upto.then(applied_after(before, wanted.topic, wanted.end, [found.outline]))
    )
    reach("before_stage")
    rules.hold()
    reach("before_apply")
    done = begun.merge(found.rows, plan)
    watch.lap(Step.APPLY)
    if not done:
        return None
    reach("after_apply")
    return plan.upto, BatchCounts(Counter(row.op for row in found.rows), found.outline.latest)
