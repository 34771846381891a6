"""Single changes as the pipeline's frame: Spark folds them, as it folds a batch."""

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.records.dedupe import dedupe
from wrackline.schemas.tables.types import spark_type
from wrackline.testing.targets.merge_model import Change


def folded_frame(session: SparkSession, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
    """Make the frame; what the plan's floor voids is left out."""
    fields = ", ".join(f"`{column.target}`: {spark_type(column.type)}" for column in plan.columns)
    shape = (
        f"array<struct<row: struct<{fields}>, seq: string, op: string, at: bigint,"
        " unsent: array<string>, offset: bigint>>"
    )
    rows = [
        {"row": one.values, "seq": one.seq, "op": one.op, "at": one.commit_ts,
         "unsent": sorted(one.unsent), "offset": offset}
        for offset, one in enumerate(changes)
        if plan.floor is None or one.seq >= plan.floor
    ]  # fmt: skip
    told = session.sql(
        "SELECT * EXCEPT (at), timestamp_millis(at) commit_ts FROM (SELECT inline(from_json(:rows, :shape)))",
        {"rows": json.dumps(rows), "shape": shape},
    )
    names = [column.target for column in plan.columns]
    partial = () if plan.only_adds else None  # an event's own row is never folded, and keeps its values
    return dedupe(told, names, plan.key, partial, told_late=plan.told_late)
