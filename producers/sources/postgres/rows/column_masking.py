"""Rows without the values that may not leave: a row message comes in, and goes out as the rules allow it.

    U relation K tuple N tuple   ->   U relation K tuple' N tuple'      tuple': fewer and masked cells

It runs before the row decoder, which knows only the published table: a value that was left out or masked
can't reach a key, an image, a list of unsent columns or an error's text.  Cells that are kept are copied in
runs, without an object in between; only a masked value becomes an object.
"""

import cython

from wrackline.schemas.events.projection import Plain, Projection

if not cython.compiled:
    from wrackline.schemas.events.avro_writer import AvroWriter, put_raw
else:
    from cython.cimports.wrackline.schemas.events.avro_writer import AvroWriter, put_raw

_NULL = cython.declare(cython.longlong, 110)  # n
_UNSENT = cython.declare(cython.longlong, 117)  # u
_TEXT = cython.declare(cython.longlong, 116)  # t
_ROW_START = cython.declare(cython.longlong, 5)  # the letter and the relation's oid
_TUPLES = cython.declare(cython.longlong, 2)  # at most an old and a new tuple
_KEEP = cython.declare(cython.longlong, 0)
_DROP = cython.declare(cython.longlong, 1)
_MASK = cython.declare(cython.longlong, 2)


@cython.final
@cython.cclass
class ColumnMasking:
    """What is done to the rows of one relation at one shape."""

    def __init__(self, projection: Projection) -> None:
        self.count = len(projection.actions)
        self.column_count = len(projection.table.columns)
        self.masks = {
            i: action for i, action in enumerate(projection.actions) if not isinstance(action, Plain)
        }
        self.actions = bytes(
            _MASK if not isinstance(action, Plain) else _DROP if action is Plain.DROP else _KEEP
            for action in projection.actions
        )
        self.growth = sum(mask.most for mask in self.masks.values())
        self.writer = AvroWriter()

    def message(self, message: bytes, at: cython.Py_ssize_t) -> bytes:
        """Return the row message that begins at this place; empty if it is not such a message."""
        data: cython.p_const_uchar = message
        end: cython.Py_ssize_t = len(message)
        read: cython.Py_ssize_t = at + _ROW_START
        left: cython.int = _TUPLES
        if read >= end:
            return b""
        self.writer.reserve(end + _TUPLES * self.growth)
        self.at = put_raw(self.writer.raw, 0, self.writer.size, message, 0, read)
        while read < end and left > 0:
            self.writer.raw[self.at] = data[read]  # K, O or N
            self.at += 1
            read = self._tuple(message, read + 1, end)
            if read == 0:
                return b""
            left -= 1
        return self.writer.take(self.at)

    def row(self, row: bytes) -> bytes:
        """Return one tuple, the form of a chunk's rows; empty if it is not one."""
        self.writer.reserve(len(row) + self.growth)
        self.at = 0
        return self.writer.take(self.at) if self._tuple(row, 0, len(row)) else b""

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _tuple(self, message: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Write the rest of the tuple at this place; return the place behind it, 0 if it is not one."""
        data: cython.p_const_uchar = message
        out: cython.p_uchar = self.writer.raw
        i: cython.int
        size: cython.longlong
        cell: cython.Py_ssize_t
        if end - at < 2 or (data[at] << 8 | data[at + 1]) != self.count:
            return 0
        out[self.at] = self.column_count >> 8
        out[self.at + 1] = self.column_count & 255
        self.at += 2
        at += 2
        run: cython.Py_ssize_t = at  # the cells that are kept and not yet copied begin here
        for i in range(self.count):
            if at >= end:
                return 0
            cell = at
            at += 1
            if data[cell] != _NULL and data[cell] != _UNSENT:
                if end - at < 4:
                    return 0
                size = data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
                at += 4 + size
                if size < 0 or at > end:
                    return 0
            if self.actions[i] != _KEEP:
                self.at = put_raw(out, self.at, self.writer.size, data, run, cell - run)
                run = at
                if self.actions[i] == _MASK:
                    self._mask(i, message, cell, at)
        self.at = put_raw(out, self.at, self.writer.size, data, run, at - run)
        return at

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _mask(
        self, column: cython.int, message: bytes, cell: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.int:
        """Write a cell as its mask makes it; null and unsent do not change."""
        out: cython.p_uchar = self.writer.raw
        if end == cell + 1:
            out[self.at] = message[cell]
            self.at += 1
            return 0
        made: bytes = self.masks[column](message[cell + 5 : end])
        size: cython.Py_ssize_t = len(made)
        out[self.at] = _TEXT
        out[self.at + 1] = (size >> 24) & 255
        out[self.at + 2] = (size >> 16) & 255
        out[self.at + 3] = (size >> 8) & 255
        out[self.at + 4] = size & 255
        self.at = put_raw(out, self.at + 5, self.writer.size, made, 0, size)
        return 0


def masking_of(projection: Projection) -> ColumnMasking | None:
    """Return the masking of a table that has rules; None where every value is published as it is."""
    return None if projection.plain else ColumnMasking(projection)
