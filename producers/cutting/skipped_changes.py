"""Changes that the settings leave out of single tables: `skipped.operations.<table>`.

In: a log's steps.  Out: the same steps without these changes; each place of the log is still passed.  What is
skipped of every table is left out where records are made (rows/row_records.py), which costs less.
"""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeAlias

from wrackline.producers.contract.steps import Rows, Shape, Step, Truncate, UnfitRow
from wrackline.schemas.tables.table import TableId

SkippedOf: TypeAlias = Callable[
    [TableId], AbstractSet[str]
]  # the operations that a table alone does not publish


class SkippedChanges:
    """Knows by their refs which tables leave something out."""

    def __init__(self, skipped_of: SkippedOf) -> None:
        self._skipped_of = skipped_of
        self._by_ref: dict[int, AbstractSet[str]] = {}

    def leave(self, steps: Iterable[Step]) -> Iterator[Step]:
        """Return the steps that are left; one of a table's changes alone becomes one of no rows."""
        for step in steps:
            match step:
                case Shape(ref=ref, table=table):
                    self._by_ref.pop(ref, None)
                    if skipped := self._skipped_of(table.id):
                        self._by_ref[ref] = skipped
                    yield step
                case Rows(rows=rows) if self._by_ref:
                    yield replace(step, rows=[row for row in rows if not self._leaves(row[0], row[1])])
                case UnfitRow() if self._leaves(step.ref, step.misfit.op):
                    pass  # rows that end behind it follow
                case Truncate(upto=upto) if self._leaves(step.ref, "t"):
                    yield Rows((), upto)
                case _:
                    yield step

    def _leaves(self, ref: int, op: str) -> bool:
        return op in self._by_ref.get(ref, ())
