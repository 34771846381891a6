"""Rows of a SELECT into the slices of a chunk.

row, row, row ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits
"""

from collections.abc import Callable, Sequence

import cython

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, ChunkRow
from wrackline.producers.rows.unfit_values import SettledRow
from wrackline.producers.sources.oracle.connect.driver import Fields

if not cython.compiled:
    from wrackline.producers.rows.slices import Slices
else:
    from cython.cimports.wrackline.producers.rows.slices import Slices


@cython.final
@cython.cclass
class OracleSlicing(Slices):
    """Takes the rows of one statement; the driver gives them as objects, so the last one is kept here."""

    def __init__(
        self,
        read: Callable[[Fields], ChunkRow],
        bound_of: Callable[[Fields], Bound],
        request: ChunkRequest,
    ) -> None:
        """Take what reads a row, and what writes its key as a bound."""
        super().__init__(request)
        self.reads = read
        self.bound_of = bound_of
        self.last: Fields = ()

    def fill(self, rows: Sequence[Fields]) -> int:
        """Take rows until no more fits; return how many were taken."""
        taken: cython.Py_ssize_t = 0
        for row in rows:
            if self.full:
                break
            self.last = row
            try:
                found = self.reads(row)
            except SettledRow as settled:
                self.settle(b"", settled)
            else:
                self.add(b"", found)
            taken += 1
        return taken

    def bound(self, raw: bytes) -> Bound:
        """Return the last row's key."""
        del raw
        return self.bound_of(self.last)
