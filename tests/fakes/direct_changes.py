"""The model's newest changes as a target takes them directly."""

from collections.abc import Mapping

import pyarrow as pa

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import MergePlan
from wrackline.consumers.targets.iceberg.direct.arrow_columns import arrow_type
from wrackline.testing.targets.merge_model import Key, Latest


def direct_changes(batch: Mapping[Key, Latest], plan: MergePlan) -> DirectChanges:
    """Return what consumers/newest makes of these changes."""
    changes = list(batch.values())

    def masks(which: str) -> dict[int, pa.Array]:
        made = {
            place: [column.target in getattr(one, which) for one in changes]
            for place, column in enumerate(plan.columns)
        }
        return {place: pa.array(mask, pa.bool_()) for place, mask in made.items() if any(mask)}

    return DirectChanges(
        [
            pa.array([one.values.get(column.target) for one in changes], arrow_type(column.type))
            for column in plan.columns
        ],
        pa.array([one.seq for one in changes], pa.string()),
        pa.array([one.op for one in changes], pa.string()),
        pa.array([one.deleted for one in changes], pa.bool_()),
        pa.array([one.commit_ts for one in changes], pa.int64()),
        masks("unsent"),
        masks("missing"),
    )
