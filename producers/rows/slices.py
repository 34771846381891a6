"""Rows of one statement, as they are read, into the slices of a chunk.

    row, row, row ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits

Every source's own `Slicing` extends `Slices`: it finds a statement's rows in what the server sends, and
writes a row's key as a bound; the end of a slice is the same for all.
"""

import cython

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, ChunkRow, Slice
from wrackline.producers.contract.steps import Misfit
from wrackline.producers.rows.unfit_values import MISFIT_BYTES, SettledRow


@cython.cclass
class Slices:
    """The slices of one statement."""

    def __init__(self, request: ChunkRequest) -> None:
        """Take the most rows and bytes of a slice, and the most bytes of all slices."""
        self.slice_rows, self.slice_bytes = request.slice_rows, request.slice_bytes
        self.most_bytes = request.most_bytes
        self.slices: list[Slice] = []
        self.rows: list[ChunkRow] = []
        self.raw = b""
        self.misfits: list[Misfit] = []
        self.count = self.size = self.total = 0
        self.full = False

    def end(self) -> tuple[Slice, ...]:
        """Return all slices, including the last one."""
        self._cut()
        return tuple(self.slices)

    def bound(self, raw: bytes) -> Bound:
        """Return the key of a row that is given as the server sent it; every source has its own."""
        raise NotImplementedError

    @cython.cfunc
    def add(self, raw: bytes, row: ChunkRow) -> None:
        """Take a row, as the server sent it and as it was read."""
        key: bytes | None = row[0]
        head: bytes = row[1]
        self.raw = raw
        self.rows.append(row)
        self.count += 1
        self.size += len(head)
        if key is not None:
            self.size += len(key)
        self.full = self.total + self.size >= self.most_bytes
        if self.full or len(self.rows) >= self.slice_rows or self.size >= self.slice_bytes:
            self._cut()

    def settle(self, raw: bytes, settled: SettledRow) -> None:
        """Take a row with values that do not fit; if it is set aside, the cursor passes it."""
        self.misfits.append(settled.misfit)
        self.size += MISFIT_BYTES
        if settled.row is not None:
            self.add(raw, settled.row)
            return
        self.raw = raw
        self.count += 1
        self.full = self.total + self.size >= self.most_bytes
        if self.full or len(self.misfits) >= self.slice_rows or self.size >= self.slice_bytes:
            self._cut()

    def _cut(self) -> None:
        if self.rows or self.misfits:
            self.slices.append(Slice(self.rows, self.bound(self.raw), self.size, self.misfits))
            self.total += self.size
            self.rows, self.misfits, self.size = [], [], 0
