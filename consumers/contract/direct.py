"""The newest changes of a batch in the driver's memory, and a target that merges them without a frame.

Most batches of a quiet table are small, and what Spark does before and after its work costs more than the
work.  A target that can bring changes into a table by itself says so with this protocol.  It promises what
`apply` of target.py promises, for the same plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wrackline.consumers.contract.plan import MergePlan

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DirectChanges:
    """The newest change of each key, in Arrow; `columns` are the plan's.

    A delete has values for the key alone.  `unsent` and `missing` say of a column, by its place, which
    changes lack it: the stored value stays, or nobody has one.
    """

    columns: "Sequence[pa.Array]"
    seq: "pa.StringArray"
    op: "pa.StringArray"
    deleted: "pa.BooleanArray"
    committed_ms: "pa.Int64Array"  # at the source
    unsent: "Mapping[int, pa.BooleanArray]" = field(default_factory=dict)
    missing: "Mapping[int, pa.BooleanArray]" = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.seq)

    def counts(self) -> Mapping[str, int]:
        """Return how many changes each operation has."""
        return {one["values"]: one["counts"] for one in self.op.value_counts().to_pylist()}

    def take(self, places: "pa.Array") -> "DirectChanges":
        """Return some of them."""
        return DirectChanges(
            [one.take(places) for one in self.columns],
            self.seq.take(places),
            self.op.take(places),
            self.deleted.take(places),
            self.committed_ms.take(places),
            {column: one.take(places) for column, one in self.unsent.items()},
            {column: one.take(places) for column, one in self.missing.items()},
        )


class DirectMerge(Protocol):
    """One table, as it was when the merge began."""

    def merge(self, changes: DirectChanges, plan: MergePlan) -> bool:
        """Merge and commit, with all that is applied then; False: nothing is changed."""
        ...


@runtime_checkable
class DirectTarget(Protocol):
    """A target that can merge changes by itself."""

    def begin_direct(self, plan: MergePlan) -> DirectMerge | None:
        """Look at the plan's table; None: it can't be merged into like this."""
        ...
