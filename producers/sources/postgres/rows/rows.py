"""Row messages of pgoutput into events: from the server's bytes to Avro, without an object per column.

    insert  I relation N tuple                 -> c
    update  U relation [K|O tuple] N tuple     -> u, or, where the key changed: d of the old, c of the new
    delete  D relation K|O tuple               -> d

A value that the log did not send (unchanged TOAST) is taken from the old tuple where that tuple is full;
otherwise its column contains the placeholder, or null, and is named: the event is partial.
"""

import cython

from wrackline.producers.contract.row_chunks import ChunkRow
from wrackline.producers.contract.steps import RowChange, Unsent
from wrackline.producers.rows.row_events import reason_of
from wrackline.producers.rows.unfit_values import (
    AnyFailure,
    SettledRow,
    UnfitColumns,
    columns_that_could_stop,
    error_fields,
)
from wrackline.producers.sources.postgres.rows.cells import beside_of, done_to, growth_of, scale_of
from wrackline.producers.sources.postgres.rows.column_masking import masking_of
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.events.unavailable import placeholder_bytes
from wrackline.schemas.tables.types import Kind

if not cython.compiled:
    from wrackline.producers.rows.row_events import Cells, RowEvents
    from wrackline.producers.sources.postgres.rows.cells import COPY, put_cell
    from wrackline.schemas.events.avro_writer import put_bytes
    from wrackline.schemas.events.frame import Frame
else:
    from cython.cimports.wrackline.producers.rows.row_events import Cells, RowEvents
    from cython.cimports.wrackline.producers.sources.postgres.rows.cells import COPY, put_cell
    from cython.cimports.wrackline.schemas.events.avro_writer import put_bytes
    from cython.cimports.wrackline.schemas.events.frame import Frame

VALUE_UNFIT = define(
    "pg.value_unfit",
    OperatorNeeded,
    "a value of column {column} of {table} does not fit its type {type}: {reason}",
    hint="set column.as.text = '{listed}' to carry the column as text, or column.unfit.letter = '{could}' to"
    " set only such rows aside, or correct the row in the source; then read the table again: wrackline"
    " snapshot start <pipeline.toml> '{table}'",
)
ROW_UNREADABLE = define(
    "pg.row_unreadable",
    OperatorNeeded,
    "a row message of {table} ({size} bytes) does not match the {known} columns that the log announced for"
    " it",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)

# Values of such columns are likely not to fit, so an error names all such columns of the table.
MAY_NOT_FIT = frozenset({Kind.DECIMAL, Kind.ARRAY})
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
_ROW_START = cython.declare(cython.longlong, 5)  # the letter and the relation's oid come before it


@cython.final
@cython.cclass
class TupleCells(Cells):
    """Where the cells of one tuple lie in its message."""

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
            self.starts[i] = self.sizes[i] = 0  # a place from the last message would lie outside this message
            at += 1
            if kind != _NULL and kind != _UNSENT:
                if kind != _TEXT or end - at < 4:  # we never ask for binary
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
        """Find the cells of a line of COPY; false where a cell has an escape, so that it is not the text."""
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
class PgRowDecoder(RowEvents):
    """The row messages of one relation at one shape."""

    def __init__(
        self,
        ref: int,
        shape: Projection,
        key_id: int,
        value_id: int,
        placeholder: bytes = b"",
        *,
        changed_only: bool = False,
    ) -> None:
        """Take the table's ref in changes, its shape (columns in the rows' order), its schemas' ids.

        `placeholder` replaces a value that the log did not send; none: null.  `changed_only`: an update that
        changes no published value is not an event.
        """
        columns = shape.table.columns
        growth = bytes(growth_of(column.type) for column in columns)
        unavailable = tuple(placeholder_bytes(column.type, placeholder) for column in columns)
        super().__init__(ref, shape, key_id, value_id, growth, unavailable, changed_only=changed_only)
        self.beside += sum(beside_of(column.type) for column in columns)
        self.veil = masking_of(shape)
        self.announced = len(shape.actions)
        self.every_done = bytes(done_to(column.type) for column in columns)
        self.done = self.every_done
        self.every_scale = bytes(scale_of(column.type) for column in columns)
        self.scales = self.every_scale
        self.new = TupleCells(self.count)
        self.old = TupleCells(self.count)

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
        """Write one value that was sent; most values are copied, without a further call."""
        done: cython.int = self.done[column]
        if done == COPY:
            return put_bytes(out, at, limit, data, cells.starts[column], cells.sizes[column])
        return put_cell(
            out,
            at,
            limit,
            done,
            self.scales[column],
            data,
            cells.starts[column],
            cells.sizes[column],
        )

    def decode(self, message: bytes, at: int, frame: Frame, ordinal: int, events: list[RowChange]) -> int:
        """Append the row's event, or two where the key changed; return their bytes."""
        return self.put(message, at, frame, ordinal, events)

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def put(
        self,
        message: bytes,
        at: cython.Py_ssize_t,
        frame: Frame,
        ordinal: cython.longlong,
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
        old: TupleCells | None = None
        new: TupleCells | None = None
        unsent: Unsent | None = None
        if letter == _UPDATE:
            new = self.new
            if data[start] != _NEW:
                old = self.old
                start = old.split(data, start + 1, len(message))
            if start == 0 or new.split(data, start + 1, len(message)) == 0:
                raise self._unreadable(message)
            unsent = Unsent(self._names_unsent()) if self._unsent(old) else None
        else:
            cells: TupleCells = self.new if letter == _INSERT else self.old
            if cells.split(data, start + 1, len(message)) == 0:
                raise self._unreadable(message)
            new = cells if letter == _INSERT else None
            old = cells if new is None else None
        try:
            if letter == _UPDATE:
                return self.updated(data, old, self.new, unsent, frame, ordinal, events)
            if letter == _INSERT:
                return self.inserted(data, self.new, frame, ordinal, events)
            return self.deleted(data, self.old, frame, ordinal, events)
        except (ValueError, LookupError, ArithmeticError) as exc:
            return self._settle(letter, message, old, new, unsent, frame, ordinal, events, exc)

    def read(self, row: bytes) -> ChunkRow:
        """Return the key of a row of a chunk, and its event up to `source`; `row` is a tuple."""
        if self.veil is not None:
            row = self.veil.row(row)
        if self.new.split(row, 0, len(row)) == 0:
            raise self._unreadable(row)
        return self._chunk_row(row)

    @cython.ccall
    def read_line(self, line: bytes) -> ChunkRow | None:
        """Do the same with a line of COPY; None for a line that must be made into a tuple first."""
        end: cython.Py_ssize_t = len(line)
        data: cython.p_const_uchar = line
        if end > 0 and data[end - 1] == _LINE_FEED:
            end -= 1
        if self.veil is not None or not self.new.split_line(data, end):
            return None
        return self._chunk_row(line)

    @cython.cfunc
    def _chunk_row(self, row: bytes) -> ChunkRow:
        try:
            return self.chunk_row(row, self.new)
        except (ValueError, LookupError, ArithmeticError) as exc:
            try:
                settled = self.settled_row(row, self.new, {}, exc)
            except (ValueError, LookupError, ArithmeticError) as stops:
                raise self._unfit(stops) from None
            raise settled from None

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _settle(
        self,
        letter: cython.uchar,
        message: bytes,
        old: TupleCells | None,
        new: TupleCells | None,
        unsent: Unsent | None,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
        failed: AnyFailure,
    ) -> cython.Py_ssize_t:
        """Append the events of a row that does not fit, or raise them with the report of the row."""
        made: list[RowChange] = []
        op = "d" if new is None else "c" if letter == _INSERT else "u"
        try:
            misfit = self.settled(op, message, old, new, {}, {}, unsent, frame, ordinal, made, failed)
        except (ValueError, LookupError, ArithmeticError) as exc:
            raise self._unfit(exc) from None
        if misfit is not None:
            raise SettledRow(misfit, made)
        events += made
        if not made:
            return 1  # it was taken, and nothing is published
        return sum(len(change[2] or b"") + len(change[3]) for change in made)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _unsent(self, old: TupleCells | None) -> cython.bint:
        """Fill the new tuple's unsent cells from the old tuple; return whether some are left."""
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

    def _unfit(self, error: Exception) -> Exception:
        """Return an error that names the column; never the value, which Python's error text would show."""
        columns = error.columns if isinstance(error, UnfitColumns) else {self.column: reason_of(error)}
        return VALUE_UNFIT(
            **error_fields(
                self.table, columns, columns_that_could_stop(self.table, self.on_unfit, MAY_NOT_FIT)
            )
        )

    def _unreadable(self, message: bytes) -> Exception:
        return ROW_UNREADABLE(table=self.table.id, known=self.announced, size=len(message))


def text_cells(message: bytes, at: int, count: int) -> list[bytes | None]:
    """Return a tuple's cells as text, used for the signal table; empty if it is not such a tuple."""
    cells = TupleCells(count)
    if cells.split(message, at, len(message)) == 0:
        return []
    return [
        None
        if cells.kinds[i] in {_NULL, _UNSENT}
        else message[cells.starts[i] : cells.starts[i] + cells.sizes[i]]
        for i in range(count)
    ]
