"""Binary rows of a result, as COM_STMT_EXECUTE gives them: where each cell is.

    0 | nulls, from the third bit on | cell, cell, ...

A number is as long as its type, a moment has its length in the byte before it, and all other values are
length-encoded.  Nothing is read outside the row.
"""

from array import array
from collections.abc import Sequence

import cython

from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import WireColumn

if not cython.compiled:
    from wrackline.producers.rows.row_events import NULL, VALUE
    from wrackline.producers.sources.mysql.rows.images import RowCells
    from wrackline.producers.sources.mysql.rows.temporal import little_number
else:
    from cython.cimports.wrackline.producers.rows.row_events import NULL, VALUE
    from cython.cimports.wrackline.producers.sources.mysql.rows.images import RowCells
    from cython.cimports.wrackline.producers.sources.mysql.rows.temporal import little_number

_SIZES = {
    wire.TINY: 1,
    wire.SHORT: 2,
    wire.YEAR: 2,
    wire.INT24: 4,
    wire.LONG: 4,
    wire.FLOAT: 4,
    wire.LONGLONG: 8,
    wire.DOUBLE: 8,
}


@cython.final
@cython.cclass
class ResultCells:
    """The rows of one statement, which selects a table's columns in order, a dropped column as NULL."""

    def __init__(self, columns: Sequence[WireColumn], kept: Sequence[bool]) -> None:
        self.count = len(columns)
        self.sizes = array("q", [_SIZES.get(column.wire, -1) for column in columns] or [0])
        slots, slot = [], 0
        for keep in kept:
            slots.append(slot if keep else -1)
            slot += keep
        self.slots = array("q", slots or [-1])

    @cython.cfunc
    @cython.exceptval(check=False)
    def split(self, data: cython.p_const_uchar, end: cython.Py_ssize_t, cells: RowCells) -> cython.bint:
        """Find the cells of a row; return False if it is not one."""
        i: cython.int
        size: cython.longlong
        slot: cython.longlong
        width: cython.int
        at: cython.Py_ssize_t = 1 + (self.count + 9) // 8
        if at > end or data[0] != 0:
            return False
        for i in range(self.count):
            slot = self.slots[i]
            if data[1 + ((i + 2) >> 3)] >> ((i + 2) & 7) & 1:
                if slot >= 0:
                    cells.kinds[slot] = NULL
                    cells.starts[slot] = cells.sizes[slot] = 0
                continue
            size = self.sizes[i]
            if size < 0:
                if at >= end:
                    return False
                size = data[at]
                at += 1
                if size > 250:  # a length of two, three or eight bytes; 251 and 255 are not lengths
                    width = 2 if size == 252 else 3 if size == 253 else 8 if size == 254 else -1
                    if width < 0 or end - at < width:
                        return False
                    size = little_number(data, at, width)
                    at += width
            if size < 0 or size > end - at:
                return False
            if slot >= 0:
                cells.kinds[slot] = VALUE
                cells.starts[slot] = at
                cells.sizes[slot] = size
            at += size
        return at == end
