"""Row messages of pgoutput into events: from the server's bytes to Avro, no object per column.

    insert  I relation N tuple                 -> c
    update  U relation [K|O tuple] N tuple     -> u, or, where the key changed: d of the old, c of the new
    delete  D relation K|O tuple               -> d

A value that the log did not send (unchanged TOAST) is taken from the old tuple where that one
is full; else it stands null and its column is named: the event is partial.
"""

from array import array

import cython

from wrackline.producers.changes import RowChange, Unsent
from wrackline.producers.chunks import ChunkRow
from wrackline.producers.sources.postgres.cells import done_to, growth_of, scale_of
from wrackline.producers.sources.postgres.odd_cells import Unfit
from wrackline.producers.sources.postgres.veil import veil_of
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.frame import NO_COLUMNS, unchanged_columns
from wrackline.schemas.projection import Projection

if not cython.compiled:
    from wrackline.producers.sources.postgres.cells import put_cell
    from wrackline.schemas.frame import Frame
    from wrackline.schemas.writer import Writer, put_raw
else:
    from cython.cimports.wrackline.producers.sources.postgres.cells import put_cell
    from cython.cimports.wrackline.schemas.frame import Frame
    from cython.cimports.wrackline.schemas.writer import Writer, put_raw

VALUE_UNFIT = define(
    "pg.value_unfit",
    OperatorNeeded,
    "a value of column {column} of {table} does not fit its type {type}: {reason}",
    hint="set column.as.text={table}.{column} to carry the column as text, or correct the row in the source;"
    " then read the table anew: wrackline snapshot start <pipeline.toml> '{table}'",
)
ROW_UNREADABLE = define(
    "pg.row_unreadable",
    OperatorNeeded,
    "a row message of {table} ({size} bytes) does not hold the {known} columns that its relation announced",
    hint="read the table anew: wrackline snapshot start <pipeline.toml> '{table}'",
)

_TAB = cython.declare(cython.longlong, 9)
_LINE_FEED = cython.declare(cython.longlong, 10)
_BACKSLASH = cython.declare(cython.longlong, 92)
_N = cython.declare(cython.longlong, 78)  # behind a backslash: null
_TEXT = cython.declare(cython.longlong, 116)  # t
_NULL = cython.declare(cython.longlong, 110)  # n: kinds of a cell, pgoutput's own letters
_UNSENT = cython.declare(cython.longlong, 117)  # u
_NEW = cython.declare(cython.longlong, 78)  # N
_INSERT = cython.declare(cython.longlong, 73)  # I
_UPDATE = cython.declare(cython.longlong, 85)  # U
_INSERTED = cython.declare(cython.longlong, 99)  # c
_UPDATED = cython.declare(cython.longlong, 117)  # u
_DELETED = cython.declare(cython.longlong, 100)  # d
_ROW_START = cython.declare(cython.longlong, 5)  # the letter and the relation's oid stand before it
_PER_CELL = cython.declare(cython.longlong, 16)


@cython.final
@cython.cclass
class Cells:
    """Where the cells of one tuple lie in its message."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.kinds = bytearray(max(count, 1))
        self.starts = array("q", bytes(8 * max(count, 1)))
        self.sizes = array("q", bytes(8 * max(count, 1)))

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def split(
        self, data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Find the cells of the tuple at this place; return the place behind it, 0 if it is not one."""
        i: cython.int
        size: cython.longlong
        kind: cython.uchar
        kinds: cython.p_uchar = self.kinds
        if end - at < 2 or (data[at] << 8 | data[at + 1]) != self.count:
            return 0
        at += 2
        for i in range(self.count):
            if at >= end:
                return 0
            kind = data[at]
            kinds[i] = kind
            self.starts[i] = self.sizes[i] = 0  # a place from the message before would lie outside this one
            at += 1
            if kind != _NULL and kind != _UNSENT:
                if end - at < 4:
                    return 0
                size = data[at] << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3]
                self.starts[i] = at + 4
                self.sizes[i] = size
                at += 4 + size
                if size < 0 or at > end:
                    return 0
        return at

    @cython.cfunc
    @cython.exceptval(check=False)
    def split_line(self, data: cython.p_const_uchar, end: cython.Py_ssize_t) -> cython.bint:
        """Find the cells of a line of COPY; false where one holds an escape, so that it is not the text."""
        i: cython.int
        at: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t
        kinds: cython.p_uchar = self.kinds
        for i in range(self.count):
            start = at
            kinds[i] = _TEXT
            while at < end and data[at] != _TAB:
                if data[at] == _BACKSLASH:
                    if at > start or at + 1 >= end or data[at + 1] != _N:
                        return False
                    kinds[i] = _NULL
                    at += 1
                at += 1
            self.starts[i] = start
            self.sizes[i] = 0 if kinds[i] == _NULL else at - start
            if i + 1 < self.count:
                if at >= end:
                    return False
                at += 1
        return at == end


@cython.final
@cython.cclass
class RowDecoder:
    """The row messages of one relation at one shape."""

    def __init__(self, ref: int, shape: Projection, key_id: int, value_id: int) -> None:
        """Take the table's ref in changes, its shape (columns in the rows' order), its schemas' ids."""
        table = shape.table
        self.ref = ref
        self.table = table
        self.veil = veil_of(shape)
        self.announced = len(shape.actions)
        self.count = len(table.columns)
        self.done = bytes(done_to(column.type) for column in table.columns)
        self.scales = bytes(scale_of(column.type) for column in table.columns)
        position = {column.name: i for i, column in enumerate(table.columns)}
        self.key_places = array("q", [position[name] for name in table.key] or [0])
        self.key_size = len(table.key)
        self.key_nullable = bytes(column.nullable for column in table.key_columns)
        self.key_header = b"\x00" + key_id.to_bytes(4, "big")
        self.value_header = b"\x00" + value_id.to_bytes(4, "big")
        self.growth = bytes(growth_of(column.type) for column in table.columns)
        self.new = Cells(self.count)
        self.old = Cells(self.count)
        self.writer = Writer()
        self.column = 0  # the one being written, for an error's words

    def decode(
        self, message: bytes, at: int, frame: Frame, ordinal: int, of_table: int, events: list[RowChange]
    ) -> int:
        """Append the row's event, or two where the key changed; return their bytes."""
        return self.put(message, at, frame, ordinal, of_table, events)

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def put(
        self,
        message: bytes,
        at: cython.Py_ssize_t,
        frame: Frame,
        ordinal: cython.longlong,
        of_table: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Do the same without a Python call."""
        if self.veil is not None:
            whole = message
            message = self.veil.message(whole, at)
            if not message:
                raise self._unreadable(whole)
        if len(message) <= at + _ROW_START:
            raise self._unreadable(message)
        data: cython.p_const_uchar = message
        letter: cython.uchar = data[at]
        start: cython.Py_ssize_t = at + _ROW_START
        try:
            if letter == _UPDATE:
                return self._update(message, start, frame, ordinal, of_table, events)
            cells: Cells = self.new if letter == _INSERT else self.old
            if cells.split(data, start + 1, len(message)) == 0:
                raise self._unreadable(message)
            key = self._key(message, cells)
            if letter == _INSERT:
                value = self._value(message, None, cells, frame, _INSERTED, NO_COLUMNS, ordinal, of_table)
                events.append((self.ref, "c", key, value, None))
            else:
                value = self._value(message, cells, None, frame, _DELETED, NO_COLUMNS, ordinal, of_table)
                events.append((self.ref, "d", key, value, None))
            return _size(key) + len(value)
        except Unfit as exc:
            raise self._unfit(exc) from None

    def read(self, row: bytes) -> ChunkRow:
        """Return the key of a row that a chunk read, and its event up to `source`; `row` is a tuple."""
        if self.veil is not None:
            row = self.veil.row(row)
        if self.new.split(row, 0, len(row)) == 0:
            raise self._unreadable(row)
        return self._found(row)

    @cython.ccall
    def read_line(self, line: bytes) -> ChunkRow | None:
        """Do the same with a line of COPY; None for one that must be made a tuple first."""
        end: cython.Py_ssize_t = len(line)
        data: cython.p_const_uchar = line
        if end > 0 and data[end - 1] == _LINE_FEED:
            end -= 1
        if self.veil is not None or not self.new.split_line(data, end):
            return None
        return self._found(line)

    @cython.cfunc
    def _found(self, row: bytes) -> ChunkRow:
        data: cython.p_const_uchar = row
        try:
            key = self._key(row, self.new)
            self.writer.reserve(_PER_CELL + self._room(self.new))
            out: cython.p_uchar = self.writer.raw
            at: cython.Py_ssize_t = put_raw(out, 0, self.value_header, 0, 5)
            out[at] = 0  # no before
            return key, self.writer.take(self._row(out, at + 1, data, self.new))
        except Unfit as exc:
            raise self._unfit(exc) from None

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _update(
        self,
        message: bytes,
        at: cython.Py_ssize_t,
        frame: Frame,
        ordinal: cython.longlong,
        of_table: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        data: cython.p_const_uchar = message
        old: Cells | None = None
        if data[at] != _NEW:
            old = self.old
            at = old.split(data, at + 1, len(message))
            if at == 0:
                raise self._unreadable(message)
        if self.new.split(data, at + 1, len(message)) == 0:
            raise self._unreadable(message)
        names: tuple[str, ...] = ()
        unchanged: bytes = NO_COLUMNS
        if self._unsent(old):
            names = self._names_unsent()
            unchanged = unchanged_columns(names)
        key = self._key(message, self.new)
        if old is not None and self.key_size:
            old_key = self._key(message, old)
            if old_key != key:
                gone = self._value(message, old, None, frame, _DELETED, NO_COLUMNS, ordinal, of_table)
                made = self._value(message, None, self.new, frame, _INSERTED, unchanged, ordinal, of_table)
                events.append((self.ref, "d", old_key, gone, Unsent(names, key) if names else None))
                events.append((self.ref, "c", key, made, Unsent(names, old_key) if names else None))
                return _size(old_key) + len(gone) + _size(key) + len(made)
        value = self._value(message, old, self.new, frame, _UPDATED, unchanged, ordinal, of_table)
        events.append((self.ref, "u", key, value, Unsent(names) if names else None))
        return _size(key) + len(value)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _unsent(self, old: Cells | None) -> cython.bint:
        """Fill the new tuple's unsent cells from the old one; tell whether some are left."""
        i: cython.int
        left: cython.bint = False
        kinds: cython.p_uchar = self.new.kinds
        for i in range(self.count):
            if kinds[i] == _UNSENT:
                if old is not None and old.kinds[i] != _NULL and old.kinds[i] != _UNSENT:
                    kinds[i] = old.kinds[i]
                    self.new.starts[i] = old.starts[i]
                    self.new.sizes[i] = old.sizes[i]
                else:
                    left = True
        return left

    def _names_unsent(self) -> tuple[str, ...]:
        return tuple(
            column.name for i, column in enumerate(self.table.columns) if self.new.kinds[i] == _UNSENT
        )

    @cython.cfunc
    def _key(self, message: bytes, cells: Cells) -> bytes | None:
        """Return the record's key: the header, and the key's columns in key order."""
        if self.key_size == 0:
            return None
        data: cython.p_const_uchar = message
        i: cython.int
        column: cython.Py_ssize_t
        size: cython.Py_ssize_t = _PER_CELL
        for i in range(self.key_size):
            column = self.key_places[i]
            size += _PER_CELL + self.growth[column] * cells.sizes[column]
            if cells.kinds[column] == _UNSENT or (cells.kinds[column] == _NULL and not self.key_nullable[i]):
                self.column = column
                raise Unfit("it is part of the key, and the log does not hold it")
        self.writer.reserve(size)
        out: cython.p_uchar = self.writer.raw
        at: cython.Py_ssize_t = put_raw(out, 0, self.key_header, 0, 5)
        for i in range(self.key_size):
            column = self.key_places[i]
            if self.key_nullable[i]:
                out[at] = 0 if cells.kinds[column] == _NULL else 2
                at += 1
            if cells.kinds[column] != _NULL:
                self.column = column
                at = put_cell(
                    out,
                    at,
                    self.done[column],
                    self.scales[column],
                    data,
                    cells.starts[column],
                    cells.sizes[column],
                )
        return self.writer.take(at)

    @cython.cfunc
    def _value(
        self,
        message: bytes,
        before: Cells | None,
        after: Cells | None,
        frame: Frame,
        op: cython.uchar,
        unchanged: bytes,
        ordinal: cython.longlong,
        of_table: cython.longlong,
    ) -> bytes:
        """Return the whole event: header, before, after, and the frame's tail."""
        data: cython.p_const_uchar = message
        size: cython.Py_ssize_t = _PER_CELL + frame.bound + len(unchanged)
        self.writer.reserve(size + self._room(before) + self._room(after))
        out: cython.p_uchar = self.writer.raw
        at: cython.Py_ssize_t = put_raw(out, 0, self.value_header, 0, 5)
        at = self._row(out, at, data, before)
        at = self._row(out, at, data, after)
        at = frame.put(out, at, op, unchanged, ordinal, of_table)
        return self.writer.take(at)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _room(self, cells: Cells | None) -> cython.Py_ssize_t:
        """Return how many bytes a tuple can become, at the most."""
        i: cython.int
        room: cython.Py_ssize_t = 0
        growth: cython.p_const_uchar = self.growth
        if cells is not None:
            for i in range(self.count):
                room += _PER_CELL + growth[i] * cells.sizes[i]
        return room

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _row(
        self, out: cython.p_uchar, at: cython.Py_ssize_t, data: cython.p_const_uchar, cells: Cells | None
    ) -> cython.Py_ssize_t:
        """`before` or `after`: null, or every column as null or its value."""
        i: cython.int
        if cells is None:
            out[at] = 0
            return at + 1
        kinds: cython.p_uchar = cells.kinds
        done: cython.p_const_uchar = self.done
        scales: cython.p_const_uchar = self.scales
        out[at] = 2
        at += 1
        for i in range(self.count):
            if kinds[i] == _NULL or kinds[i] == _UNSENT:
                out[at] = 0
                at += 1
            else:
                out[at] = 2
                self.column = i
                at = put_cell(out, at + 1, done[i], scales[i], data, cells.starts[i], cells.sizes[i])
        return at

    def _unfit(self, reason: Exception) -> Exception:
        column = self.table.columns[self.column]
        return VALUE_UNFIT(column=column.name, table=self.table.id, type=column.type.source, reason=reason)

    def _unreadable(self, message: bytes) -> Exception:
        return ROW_UNREADABLE(table=self.table.id, known=self.announced, size=len(message))


@cython.cfunc
@cython.exceptval(check=False)
def _size(key: bytes | None) -> cython.Py_ssize_t:
    return 0 if key is None else len(key)


def text_cells(message: bytes, at: int, count: int) -> list[bytes | None]:
    """Return a tuple's cells as text, for the signal table; none where it is not such a tuple."""
    cells = Cells(count)
    if cells.split(message, at, len(message)) == 0:
        return []
    return [
        None
        if cells.kinds[i] in {_NULL, _UNSENT}
        else message[cells.starts[i] : cells.starts[i] + cells.sizes[i]]
        for i in range(count)
    ]
