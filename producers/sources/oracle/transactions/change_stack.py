"""The changes that one thread made in a transaction: a stack, whose lower part may be in a file.

    memory   ... c6 c7 c8 <- top       a rollback to a savepoint takes changes off the top, newest first
    file     [c1 c2 c3] [c4 c5]        what is taken off further is read back, a segment at a time

A row with ROLLBACK = 1 takes back the newest change of its row that is still there, and that change must be
the inverse of what the row shows.  Where that is not so, nothing is taken back, and the caller hears why.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wrackline.producers.sources.oracle.mining.mined_row import (
    HEADS,
    INTERNAL,
    LOB_BEGINS,
    LOB_LOCATOR,
    LOB_PARTS,
    ROW_BYTES,
    UPDATE,
    MinedRow,
    TableKey,
    names_a_row,
)
from wrackline.producers.sources.oracle.transactions.mined_change import MinedChange
from wrackline.producers.sources.oracle.transactions.spill_file import SEGMENT_BYTES, SpillFile


class StackPlace(NamedTuple):
    """Where a change is: in a segment of the file, or in memory (None)."""

    segment: int | None
    at: int
    change: MinedChange


class ChangeStack:
    """Changes in the order in which they came."""

    def __init__(self, folder: Path) -> None:
        """Begin with none; `folder` takes the file, if there will be one."""
        self._folder = folder
        self._memory: list[MinedChange] = []
        self._spill: SpillFile | None = None
        self.size = 0  # bytes in memory, about
        self.has_lobs_alone = False

    def take(self, row: MinedRow) -> bool:
        """Take a row that is not of a rollback; False: it is a part of a LOB of an unknown row."""
        top = self._memory[-1] if self._memory else None
        if row.operation == INTERNAL:
            if top is not None and top.unclosed and _ends(top, row):
                top.close(row.row_id)
            return True
        if row.operation in LOB_PARTS:
            return self._take_part(top, row)
        known = names_a_row(row.row_id)
        if (
            top is not None
            and top.unclosed
            and row.operation == UPDATE
            and known
            and top.table == row.of_table
        ):
            top.rows.append(row)
            top.close(row.row_id)
            self._grow(row)
            return True
        unclosed = not known and row.operation in HEADS
        self._push(MinedChange(row.operation, row.row_id if known else "", unclosed, [row]), row)
        return True

    def _take_part(self, top: MinedChange | None, row: MinedRow) -> bool:
        known = names_a_row(row.row_id)
        if top is not None and top.table == row.of_table:
            begins = row.operation in LOB_BEGINS
            if top.unclosed:
                belongs = not known and (not begins or top.may_begin(row))
            else:
                same = not known or row.row_id == top.row_id
                belongs = top.operation == LOB_LOCATOR and not begins and same
            if belongs:
                top.add_part(row)
                if begins:
                    self._grow(row)
                return True
        if not known and row.operation not in LOB_BEGINS:
            return False
        change = MinedChange(LOB_LOCATOR, row.row_id if known else "", not known, [row], {row.operation: 1})
        self.has_lobs_alone = True
        self._push(change, row)
        return True

    def newest(self, row_id: str, table: TableKey | None) -> StackPlace | None:
        """Find the newest change that may be of this row: it is, or its ROW_ID is not known."""
        while not self._memory and self._spill:
            self._memory = self._spill.take_back()
            self.size = sum(change.size for change in self._memory)
        for at in range(len(self._memory) - 1, -1, -1):
            if _may_be(self._memory[at], row_id, table):
                return StackPlace(None, at, self._memory[at])
        if self._spill is not None:
            for number in range(len(self._spill) - 1, -1, -1):
                for at, change in reversed(self._spill.read(number)):
                    if _may_be(change, row_id, table):
                        return StackPlace(number, at, change)
        return None

    def remove(self, place: StackPlace) -> None:
        """Take a change back."""
        if place.segment is None:
            del self._memory[place.at]
            self.size -= place.change.size
        elif self._spill is not None:
            self._spill.drop(place.segment, place.at)

    def undo_part(self, row: MinedRow) -> bool:
        """Take a part of a LOB back, which must be the newest change's; False: it is not."""
        top = self._memory[-1] if self._memory else None
        if top is None or top.table != row.of_table:
            return False
        if names_a_row(row.row_id) and row.row_id != top.row_id:
            return False
        before = top.size
        if not top.drop_part(row.operation):
            return False
        self.size += top.size - before
        if top.is_empty:
            self.remove(StackPlace(None, len(self._memory) - 1, top))
        return True

    def spill(self) -> None:
        """Write what is in memory to the file, but for the last change, which may not be complete."""
        written, self._memory = self._memory[:-1], self._memory[-1:]
        if not written:
            return
        if self._spill is None:
            self._spill = SpillFile(self._folder)
        some: list[MinedChange] = []
        size = 0
        for change in written:
            some.append(change)
            size += change.size
            if size >= SEGMENT_BYTES:
                self._spill.append(some)
                some, size = [], 0
        if some:
            self._spill.append(some)
        self.size = sum(change.size for change in self._memory)

    @property
    def file_bytes(self) -> int:
        """Bytes in the file."""
        return 0 if self._spill is None else self._spill.size

    def changes(self) -> Iterator[MinedChange]:
        """Return what is left, in order, with one segment in memory at a time."""
        if self._spill is not None:
            for number in range(len(self._spill)):
                for _, change in self._spill.read(number):
                    yield change
        yield from self._memory

    def close(self) -> None:
        """Give the file up."""
        if self._spill is not None:
            self._spill.close()

    def _push(self, change: MinedChange, row: MinedRow) -> None:
        self._memory.append(change)
        self._grow(row)

    def _grow(self, row: MinedRow) -> None:
        self.size += ROW_BYTES + len(row.redo)


def _ends(change: MinedChange, row: MinedRow) -> bool:
    """Whether an INTERNAL row is the last of a statement with LOBs; it names no table, but its object."""
    objects = {row.object_id, change.rows[0].object_id} - {0}
    return names_a_row(row.row_id) and len(objects) <= 1


def _may_be(change: MinedChange, row_id: str, table: TableKey | None) -> bool:
    """Tables of one cluster may share a ROW_ID, so the table counts."""
    return (change.unclosed or change.row_id == row_id) and table in {None, change.table}
