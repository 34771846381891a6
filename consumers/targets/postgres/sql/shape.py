"""The columns that a table has in the target, and which of them are its key.

It is kept with what is applied (applied.py), so columns are found by identity, whatever they are called now.
Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from wrackline.consumers.contract.plan import ROW, OurColumns, PlannedColumn, TableMode


@dataclass(frozen=True, slots=True)
class PgTargetShape:
    """A table's columns in the target, and which of them are its key."""

    columns: tuple[PlannedColumn, ...]
    key: tuple[int, ...]  # identities
    ours: OurColumns
    numbers: Mapping[int, int]  # attribute numbers by identity; they find a column that was renamed by hand
    mode: TableMode = TableMode.UPSERT

    @property
    def keyless(self) -> bool:
        """Whether rows have no key, and are there as often as they came more than they went."""
        return self.mode is TableMode.UPSERT and self.key == (ROW,)

    @property
    def of_source(self) -> tuple[PlannedColumn, ...]:
        """The columns that readers see."""
        return tuple(column for column in self.columns if column.identity != ROW)
