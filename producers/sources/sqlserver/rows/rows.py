"""Packed rows into events: from the server's bytes to Avro, no object for each column.

    c, d     one image             -> c, d
    u        old and new image     -> u, or, where the key changed: d of the old, c of the new
    a chunk's row                  -> key and event up to `source`

One call takes all changes of a commit that are next to each other and of one table.
An image before lacks long values that did not change; their bit in the update mask is 0, so they are taken
from the image after (`before_images.py`).  After-images are whole, so nothing is unsent here.
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
    Unfit,
    UnfitColumns,
    UnfitPlace,
    columns_that_could_stop,
    error_fields,
)
from wrackline.producers.sources.sqlserver.log.change_rows import Change
from wrackline.producers.sources.sqlserver.rows.before_images import is_set
from wrackline.producers.sources.sqlserver.rows.cell_forms import CellForm
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.tables.types import Kind

if not cython.compiled:
    from wrackline.producers.rows.row_events import NULL, VALUE, Cells, RowEvents
    from wrackline.producers.sources.sqlserver.rows.cells import put_value
    from wrackline.schemas.events.avro_writer import put_raw
    from wrackline.schemas.events.frame import Frame
else:
    from cython.cimports.wrackline.producers.rows.row_events import NULL, VALUE, Cells, RowEvents
    from cython.cimports.wrackline.producers.sources.sqlserver.rows.cells import put_value
    from cython.cimports.wrackline.schemas.events.avro_writer import put_raw
    from cython.cimports.wrackline.schemas.events.frame import Frame

VALUE_UNFIT = define(
    "sqlserver.value_unfit",
    OperatorNeeded,
    "a value of column {column} of {table} does not fit its type {type}: {reason}",
    hint="set column.as.text = '{listed}' to carry the columns as text that are not text yet, or"
    " column.unfit.letter = '{could}' to set only such rows aside, or correct the row in the source;"
    " then read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)
ROW_UNREADABLE = define(
    "sqlserver.row_unreadable",
    OperatorNeeded,
    "rows of {table} ({size} bytes) do not match the {known} columns that the table has there",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)

# Values of such columns are likely not to fit, so an error names all such columns of the table.
MAY_NOT_FIT = frozenset({Kind.STRING, Kind.XML})
_NULL_LENGTH = cython.declare(cython.longlong, 0xFFFFFFFF)
_KEY = cython.declare(cython.Py_ssize_t, 29)  # of a row's place
_SEQVAL = cython.declare(cython.Py_ssize_t, 14)  # where it has the row's own LSN
_SEQVAL_END = cython.declare(cython.Py_ssize_t, 24)
_SPOT = cython.declare(cython.Py_ssize_t, 23)  # a row's own LSN as a text of Avro


@cython.final
@cython.cclass
class ChangeCount:
    """How far the changes of a commit have come."""

    def __init__(self, done: int) -> None:
        """Take how many came before the first."""
        self.done = done  # changes that have come
        self.skip = 0  # so many were published before
        self.behind = b""  # the last of those
        self.last = b""  # the place of the change that came last
        self.serial = 0  # of that change among the rows with its seqval
        self.total = 0  # events that have come, as the commit's END counts them
        self.at = 0  # in the list that was read last: the next change
        self.whole = 0  # events of that list's changes that fit, and can be published
        self.size = 0  # their bytes, and those of a report that the last one does not fit
        self.shown = self.shown_serial = 0
        self.shown_last = b""

    def resume(self, skip: int, behind: bytes) -> None:
        """Take how many changes were published before, and the last of them."""
        self.skip, self.behind = skip, behind

    @cython.ccall
    @cython.exceptval(-1, check=False)
    def take(self, key: bytes, op: str) -> cython.int:
        """Count a change, of an update two rows; return whether it was not published before."""
        if len(key) != _KEY:
            raise ValueError("a place in a change table has 29 bytes")
        rows: cython.int = 2 if op == "u" else 1
        self.serial = rows + (self.serial if _same_row(key, self.last) else 0)
        self.last = key
        self.done += 1
        if not key > self.behind:
            return 0
        if self.done <= self.skip:  # a table that was read before is not read any more
            self.done = self.skip + 1
        return 1

    def published(self) -> tuple[int, bytes, int]:
        """Return the place behind the last of the events that fit: changes, the last one, its number."""
        return self.shown, self.shown_last, self.shown_serial


@cython.cfunc
@cython.exceptval(check=False)
def _same_row(key: bytes, last: bytes) -> cython.bint:
    """Whether two places have the same row's LSN."""
    at: cython.Py_ssize_t
    if len(last) != _KEY:
        return False
    one: cython.p_const_uchar = key
    other: cython.p_const_uchar = last
    for at in range(_SEQVAL, _SEQVAL_END):
        if one[at] != other[at]:
            return False
    return True


@cython.final
@cython.cclass
class SqlServerRowDecoder(RowEvents):
    """The rows of one table at one shape, in a change table or in a chunk."""

    def __init__(
        self,
        ref: int,
        shape: Projection,
        forms: Sequence[CellForm],
        key_id: int,
        value_id: int,
        *,
        changed_only: bool = False,
    ) -> None:
        """Take the table's ref in changes, its shape (columns in the rows' order), and its schemas' ids.

        `changed_only`: an update that changes no published value is not an event.
        """
        super().__init__(
            ref, shape, key_id, value_id, bytes(form.growth for form in forms), changed_only=changed_only
        )
        self.beside += sum(form.beside for form in forms)
        self.done = array("q", [form.done for form in forms] or [0])
        self.scales = array("q", [form.scale for form in forms] or [0])
        self.widths = array("q", [form.width for form in forms] or [0])
        self.makes = [form.make for form in forms]
        self.lengthy = [(place, form.long) for place, form in enumerate(forms) if form.long]
        slots, slot = [], 0
        for action in shape.actions:
            slots.append(-1 if action is Plain.DROP else slot)
            slot += action is not Plain.DROP
        self.slots = array("q", slots or [-1])
        self.known = len(shape.actions)
        self.new = Cells(self.count)
        self.old = Cells(self.count)
        self.misfit: UnfitPlace | None = None  # of the change that was decoded last

    def changes(
        self,
        changes: list[Change],
        at: cython.Py_ssize_t,
        room: cython.longlong,
        count: ChangeCount,
        frame: Frame,
        events: list[RowChange],
    ) -> None:
        """Append the events of a change, and of those that follow it and are of its table.

        It ends behind a change that does not fit, and when the events have `room` bytes.  `count` says how
        far it came, also if it raises: only its first `whole` events are published then.
        """
        size: cython.Py_ssize_t
        out: cython.int
        number: cython.longlong
        first: cython.longlong = changes[at][0]
        count.size = 0
        count.whole = len(events)
        while at < len(changes):
            number, op, key, mask, before, after = changes[at]
            if number != first:
                break
            at += 1
            count.at = at
            out = count.take(key, op)
            frame.spot, frame.row = self._spot(key), count.serial
            size = self.change(op, before, after, mask, frame, count.done - 1, events)
            count.total = frame.total
            if not out:
                del events[count.whole :]
                self.misfit = None
            elif self.misfit is not None:
                count.size += size
                break
            elif len(events) > count.whole:
                count.whole = len(events)
                count.shown, count.shown_last, count.shown_serial = count.done, count.last, count.serial
                count.size += size
                if count.size >= room:
                    break

    @cython.ccall
    @cython.exceptval(-1, check=False)
    def change(
        self,
        op: str,
        before: bytes | None,
        after: bytes | None,
        mask: bytes,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
    ) -> cython.Py_ssize_t:
        """Append the events of one change; return their bytes, and those of a report that it does not fit."""
        self.misfit = None
        data: bytes = (before or b"") + (after or b"")
        size: cython.Py_ssize_t = 0 if before is None else len(before)
        old: Cells | None = None
        new: Cells | None = None
        if before is not None:
            old = self.old
            self._split(data, 0, size, old)
        if after is not None:
            new = self.new
            self._split(data, size, len(data), new)
        if old is not None and new is not None and self.lengthy:
            self._complete(old, new, mask)
        try:
            if new is None:
                return self.deleted(data, self.old, frame, ordinal, events)
            if old is None:
                return self.inserted(data, new, frame, ordinal, events)
            return self.updated(data, old, new, None, frame, ordinal, events)
        except BROKEN as exc:
            return self._settle(op, data, old, new, frame, ordinal, events, exc)

    @cython.cfunc
    def _spot(self, key: bytes) -> bytes:
        """Write a row's own LSN as Debezium's events have it, `0000002a:000001f8:0003`, with its length."""
        place: cython.Py_ssize_t
        nibble: cython.int
        data: cython.p_const_uchar = key
        self.writer.reserve(_SPOT)
        out: cython.p_uchar = self.writer.raw
        out[0] = 2 * (_SPOT - 1)
        at: cython.Py_ssize_t = 1
        for place in range(_SEQVAL, _SEQVAL_END):
            if place == _SEQVAL + 4 or place == _SEQVAL + 8:
                out[at] = 58  # a colon
                at += 1
            nibble = data[place] >> 4
            out[at] = nibble + 48 if nibble < 10 else nibble + 87
            nibble = data[place] & 15
            out[at + 1] = nibble + 48 if nibble < 10 else nibble + 87
            at += 2
        return self.writer.take(at)

    @cython.ccall
    def read(self, row: bytes) -> ChunkRow:
        """Return the key of a row of a chunk, and its event up to `source`."""
        self._split(row, 0, len(row), self.new)
        try:
            return self.chunk_row(row, self.new)
        except BROKEN as exc:
            try:
                settled = self.settled_row(row, self.new, {}, exc)
            except BROKEN as stops:
                raise self.unfit(stops) from None
            raise settled from None

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
        start: cython.Py_ssize_t = cells.starts[column]
        size: cython.Py_ssize_t = cells.sizes[column]
        if size != self.widths[column] and self.widths[column]:
            raise Unfit("it does not have the size of its type")
        if self.done[column]:
            end: cython.Py_ssize_t = put_value(
                out, at, limit, self.done[column], self.scales[column], data, start, size
            )
            if end >= 0:
                return end
        made: bytes = self.makes[column](bytes(data[start : start + size]))
        return put_raw(out, at, limit, made, 0, len(made))

    def unfit(self, error: Exception) -> Exception:
        """Return an error that names the columns; never a value, which a codec's error text would show."""
        columns = error.columns if isinstance(error, UnfitColumns) else {self.column: reason_of(error)}
        return VALUE_UNFIT(
            **error_fields(
                self.table, columns, columns_that_could_stop(self.table, self.on_unfit, MAY_NOT_FIT)
            )
        )

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _split(self, row: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, cells: Cells) -> cython.int:
        """Find the cells of a packed row."""
        data: cython.p_const_uchar = row
        i: cython.int
        slot: cython.longlong
        size: cython.longlong
        for i in range(self.known):
            if end - at < 4:
                raise self._unreadable(len(row))
            size = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            size |= cython.cast(cython.longlong, data[at + 3]) << 24
            at += 4
            slot = self.slots[i]
            if size == _NULL_LENGTH:
                if slot >= 0:
                    cells.kinds[slot] = NULL
                    cells.starts[slot] = cells.sizes[slot] = 0
                continue
            if size > end - at:
                raise self._unreadable(len(row))
            if slot >= 0:
                cells.kinds[slot] = VALUE
                cells.starts[slot] = at
                cells.sizes[slot] = size
            at += size
        if at != end:
            raise self._unreadable(len(row))
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _complete(self, old: Cells, new: Cells, mask: bytes) -> cython.int:
        """Put what the update did not touch into the image before."""
        place: cython.int
        ordinal: cython.int
        for place, ordinal in self.lengthy:
            if old.kinds[place] == NULL and new.kinds[place] == VALUE and not is_set(mask, ordinal):
                old.kinds[place] = VALUE
                old.starts[place] = new.starts[place]
                old.sizes[place] = new.sizes[place]
        return 0

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def _settle(
        self,
        op: str,
        data: bytes,
        old: Cells | None,
        new: Cells | None,
        frame: Frame,
        ordinal: cython.longlong,
        events: list[RowChange],
        failed: AnyFailure,
    ) -> cython.Py_ssize_t:
        """Append the events of a row that does not fit; unless it is published, note its report."""
        first = len(events)
        try:
            misfit = self.settled(op, data, old, new, {}, {}, None, frame, ordinal, events, failed)
        except BROKEN as stops:
            raise self.unfit(stops) from None
        beside = 0
        if misfit is not None:
            self.misfit = UnfitPlace(0, first, len(events), misfit)
            beside = MISFIT_BYTES
        return beside + sum(len(change[2] or b"") + len(change[3]) for change in events[first:])

    def _unreadable(self, size: int) -> Exception:
        return ROW_UNREADABLE(table=self.table.id, known=self.known, size=size)
