r"""A line of COPY's text format into pgoutput's tuple, so that one decoder reads rows from both.

    a TAB \N TAB b\\c LF   ->   count, t length a, n, t length b\c

Text between tabs is what the type's output function wrote, as in the log.  Only the backslashes that COPY
put before tab, line feed, carriage return and backslash are removed.  No object per column.
"""

import cython

if not cython.compiled:
    from wrackline.schemas.events.avro_writer import AvroWriter
else:
    from cython.cimports.wrackline.schemas.events.avro_writer import AvroWriter

_TAB = cython.declare(cython.longlong, 9)
_LINE_FEED = cython.declare(cython.longlong, 10)
_BACKSLASH = cython.declare(cython.longlong, 92)
_NULL = cython.declare(cython.longlong, 78)  # N
_UNESCAPED = {98: 8, 102: 12, 110: 10, 114: 13, 116: 9, 118: 11}  # b f n r t v


@cython.final
@cython.cclass
class CopyText:
    """Lines of one table."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.writer = AvroWriter()

    def tuple_of(self, line: bytes) -> bytes:
        """Return the line as pgoutput's TupleData."""
        data: cython.p_const_uchar = line
        i: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t = len(line)
        self.writer.reserve(16 + 5 * self.columns + end)
        out: cython.p_uchar = self.writer.raw
        at: cython.Py_ssize_t = 2
        start: cython.Py_ssize_t = at  # of the cell: its letter, its length, its text
        column: cython.int = 0
        null: cython.bint = False
        if end > 0 and data[end - 1] == _LINE_FEED:
            end -= 1
        out[0] = (self.columns >> 8) & 255
        out[1] = self.columns & 255
        at += 5
        while column < self.columns:
            if i < end and data[i] != _TAB:
                if data[i] != _BACKSLASH:
                    out[at] = data[i]
                    at += 1
                elif data[i + 1] == _NULL:
                    null = True
                    i += 1
                else:
                    i += 1
                    out[at] = _UNESCAPED.get(data[i], data[i])
                    at += 1
                i += 1
                continue
            column += 1
            i += 1
            at = _close(out, start, at, null)
            start = at
            null = False
            if column < self.columns:
                at += 5
        return self.writer.take(at)


@cython.cfunc
@cython.exceptval(check=False)
def _close(
    out: cython.p_uchar, start: cython.Py_ssize_t, at: cython.Py_ssize_t, null: cython.bint
) -> cython.Py_ssize_t:
    """Write a cell's letter and length before its text; return where the next cell begins."""
    size: cython.Py_ssize_t = at - start - 5
    if null:
        out[start] = 110  # n
        return start + 1
    out[start] = 116  # t
    out[start + 1] = (size >> 24) & 255
    out[start + 2] = (size >> 16) & 255
    out[start + 3] = (size >> 8) & 255
    out[start + 4] = size & 255
    return at
