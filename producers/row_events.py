"""Rows into events: a row's bytes and where its cells lie come in, keys and values for Kafka go out.

    header | before | after | tail          before, after: null, or every column as null or its value
    '------- this module ---' '- frame.py'

Every source's row decoder extends `RowEvents`: it finds the cells of a row in the server's bytes and
writes one cell; what stands around the cells is the same for all.  A row costs one reservation
and no Python object per column, for a cell goes from the server's bytes to Avro's in one step.
"""

from array import array

import cython

from wrackline.producers.changes import RowChange, Unsent
from wrackline.producers.chunks import ChunkRow
from wrackline.schemas.frame import NO_COLUMNS, unchanged_columns
from wrackline.schemas.projection import Projection
from wrackline.schemas.writer import NoRoom

if not cython.compiled:
    from wrackline.schemas.frame import Frame
    from wrackline.schemas.writer import Writer, put_raw
else:
    from cython.cimports.wrackline.schemas.frame import Frame
    from cython.cimports.wrackline.schemas.writer import Writer, put_raw

# What there is of a cell: in PostgreSQL's letters, which pgoutput sends.
VALUE = cython.declare(cython.longlong, 116)  # t
NULL = cython.declare(cython.longlong, 110)  # n
UNSENT = cython.declare(cython.longlong, 117)  # u

_INSERTED = cython.declare(cython.longlong, 99)  # c
_UPDATED = cython.declare(cython.longlong, 117)  # u
_DELETED = cython.declare(cython.longlong, 100)  # d
_PER_CELL = cython.declare(cython.longlong, 16)


class Unfit(ValueError):  # noqa: N818 - it names what the value is
    """A value that its column's type can't hold; the reason never shows the value."""


@cython.cclass
class Cells:
    """Where the cells of one row lie in its bytes, and what there is of each."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.kinds = bytearray(max(count, 1))
        self.starts = array("q", bytes(8 * max(count, 1)))
        self.sizes = array("q", bytes(8 * max(count, 1)))


@cython.cclass
class RowEvents:
    """The events of one table at one shape."""

    def __init__(
        self,
        ref: int,
        shape: Projection,
        key_id: int,
        value_id: int,
        growth: bytes,
        unavailable: tuple[bytes, ...] = (),
    ) -> None:
        """Take the table's ref in changes, its shape, its schemas' ids, and how far a cell can grow.

        `growth`: by column, how many bytes a byte of a cell may become at the most, 15 bytes aside.
        `unavailable`: by column, the Avro bytes that replace a value that was not sent; none: null.
        """
        table = shape.table
        self.ref = ref
        self.table = table
        self.count = len(table.columns)
        position = {column.name: i for i, column in enumerate(table.columns)}
        self.key_places = array("q", [position[name] for name in table.key] or [0])
        self.key_size = len(table.key)
        self.key_nullable = bytes(column.nullable for column in table.key_columns)
        self.key_header = b"\x00" + key_id.to_bytes(4, "big")
        self.value_header = b"\x00" + value_id.to_bytes(4, "big")
        self.growth = growth
        self.unavailable = unavailable or (b"\x00",) * self.count
        # what cells may take beside their growth, all together
        self.beside = _PER_CELL * self.count + sum(map(len, self.unavailable))
        self.writer = Writer()
        self.column = 0  # the one being written, for an error's words

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def put_cell(
        self,
        out: cython.p_uchar,
        at: cython.Py_ssize_t,
        limit: cython.Py_ssize_t,
        column: cython.int,
        data: cython.p_const_uchar,
        cells: Cells,
    ) -> cython.Py_ssize_t:
        """Write one value that is there; every decoder has its own."""
        raise NotImplementedError

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def inserted(
        self,
        data: cython.p_const_uchar,
        cells: Cells,
        frame: Frame,
        ordinal: cython.longlong,
        of_table: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the event of a new row; return its bytes."""
        key = self.key(data, cells)
        value = self.value(data, None, cells, frame, _INSERTED, NO_COLUMNS, ordinal, of_table)
        events.append((self.ref, "c", key, value, None))
        return _size(key) + len(value)

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def deleted(
        self,
        data: cython.p_const_uchar,
        cells: Cells,
        frame: Frame,
        ordinal: cython.longlong,
        of_table: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the event of a row that is gone; return its bytes."""
        key = self.key(data, cells)
        value = self.value(data, cells, None, frame, _DELETED, NO_COLUMNS, ordinal, of_table)
        events.append((self.ref, "d", key, value, None))
        return _size(key) + len(value)

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def updated(
        self,
        data: cython.p_const_uchar,
        old: Cells | None,
        new: Cells,
        unsent: Unsent | None,
        frame: Frame,
        ordinal: cython.longlong,
        of_table: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the event of a changed row, or two where the key changed."""
        unchanged: bytes = NO_COLUMNS if unsent is None else unchanged_columns(unsent.columns)
        key = self.key(data, new)
        if old is not None and self.key_size:
            old_key = self.key(data, old)
            if old_key != key:
                gone = self.value(data, old, None, frame, _DELETED, NO_COLUMNS, ordinal, of_table)
                made = self.value(data, None, new, frame, _INSERTED, unchanged, ordinal, of_table)
                events.append((self.ref, "d", old_key, gone, unsent and Unsent(unsent.columns, key)))
                events.append((self.ref, "c", key, made, unsent and Unsent(unsent.columns, old_key)))
                return _size(old_key) + len(gone) + _size(key) + len(made)
        value = self.value(data, old, new, frame, _UPDATED, unchanged, ordinal, of_table)
        events.append((self.ref, "u", key, value, unsent))
        return _size(key) + len(value)

    @cython.cfunc
    def found(self, data: cython.p_const_uchar, cells: Cells) -> ChunkRow:
        """Return the key of a row that was read, and its event up to `source`."""
        key = self.key(data, cells)
        self.writer.reserve(_PER_CELL + self._room(cells))
        out: cython.p_uchar = self.writer.raw
        at: cython.Py_ssize_t = put_raw(out, 0, self.writer.size, self.value_header, 0, 5)
        out[at] = 0  # no before
        return key, self.writer.take(self._row(out, at + 1, self.writer.size, data, cells))

    @cython.cfunc
    def key(self, data: cython.p_const_uchar, cells: Cells) -> bytes | None:
        """Return the record's key: the header, and the key's columns in key order."""
        if self.key_size == 0:
            return None
        i: cython.int
        column: cython.int
        size: cython.Py_ssize_t = _PER_CELL + self.beside
        for i in range(self.key_size):
            column = self.key_places[i]
            size += _PER_CELL + self.growth[column] * cells.sizes[column]
            if cells.kinds[column] == UNSENT or (cells.kinds[column] == NULL and not self.key_nullable[i]):
                self.column = column
                raise Unfit("it is part of the key, and the log does not hold it")
        self.writer.reserve(size)
        out: cython.p_uchar = self.writer.raw
        at: cython.Py_ssize_t = put_raw(out, 0, self.writer.size, self.key_header, 0, 5)
        for i in range(self.key_size):
            column = self.key_places[i]
            if at > self.writer.size:
                raise NoRoom
            if self.key_nullable[i]:
                out[at] = 0 if cells.kinds[column] == NULL else 2
                at += 1
            if cells.kinds[column] != NULL:
                self.column = column
                at = self.put_cell(out, at, self.writer.size, column, data, cells)
        return self.writer.take(at)

    @cython.cfunc
    def value(
        self,
        data: cython.p_const_uchar,
        before: Cells | None,
        after: Cells | None,
        frame: Frame,
        op: cython.uchar,
        unchanged: bytes,
        ordinal: cython.longlong,
        of_table: cython.longlong,
    ) -> bytes:
        """Return the whole event: header, before, after, and the frame's tail."""
        size: cython.Py_ssize_t = _PER_CELL + frame.bound + len(unchanged)
        self.writer.reserve(size + self._room(before) + self._room(after))
        out: cython.p_uchar = self.writer.raw
        at: cython.Py_ssize_t = put_raw(out, 0, self.writer.size, self.value_header, 0, 5)
        limit: cython.Py_ssize_t = self.writer.size
        at = self._row(out, at, limit, data, before)
        at = self._row(out, at, limit, data, after)
        at = frame.put(out, at, limit, op, unchanged, ordinal, of_table)
        return self.writer.take(at)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _room(self, cells: Cells | None) -> cython.Py_ssize_t:
        """Return how many bytes a row can become, at the most."""
        i: cython.int
        if cells is None:
            return 0
        room: cython.Py_ssize_t = self.beside
        growth: cython.p_const_uchar = self.growth
        for i in range(self.count):
            room += growth[i] * cells.sizes[i]
        return room

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _row(
        self,
        out: cython.p_uchar,
        at: cython.Py_ssize_t,
        limit: cython.Py_ssize_t,
        data: cython.p_const_uchar,
        cells: Cells | None,
    ) -> cython.Py_ssize_t:
        """`before` or `after`: null, or every column as null or its value."""
        i: cython.int
        if cells is None:
            out[at] = 0
            return at + 1
        kinds: cython.p_uchar = cells.kinds
        out[at] = 2
        at += 1
        for i in range(self.count):
            if at > limit:
                raise NoRoom
            if kinds[i] == NULL:
                out[at] = 0
                at += 1
            elif kinds[i] == UNSENT:
                marker: bytes = self.unavailable[i]
                at = put_raw(out, at, limit, marker, 0, len(marker))
            else:
                out[at] = 2
                self.column = i
                at = self.put_cell(out, at + 1, limit, i, data, cells)
        return at


@cython.cfunc
@cython.exceptval(check=False)
def _size(key: bytes | None) -> cython.Py_ssize_t:
    return 0 if key is None else len(key)
