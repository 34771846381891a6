"""A few newest changes that are in the driver's memory, and a target that merges them without a frame.

Most batches of a quiet table are small, and what Spark does before and after its work costs more than the
work.  A target that can bring a few rows into a table by itself says so with this protocol.  It promises what
`apply` of target.py promises, for the same plan.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from wrackline.consumers.contract.plan import MergePlan


class Record(NamedTuple):
    """One record of Kafka."""

    key: bytes | None
    value: bytes | None  # None: it is there for compaction
    offset: int
    published_ms: int


class DirectRow(NamedTuple):
    """The newest change of one key; it lacks no value."""

    values: tuple[object, ...]  # by the plan's columns, as Avro has them without logical types
    seq: str
    op: str
    committed_ms: int  # at the source

    @property
    def deleted(self) -> bool:
        """Whether the row is gone; then only the key has values."""
        return self.op == "d"


class DirectMerge(Protocol):
    """One table, as it was when the merge began."""

    def merge(self, rows: Sequence[DirectRow], plan: MergePlan) -> bool:
        """Merge and commit, with all that is applied then; False: nothing is changed."""
        ...


@runtime_checkable
class DirectTarget(Protocol):
    """A target that can merge a few rows by itself."""

    def begin_direct(self, plan: MergePlan) -> DirectMerge | None:
        """Look at the plan's table; None: it can't be merged into like this."""
        ...
