"""One cell of the log, or of a result's binary row, into Avro bytes, without a Python value in between.

In: a cell's bytes, what is done to it and the number that this needs; `cell_codecs` chooses both.  Out: the
bytes that `schemas/events/envelope.py` promises for the column's kind.  Log and result write moments and
numbers in their own forms (`temporal`), so each form has its reader; both use the same writers, and so give
the same bytes.

A value that the kind can't hold (a date without a day, a text that is not UTF-8) raises `Unfit`: it is never
written as null or as a similar value.
"""

import cython

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.rows.odd_cells import NO_UTF8, wide_units
from wrackline.producers.sources.mysql.rows.temporal import form_of
from wrackline.schemas.events.avro_writer import NoRoom
from wrackline.schemas.tables.types import Kind

if not cython.compiled:
    from wrackline.producers.sources.mysql.rows.temporal import (
        days,
        duration,
        little_number,
        micros_of,
        moment,
        put_zoned,
        signed_number,
    )
    from wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw, put_units
else:
    from cython.cimports.wrackline.producers.sources.mysql.rows.temporal import (
        days,
        duration,
        little_number,
        micros_of,
        moment,
        put_zoned,
        signed_number,
    )
    from cython.cimports.wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw, put_units

# What is done to a cell.
COPY = cython.declare(cython.longlong, 0)
SIGNED = cython.declare(cython.longlong, 1)
UNSIGNED = cython.declare(cython.longlong, 2)
UINT64 = cython.declare(cython.longlong, 3)
FLOAT = cython.declare(cython.longlong, 4)  # single and double: Avro's bytes are the server's
DECIMAL = cython.declare(cython.longlong, 5)  # packed
DECIMAL_TEXT = cython.declare(cython.longlong, 6)
YEAR = cython.declare(cython.longlong, 7)
DAYS = cython.declare(cython.longlong, 8)
MICROS = cython.declare(cython.longlong, 9)
ZONED = cython.declare(cython.longlong, 10)
DURATION = cython.declare(cython.longlong, 11)
BOOLEAN = cython.declare(cython.longlong, 12)
BITS = cython.declare(cython.longlong, 13)
VECTOR = cython.declare(cython.longlong, 14)
PADDED = cython.declare(cython.longlong, 15)  # with zeros to its full length
ENUM = cython.declare(cython.longlong, 16)
ENUM_SET = cython.declare(cython.longlong, 17)
TEXT = cython.declare(cython.longlong, 18)  # a copy of valid UTF-8

_FAST_DIGITS = cython.declare(cython.longlong, 18)  # every number with this many digits fits 64 bits

_DONE_TO = {
    Kind.INT16: SIGNED,
    Kind.INT32: SIGNED,
    Kind.INT64: SIGNED,
    Kind.UINT64: UINT64,
    Kind.FLOAT32: FLOAT,
    Kind.FLOAT64: FLOAT,
    Kind.DATE: DAYS,
    Kind.TIMESTAMP_MICROS: MICROS,
    Kind.INSTANT_MICROS: MICROS,
    Kind.ZONED_TIMESTAMP: ZONED,
    Kind.DURATION_MICROS: DURATION,
    Kind.BOOLEAN: BOOLEAN,
    Kind.BITS: BITS,
    Kind.ARRAY: VECTOR,
    Kind.STRING: TEXT,
    Kind.JSON: TEXT,
    Kind.XML: TEXT,
    Kind.TEXT_OF: TEXT,
}


def done_to(column: WireColumn, kind: Kind, *, result: bool) -> int:
    """Return what is done to the cells of this column, in the log or in a result."""
    if kind in {Kind.INT16, Kind.INT32, Kind.INT64} and column.unsigned:
        return UNSIGNED
    if kind is Kind.DECIMAL:
        return DECIMAL_TEXT if result else DECIMAL
    if kind is Kind.YEAR:
        return SIGNED if result else YEAR
    if not result:
        if kind is Kind.ENUM:
            return ENUM
        if kind is Kind.ENUM_SET:
            return ENUM_SET
        if kind is Kind.BYTES and column.wire == wire.STRING:
            return PADDED
    return _DONE_TO.get(kind, COPY)


def meta_of(column: WireColumn, kind: Kind, *, result: bool) -> int:
    """Return the number that this needs to know about the column."""
    if _DONE_TO.get(kind) in {DAYS, MICROS, ZONED, DURATION}:
        return form_of(column, result=result)
    return column.meta


@cython.cfunc
@cython.exceptval(-1, check=False)
def put_value(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    done: cython.int,
    meta: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write one value that is not null; the caller has reserved what `cell_codecs` says."""
    if done == COPY or (done == TEXT and _utf8(data, start, start + size)):
        return put_bytes(out, at, limit, data, start, size)
    if done == SIGNED:
        return put_long(out, at, signed_number(data, start, size))
    if done == UNSIGNED:
        return put_long(out, at, little_number(data, start, size))
    if done == DECIMAL:
        return _put_decimal(out, at, limit, meta, data, start, size)
    if done == DECIMAL_TEXT:
        return _put_decimal_text(out, at, limit, data, start, size)
    if done == MICROS:
        return put_long(out, at, micros_of(moment(meta, data, start, size)))
    if done == ZONED:
        return put_zoned(out, at, moment(meta, data, start, size))
    if done == DAYS:
        return put_long(out, at, days(moment(meta, data, start, size)))
    if done == DURATION:
        return put_long(out, at, duration(meta, data, start, size))
    if done == FLOAT:
        return put_raw(out, at, limit, data, start, size)
    if done == UINT64:
        return _put_uint64(out, at, data, start, size)
    return _put_rare(out, at, limit, done, meta, data, start, size)


@cython.cfunc
@cython.exceptval(check=False)
def _utf8(data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
    """Whether these bytes are UTF-8; MariaDB accepts halves of a pair as characters, and UTF-8 does not."""
    i: cython.Py_ssize_t
    seen: cython.uchar = 0
    for i in range(at, end):  # most texts are ASCII, and this loop has no branch
        seen |= data[i]
    if seen < 0x80:
        return True
    while at < end:
        first: cython.uchar = data[at]
        at += 1
        if first < 0x80:
            continue
        more: cython.Py_ssize_t = 1 + (first >= 0xE0) + (first >= 0xF0)
        if first < 0xC2 or first > 0xF4 or end - at < more:
            return False
        low: cython.uchar = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high: cython.uchar = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        if data[at] < low or data[at] > high:
            return False
        for i in range(at + 1, at + more):
            if data[i] >> 6 != 2:
                return False
        at += more
    return True


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_rare(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    done: cython.int,
    meta: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    i: cython.Py_ssize_t
    if done == TEXT:
        raise Unfit(NO_UTF8)
    if done == YEAR:
        return put_long(out, at, 1900 + data[start] if data[start] else 0)
    if done == BOOLEAN:
        out[at] = data[start] & 1 if size else 0
        return at + 1
    if done == BITS:  # the first byte is the highest; Debezium's Bits are the other way round
        at = put_long(out, at, size)
        if size > limit - at:
            raise NoRoom
        for i in range(size):
            out[at + i] = data[start + size - 1 - i]
        return at + size
    if done == VECTOR:
        if size >= 4:
            at = put_long(out, at, size // 4)
        for i in range(size // 4):
            out[at] = 2
            at = put_raw(out, at + 1, limit, data, start + 4 * i, 4)
        out[at] = 0
        return at + 1
    at = put_raw(out, put_long(out, at, max(meta, size)), limit, data, start, size)  # PADDED
    if meta - size > limit - at:
        raise NoRoom
    for i in range(meta - size):
        out[at + i] = 0
    return at + max(meta - size, 0)


@cython.cfunc
@cython.exceptval(check=False)
def _put_uint64(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """An unsigned number as an Avro decimal: big-endian, with a zero before it where it looks negative."""
    while size > 1 and data[start + size - 1] == 0:
        size -= 1
    if data[start + size - 1] > 127:
        out[at] = (size + 1) << 1
        out[at + 1] = 0
        at += 2
    else:
        out[at] = size << 1
        at += 1
    while size > 0:
        size -= 1
        out[at] = data[start + size]
        at += 1
    return at


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_decimal(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    meta: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Avro decimal of a packed one: nine digits are four bytes, the rest fewer; the first bit is inverted.

    If the number is negative, all bits are inverted.
    """
    digits: cython.int = meta >> 8
    scale: cython.int = meta & 255
    if digits > _FAST_DIGITS:
        wide: bytes = wide_units(bytes(data[start : start + size]), digits, scale)
        return put_bytes(out, at, limit, wide, 0, len(wide))
    flip: cython.int = 0 if data[start] > 127 else 255
    left: cython.int = digits - scale  # digits still to come, first before the point
    group: cython.int = left % 9
    units: cython.longlong = 0
    first: cython.Py_ssize_t = start
    while left > 0 or scale > 0:
        if left == 0:
            left, scale = scale, 0
            group = min(left, 9)
        elif group == 0:
            group = min(left, 9)
        left -= group
        bytes_of: cython.int = (group * 4 + 8) // 9
        part: cython.longlong = 0
        scaled: cython.longlong = 1
        while bytes_of > 0:
            part = part << 8 | (data[start] ^ flip ^ (128 if start == first else 0))
            start += 1
            bytes_of -= 1
        while group > 0:
            scaled *= 10
            group -= 1
        if part >= scaled:
            raise Unfit("it has more digits than its type")
        units = units * scaled + part
    return put_units(out, at, -units if flip else units)


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_decimal_text(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """The same for a result's text, which has all decimal places of the column."""
    end: cython.Py_ssize_t = start + size
    units: cython.longlong = 0
    if size > _FAST_DIGITS:
        number = int(bytes(data[start:end]).replace(b".", b""))
        wide: bytes = number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
        return put_bytes(out, at, limit, wide, 0, len(wide))
    negative: cython.bint = size > 0 and data[start] == 45  # -
    while start < end:
        if 48 <= data[start] <= 57:
            units = units * 10 + (data[start] - 48)
        start += 1
    return put_units(out, at, -units if negative else units)
