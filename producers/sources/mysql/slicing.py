"""Packets of a statement's rows into the slices of a chunk: one call of compiled code for all that are there.

    packet, packet, packet ...  ->  Slice(rows, last key, bytes), Slice, ...        full: no more fits

A row of 16 MB or more comes in several packets; all others are taken where they lie.  The packet that ends
the rows is kept, for it says how they ended.
"""

from collections.abc import Callable

import cython

from wrackline.producers.chunks import Bound, ChunkRequest
from wrackline.producers.sources.mysql.reading import RowReader

if not cython.compiled:
    from wrackline.producers.slicing import Slices
else:
    from cython.cimports.wrackline.producers.slicing import Slices

_HEADER = cython.declare(cython.longlong, 4)  # length and number of a packet
_LONGEST = cython.declare(cython.longlong, 0xFFFFFF)
_ROW = cython.declare(cython.longlong, 0)  # what a row's packet begins with


@cython.final
@cython.cclass
class Slicing(Slices):
    """Takes the rows of one statement."""

    def __init__(self, decoder: RowReader, bound_of: Callable[[bytes], Bound], request: ChunkRequest) -> None:
        """Take what reads a row, and what writes its key as a bound."""
        super().__init__(request)
        self.read = decoder.read
        self.bound_of = bound_of
        self.most_rows = request.most_rows
        self.begun: list[bytes] = []  # the packets of a row that goes on
        self.last: bytes | None = None

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
                packet = bytes(data[at + _HEADER : at + _HEADER + size])
                self.add(packet, self.read(packet))
            at += _HEADER + size
        return at

    def bound(self, raw: bytes) -> Bound:
        """Return a row's key."""
        return self.bound_of(raw)

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
            self.add(row, self.read(row))
