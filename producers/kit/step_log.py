"""The steps that a decoder has made of the log, until they are handed out.  Pure.

    Begin  Shape  Rows | Rows  Commit  Progress      a batch ends where its decoder says

The decoder reads the log, numbers the rows and counts their bytes, because that is done for every row.
Here is what is done once for a run of rows, a table or a transaction: the place behind the steps, the
shapes that were announced, what news of a table means for the steps that follow, and batches.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from wrackline.producers.contract.steps import (
    Batch,
    Fault,
    Position,
    Progress,
    Renamed,
    RowChange,
    Rows,
    Shape,
    Step,
    Truncate,
    Vanished,
)
from wrackline.schemas.tables.seq import ordinal_digits
from wrackline.schemas.tables.table import TableId, TableSchema

AT_ONCE: Final = 2000  # steps: the caller has other work to do in between

P = TypeVar("P", bound=Position)


class AnnouncedShape(NamedTuple):
    """A shape that the stream has announced."""

    shape: TableSchema
    ref: int  # used once
    value_id: int


class StepLog(Generic[P]):
    """The steps of one stream."""

    def __init__(self, start: P, aside: set[TableId]) -> None:
        """Take where the stream starts, and the set of tables of which nothing is handed out."""
        self.at = start  # up to here all steps were handed out, or wait
        self.steps: list[Step] = []  # since the last batch ended
        self.shapes: dict[TableId, AnnouncedShape] = {}  # a table's last one
        self._aside = aside
        self._refs = 0
        self._ready: deque[Batch] = deque()

    @property
    def full(self) -> bool:
        """Whether a batch has ended, or should end."""
        return bool(self._ready) or len(self.steps) > AT_ONCE

    def end_batch(self, size: int) -> None:
        """End the batch; a picture of many tables makes more steps than one batch holds.

        `size` is that of all its rows, so it bounds each part.
        """
        for first in range(0, len(self.steps), AT_ONCE):
            self._ready.append(Batch(tuple(self.steps[first : first + AT_ONCE]), size))
        self.steps = []

    def take(self) -> Batch | None:
        """Hand out the oldest batch that has ended."""
        return self._ready.popleft() if self._ready else None

    def end_rows(self, rows: Sequence[RowChange], last: int, upto: P) -> None:
        """Close a run of rows before another step; `last` is the ordinal of its last row."""
        ordinal_digits(last)  # an ordinal that does not fit into seq would start again at 0
        self.at = upto
        self.steps.append(Rows(rows, upto))

    def truncate(self, ref: int, value: bytes, upto: P) -> None:
        """Hand out a table's `t` event."""
        self.at = upto
        self.steps.append(Truncate(ref, value, upto))

    def progress(self, upto: P) -> None:
        """Move the place; with the place as it is, the steps before are published even if nothing follows."""
        self.at = upto
        if self.steps and isinstance(self.steps[-1], Progress):
            self.steps.pop()
        self.steps.append(Progress(upto))

    def report(self, *news: Step) -> None:
        """Hand out the news of tables; they come before the steps that they explain."""
        for step in news:
            match step:
                case Fault(table):
                    self._aside.add(table)  # a new shape does not bring back the missed changes
                case Vanished(table) | Renamed(table):
                    self.shapes.pop(table, None)  # the next table with this name is another table
            self.steps.append(step)

    def announce(
        self, table: TableId, shape: TableSchema, value_id: int, filled: frozenset[int] = frozenset()
    ) -> AnnouncedShape:
        """Return a table's announced shape; announce it if it is not the last one."""
        known = self.shapes.get(table)
        if known is not None and known.shape == shape:
            return known
        self._refs += 1
        self.steps.append(Shape(self._refs, shape, None if known is None else known.shape, filled))
        made = self.shapes[table] = AnnouncedShape(shape, self._refs, value_id)
        return made
