"""Rows of the log, and of results, into events: from the server's bytes to Avro, no object for each column.

    write    image, image ...               -> c, c ...
    update   old, new, old, new ...         -> u, or, where the key changed: d of the old, c of the new
    delete   image, image ...               -> d, d ...
    result   a binary row                   -> key and event up to `source`, as a chunk wants them

One call takes all rows of an event.  Nothing is unsent here: the log has whole rows, or the table is given up
with the SQL that makes the log whole.
"""

from array import array
from collections.abc import Sequence

import cython

from wrackline.producers.contract.row_chunks import ChunkRow
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.rows.row_events import BROKEN, reason_of
from wrackline.producers.rows.unfit_values import (
    MISFIT_BYTES,
    AnyFailure,
    Reasons,
    Unfit,
    UnfitColumns,
    UnfitPlace,
    columns_that_could_stop,
    error_fields,
)
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.rows.cell_codecs import CellCodec, Charsets, log_codec, result_codec
from wrackline.producers.sources.mysql.rows.json_text import apply_diffs
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.language.masks import Mask
from wrackline.schemas.tables.types import ColumnType, Kind

if not cython.compiled:
    from wrackline.producers.rows.row_events import NULL, VALUE, Cells, RowEvents
    from wrackline.producers.sources.mysql.rows.cells import ENUM, ENUM_SET, put_value
    from wrackline.producers.sources.mysql.rows.images import DIFF, MADE, Images, RowCells, operation
    from wrackline.producers.sources.mysql.rows.result_cells import ResultCells
    from wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw
    from wrackline.schemas.events.frame import Frame
else:
    from cython.cimports.wrackline.producers.rows.row_events import NULL, VALUE, Cells, RowEvents
    from cython.cimports.wrackline.producers.sources.mysql.rows.cells import ENUM, ENUM_SET, put_value
    from cython.cimports.wrackline.producers.sources.mysql.rows.images import (
        DIFF,
        MADE,
        Images,
        RowCells,
        operation,
    )
    from cython.cimports.wrackline.producers.sources.mysql.rows.result_cells import ResultCells
    from cython.cimports.wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw
    from cython.cimports.wrackline.schemas.events.frame import Frame

VALUE_UNFIT = define(
    "mysql.value_unfit",
    OperatorNeeded,
    "a value of column {column} of {table} does not fit its type {type}: {reason}",
    hint="set column.as.text = '{listed}' to carry the columns as text that are not text yet, or"
    " column.unfit.letter = '{could}' to set only such rows aside, or correct the row in the source;"
    " then read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)
ROW_IMAGE = define(
    "mysql.row_image",
    OperatorNeeded,
    "the log contains rows of {table} without all of their columns",
    hint="as an administrator: SET GLOBAL binlog_row_image = FULL; and let no session set it otherwise;"
    " then read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)
ROW_UNREADABLE = define(
    "mysql.row_unreadable",
    OperatorNeeded,
    "rows of {table} ({size} bytes) do not match the {known} columns that the table has there",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)

# Values of such columns are likely not to fit, so an error names all such columns of the table.
MAY_NOT_FIT = frozenset({Kind.DATE, Kind.TIMESTAMP_MICROS, Kind.INSTANT_MICROS, Kind.ZONED_TIMESTAMP})
_LESS = cython.declare(cython.longlong, -2)
_UPDATES = cython.declare(cython.longlong, 1)
_PARTIAL_UPDATE = cython.declare(cython.longlong, 39)


@cython.cclass
class MySqlRows(RowEvents):
    """The common part of rows of the log and of results: their cells are written by their forms."""

    def __init__(
        self,
        ref: int,
        shape: Projection,
        key_id: int,
        value_id: int,
        forms: Sequence[CellCodec],
        *,
        changed_only: bool = False,
    ) -> None:
        """Take the table's ref in changes, its shape, its schemas' ids and its columns' forms."""
        super().__init__(
            ref, shape, key_id, value_id, bytes(form.growth for form in forms), changed_only=changed_only
        )
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
        """Write one value that is not null."""
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
        """Write an enum's label, which is empty for 0, or a set's labels, joined by commas."""
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
        """Make the cells that are not written directly; a JSON diff is applied to the row before."""
        column: cython.int
        for column in self.odd:
            self.column = column
            self._make_one(event, cells, before, column)
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _make_one(
        self, event: bytes, cells: RowCells, before: RowCells | None, column: cython.int
    ) -> cython.int:
        data: cython.p_const_uchar = event
        start: cython.Py_ssize_t = cells.starts[column]
        size: cython.Py_ssize_t = cells.sizes[column]
        form = self.forms[column]
        if cells.kinds[column] == NULL or cells.kinds[column] == MADE:
            return 0
        if form.plain_ascii and _ascii(data, start, size):
            return 0
        text: bytes = event[start : start + size]
        if cells.kinds[column] == DIFF:
            if before is None or before.kinds[column] != VALUE:
                raise Unfit("its change was logged without the value before it")
            start = before.starts[column]
            text = apply_diffs(event[start : start + before.sizes[column]], text)
        else:
            text = self.makes[column](text)
        if form.mask is not None:
            text = form.mask(text)
        cells.made[column] = text
        cells.sizes[column] = len(text)
        cells.kinds[column] = MADE
        return 0

    @cython.cfunc
    def unmade(self, event: bytes, cells: RowCells, before: RowCells | None) -> Reasons:
        """Make the cells that are not made yet; return the places of failed cells, which are null now."""
        column: cython.int
        found: Reasons = {}
        for column in self.odd:
            try:
                self._make_one(event, cells, before, column)
            except BROKEN as exc:
                found[column] = reason_of(exc)
                cells.kinds[column] = NULL
        return found

    def unfit(self, error: Exception) -> Exception:
        """Return an error that names the columns; never a value, which a codec's error text would show."""
        columns = error.columns if isinstance(error, UnfitColumns) else {self.column: reason_of(error)}
        return VALUE_UNFIT(
            **error_fields(
                self.table, columns, columns_that_could_stop(self.table, self.on_unfit, MAY_NOT_FIT)
            )
        )

    def unreadable(self, size: int) -> Exception:
        """Return the error that bytes are not rows of this table."""
        return ROW_UNREADABLE(table=self.table.id, known=self.announced, size=size)


@cython.final
@cython.cclass
class MySqlRowDecoder(MySqlRows):
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
        *,
        changed_only: bool = False,
    ) -> None:
        """Take the table's ref in changes, its shape (columns in the rows' order), its schemas' ids.

        `most`: how many bytes a compressed cell may have when it is uncompressed.  `changed_only`: an update
        that changes no published value is not an event.
        """
        forms = [
            log_codec(column, type_, mask, charsets, most)
            for column, type_, mask in published_columns(shape, columns)
        ]
        super().__init__(ref, shape, key_id, value_id, forms, changed_only=changed_only)
        self.images = Images(columns, [action is not Plain.DROP for action in shape.actions])
        self.new = RowCells(self.count)
        self.old = RowCells(self.count)
        self.rows = 0  # in the event that was decoded last
        self.misfits: list[UnfitPlace] = []  # of that event

    def decode(
        self,
        event: bytes,
        at: int,
        end: int,
        kind: int,
        frame: Frame,
        ordinal: int,
        skip: int,
        events: list[RowChange],
    ) -> int:
        """Append the events of all rows but the first `skip`; return their bytes.

        `at` is the place behind the event's header and `end` the place before its checksum; `kind` is the
        event's number; `ordinal` is the first row's.  The number of rows is in `rows`, also after an error
        in one row: later rows still keep their ordinals.
        """
        self.rows = 0
        if self.misfits:
            self.misfits = []
        if not 0 <= at <= end <= len(event):
            raise self.unreadable(len(event))
        try:
            return self._decode(event, at, end, kind, frame, ordinal, skip, events)
        except BROKEN as exc:
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
        skip: cython.Py_ssize_t,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        data: cython.p_const_uchar = event
        what: cython.int = operation(kind)
        made: cython.Py_ssize_t = 0
        counted: cython.bint = frame.counted  # earlier rows are counted, too
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
            frame.row = row
            if row >= skip:
                try:
                    made += self._row_events(event, what, frame, ordinal + row, events)
                except BROKEN as exc:
                    made += self._settle(event, what, frame, ordinal, row, False, events, exc)
            elif counted:
                try:
                    self._row_events(event, what, frame, ordinal + row, [])
                except BROKEN as exc:
                    self._settle(event, what, frame, ordinal, row, True, [], exc)
            row += 1
            self.rows = row
        return made

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _settle(
        self,
        event: bytes,
        what: cython.int,
        frame: Frame,
        ordinal: cython.longlong,
        row: cython.Py_ssize_t,
        out: cython.bint,
        events: list[RowChange],
        failed: AnyFailure,
    ) -> cython.Py_ssize_t:
        """Append the events of a row that does not fit; unless it is published, note its report."""
        before: RowCells | None = self.old if what == _UPDATES else None if what == 0 else self.new
        after: RowCells | None = self.new if what == _UPDATES or what == 0 else None
        unmade: Reasons = {}
        unmade_before: Reasons = {}
        if after is not None:
            unmade = self.unmade(event, after, self.old if what == _UPDATES else None)
        if before is not None:
            unmade_before = self.unmade(event, before, None)
        op = "u" if what == _UPDATES else "c" if what == 0 else "d"
        first = len(events)
        misfit = self.settled(
            op,
            event,
            before,
            after,
            unmade_before,
            unmade,
            None,
            frame,
            ordinal + row,
            events,
            failed,
        )
        beside = 0
        if misfit is not None and not out:
            self.misfits.append(UnfitPlace(row, first, len(events), misfit))
            beside = MISFIT_BYTES
        return beside + sum(len(change[2] or b"") + len(change[3]) for change in events[first:])

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _row_events(
        self,
        event: bytes,
        what: cython.int,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the events of one row."""
        if self.odd:
            self.total, self.of_table = (
                frame.total,
                frame.of_table,
            )  # `make` may fail before `updated` does it
            self.make(event, self.new, self.old if what == _UPDATES else None)
            if what == _UPDATES:
                self.make(event, self.old, None)
        if what == _UPDATES:
            return self.updated(event, self.old, self.new, None, frame, ordinal, events)
        if what == 0:
            return self.inserted(event, self.new, frame, ordinal, events)
        return self.deleted(event, self.new, frame, ordinal, events)


@cython.final
@cython.cclass
class ResultDecoder(MySqlRows):
    """The binary rows of a statement that selects a table's columns."""

    def __init__(
        self, ref: int, shape: Projection, columns: Sequence[WireColumn], key_id: int, value_id: int
    ) -> None:
        """Take what `MySqlRowDecoder` takes; a result's texts are in utf8mb4."""
        told = published_columns(shape, columns)
        forms = [result_codec(column, type_, mask) for column, type_, mask in told]
        super().__init__(ref, shape, key_id, value_id, forms)
        self.result = ResultCells(columns, [action is not Plain.DROP for action in shape.actions])
        self.new = RowCells(self.count)

    @cython.ccall
    def read(self, row: bytes) -> ChunkRow:
        """Return the key of a row of a chunk, and its event up to `source`."""
        try:
            if not self.result.split(row, len(row), self.new):
                raise self.unreadable(len(row))
            if self.odd:
                self.make(row, self.new, None)
            return self.chunk_row(row, self.new)
        except BROKEN as exc:
            try:
                settled = self.settled_row(row, self.new, self.unmade(row, self.new, None), exc)
            except BROKEN as stops:
                raise self.unfit(stops) from None
            raise settled from None


def published_columns(
    shape: Projection, columns: Sequence[WireColumn]
) -> list[tuple[WireColumn, ColumnType, Mask | None]]:
    """Return the published columns: each on the wire, its type in the source, and its mask."""
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
