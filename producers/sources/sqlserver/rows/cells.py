"""One cell as it is on the wire into Avro bytes, without a Python value in between.

In: a cell's bytes, what is done to it, and the scale of its type; `cell_forms` chooses both.  Out: the bytes
that `schemas/events/envelope.py` promises for the column's kind.  Log and chunk have the same cells, so both
give the same bytes.  `cell_values.py` reads the same values in plain Python, and is the measure of this.

A value that the kind can't hold (half of a surrogate pair) raises `Unfit`: it is never written as null or as
a similar value.  So does a moment that no server stores: a 24th hour, the year 10000.  `rows.py` has compared
the size of a cell with its type's, so nothing is read behind a cell.
"""

import cython

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.schemas.events.avro_writer import NoRoom
from wrackline.schemas.tables.types import Kind

if not cython.compiled:
    from wrackline.producers.rows.zoned_text import put_zoned
    from wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw, put_units
else:
    from cython.cimports.wrackline.producers.rows.zoned_text import put_zoned
    from cython.cimports.wrackline.schemas.events.avro_writer import put_bytes, put_long, put_raw, put_units

# What is done to a cell.
MADE = cython.declare(cython.longlong, 0)  # a function makes its Avro bytes
COPY = cython.declare(cython.longlong, 1)
SIGNED = cython.declare(cython.longlong, 2)
UNSIGNED = cython.declare(cython.longlong, 3)
RAW = cython.declare(cython.longlong, 4)  # single and double: Avro's bytes are the server's
BOOLEAN = cython.declare(cython.longlong, 5)
WIDE = cython.declare(cython.longlong, 6)  # UTF-16
NARROW = cython.declare(cython.longlong, 7)  # a code page: written directly if it is ASCII
DECIMAL = cython.declare(cython.longlong, 8)
MONEY = cython.declare(cython.longlong, 9)
DAYS = cython.declare(cython.longlong, 10)
TIME = cython.declare(cython.longlong, 11)
DATETIME = cython.declare(cython.longlong, 12)
SMALLDATETIME = cython.declare(cython.longlong, 13)
DATETIME2 = cython.declare(cython.longlong, 14)
INSTANT = cython.declare(cython.longlong, 15)
ZONED = cython.declare(cython.longlong, 16)

_DAY_US = cython.declare(cython.longlong, 86_400_000_000)
_EPOCH = cython.declare(cython.longlong, 719_162)  # 1970-01-01, in days since 0001-01-01
_FROM_1900 = cython.declare(cython.longlong, 693_595)  # 1900-01-01, the same
_LAST_DAY = cython.declare(cython.longlong, 3_652_058)  # 9999-12-31, the same
_MOST_OFFSET = cython.declare(cython.longlong, 840)  # minutes from UTC

_TEXTS = frozenset({Kind.STRING, Kind.XML, Kind.JSON})
_DONE = {
    "bit": (BOOLEAN, {Kind.BOOLEAN}),
    "tinyint": (UNSIGNED, {Kind.INT16, Kind.INT32, Kind.INT64}),
    **dict.fromkeys(("smallint", "int", "bigint"), (SIGNED, {Kind.INT16, Kind.INT32, Kind.INT64})),
    "real": (RAW, {Kind.FLOAT32}),
    "float": (RAW, {Kind.FLOAT64}),
    **dict.fromkeys(("decimal", "numeric"), (DECIMAL, {Kind.DECIMAL})),
    **dict.fromkeys(("money", "smallmoney"), (MONEY, {Kind.DECIMAL})),
    "date": (DAYS, {Kind.DATE}),
    "time": (TIME, {Kind.TIME_MICROS}),
    "datetime": (DATETIME, {Kind.TIMESTAMP_MICROS}),
    "smalldatetime": (SMALLDATETIME, {Kind.TIMESTAMP_MICROS}),
    "datetime2": (DATETIME2, {Kind.TIMESTAMP_MICROS}),
    "datetimeoffset": (INSTANT, {Kind.INSTANT_MICROS, Kind.ZONED_TIMESTAMP}),
    **dict.fromkeys(("nchar", "nvarchar", "ntext", "xml"), (WIDE, _TEXTS)),
    **dict.fromkeys(("char", "varchar", "text"), (NARROW, _TEXTS)),
    **dict.fromkeys(("binary", "varbinary", "image", "clr"), (COPY, {Kind.BYTES})),
}
_SIZES = {"tinyint": 1, "smallint": 2, "int": 4, "bigint": 8}
_MOST = {Kind.INT16: 2, Kind.INT32: 4, Kind.INT64: 8}


def done_to(name: str, kind: Kind) -> int:
    """Return what is done to the cells of a type in a column of this kind; 0: a function makes them."""
    done, kinds = _DONE.get(name, (MADE, frozenset()))
    if done == INSTANT and kind is Kind.ZONED_TIMESTAMP:
        return int(ZONED)
    fits = _SIZES.get(name, 0) <= _MOST.get(kind, 8)  # a column that was altered may have a wider type now
    return int(done) if kind in kinds and fits else int(MADE)


@cython.cfunc
@cython.exceptval(-2, check=False)
def put_value(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    done: cython.int,
    scale: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write one value that is not null; return -1 if a function has to make it."""
    if done == WIDE:
        return _put_wide(out, at, limit, data, start, size)
    if done == NARROW:
        return put_bytes(out, at, limit, data, start, size) if _ascii(data, start, size) else -1
    if done == COPY:
        return put_bytes(out, at, limit, data, start, size)
    if done == SIGNED:
        return put_long(out, at, _signed(data, start, size))
    if done == UNSIGNED:
        return put_long(out, at, _little(data, start, size))
    if done == RAW:
        return put_raw(out, at, limit, data, start, size)
    if done == BOOLEAN:
        out[at] = data[start] != 0
        return at + 1
    if done == DECIMAL:
        return _put_decimal(out, at, limit, data, start, size)
    if done == MONEY:
        if size == 4:
            return put_units(out, at, _signed(data, start, 4))
        units: cython.longlong = _signed(data, start, 4)  # the high half comes first
        return put_units(out, at, units * 4_294_967_296 + _little(data, start + 4, 4))
    moment: cython.longlong = _moment(done, scale, data, start, size)
    return put_zoned(out, at, moment) if done == ZONED else put_long(out, at, moment)


@cython.cfunc
@cython.exceptval(check=False)
def _little(data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.longlong:
    value: cython.longlong = 0
    while size > 0:
        size -= 1
        value = value << 8 | data[start + size]
    return value


@cython.cfunc
@cython.exceptval(check=False)
def _signed(data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.longlong:
    value: cython.longlong = 0
    flip: cython.int = 255 if data[start + size - 1] > 127 else 0
    while size > 0:
        size -= 1
        value = value << 8 | (data[start + size] ^ flip)
    return -1 - value if flip else value


@cython.cfunc
@cython.exceptval(-1, check=True)
def _moment(
    done: cython.int,
    scale: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.longlong:
    """Return days or microseconds; of seven places behind the second the last is cut off."""
    days: cython.longlong = 0
    ticks: cython.longlong  # of 100 ns
    clock: cython.Py_ssize_t = size  # the bytes of the time of the day
    if done == DATETIME:
        days = _signed(data, start, 4) + _FROM_1900
        ticks = (_little(data, start + 4, 4) * 10 + 1) // 3 * 10_000
    elif done == SMALLDATETIME:
        days = _little(data, start, 2) + _FROM_1900
        ticks = _little(data, start + 2, 2) * 600_000_000
    else:
        if done != TIME:
            clock -= 5 if done >= INSTANT else 3
            days = _little(data, start + clock, 3)
        ticks = _little(data, start, clock)
        while scale < 7:
            ticks *= 10
            scale += 1
        if done >= INSTANT and not -_MOST_OFFSET <= _signed(data, start + clock + 3, 2) <= _MOST_OFFSET:
            raise Unfit("it has an offset that no server stores")
    if days < 0 or days > _LAST_DAY or ticks >= 10 * _DAY_US:
        raise Unfit("it is not a moment that a server stores")
    if done == DAYS:
        return days - _EPOCH
    return ticks // 10 if done == TIME else (days - _EPOCH) * _DAY_US + ticks // 10


@cython.cfunc
@cython.exceptval(-2, check=False)
def _put_decimal(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write a sign, 1 for positive, and the unscaled number behind it."""
    if size == 0:
        raise Unfit("its bytes are missing")
    if size < 9 or (size == 9 and data[start + 8] < 128):
        units: cython.longlong = _little(data, start + 1, size - 1)
        return put_units(out, at, units if data[start] else -units)
    number = int.from_bytes(bytes(data[start + 1 : start + size]), "little")
    if not data[start]:
        number = -number
    wide: bytes = number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
    return put_bytes(out, at, limit, wide, 0, len(wide))


@cython.cfunc
@cython.exceptval(check=False)
def _ascii(data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.bint:
    i: cython.Py_ssize_t
    seen: cython.uchar = 0
    for i in range(start, start + size):
        seen |= data[i]
    return seen < 0x80


@cython.cfunc
@cython.exceptval(-2, check=False)
def _put_wide(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write UTF-16 as UTF-8."""
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + size
    length: cython.Py_ssize_t = 0
    unit: cython.uint
    if size & 1:
        raise Unfit("it has half of a character")
    while i < end:
        unit = data[i] | data[i + 1] << 8
        i += 2
        if unit & 0xF800 == 0xD800:
            if unit > 0xDBFF or i >= end or data[i + 1] & 0xFC != 0xDC:
                raise Unfit("it has half of a surrogate pair")
            i += 2
            length += 4
        else:
            length += 1 + (unit > 0x7F) + (unit > 0x7FF)
    at = put_long(out, at, length)
    if length > limit - at:
        raise NoRoom
    i = start
    while i < end:
        unit = data[i] | data[i + 1] << 8
        i += 2
        if unit < 0x80:
            out[at] = unit
            at += 1
            continue
        if unit < 0x800:
            out[at] = 0xC0 | unit >> 6
            at += 1
        elif unit & 0xF800 == 0xD800:
            unit = 0x10000 + ((unit & 0x3FF) << 10 | ((data[i + 1] & 3) << 8 | data[i]))
            i += 2
            out[at] = 0xF0 | unit >> 18
            out[at + 1] = 0x80 | unit >> 12 & 63
            out[at + 2] = 0x80 | unit >> 6 & 63
            at += 3
        else:
            out[at] = 0xE0 | unit >> 12
            out[at + 1] = 0x80 | unit >> 6 & 63
            at += 2
        out[at] = 0x80 | unit & 63
        at += 1
    return at
