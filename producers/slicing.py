"""Rows of one statement, as they are read, into the slices of a chunk.

    row, row, row ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits

Every source's own `Slicing` extends `Slices`: it finds a statement's rows in what the server sends, and
writes a row's key as a bound; where a slice ends is the same for all.
"""

import cython

from wrackline.producers.chunks import Bound, ChunkRequest, ChunkRow, Slice


@cython.cclass
class Slices:
    """The slices of one statement."""

    def __init__(self, request: ChunkRequest) -> None:
        """Take how many rows and bytes a slice holds, and how many bytes all of them."""
        self.slice_rows, self.slice_bytes = request.slice_rows, request.slice_bytes
        self.most_bytes = request.most_bytes
        self.slices: list[Slice] = []
        self.rows: list[ChunkRow] = []
        self.raw = b""
        self.count = self.size = self.total = 0
        self.full = False

    def end(self) -> tuple[Slice, ...]:
        """Return all slices, the last one too."""
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

    def _cut(self) -> None:
        if self.rows:
            self.slices.append(Slice(self.rows, self.bound(self.raw), self.size))
            self.total += self.size
            self.rows, self.size = [], 0
