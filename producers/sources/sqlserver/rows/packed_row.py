"""A row's cells in one piece of bytes: the length of each, then its bytes.

    length (4 bytes; ffffffff: NULL) | cell | length | cell ...

Pages and chunks are kept so between the wire and Avro: a row is one object, and its cells are found again
without one for each.
"""

from array import array
from collections.abc import MutableSequence
from typing import Protocol

import cython

if not cython.compiled:
    from wrackline.schemas.events.avro_writer import AvroWriter, put_raw
else:
    from cython.cimports.wrackline.schemas.events.avro_writer import AvroWriter, put_raw

NULL_LENGTH: int = 0xFFFFFFFF
_NONE = array("i")


class CellBatch(Protocol):
    """Rows of one result: two numbers for each cell, where it begins in `data` and its size, -1 for NULL."""

    @property
    def width(self) -> int:
        """How many cells a row has."""
        ...

    @property
    def data(self) -> bytearray:
        """The buffer."""
        ...

    @property
    def places(self) -> MutableSequence[int]:
        """The numbers, row by row."""
        ...

    def __len__(self) -> int: ...


@cython.final
@cython.cclass
class RowPacker:
    """Packs the rows of batches, whose cells are places in one buffer."""

    def __init__(self) -> None:
        self.writer = AvroWriter()
        self._places: MutableSequence[int] = _NONE

    def pack(self, batch: CellBatch, first: int = 0) -> list[bytes]:
        """Return each row of a batch from its column `first` on."""
        width: cython.Py_ssize_t = batch.width
        begin: cython.Py_ssize_t = first
        if not 0 <= begin <= width or len(batch.places) < 2 * len(batch) * width:
            raise IndexError("the batch has fewer cells")
        self._places = batch.places
        try:
            return [self._row(batch.data, row * width + begin, width - begin) for row in range(len(batch))]
        finally:
            self._places = _NONE  # or the batch could not grow

    @cython.cfunc
    def _row(self, data: bytearray, at: cython.Py_ssize_t, count: cython.Py_ssize_t) -> bytes:
        i: cython.Py_ssize_t
        size: cython.int
        total: cython.Py_ssize_t = 4 * count
        for i in range(at, at + count):
            size = self._places[2 * i + 1]
            if size > 0:
                if self._places[2 * i] < 0 or self._places[2 * i] > len(data) - size:
                    raise IndexError("a cell is outside of its batch")
                total += size
            elif size < -1:
                raise IndexError("a cell has no size")
        self.writer.reserve(total)
        out: cython.p_uchar = self.writer.raw
        source: cython.p_const_uchar = data
        end: cython.Py_ssize_t = 0
        for i in range(at, at + count):
            size = self._places[2 * i + 1]  # -1 for NULL: four bytes ff
            out[end] = size & 255
            out[end + 1] = (size >> 8) & 255
            out[end + 2] = (size >> 16) & 255
            out[end + 3] = (size >> 24) & 255
            end += 4
            if size > 0:
                end = put_raw(out, end, total, source, self._places[2 * i], size)
        return self.writer.take(total)


def unpack_row(row: bytes) -> list[bytes | None]:
    """Read the cells of a row."""
    cells: list[bytes | None] = []
    at = 0
    while at < len(row):
        size = int.from_bytes(row[at : at + 4], "little")
        at += 4
        if size == NULL_LENGTH:
            cells.append(None)
            continue
        cells.append(row[at : at + size])
        at += size
    return cells
