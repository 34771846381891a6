"""Rows into events: a row's bytes and the places of its cells come in, keys and values for Kafka go out.

    header | before | after | tail          before, after: null, or every column as null or its value
    '------- this module ---' '- frame.py'

Every source's row decoder extends `RowEvents`: it finds the cells of a row in the server's bytes and
writes one cell; the bytes around the cells are the same for all.  A row costs one reservation
and no Python object per column, because a cell goes from the server's bytes to Avro's in one step.
"""

import struct
from array import array

import cython

from wrackline.producers.contract.row_chunks import ChunkRow
from wrackline.producers.contract.steps import Misfit, RowChange, Unsent
from wrackline.producers.rows.unfit_values import (
    AnyFailure,
    Reasons,
    SettledRow,
    Unfit,
    Verdict,
    judge,
    name_columns,
)
from wrackline.schemas.events.avro_writer import NoRoom
from wrackline.schemas.events.frame import NO_COLUMNS, unchanged_columns
from wrackline.schemas.events.projection import Projection

if not cython.compiled:
    from wrackline.schemas.events.avro_writer import AvroWriter, put_raw
    from wrackline.schemas.events.frame import Frame
else:
    from cython.cimports.wrackline.schemas.events.avro_writer import AvroWriter, put_raw
    from cython.cimports.wrackline.schemas.events.frame import Frame

# The kind of a cell, in the letters that PostgreSQL's pgoutput sends.
VALUE = cython.declare(cython.longlong, 116)  # t
NULL = cython.declare(cython.longlong, 110)  # n
UNSENT = cython.declare(cython.longlong, 117)  # u

_INSERTED = cython.declare(cython.longlong, 99)  # c
_UPDATED = cython.declare(cython.longlong, 117)  # u
_DELETED = cython.declare(cython.longlong, 100)  # d
_PER_CELL = cython.declare(cython.longlong, 16)


BROKEN = (ValueError, LookupError, ArithmeticError, struct.error)  # raised by a value that does not fit


@cython.cclass
class Cells:
    """The places of one row's cells in its bytes, and the kind of each."""

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
        *,
        changed_only: bool = False,
    ) -> None:
        """Take the table's ref in changes, its shape, its schemas' ids, and how far a cell can grow.

        `growth`: by column, how many bytes a byte of a cell may become at most, except for 15 bytes.
        `unavailable`: by column, the Avro bytes that replace a value that was not sent; none: null.
        `changed_only`: an update that changes nothing in what goes out of the row is not an event.
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
        # the bytes that all cells together may take beside their growth
        self.beside = _PER_CELL * self.count + sum(map(len, self.unavailable))
        self.writer = AvroWriter()
        self.changed_only = changed_only
        self.total = self.of_table = 0  # what the frame had counted before the last update
        self.same = False  # whether the last event that was written has two equal images
        self.column = 0  # the column being written, for an error's text
        self.on_unfit = shape.on_unfit

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
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the event of a new row; return its bytes."""
        key = self.key(data, cells)
        value = self.value(data, None, cells, frame, _INSERTED, NO_COLUMNS, ordinal)
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
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the event of a row that is gone; return its bytes."""
        key = self.key(data, cells)
        value = self.value(data, cells, None, frame, _DELETED, NO_COLUMNS, ordinal)
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
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the event of a changed row, or two if the key changed."""
        self.total, self.of_table = frame.total, frame.of_table
        unchanged: bytes = NO_COLUMNS if unsent is None else unchanged_columns(unsent.columns)
        key = self.key(data, new)
        if old is not None and self.key_size:
            old_key = self.key(data, old)
            if old_key != key:
                gone = self.value(data, old, None, frame, _DELETED, NO_COLUMNS, ordinal)
                made = self.value(data, None, new, frame, _INSERTED, unchanged, ordinal)
                events.append((self.ref, "d", old_key, gone, unsent and Unsent(unsent.columns, key)))
                events.append((self.ref, "c", key, made, unsent and Unsent(unsent.columns, old_key)))
                return _size(old_key) + len(gone) + _size(key) + len(made)
        value = self.value(data, old, new, frame, _UPDATED, unchanged, ordinal)
        if self.changed_only and self.same:
            frame.total, frame.of_table = self.total, self.of_table
            return 1  # it was taken, and nothing is published
        events.append((self.ref, "u", key, value, unsent))
        return _size(key) + len(value)

    @cython.cfunc
    def settled(
        self,
        op: str,
        data: cython.p_const_uchar,
        before: Cells | None,
        after: Cells | None,
        unmade_before: Reasons,
        unmade_after: Reasons,
        unsent: Unsent | None,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
        failed: AnyFailure,
    ) -> Misfit | None:
        """Decide about a row that could not be written, and append its events.

        `unmade`: cells that are known not to fit.  Return what to report of the row, if anything; a row
        that stops its table raises.
        """
        old: Reasons = {**unmade_before, **self._unfits(data, before)}
        new: Reasons = {**unmade_after, **self._unfits(data, after)}
        found = self._judged(old, new, failed, gone=after is None)
        key = self._sure_key(data, before, old) if after is None else self._sure_key(data, after, new)
        old_key = self._sure_key(data, before, old)
        moved = old_key is not None and old_key != key
        _nulled(before, old)
        _nulled(after, new)
        if op == "u":  # the old key's delete may be written, and counted, when the new row fails
            frame.total, frame.of_table = self.total, self.of_table
        known = len(events)
        if not found.letter:
            if after is None:
                if before is not None and not found.unseen:
                    self.deleted(data, before, frame, ordinal, events)
            elif op == "c" or found.unseen:
                key = self.key(data, after)
                unchanged: bytes = NO_COLUMNS if unsent is None else unchanged_columns(unsent.columns)
                made = self.value(data, None, after, frame, _INSERTED, unchanged, ordinal)
                events.append((self.ref, "c", key, made, unsent))
            else:
                self.updated(data, before, after, unsent, frame, ordinal, events)
        elif before is not None and after is not None and (moved if self.key_size else not found.unseen):
            self.deleted(data, before, frame, ordinal, events)  # gone under its old key, or as it was
        if not found.columns or (not found.letter and len(events) == known):
            return None  # nothing of it is published, because nothing that goes out has changed
        return Misfit(op, key, name_columns(self.table, found.columns), found.letter, frame.seq_of(ordinal))

    @cython.cfunc
    def settled_row(
        self, data: cython.p_const_uchar, cells: Cells, unmade: Reasons, failed: AnyFailure
    ) -> SettledRow:
        """Do the same with a row that was read."""
        unfit: Reasons = {**unmade, **self._unfits(data, cells)}
        found = self._judged({}, unfit, failed, gone=False)
        key = self._sure_key(data, cells, unfit)
        _nulled(cells, unfit)
        row = None if found.letter else self.chunk_row(data, cells)
        return SettledRow(Misfit("r", key, name_columns(self.table, found.columns), found.letter), (), row)

    def _judged(self, old: Reasons, new: Reasons, failed: AnyFailure, *, gone: bool) -> Verdict:
        if not old and not new:
            raise failed
        return judge(self.table, self.on_unfit, old, new, gone=gone)

    @cython.cfunc
    def _unfits(self, data: cython.p_const_uchar, cells: Cells | None) -> Reasons:
        """Return the places of the values that can't be written, and why; the reason never shows a value."""
        i: cython.int
        unfit: Reasons = {}
        if cells is None:
            return unfit
        self.writer.reserve(_PER_CELL + self._room(cells))
        out: cython.p_uchar = self.writer.raw
        for i in range(self.count):
            if cells.kinds[i] != NULL and cells.kinds[i] != UNSENT:
                try:
                    self.put_cell(out, 0, self.writer.size, i, data, cells)
                except BROKEN as exc:
                    unfit[i] = reason_of(exc)
        return unfit

    @cython.cfunc
    def _sure_key(self, data: cython.p_const_uchar, cells: Cells | None, unfit: Reasons) -> bytes | None:
        """Return a row's key, if the table has one and the row's key is known."""
        i: cython.int
        if cells is None:
            return None
        for i in range(self.key_size):
            if self.key_places[i] in unfit:
                return None
        try:
            return self.key(data, cells)
        except Unfit:
            return None

    @cython.cfunc
    def chunk_row(self, data: cython.p_const_uchar, cells: Cells) -> ChunkRow:
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
                raise Unfit("it is part of the key, and the log does not contain it")
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
    ) -> bytes:
        """Return the whole event: header, before, after, and the frame's tail."""
        size: cython.Py_ssize_t = _PER_CELL + frame.bound + len(unchanged)
        self.writer.reserve(size + self._room(before) + self._room(after))
        out: cython.p_uchar = self.writer.raw
        at: cython.Py_ssize_t = put_raw(out, 0, self.writer.size, self.value_header, 0, 5)
        limit: cython.Py_ssize_t = self.writer.size
        first: cython.Py_ssize_t = at
        at = second = self._row(out, at, limit, data, before)
        at = self._row(out, at, limit, data, after)
        if self.changed_only:
            self.same = before is not None and out[first:second] == out[second:at]
        at = frame.put(out, at, limit, op, unchanged, ordinal)
        return self.writer.take(at)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _room(self, cells: Cells | None) -> cython.Py_ssize_t:
        """Return how many bytes a row can become at most."""
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
        """Write `before` or `after`: null, or every column as null or its value."""
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


def reason_of(error: Exception) -> str:
    """Say why a value does not fit; a codec's own text would show the value."""
    return str(error) if isinstance(error, Unfit) else "it does not match its type"


@cython.cfunc
def _nulled(cells: Cells | None, unfit: Reasons) -> None:
    """Make these cells null."""
    if cells is not None:
        for place in unfit:
            cells.kinds[place] = NULL


@cython.cfunc
@cython.exceptval(check=False)
def _size(key: bytes | None) -> cython.Py_ssize_t:
    return 0 if key is None else len(key)
