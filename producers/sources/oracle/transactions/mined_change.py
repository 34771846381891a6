"""What changes one row at once: one mined row, or those of a statement with LOBs.  Pure.

    INSERT   no ROW_ID              the scalars, and the LOBs as they begin
    LOCATOR  no ROW_ID, WRITE …     of each LOB that is stored elsewhere
    UPDATE or INTERNAL   ROW_ID     the last: LOBs that are stored in the row, or nothing

A rollback to a savepoint shows only the row's ROW_ID, and takes back all of them at once.  The contents of
LOBs are not kept, because such a row is read again by its key; only how many parts there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self, TypeAlias

from wrackline.producers.sources.oracle.mining.mined_row import (
    DELETE,
    INSERT,
    LOB_BEGINS,
    LOB_LOCATOR,
    ROW_BYTES,
    UPDATE,
    XML_BEGIN,
    MinedRow,
    TableKey,
)

_INVERSE: Final = {DELETE: {INSERT}, INSERT: {DELETE}, UPDATE: {UPDATE, LOB_LOCATOR}}


@dataclass(slots=True)
class MinedChange:
    """One change; `operation` is LOB_LOCATOR if it is of LOBs alone."""

    operation: int
    row_id: str
    unclosed: bool
    """Whether its ROW_ID is not known (yet)."""
    rows: list[MinedRow]
    parts: dict[int, int] = field(default_factory=dict)
    """How many parts of LOBs it has, by operation."""

    @property
    def table(self) -> TableKey:
        """The table of its rows."""
        return self.rows[0].of_table

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return sum(ROW_BYTES + len(row.redo) for row in self.rows)

    def is_undone_by(self, operation: int) -> bool:
        """Whether a rollback that shows this operation takes it back."""
        return self.operation in _INVERSE.get(operation, ())

    def may_begin(self, row: MinedRow) -> bool:
        """Whether a LOB that begins is of this statement: but for XML, its record is then the first row's."""
        return row.operation == XML_BEGIN or row.rs_id == self.rows[0].rs_id

    def add_part(self, row: MinedRow) -> None:
        """Add a part of a LOB; the first of each LOB stays, because it names the column."""
        if row.operation in LOB_BEGINS:
            self.rows.append(row)
        self.parts[row.operation] = self.parts.get(row.operation, 0) + 1

    def drop_part(self, operation: int) -> bool:
        """Take the newest part with this operation off; False: there is none."""
        if not (count := self.parts.get(operation, 0)):
            return False
        self.parts[operation] = count - 1
        if operation in LOB_BEGINS:
            at = max(at for at, row in enumerate(self.rows) if row.operation == operation)
            if len(self.rows) > 1:
                del self.rows[at]
        return True

    @property
    def is_empty(self) -> bool:
        """Whether it was of LOBs alone, and all of their parts are gone."""
        return self.operation == LOB_LOCATOR and not any(self.parts.values())

    def close(self, row_id: str) -> None:
        """Set the ROW_ID, which the statement's last row shows."""
        self.row_id, self.unclosed = row_id, False

    def named_rows(self) -> list[MinedRow]:
        """Return its rows, each with the ROW_ID."""
        return [row if row.row_id == self.row_id else row._replace(row_id=self.row_id) for row in self.rows]

    def plain(self) -> "PlainChange":
        """Return plain values, for a file."""
        return self.operation, self.row_id, self.unclosed, self.rows, list(self.parts.items())

    @classmethod
    def of_plain(cls, values: "PlainChange") -> Self:
        """Make it of plain values, which are our own; lists stand there for tuples."""
        operation, row_id, unclosed, rows, parts = values
        made = [MinedRow._make((*row[:2], tuple(row[2]), *row[3:])) for row in rows]
        return cls(operation, row_id, unclosed, made, dict(parts))


PlainChange: TypeAlias = tuple[int, str, bool, Sequence[MinedRow], Sequence[tuple[int, int]]]
