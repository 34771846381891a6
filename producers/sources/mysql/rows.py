"""Rows of the log, and of results, into events: from the server's bytes to Avro, no object per column.

    write    image, image ...               -> c, c ...
    update   old, new, old, new ...         -> u, or, where the key changed: d of the old, c of the new
    delete   image, image ...               -> d, d ...
    result   a binary row                   -> key and event up to `source`, as a chunk wants them

One call takes all rows of an event.  Nothing is unsent here: the log holds whole rows, or the table is
given up with the SQL that makes it so.
"""

import struct
from array import array
from collections.abc import Sequence

import cython

from wrackline.producers.changes import RowChange
from wrackline.producers.chunks import ChunkRow
from wrackline.producers.row_events import Unfit
from wrackline.producers.sources.mysql.forms import Charsets, Form, log_form, result_form
from wrackline.producers.sources.mysql.json_text import merged
from wrackline.producers.sources.mysql.table_map import WireColumn
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.masks import Mask
from wrackline.schemas.projection import Plain, Projection
from wrackline.schemas.types import ColumnType

if not cython.compiled:
    from wrackline.producers.row_events import NULL, VALUE, Cells, RowEvents
    from wrackline.producers.sources.mysql.cells import ENUM, ENUM_SET, put_value
    from wrackline.producers.sources.mysql.images import DIFF, MADE, Images, RowCells, operation
    from wrackline.producers.sources.mysql.result_cells import ResultCells
    from wrackline.schemas.frame import Frame
    from wrackline.schemas.writer import put_bytes, put_long, put_raw
else:
    from cython.cimports.wrackline.producers.row_events import NULL, VALUE, Cells, RowEvents
    from cython.cimports.wrackline.producers.sources.mysql.cells import ENUM, ENUM_SET, put_value
    from cython.cimports.wrackline.producers.sources.mysql.images import (
        DIFF,
        MADE,
        Images,
        RowCells,
        operation,
    )
    from cython.cimports.wrackline.producers.sources.mysql.result_cells import ResultCells
    from cython.cimports.wrackline.schemas.frame import Frame
    from cython.cimports.wrackline.schemas.writer import put_bytes, put_long, put_raw

VALUE_UNFIT = define(
    "mysql.value_unfit",
    OperatorNeeded,
    "a value of column {column} of {table} does not fit its type {type}: {reason}",
    hint="set column.as.text={table}.{column} to carry the column as text, or correct the row in the source;"
    " then read the table anew: wrackline snapshot start <pipeline.toml> '{table}'",
)
ROW_IMAGE = define(
    "mysql.row_image",
    OperatorNeeded,
    "the log holds rows of {table} without all of their columns",
    hint="as an administrator: SET GLOBAL binlog_row_image = FULL; and let no session set it otherwise;"
    " then read the table anew: wrackline snapshot start <pipeline.toml> '{table}'",
)
ROW_UNREADABLE = define(
    "mysql.row_unreadable",
    OperatorNeeded,
    "rows of {table} ({size} bytes) do not hold the {known} columns that the table has there",
    hint="read the table anew: wrackline snapshot start <pipeline.toml> '{table}'",
)

_LESS = cython.declare(cython.longlong, -2)
_UPDATES = cython.declare(cython.longlong, 1)
_PARTIAL_UPDATE = cython.declare(cython.longlong, 39)


@cython.cclass
class MySqlRows(RowEvents):
    """What rows of the log and of results have in common: their cells are written by their forms."""

    def __init__(
        self, ref: int, shape: Projection, key_id: int, value_id: int, forms: Sequence[Form]
    ) -> None:
        """Take the table's ref in changes, its shape, its schemas' ids and its columns' forms."""
        super().__init__(ref, shape, key_id, value_id, bytes(form.growth for form in forms))
        self.announced = len(shape.actions)
        self.beside += sum(form.beside for form in forms)
        self.forms = list(forms)
        self.makes = [form.make or bytes for form in forms]
        self.every_done = bytes(form.done for form in forms)
        self.done = self.every_done
        self.meta = array("q", [form.meta for form in forms] or [0])
        self.labels = [list(form.labels) for form in forms]
        self.odd = [i for i, form in enumerate(forms) if form.make is not None]

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
        """Write one value that is there."""
        done: cython.int = self.done[column]
        if cells.kinds[column] == MADE:
            text: bytes = cython.cast(RowCells, cells).made[column]  # type: ignore[attr-defined]
            return put_bytes(out, at, limit, text, 0, len(text))
        if done == ENUM or done == ENUM_SET:
            return self._put_labels(out, at, limit, column, data, cells)
        return put_value(
            out, at, limit, done, self.meta[column], data, cells.starts[column], cells.sizes[column]
        )

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _put_labels(
        self,
        out: cython.p_uchar,
        at: cython.Py_ssize_t,
        limit: cython.Py_ssize_t,
        column: cython.int,
        data: cython.p_const_uchar,
        cells: Cells,
    ) -> cython.Py_ssize_t:
        """An enum's label, which 0 has not, or a set's, joined by commas."""
        i: cython.int
        labels: list[bytes] = self.labels[column]
        start: cython.Py_ssize_t = cells.starts[column]
        bits: cython.ulonglong = 0
        size: cython.Py_ssize_t = 0
        for i in range(cells.sizes[column]):
            bits |= cython.cast(cython.ulonglong, data[start + i]) << (8 * i)
        if self.done[column] == ENUM:
            if bits > len(labels):
                raise Unfit("it has a label that the column does not have")
            label: bytes = labels[bits - 1] if bits else b""
            return put_bytes(out, at, limit, label, 0, len(label))
        if len(labels) < 64 and bits >> len(labels):
            raise Unfit("it has a label that the column does not have")
        for i in range(len(labels)):
            if bits >> i & 1:
                size += len(labels[i]) + 1
        at = put_long(out, at, max(size - 1, 0))
        for i in range(len(labels)):
            if bits >> i & 1:
                label = labels[i]
                at = put_raw(out, at, limit, label, 0, len(label))
                size -= len(label) + 1
                if size:
                    out[at] = 44  # a comma
                    at += 1
        return at

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def make(self, event: bytes, cells: RowCells, before: RowCells | None) -> cython.int:
        """Make the cells that are not written as they are; a JSON diff is applied to the row before."""
        data: cython.p_const_uchar = event
        column: cython.int
        for column in self.odd:
            start: cython.Py_ssize_t = cells.starts[column]
            size: cython.Py_ssize_t = cells.sizes[column]
            form = self.forms[column]
            if cells.kinds[column] == NULL or (form.plain_ascii and _ascii(data, start, size)):
                continue
            self.column = column
            text: bytes = event[start : start + size]
            if cells.kinds[column] == DIFF:
                if before is None or before.kinds[column] != VALUE:
                    raise Unfit("what changed in it is told, and not what it was")
                start = before.starts[column]
                text = merged(event[start : start + before.sizes[column]], text)
            else:
                text = self.makes[column](text)
            if form.mask is not None:
                text = form.mask(text)
            cells.made[column] = text
            cells.sizes[column] = len(text)
            cells.kinds[column] = MADE
        return 0

    def unfit(self, error: Exception) -> Exception:
        """Say which column's value it was; never the value, which a codec's own words would show."""
        reason = str(error) if isinstance(error, Unfit) else "its bytes are not what its type says"
        column = self.table.columns[self.column]
        return VALUE_UNFIT(column=column.name, table=self.table.id, type=column.type.source, reason=reason)

    def unreadable(self, size: int) -> Exception:
        """Say that bytes are no rows of this table."""
        return ROW_UNREADABLE(table=self.table.id, known=self.announced, size=size)


@cython.final
@cython.cclass
class RowDecoder(MySqlRows):
    """The rows events of one table at one shape."""

    def __init__(
        self,
        ref: int,
        shape: Projection,
        columns: Sequence[WireColumn],
        key_id: int,
        value_id: int,
        charsets: Charsets,
        most: int = 64 << 20,
    ) -> None:
        """Take the table's ref in changes, its shape (columns in the rows' order), its schemas' ids.

        `most`: how many bytes a cell that is compressed may have when it is not.
        """
        forms = [
            log_form(column, type_, mask, charsets, most)
            for column, type_, mask in told_columns(shape, columns)
        ]
        super().__init__(ref, shape, key_id, value_id, forms)
        self.images = Images(columns, [action is not Plain.DROP for action in shape.actions])
        self.new = RowCells(self.count)
        self.old = RowCells(self.count)
        self.rows = 0  # in the event that was decoded last

    def decode(
        self,
        event: bytes,
        at: int,
        end: int,
        kind: int,
        frame: Frame,
        ordinal: int,
        of_table: int,
        skip: int,
        events: list[RowChange],
    ) -> int:
        """Append the events of all rows but the first `skip`; return their bytes.

        `at` is the place behind the event's header and `end` the one before its checksum; `kind` is the
        event's number; `ordinal` and `of_table` are the first row's.  How many rows there were is in
        `rows`, also after an error that is one row's: what comes behind has its ordinals all the same.
        """
        self.rows = 0
        if not 0 <= at <= end <= len(event):
            raise self.unreadable(len(event))
        try:
            return self._decode(event, at, end, kind, frame, ordinal, of_table, skip, events)
        except (ValueError, LookupError, ArithmeticError, struct.error) as exc:
            self.rows = max(self.images.rows(event, at, end, kind), 0)
            raise self.unfit(exc) from None

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _decode(
        self,
        event: bytes,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        kind: cython.int,
        frame: Frame,
        ordinal: cython.longlong,
        of_table: cython.longlong,
        skip: cython.Py_ssize_t,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        data: cython.p_const_uchar = event
        what: cython.int = operation(kind)
        made: cython.Py_ssize_t = 0
        row: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t = at
        at = self.images.begin(data, at, end, kind)
        if at == _LESS:
            raise ROW_IMAGE(table=self.table.id)
        if at < 0:
            raise self.unreadable(end - start)
        while at < end:
            at = self.images.image(data, at, end, self.old if what == _UPDATES else self.new, False)
            if at >= 0 and what == _UPDATES:
                at = self.images.image(data, at, end, self.new, kind == _PARTIAL_UPDATE)
            if at < 0:
                raise self.unreadable(end - start)
            if row >= skip:
                made += self._row_events(event, what, frame, ordinal + row, of_table + row, events)
            row += 1
            self.rows = row
        return made

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _row_events(
        self,
        event: bytes,
        what: cython.int,
        frame: Frame,
        ordinal: cython.longlong,
        of_table: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append what became of one row."""
        if self.odd:
            self.make(event, self.new, self.old if what == _UPDATES else None)
            if what == _UPDATES:
                self.make(event, self.old, None)
        if what == _UPDATES:
            return self.updated(event, self.old, self.new, None, frame, ordinal, of_table, events)
        if what == 0:
            return self.inserted(event, self.new, frame, ordinal, of_table, events)
        return self.deleted(event, self.new, frame, ordinal, of_table, events)


@cython.final
@cython.cclass
class ResultDecoder(MySqlRows):
    """The binary rows of a statement that selects a table's columns."""

    def __init__(
        self, ref: int, shape: Projection, columns: Sequence[WireColumn], key_id: int, value_id: int
    ) -> None:
        """Take what `RowDecoder` takes; a result's texts are in utf8mb4."""
        told = told_columns(shape, columns)
        forms = [result_form(column, type_, mask) for column, type_, mask in told]
        super().__init__(ref, shape, key_id, value_id, forms)
        self.result = ResultCells(columns, [action is not Plain.DROP for action in shape.actions])
        self.new = RowCells(self.count)

    @cython.ccall
    def read(self, row: bytes) -> ChunkRow:
        """Return the key of a row that a chunk read, and its event up to `source`."""
        try:
            if not self.result.split(row, len(row), self.new):
                raise self.unreadable(len(row))
            if self.odd:
                self.make(row, self.new, None)
            return self.found(row, self.new)
        except (ValueError, LookupError, ArithmeticError, struct.error) as exc:
            raise self.unfit(exc) from None


def told_columns(
    shape: Projection, columns: Sequence[WireColumn]
) -> list[tuple[WireColumn, ColumnType, Mask | None]]:
    """Return the columns that go out: on the wire, the type each is in the source, and its mask."""
    return [
        (column, source.type, None if isinstance(action, Plain) else action)
        for column, source, action in zip(columns, shape.source.columns, shape.actions, strict=True)
        if action is not Plain.DROP
    ]


@cython.cfunc
@cython.exceptval(check=False)
def _ascii(data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.bint:
    i: cython.Py_ssize_t
    for i in range(size):
        if data[start + i] > 127:
            return False
    return True
