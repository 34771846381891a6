"""One transaction whose end was not handed out yet: its changes by thread, and the tables in doubt.

Rows of one transaction may come from several threads of a cluster.  Inside a thread they come in the order of
the redo, so at the end the threads are merged by (SCN, thread, RBA).

What a rollback to a savepoint takes back is known exactly, or the table is in doubt: then its changes are not
published, and its rows are read again.  A transaction that is rolled back as a whole leaves no doubt.
"""

from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import NamedTuple

from wrackline.producers.sources.oracle.mining.mined_row import (
    INTERNAL,
    LOB_LOCATOR,
    LOB_PARTS,
    ROW_OPERATIONS,
    START,
    MinedRow,
    Rba,
    TableKey,
    names_a_row,
)
from wrackline.producers.sources.oracle.mining.position import CommitPlace, RedoRowPlace
from wrackline.producers.sources.oracle.transactions.change_stack import ChangeStack, StackPlace
from wrackline.producers.sources.oracle.transactions.mined_change import MinedChange
from wrackline.producers.sources.oracle.transactions.slot_index import TransactionKey
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define

ROLLBACK_UNMATCHED = define(
    "oracle.rollback_unmatched",
    OperatorNeeded,
    "transaction {xid} took changes of {table} back at SCN {scn}, and the log does not show which: {reason}",
    hint="what the table has now is read again: wrackline snapshot start <pipeline.toml> '{table}'",
)


class TransactionEnd(NamedTuple):
    """A COMMIT or a ROLLBACK of a whole transaction."""

    place: CommitPlace
    commits: bool
    timestamp: int


class TableDoubt(NamedTuple):
    """Why it is not known what was changed of a table, and its number: its name may be another by then."""

    object_id: int
    error: WracklineError


class OpenTransaction:
    """What is known of a transaction so far."""

    def __init__(self, key: TransactionKey, scn: int, began_us: int, folder: Path) -> None:
        """Begin with its first row, whatever that is: its SCN and its moment."""
        self.key = key
        self.start, self.began_us = scn, began_us
        self.has_start = False
        self.username = ""
        self.size = 0  # bytes in memory, about
        self.doubts: dict[TableKey, TableDoubt] = {}
        self.end: TransactionEnd | None = None
        self._folder = folder
        self._stacks: dict[int, ChangeStack] = {}

    def may_have_written(self, row: MinedRow) -> bool:
        """Whether a row without a sequence lies between its start and its end."""
        return self.start <= row.scn and (self.end is None or row.scn <= self.end.place.scn)

    def take(self, row: MinedRow) -> None:
        """Take any row but its end."""
        self.start = min(self.start, row.scn)
        if not self.username:
            self.username = row.username
        if row.operation == START:
            self.has_start = True
            return
        if self.doubts and row.of_table in self.doubts:
            return
        stack = self._stacks.get(row.thread)
        if stack is None:
            stack = self._stacks[row.thread] = ChangeStack(self._folder)
        if row.rollback:
            self._undo(row, stack)
            self.size = sum(one.size for one in self._stacks.values())
            return
        before = stack.size
        if not stack.take(row):
            self._doubt(row.of_table, row, "a part of a LOB has no row")
        self.size += stack.size - before

    def spill(self) -> None:
        """Write what is in memory to files."""
        for stack in self._stacks.values():
            stack.spill()
        self.size = sum(one.size for one in self._stacks.values())

    @property
    def file_bytes(self) -> int:
        """Bytes in files."""
        return sum(one.file_bytes for one in self._stacks.values())

    def rows(self) -> Iterator[tuple[RedoRowPlace, MinedRow]]:
        """Return its rows in order, each with its place, without those of tables in doubt."""
        stacks = [stack.changes() for stack in self._stacks.values()]
        record: tuple[int, int, Rba] | None = None
        number = 0
        for change in stacks[0] if len(stacks) == 1 else merge(*stacks, key=_order):
            if (order := _order(change)) != record:
                record, number = order, 0
            for row in change.named_rows():
                number += 1
                if change.table not in self.doubts:
                    yield RedoRowPlace(*order, number), row

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it is left."""
        return not self.doubts and next(self.rows(), None) is None

    def close(self) -> None:
        """Give its files up."""
        for stack in self._stacks.values():
            stack.close()

    def _undo(self, row: MinedRow, own: ChangeStack) -> None:
        if row.operation == INTERNAL:
            if own.has_lobs_alone and names_a_row(row.row_id):
                self._doubt_lobs(row, own)
            return
        if row.operation in LOB_PARTS:
            if not own.undo_part(row):
                self._doubt(row.of_table, row, "the newest change has no such part of a LOB")
            return
        if row.operation not in ROW_OPERATIONS:
            self._doubt(row.of_table, row, f"a rollback shows operation {row.operation}")
            return
        if not names_a_row(row.row_id):
            self._doubt(row.of_table, row, "the rollback names no row")
            return
        if (found := self._newest(row, own)) is None:
            self._doubt(row.of_table, row, "the row was not changed before")
            return
        stack, place = found
        if place.change.unclosed:
            self._doubt(row.of_table, row, "the row of the change before is not known")
        elif not place.change.is_undone_by(row.operation):
            self._doubt(row.of_table, row, "the change before is not the inverse")
        else:
            stack.remove(place)

    def _newest(self, row: MinedRow, own: ChangeStack) -> tuple[ChangeStack, StackPlace] | None:
        """Find the newest change of the row, of any thread.

        A statement whose row is not known counts for its own thread: another thread's may just be in between.
        """
        found = own.newest(row.row_id, row.of_table)
        best = None if found is None else (own, found)
        for stack in self._stacks.values():
            other = None if stack is own else stack.newest(row.row_id, row.of_table)
            if other is None or (found is not None and other.change.unclosed):
                continue
            if best is None or _order(other.change) > _order(best[1].change):
                best = stack, other
        return best

    def _doubt_lobs(self, row: MinedRow, own: ChangeStack) -> None:
        """Some servers show only this where a LOB was written by a locator; others show it beside the row."""
        place = own.newest(row.row_id, None)
        if place is not None and place.change.operation == LOB_LOCATOR:
            named = place.change.rows[0]
            self._doubt(named.of_table, row._replace(object_id=named.object_id), "a LOB was taken back")

    def _doubt(self, table: TableKey, row: MinedRow, reason: str) -> None:
        if table not in self.doubts:
            self.doubts[table] = in_doubt(table, row, reason)


def in_doubt(table: TableKey, row: MinedRow, reason: str) -> TableDoubt:
    """Make the error of a table whose changes are not known exactly."""
    error = ROLLBACK_UNMATCHED(xid=row.xid, table=f"{table[1]}.{table[2]}", scn=row.scn, reason=reason)
    return TableDoubt(row.object_id, error)


def _order(change: MinedChange) -> tuple[int, int, Rba]:
    row = change.rows[0]
    return row.scn, row.thread, row.rba
