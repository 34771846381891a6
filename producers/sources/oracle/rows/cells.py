"""One cell as it is in SQL_REDO into Avro bytes, without a Python value in between.

In: the kind of a cell and its text, what is done to it, and the digits of its type; `cell_forms` chooses the
last two.  Out: the bytes that `schemas/events/envelope.py` promises for the column's kind.  The cells of a
chunk have the same texts, so both give the same bytes.  `cell_readers.py` reads the same cells in plain
Python, and is the measure of this.

What is written here is what most cells are.  A cell of another form, and one that does not fit, is left to a
function, which makes its bytes or says why it can't.
"""

import cython

from wrackline.schemas.events.avro_writer import NoRoom
from wrackline.schemas.tables.types import Kind

if not cython.compiled:
    from wrackline.producers.rows.zoned_text import put_zoned
    from wrackline.producers.sources.oracle.rows.moments import NO_MOMENT, read_moment
    from wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw, put_units
else:
    from cython.cimports.wrackline.producers.rows.zoned_text import put_zoned
    from cython.cimports.wrackline.producers.sources.oracle.rows.moments import NO_MOMENT, read_moment
    from cython.cimports.wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw, put_units

BYTES: int = 32  # the kind of a cell of a chunk that is no text; the others are those of RedoKind

# What is done to a cell.
MADE = cython.declare(cython.longlong, 0)  # a function makes its Avro bytes
TEXT = cython.declare(cython.longlong, 1)
INTEGER = cython.declare(cython.longlong, 2)
DECIMAL = cython.declare(cython.longlong, 3)
NUMERIC = cython.declare(cython.longlong, 4)  # a number as its text
MOMENT = cython.declare(cython.longlong, 5)
INSTANT = cython.declare(cython.longlong, 6)
ZONED = cython.declare(cython.longlong, 7)
BINARY = cython.declare(cython.longlong, 8)

# The numbers of RedoKind, for C.
_TEXT = cython.declare(cython.int, 1)
_QUOTED = cython.declare(cython.int, 2)
_NUMBER = cython.declare(cython.int, 3)
_RAW = cython.declare(cython.int, 4)
_DATE = cython.declare(cython.int, 7)
_TIMESTAMP = cython.declare(cython.int, 8)
_ZONED = cython.declare(cython.int, 9)
_BYTES = cython.declare(cython.int, 32)

_APOSTROPHE = cython.declare(cython.int, 0x27)
_MOST_DIGITS = cython.declare(cython.int, 18)  # of a number in 64 bits

_DONE = {
    Kind.STRING: int(TEXT),
    Kind.XML: int(TEXT),
    Kind.JSON: int(TEXT),
    Kind.BYTES: int(BINARY),
    Kind.INT16: int(INTEGER),
    Kind.INT32: int(INTEGER),
    Kind.INT64: int(INTEGER),
    Kind.DECIMAL: int(DECIMAL),
    Kind.NUMERIC_TEXT: int(NUMERIC),
    Kind.TIMESTAMP_MICROS: int(MOMENT),
    Kind.INSTANT_MICROS: int(INSTANT),
    Kind.ZONED_TIMESTAMP: int(ZONED),
}


def done_to(kind: Kind) -> int:
    """Return what is done to the cells of a column of this kind; 0: a function makes them."""
    return _DONE.get(kind, int(MADE))


@cython.cfunc
@cython.exceptval(-2, check=False)
def put_value(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    done: cython.int,
    scale: cython.longlong,
    kind: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write one value that is not null; return -1 if a function has to make it.

    `scale`: the most digits of an integer; the digits of a decimal behind its point, and all of them times
    256; 1 if a moment has no zone because it is in UTC.
    """
    moment: cython.longlong
    if done == TEXT:
        if kind == _TEXT:
            return put_bytes(out, at, limit, data, start, size)
        return _put_quoted(out, at, limit, data, start, size) if kind == _QUOTED else -1
    if kind == _TEXT or kind == _NUMBER:
        if done == INTEGER:
            return _put_integer(out, at, scale, data, start, size)
        if done == DECIMAL:
            return _put_decimal(out, at, scale, data, start, size)
        return _put_numeric(out, at, limit, data, start, size) if done == NUMERIC else -1
    if done == BINARY:
        if kind == _BYTES:
            return put_bytes(out, at, limit, data, start, size)
        return _put_hex(out, at, limit, data, start, size) if kind == _RAW else -1
    if done == MOMENT and (kind == _DATE or kind == _TIMESTAMP):
        moment = read_moment(data, start, start + size, 0)
        return -1 if moment == NO_MOMENT else put_long(out, at, moment)
    if (done == INSTANT or done == ZONED) and kind == _ZONED:
        moment = read_moment(data, start, start + size, 1 + scale)
        if moment == NO_MOMENT:
            return -1
        return put_zoned(out, at, moment) if done == ZONED else put_long(out, at, moment)
    return -1


@cython.cfunc
@cython.exceptval(-2, check=False)
def _put_quoted(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write a text in which two apostrophes are one."""
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + size
    length: cython.Py_ssize_t = 0
    while i < end:
        i += 2 if data[i] == _APOSTROPHE else 1
        length += 1
    at = put_long(out, at, length)
    if length > limit - at:
        raise NoRoom
    i = start
    while i < end:
        out[at] = data[i]
        i += 2 if data[i] == _APOSTROPHE else 1
        at += 1
    return at


@cython.cfunc
@cython.exceptval(check=False)
def _put_integer(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    most: cython.longlong,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + size
    value: cython.longlong = 0
    minus: cython.bint = size > 0 and data[start] == 0x2D
    i += minus
    if i == end or end - i > most:
        return -1
    while i < end:
        if not 0x30 <= data[i] <= 0x39:
            return -1
        value = value * 10 + (data[i] - 0x30)
        i += 1
    return put_long(out, at, -value if minus else value)


@cython.cfunc
@cython.exceptval(check=False)
def _put_decimal(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    form: cython.longlong,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + size
    left: cython.longlong = form & 255  # digits that are still to come behind the point
    most: cython.longlong = form >> 8
    digits: cython.longlong = 0  # behind the zeros that lead
    seen: cython.bint = False
    behind: cython.bint = False
    value: cython.longlong = 0
    minus: cython.bint = size > 0 and data[start] == 0x2D
    most = min(most, _MOST_DIGITS)
    i += minus
    while i < end:
        if data[i] == 0x2E and not behind:
            behind = True
            i += 1
            continue
        if not 0x30 <= data[i] <= 0x39:
            return -1
        seen = True
        if behind:
            if left == 0:
                return -1
            left -= 1
        if digits or data[i] != 0x30:
            digits += 1
            if digits > most:
                return -1
        value = value * 10 + (data[i] - 0x30)
        i += 1
    if not seen or (digits and digits + left > most):
        return -1
    while left and value:
        value *= 10
        left -= 1
    return put_units(out, at, -value if minus else value)


@cython.cfunc
@cython.exceptval(-2, check=False)
def _put_numeric(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Copy a number that is written in the one form that a number has here, but for a 0 before the point."""
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + size
    minus: cython.Py_ssize_t = size > 0 and data[start] == 0x2D
    i += minus
    if i == end or (data[i] == 0x30 and (minus or i + 1 < end)):  # 0 has one form, without a sign
        return -1
    while i < end and 0x30 <= data[i] <= 0x39:
        i += 1
    if i < end:
        if data[i] != 0x2E or i + 1 == end or data[end - 1] == 0x30:
            return -1
        if i == start + minus:  # .5
            return _put_below_one(out, at, limit, minus, data, start, size)
        i += 1
        while i < end:
            if not 0x30 <= data[i] <= 0x39:
                return -1
            i += 1
    return put_bytes(out, at, limit, data, start, size)


@cython.cfunc
@cython.exceptval(-2, check=False)
def _put_below_one(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    minus: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write a 0 before the point."""
    i: cython.Py_ssize_t
    for i in range(start + minus + 1, start + size):
        if not 0x30 <= data[i] <= 0x39:
            return -1
    at = put_long(out, at, size + 1)
    if minus:
        out[at] = 0x2D
        at += 1
    out[at] = 0x30
    return put_raw(out, at + 1, limit, data, start + minus, size - minus)


@cython.cfunc
@cython.exceptval(-2, check=False)
def _put_hex(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + size
    high: cython.int
    low: cython.int
    if size & 1:
        return -1
    at = put_long(out, at, size >> 1)
    if size >> 1 > limit - at:
        raise NoRoom
    while i < end:
        high = _nibble(data[i])
        low = _nibble(data[i + 1])
        if high > 15 or low > 15:
            return -1
        out[at] = high << 4 | low
        at += 1
        i += 2
    return at


@cython.cfunc
@cython.exceptval(check=False)
def _nibble(letter: cython.int) -> cython.int:
    if 0x30 <= letter <= 0x39:
        return letter - 0x30
    letter |= 0x20
    return letter - 0x57 if 0x61 <= letter <= 0x66 else 16
