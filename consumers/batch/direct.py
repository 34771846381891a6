"""A batch, merged by the driver itself: no job of Spark's reads or plans it.

    plan as known -> the table -> records -> newest changes -> commit

It is a shorter way to the same commit: wherever something is not as expected, nothing is changed, and the
batch is merged as any other.
"""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from wrackline.consumers.batch.as_known import ExpectedBatch, plan_as_known
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.batch.report import Step, Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange, applied_after
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.direct import DirectTarget
from wrackline.consumers.contract.plan import Applied, MergePlan, NewestChange
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.failpoints import reach
from wrackline.consumers.newest.fetched_records import FetchedRecords
from wrackline.consumers.records.writer_schema import WriterSchema

if TYPE_CHECKING:
    from wrackline.consumers.newest.newest_changes import NewestChanges, NewestReader

_LOG: Final = logging.getLogger("wrackline.direct")


class DirectlyMerged(NamedTuple):
    """What was merged: the range that was wanted, or its beginning."""

    range: BatchRange
    upto: Applied
    counts: BatchCounts


def merge_directly(
    wanted: BatchRange,
    before: Applied,
    target: SparkTarget,
    rules: BatchRules,
    watch: Stopwatch,
    *,
    may_end_early: bool,
) -> DirectlyMerged | None:
    """Merge a batch; None: nothing is changed, and Spark has to do it.

    A range that takes too much memory is merged as far as there is room, if it `may_end_early`.
    """
    reader = rules.reader
    if reader is None or not isinstance(target, DirectTarget) or not reader.fits(wanted):
        return None
    expected = plan_as_known(wanted, before, target, rules)
    if expected is None:
        return None
    with reader.turn(wanted):
        return _merge(target, wanted, before, expected, rules, watch, may_end_early=may_end_early)


def _merge(
    target: DirectTarget,
    wanted: BatchRange,
    before: Applied,
    expected: ExpectedBatch,
    rules: BatchRules,
    watch: Stopwatch,
    *,
    may_end_early: bool,
) -> DirectlyMerged | None:
    known, writer, plan = expected
    begun = target.begin_direct(plan)
    newest = None if begun is None else _newest_reader(known, writer, plan)
    watch.lap(Step.SHAPE)
    if begun is None or newest is None or rules.reader is None:
        return None
    records = rules.reader.read(wanted)
    fits = records is not None and (may_end_early or not records.full)
    found = _newest_changes(newest, records) if records is not None and fits else None
    watch.lap(Step.READ)
    if records is None or found is None:
        return None
    wanted = wanted.up_to(records.reached_offsets()) if records.full else wanted
    # the plan's own offsets are those of the whole range
    done = applied_after(before, wanted.topic, wanted.end, [found.outline])
    plan = replace(plan, upto=replace(plan.upto, offsets=before.offsets).then(done))
    reach("before_stage")
    rules.hold()
    reach("before_apply")
    is_merged = begun.merge(found.changes, plan)
    watch.lap(Step.APPLY)
    if not is_merged:
        return None
    reach("after_apply")
    return DirectlyMerged(wanted, plan.upto, BatchCounts(found.changes.counts(), found.outline.latest))


def _newest_reader(known: NewestChange, writer: WriterSchema, plan: MergePlan) -> "NewestReader | None":
    from wrackline.consumers.newest.newest_changes import NewestReader  # noqa: PLC0415 - it needs Arrow

    return NewestReader.of(known, writer, plan)


def _newest_changes(newest: "NewestReader", records: FetchedRecords) -> "NewestChanges | None":
    try:
        return newest.newest(records)
    except Exception as exc:  # noqa: BLE001 - nothing is changed yet, and Spark says what it is
        _LOG.warning("a batch is left to Spark's readers: %s", type(exc).__name__)
        return None
