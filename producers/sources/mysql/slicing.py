"""Packets of a statement's rows into the slices of a chunk: one call of compiled code for all that are there.

    packet, packet, packet ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits

A row of 16 MB or more comes in several packets; all others are taken where they lie.  The packet that ends
the rows is kept, for it says how they ended.
"""

from collections.abc import Callable

import cython

from wrackline.producers.chunks import Bound, ChunkRequest, ChunkRow, Slice
from wrackline.producers.sources.mysql.reading import RowReader

_HEADER = cython.declare(cython.longlong, 4)  # length and number of a packet
_LONGEST = cython.declare(cython.longlong, 0xFFFFFF)
_ROW = cython.declare(cython.longlong, 0)  # what a row's packet begins with


@cython.final
@cython.cclass
class Slicing:
    """Takes the rows of one statement."""

    def __init__(self, decoder: RowReader, bound_of: Callable[[bytes], Bound], request: ChunkRequest) -> None:
        """Take what reads a row, and what writes its key as a bound."""
        self.read = decoder.read
        self.bound_of = bound_of
        self.slice_rows, self.slice_bytes = request.slice_rows, request.slice_bytes
        self.most_rows, self.most_bytes = request.most_rows, request.most_bytes
        self.slices: list[Slice] = []
        self.rows: list[ChunkRow] = []
        self.begun: list[bytes] = []  # the packets of a row that goes on
        self.row = b""
        self.last: bytes | None = None
        self.count = self.size = self.total = 0
        self.full = False

    def fill(self, buffer: bytearray, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take rows until no whole packet is left, no more fits, or they end; return how far it came."""
        data: cython.p_const_uchar = buffer  # type: ignore[assignment] # to C either is bytes
        at: cython.Py_ssize_t = start
        size: cython.Py_ssize_t
        while not self.full and self.last is None and end - at >= _HEADER:
            size = data[at] | (data[at + 1] << 8) | (data[at + 2] << 16)
            if end - at - _HEADER < size:
                break
            if self.begun or size == _LONGEST:
                if not self.begun and self._one_too_many():
                    break
                self._go_on(bytes(data[at + _HEADER : at + _HEADER + size]), size)
            elif data[at + _HEADER] != _ROW:
                self.last = bytes(data[at + _HEADER : at + _HEADER + size])
            elif self._one_too_many():
                break
            else:
                self._take(bytes(data[at + _HEADER : at + _HEADER + size]))
            at += _HEADER + size
        return at

    def end(self) -> tuple[Slice, ...]:
        """Return all slices, the last one too."""
        self._cut()
        return tuple(self.slices)

    @cython.cfunc
    def _one_too_many(self) -> bool:
        """Whether a row is there beyond the most that were asked for."""
        self.full = self.count >= self.most_rows
        return self.full

    @cython.cfunc
    def _go_on(self, packet: bytes, size: cython.Py_ssize_t) -> None:
        self.begun.append(packet)
        if size < _LONGEST:
            row = b"".join(self.begun)
            self.begun = []
            self._take(row)

    @cython.cfunc
    def _take(self, packet: bytes) -> None:
        row = self.read(packet)
        key: bytes | None = row[0]
        head: bytes = row[1]
        self.row = packet
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
            self.slices.append(Slice(self.rows, self.bound_of(self.row), self.size))
            self.total += self.size
            self.rows, self.size = [], 0
