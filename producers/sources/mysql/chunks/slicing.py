"""Packets of a statement's rows into the slices of a chunk: one compiled call for all that have arrived.

    packet, packet, packet ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits

A row of 16 MB or more comes in several packets; all other rows are taken in place.  The packet that ends the
rows is kept, because it says how they ended.
"""

from collections.abc import Callable

import cython

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.rows.unfit_values import SettledRow
from wrackline.producers.sources.mysql.chunks.read_session import RowReader

if not cython.compiled:
    from wrackline.producers.rows.slices import Slices
else:
    from cython.cimports.wrackline.producers.rows.slices import Slices

_HEADER = cython.declare(cython.longlong, 4)  # length and number of a packet
_LONGEST = cython.declare(cython.longlong, 0xFFFFFF)
_ROW = cython.declare(cython.longlong, 0)  # the first byte of a row's packet


@cython.final
@cython.cclass
class MySqlSlicing(Slices):
    """Takes the rows of one statement."""

    def __init__(self, decoder: RowReader, bound_of: Callable[[bytes], Bound], request: ChunkRequest) -> None:
        """Take the decoder that reads a row, and the function that writes its key as a bound."""
        super().__init__(request)
        self.read = decoder.read
        self.bound_of = bound_of
        self.most_rows = request.most_rows
        self.begun: list[bytes] = []  # the packets of an incomplete row
        self.last: bytes | None = None

    def fill(self, buffer: bytearray, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take rows until no whole packet is left, no more fits, or they end; return the reached place."""
        data: cython.p_const_uchar = buffer
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
                packet = bytes(data[at + _HEADER : at + _HEADER + size])
                self._take(packet)
            at += _HEADER + size
        return at

    def bound(self, raw: bytes) -> Bound:
        """Return a row's key."""
        return self.bound_of(raw)

    @cython.cfunc
    def _take(self, row: bytes) -> None:
        try:
            found = self.read(row)
        except SettledRow as settled:
            self.settle(row, settled)
        else:
            self.add(row, found)

    @cython.cfunc
    def _one_too_many(self) -> bool:
        """Whether there is a row beyond the requested maximum."""
        self.full = self.count >= self.most_rows
        return self.full

    @cython.cfunc
    def _go_on(self, packet: bytes, size: cython.Py_ssize_t) -> None:
        self.begun.append(packet)
        if size < _LONGEST:
            row = b"".join(self.begun)
            self.begun = []
            self._take(row)
