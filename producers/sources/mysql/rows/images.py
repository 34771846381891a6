"""Row images of a rows event: where each cell is, and how many rows there are.

    rows event   table 6 | flags 2 | [extra] | columns | present | [present after] | image, image, ...
    image        nulls | cell, cell, ...       two for an update: the row as it was, and as it is
    event 39     the second begins with its options, and bits that say which JSON cells are diffs

In: an event's bytes and the table's columns on the wire.  Out: the cells of the columns that are kept.
Nothing is read outside the event: every place is compared with its end before it is read.
"""

from array import array
from collections.abc import Sequence

import cython

from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import WireColumn

if not cython.compiled:
    from wrackline.producers.rows.row_events import NULL, VALUE, Cells
    from wrackline.producers.sources.mysql.rows.temporal import little_number
else:
    from cython.cimports.wrackline.producers.rows.row_events import NULL, VALUE, Cells
    from cython.cimports.wrackline.producers.sources.mysql.rows.temporal import little_number

DIFF = cython.declare(cython.longlong, 100)  # d: a cell with only the changes of a JSON document
MADE = cython.declare(cython.longlong, 109)  # m: a cell whose text is in `made`

_WRITES = cython.declare(cython.longlong, 0)
_UPDATES = cython.declare(cython.longlong, 1)
_DELETES = cython.declare(cython.longlong, 2)
_PARTIAL_UPDATE = cython.declare(cython.longlong, 39)
_BROKEN = cython.declare(cython.longlong, -1)
_LESS = cython.declare(cython.longlong, -2)  # an image without all columns

_FIXED = {
    wire.TINY: 1,
    wire.YEAR: 1,
    wire.SHORT: 2,
    wire.INT24: 3,
    wire.LONG: 4,
    wire.LONGLONG: 8,
    wire.DATE: 3,
    wire.NEWDATE: 3,
    wire.TIME: 3,
    wire.DATETIME: 8,
    wire.TIMESTAMP: 4,
}
_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # by the number of decimal digits


def decimal_size(precision: int, scale: int) -> int:
    """Return the bytes of a packed decimal: four for nine digits, fewer for the rest on each side."""
    whole = precision - scale
    return 4 * (whole // 9 + scale // 9) + _DIGIT_BYTES[whole % 9] + _DIGIT_BYTES[scale % 9]


def fixed_size(column: WireColumn) -> int:
    """Return the bytes of a cell with a fixed size; -1 where a length comes before it."""
    meta = column.meta
    match column.wire:
        case wire.FLOAT | wire.DOUBLE | wire.ENUM | wire.SET:
            return meta
        case wire.NEWDECIMAL:
            return decimal_size(meta >> 8, meta & 255)
        case wire.BIT:
            return (meta + 7) // 8
        case wire.DATETIME2:
            return 5 + (meta + 1) // 2
        case wire.TIMESTAMP2:
            return 4 + (meta + 1) // 2
        case wire.TIME2:
            return 3 + (meta + 1) // 2
    return _FIXED.get(column.wire, -1)


def length_size(column: WireColumn) -> int:
    """Return the bytes of the length before a cell, if there is one."""
    match column.wire:
        case wire.VARCHAR | wire.VARCHAR_COMPRESSED | wire.VAR_STRING | wire.STRING:
            return 1 if column.meta < 256 else 2
    return column.meta


def operation(kind: cython.int) -> cython.int:
    """Return what an event of this number contains: 0 new rows, 1 changed, 2 deleted rows; -1 no rows."""
    if kind == _PARTIAL_UPDATE:
        return _UPDATES
    if 23 <= kind <= 25:
        return kind - 23
    return kind - 30 if 30 <= kind <= 32 else -1


@cython.final
@cython.cclass
class RowCells(Cells):
    """Where the cells of one row are in its event; `made` has the texts of cells that were made."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.made: list[bytes] = [b""] * count


@cython.final
@cython.cclass
class Images:
    """The row images of one table, as the log has them since its last table map."""

    def __init__(self, columns: Sequence[WireColumn], kept: Sequence[bool] | None = None) -> None:
        """Take the table's columns; `kept` says whose cells are found, None: rows are only counted."""
        self.count = len(columns)
        self.fixed = array("q", [fixed_size(column) for column in columns] or [0])
        self.lengths = bytes(0 if fixed_size(column) >= 0 else length_size(column) for column in columns)
        slots, slot = [], 0
        for keep in kept or [False] * self.count:
            slots.append(slot if keep else -1)
            slot += keep
        self.slots = array("q", slots or [-1])
        self.json = bytes(column.wire == wire.JSON for column in columns)
        self.documents = sum(self.json)

    def rows(self, event: bytes, at: cython.Py_ssize_t, end: cython.Py_ssize_t, kind: cython.int) -> int:
        """Count the rows of an event; -1 if it is not a rows event, or does not fit this table.

        `at` is the place behind the event's header, `end` the place before its checksum.
        """
        count: cython.Py_ssize_t = 0
        data: cython.p_const_uchar = event
        if end > len(event):
            return -1
        at = self.begin(data, at, end, kind)
        if at < 0:
            return -1
        while at < end:
            at = self.image(data, at, end, None, False)
            if at >= 0 and operation(kind) == _UPDATES:
                at = self.image(data, at, end, None, kind == _PARTIAL_UPDATE)
            if at < 0:
                return -1
            count += 1
        return count

    @cython.cfunc
    @cython.exceptval(-3, check=False)
    def begin(
        self,
        data: cython.p_const_uchar,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        kind: cython.int,
    ) -> cython.Py_ssize_t:
        """Return the place of the first image; -1 where there is none, -2 where columns are left out."""
        extra: cython.Py_ssize_t
        i: cython.int
        bits: cython.int = 2 if operation(kind) == _UPDATES else 1
        if operation(kind) < 0 or self.count == 0 or at < 0 or end - at < 8:
            return _BROKEN
        at += 8
        if kind >= 30:  # version 2 has a list of its own before the columns, mostly an empty one
            if end - at < 2:
                return _BROKEN
            extra = data[at] | data[at + 1] << 8
            if extra < 2 or end - at < extra:
                return _BROKEN
            at += extra
        if at >= end:
            return _BROKEN
        columns: cython.int = data[at]
        if columns == 252:  # a length-encoded number above 250
            if end - at < 3:
                return _BROKEN
            columns = data[at + 1] | data[at + 2] << 8
            at += 2
        at += 1
        size: cython.Py_ssize_t = (self.count + 7) // 8
        if columns != self.count or end - at < bits * size:
            return _BROKEN
        while bits > 0:
            for i in range(self.count):
                if not data[at + (i >> 3)] >> (i & 7) & 1:
                    return _LESS
            at += size
            bits -= 1
        return at

    @cython.cfunc
    @cython.exceptval(-3, check=False)
    def image(
        self,
        data: cython.p_const_uchar,
        at: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        cells: RowCells | None,
        partial: cython.bint,
    ) -> cython.Py_ssize_t:
        """Find the cells of the image at this place; return the place behind it, -1 if it is not one."""
        i: cython.int
        size: cython.longlong
        slot: cython.longlong
        diffs: cython.Py_ssize_t = -1  # where the bits of JSON cells are, if some are diffs
        document: cython.int = 0
        if partial:
            if at >= end or data[at] > 1:
                return _BROKEN
            at += 1
            if data[at - 1] == 1:
                diffs = at
                at += (self.documents + 7) // 8
        nulls: cython.Py_ssize_t = at
        at += (self.count + 7) // 8
        if at > end:
            return _BROKEN
        for i in range(self.count):
            slot = self.slots[i]
            if data[nulls + (i >> 3)] >> (i & 7) & 1:
                if slot >= 0 and cells is not None:
                    cells.kinds[slot] = NULL
                    cells.starts[slot] = cells.sizes[slot] = 0
                document += self.json[i]
                continue
            size = self.fixed[i]
            if size < 0:
                if end - at < self.lengths[i]:
                    return _BROKEN
                size = little_number(data, at, self.lengths[i])
                at += self.lengths[i]
            if size < 0 or size > end - at:
                return _BROKEN
            if slot >= 0 and cells is not None:
                cells.kinds[slot] = VALUE
                if diffs >= 0 and self.json[i] and data[diffs + (document >> 3)] >> (document & 7) & 1:
                    cells.kinds[slot] = DIFF
                cells.starts[slot] = at
                cells.sizes[slot] = size
            document += self.json[i]
            at += size
        return at
