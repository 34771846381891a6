"""A row's cells in one piece of bytes: the length of each, then its bytes.

    length (4 bytes; ffffffff: NULL) | cell | length | cell ...

Pages and chunks are kept so between the wire and Avro: a row is one object, and its cells are found again
without one for each.  A row of a change table has its place and its update mask beside it.
"""

from array import array
from collections.abc import MutableSequence
from typing import Protocol

import cython

from wrackline.producers.sources.sqlserver.log.change_rows import ChangeRow

if not cython.compiled:
    from wrackline.schemas.events.avro_writer import AvroWriter, put_raw
else:
    from cython.cimports.wrackline.schemas.events.avro_writer import AvroWriter, put_raw

NULL_LENGTH: int = 0xFFFFFFFF
_NONE = array("i")
_OWN = cython.declare(cython.int, 5)  # columns of a change table before those of its table
_LSN = cython.declare(cython.int, 10)
_MOST_NUMBER = cython.declare(cython.longlong, 0xFFFFFFFF)


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
        self._open(batch, begin)
        try:
            return [self._row(batch.data, row * width + begin, width - begin) for row in range(len(batch))]
        finally:
            self._places = _NONE  # or the batch could not grow

    def change_rows(self, batch: CellBatch, table: int) -> list[ChangeRow]:
        """Return each row of a page of a change table: its place, its update mask, its table's columns."""
        at: cython.Py_ssize_t
        row: cython.Py_ssize_t
        width: cython.Py_ssize_t = batch.width
        number: cython.longlong = table
        data: bytearray = batch.data
        rows: list[ChangeRow] = []
        self._open(batch, _OWN)
        try:
            for row in range(len(batch)):
                at = row * width
                key = self._key(data, at, number)
                rows.append((key, self._bytes(data, at + 4), self._row(data, at + _OWN, width - _OWN)))
        finally:
            self._places = _NONE
        return rows

    def _open(self, batch: CellBatch, first: int) -> None:
        """Take the places of a batch that has the cells that its rows say."""
        if not 0 <= first <= batch.width or len(batch.places) < 2 * len(batch) * batch.width:
            raise IndexError("the batch has fewer cells")
        self._places = batch.places

    @cython.cfunc
    @cython.exceptval(-2, check=False)
    def _size(self, data: bytearray, cell: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the size of a cell, -1 for NULL; all of it is in the batch."""
        size: cython.Py_ssize_t = self._places[2 * cell + 1]
        if size > 0:
            if self._places[2 * cell] < 0 or self._places[2 * cell] > len(data) - size:
                raise IndexError("a cell is outside of its batch")
        elif size < -1:
            raise IndexError("a cell has no size")
        return size

    @cython.cfunc
    def _bytes(self, data: bytearray, cell: cython.Py_ssize_t) -> bytes:
        """Return a cell as bytes, none for NULL."""
        size: cython.Py_ssize_t = self._size(data, cell)
        if size < 1:
            return b""
        start: cython.Py_ssize_t = self._places[2 * cell]
        if not cython.compiled:
            return bytes(data[start : start + size])
        source: cython.p_const_uchar = data
        return source[start : start + size]

    @cython.cfunc
    @cython.exceptval(-1, check=True)
    def _number(self, data: bytearray, cell: cython.Py_ssize_t) -> cython.longlong:
        """Return a cell's whole number; 0 for NULL."""
        size: cython.Py_ssize_t = self._size(data, cell)
        if size < 1:
            return 0
        if size > 8:
            raise ValueError("a place in a change table has numbers of at most eight bytes")
        source: cython.p_const_uchar = data
        at: cython.Py_ssize_t = self._places[2 * cell] + size - 1
        value: cython.longlong = source[at] - 256 if source[at] > 127 else source[at]
        while size > 1:
            size -= 1
            at -= 1
            value = value * 256 + source[at]
        return value

    @cython.cfunc
    def _key(self, data: bytearray, at: cython.Py_ssize_t, table: cython.longlong) -> bytes:
        """Write a row's place, as `change_rows.row_key` does."""
        if self._size(data, at) != _LSN or self._size(data, at + 2) != _LSN:
            raise ValueError("an LSN has ten bytes")
        command: cython.longlong = 0 if self._size(data, at + 1) < 0 else self._number(data, at + 1) + 1
        operation: cython.longlong = self._number(data, at + 3)
        if not (0 <= command <= _MOST_NUMBER and 0 <= table <= _MOST_NUMBER and 0 <= operation <= 255):
            raise ValueError("a place in a change table has numbers of 0 or more")
        self.writer.reserve(2 * _LSN + 9)
        out: cython.p_uchar = self.writer.raw
        source: cython.p_const_uchar = data
        end: cython.Py_ssize_t = put_raw(out, 0, self.writer.size, source, self._places[2 * at], _LSN)
        end = _put_big(out, end, command)
        end = put_raw(out, end, self.writer.size, source, self._places[2 * at + 4], _LSN)
        end = _put_big(out, end, table)
        out[end] = operation
        return self.writer.take(end + 1)

    @cython.cfunc
    def _row(self, data: bytearray, at: cython.Py_ssize_t, count: cython.Py_ssize_t) -> bytes:
        i: cython.Py_ssize_t
        size: cython.Py_ssize_t
        total: cython.Py_ssize_t = 4 * count
        for i in range(at, at + count):
            size = self._size(data, i)
            if size > 0:
                total += size
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


@cython.cfunc
@cython.exceptval(check=False)
def _put_big(out: cython.p_uchar, at: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """Write a number of four bytes, the highest first."""
    out[at] = (value >> 24) & 255
    out[at + 1] = (value >> 16) & 255
    out[at + 2] = (value >> 8) & 255
    out[at + 3] = value & 255
    return at + 4


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
