"""Packed rows of a SELECT into the slices of a chunk.

row, row, row ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits
"""

from collections.abc import Callable, Sequence

import cython

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, ChunkRow
from wrackline.producers.rows.unfit_values import SettledRow

if not cython.compiled:
    from wrackline.producers.rows.slices import Slices
else:
    from cython.cimports.wrackline.producers.rows.slices import Slices


@cython.final
@cython.cclass
class SqlServerSlicing(Slices):
    """Takes the rows of one statement."""

    def __init__(
        self,
        read: Callable[[bytes], ChunkRow],
        bound_of: Callable[[bytes], Bound],
        request: ChunkRequest,
    ) -> None:
        """Take what reads a row, and what writes its key as a bound."""
        super().__init__(request)
        self.reads = read
        self.bound_of = bound_of

    def fill(self, rows: Sequence[bytes]) -> int:
        """Take rows until no more fits; return how many were taken."""
        taken: cython.Py_ssize_t = 0
        for row in rows:
            if self.full:
                break
            try:
                found = self.reads(row)
            except SettledRow as settled:
                self.settle(row, settled)
            else:
                self.add(row, found)
            taken += 1
        return taken

    def bound(self, raw: bytes) -> Bound:
        """Return a row's key."""
        return self.bound_of(raw)
