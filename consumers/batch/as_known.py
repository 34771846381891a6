"""The plan of a batch that is expected to be written as the table's newest change was.

In: a range, and what its table has applied.  Out: that change, its writer, and the plan that follows from
them, if the table has their shape; the ways that read such a batch (records/fast_path.py, direct.py) find
out whether it is what was expected.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from wrackline.consumers.batch.evolve import reshape
from wrackline.consumers.batch.planning import BatchRules, BatchSurvey, plan_batch
from wrackline.consumers.contract.batch_scope import BatchRange, Outline, SchemaPair
from wrackline.consumers.contract.plan import Applied, MergePlan, NewestChange, TableMode
from wrackline.consumers.contract.target import Target
from wrackline.consumers.failpoints import reach
from wrackline.consumers.records.replaced_records import comparable_by_bytes
from wrackline.consumers.records.writer_schema import WriterSchema
from wrackline.schemas.errors import OperatorNeeded


class ExpectedBatch(NamedTuple):
    """What a batch is expected to be."""

    known: NewestChange
    writer: WriterSchema
    plan: MergePlan


def plan_as_known(
    wanted: BatchRange,
    before: Applied,
    target: Target[Any, Any],
    rules: BatchRules,
    fits: Callable[[MergePlan], bool] = lambda _: True,
) -> ExpectedBatch | None:
    """Plan such a batch; None: the table has no such change, or another shape, or does not fit."""
    known = comparable_by_bytes(before.newest)
    if known is None or rules.keeping.mode is not TableMode.UPSERT:
        return None
    pair = SchemaPair(known.key_id, known.value_id)
    expected = BatchSurvey([Outline(pair, known.seq, None, 1)])
    made = plan_batch(expected, wanted, before, target.can.identifiers, rules)
    if made is None or not fits(made.plan):
        return None
    plan = _plan_for_unchanged_shape(made.plan, target, rules)
    return None if plan is None else ExpectedBatch(known, made.writers[pair], plan)


def _plan_for_unchanged_shape(
    plan: MergePlan, target: Target[Any, Any], rules: BatchRules
) -> MergePlan | None:
    """Fit the plan to the table's shape of now; None: it has another, and the batch may say why.

    A batch that ended between its alteration and its merge leaves a shape behind that it brings again.
    """
    held = target.held(plan.table.id)
    try:
        plan, alterations = reshape(plan, held, target.can, rules.behaviour, rules.excluded(plan.table.id))
    except OperatorNeeded:
        return None
    if held is None or alterations:
        return None
    reach("before_shape")
    target.ensure_table(plan)
    return plan
