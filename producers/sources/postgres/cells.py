"""One cell of PostgreSQL's text format into Avro bytes, without a Python value between.

In: the text of a value as pgoutput and COPY send it under the session settings that both
connections share (ISO dates, iso_8601 intervals, time zone UTC, hex bytea, lc_monetary C).
Out: the bytes that `schemas/envelope.py` promises for the column's kind.
A text that the kind can't hold (NaN in a decimal) raises `Unfit`: it is never written as null or as
something near it.  An infinite date or timestamp is written as schemas/infinity.py says.
"""

import cython

from wrackline.producers.row_events import Unfit
from wrackline.producers.sources.postgres.odd_cells import (
    array_elements,
    bits,
    far_timestamp,
    money_units,
    nearest_single,
    wide_decimal,
    zoned_time,
)
from wrackline.schemas.infinity import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS
from wrackline.schemas.types import ColumnType, Kind
from wrackline.schemas.writer import NoRoom

if not cython.compiled:
    import struct

    from wrackline.schemas.writer import SLACK, put_bytes, put_long, put_raw, put_units
else:
    from cython.cimports.libc.string import memcpy
    from cython.cimports.wrackline.producers.sources.postgres.parse import PyOS_string_to_double
    from cython.cimports.wrackline.schemas.writer import SLACK, put_bytes, put_long, put_raw, put_units

# What is done to a cell; one per kind, tens apart from Kind so that the hot loop compares numbers.
COPY = cython.declare(cython.longlong, 0)
INTEGER = cython.declare(cython.longlong, 1)
BOOLEAN = cython.declare(cython.longlong, 2)
FLOAT32 = cython.declare(cython.longlong, 3)
FLOAT64 = cython.declare(cython.longlong, 4)
DECIMAL = cython.declare(cython.longlong, 5)
BYTEA = cython.declare(cython.longlong, 6)
BITS = cython.declare(cython.longlong, 7)
DATE = cython.declare(cython.longlong, 8)
TIME = cython.declare(cython.longlong, 9)
TIMESTAMP = cython.declare(cython.longlong, 10)
ZONED_TIMESTAMP = cython.declare(cython.longlong, 11)
INSTANT = cython.declare(cython.longlong, 12)
MONEY = cython.declare(cython.longlong, 13)
ZONED_TIME = cython.declare(cython.longlong, 14)
ARRAY = cython.declare(cython.longlong, 64)  # added to what is done to the elements

_DONE_TO = {
    Kind.BOOLEAN: BOOLEAN,
    Kind.INT16: INTEGER,
    Kind.INT32: INTEGER,
    Kind.INT64: INTEGER,
    Kind.UINT64: DECIMAL,
    Kind.FLOAT32: FLOAT32,
    Kind.FLOAT64: FLOAT64,
    Kind.DECIMAL: DECIMAL,
    Kind.BYTES: BYTEA,
    Kind.BITS: BITS,
    Kind.DATE: DATE,
    Kind.TIME_MICROS: TIME,
    Kind.TIMESTAMP_MICROS: TIMESTAMP,
    Kind.ZONED_TIMESTAMP: ZONED_TIMESTAMP,
    Kind.INSTANT_MICROS: INSTANT,
    Kind.ZONED_TIME: ZONED_TIME,
}
_MONEY = "money"  # a decimal whose text has signs and commas
_MAX_DAYS = cython.declare(cython.longlong, 106_751_990)  # whole days of microseconds in 64 bits
_DAY = cython.declare(cython.longlong, 86_400_000_000)
_FIRST_DAY = cython.declare(cython.longlong, FIRST_DAY)
_LAST_DAY = cython.declare(cython.longlong, LAST_DAY)
_FIRST_MICROS = cython.declare(cython.longlong, FIRST_MICROS)
_LAST_MICROS = cython.declare(cython.longlong, LAST_MICROS)
_SHORTEST_DATE = cython.declare(cython.longlong, 10)  # no text of an infinite one is as long
_FAST_DIGITS = cython.declare(cython.longlong, 18)  # every number of so many digits fits 64 bits


def done_to(column: ColumnType) -> int:
    """Return what is done to the cells of this column."""
    if column.kind is Kind.ARRAY and column.element is not None:
        return ARRAY + done_to(column.element)
    if column.source == _MONEY and column.kind is Kind.DECIMAL:  # not as text
        return MONEY
    return _DONE_TO.get(column.kind, COPY)


def growth_of(column: ColumnType) -> int:
    """Return how many bytes a character of this column's text may become at the most, 15 bytes aside."""
    if column.kind is Kind.ARRAY and column.element is not None:
        # `{1,2}`: a union for two characters, with the eight bytes of a double or sixteen and a length
        return 10 if column.element.kind is Kind.DECIMAL else 5
    return 1 if done_to(column) in {COPY, BYTEA} else 2


def beside_of(column: ColumnType) -> int:
    """Return how many more a cell may take: the zeros of a decimal, which its text leaves out."""
    return (column.scale or 0) if done_to(column) == DECIMAL else 0


def scale_of(column: ColumnType) -> int:
    """Return the decimal places of the column, or of its elements."""
    return scale_of(column.element) if column.element is not None else column.scale or 0


@cython.cfunc
@cython.exceptval(-1, check=False)
def put_cell(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    done: cython.int,
    scale: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write one value that is not null; `growth_of` a character, `beside_of` and 15 bytes are reserved."""
    if done == COPY:
        return put_bytes(out, at, limit, data, start, size)
    if done == INTEGER:
        return put_long(out, at, _integer(data, start, start + size))
    if done == DECIMAL:
        return _put_decimal(out, at, limit, scale, data, start, size)
    if done == TIMESTAMP or done == INSTANT:
        return put_long(out, at, _timestamp(data, start, start + size))
    if done == ZONED_TIMESTAMP:
        return _put_zoned_timestamp(out, at, limit, data, start, size)
    if done == BOOLEAN:
        out[at] = 1 if data[start] == 116 or data[start] == 49 else 0  # t, or the 1 of a bit(1)
        return at + 1
    if done == DATE:
        return put_long(out, at, _date(data, start, start + size))
    if done == TIME:
        return put_long(out, at, _time_of_day(data, start, start + size))
    if done == FLOAT64 or done == FLOAT32:
        return _put_float(out, at, done == FLOAT32, data, start, size)
    if done == BYTEA:
        return _put_bytea(out, at, limit, data, start, size)
    return _put_odd(out, at, limit, done, scale, bytes(data[start : start + size]))


@cython.cfunc
@cython.exceptval(-1, check=True)
def _integer(data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    if end - at > _FAST_DIGITS:  # near the edge of 64 bits: let Python count
        return int(data[at:end])
    value: cython.longlong = 0
    negative: cython.bint = data[at] == 45  # -
    if negative:
        at += 1
    if at == end:
        raise Unfit("it is not a number")
    while at < end:
        if data[at] < 48 or data[at] > 57:
            raise Unfit("it is not a number")
        value = value * 10 + (data[at] - 48)
        at += 1
    return -value if negative else value


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_decimal(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    scale: cython.int,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Avro decimal: the unscaled number, big-endian two's complement, as few bytes as it needs."""
    i: cython.Py_ssize_t = start
    end: cython.Py_ssize_t = start + size
    units: cython.longlong = 0
    places: cython.int = -1  # digits seen after the point; -1 before it
    negative: cython.bint = data[i] == 45  # -
    if negative:
        i += 1
    if end - i + scale > _FAST_DIGITS:
        wide: bytes = wide_decimal(bytes(data[start:end]), scale)
        return put_bytes(out, at, limit, wide, 0, len(wide))
    while i < end:
        if data[i] == 46:  # .
            places = 0
        elif 48 <= data[i] <= 57:
            units = units * 10 + (data[i] - 48)
            if places >= 0:
                places += 1
        else:
            raise Unfit("it is not a number")  # NaN
        i += 1
    places = max(places, 0)
    if places > scale:
        raise Unfit("it has more decimal places than the column")
    while places < scale:
        units *= 10
        places += 1
    return put_units(out, at, -units if negative else units)


@cython.cfunc
@cython.exceptval(-1, check=True)
def _days(year: cython.longlong, month: cython.longlong, day: cython.longlong) -> cython.longlong:
    """Days since 1970-01-01 in the proleptic Gregorian calendar; year 0 is 1 BC."""
    year += 8000 - (month <= 2)  # above 0 (C and Python round a negative quotient differently);
    era: cython.longlong = year // 400  # the year begins in March, so that the leap day is its last
    of_era: cython.longlong = year - era * 400
    of_year: cython.longlong = (153 * (month + (9 if month <= 2 else -3)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468 - 20 * 146097


@cython.cfunc
@cython.exceptval(-1, check=False)
def _is_last(data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
    """Return 1 for `infinity` and 0 for `-infinity`."""
    text: bytes = bytes(data[at:end])
    if text == b"infinity":
        return 1
    if text != b"-infinity":
        raise Unfit("it is not a date")
    return 0


@cython.cfunc
@cython.exceptval(-1, check=True)
def _date(data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """`2026-01-31`, a longer year, or with ` BC` behind; or infinity."""
    year: cython.longlong = 0
    if end - at < _SHORTEST_DATE:
        return _LAST_DAY if _is_last(data, at, end) else _FIRST_DAY
    if data[at] < 48 or data[at] > 57:
        raise Unfit("it is not a date")
    while data[at] != 45 and at < end - 6:  # -
        year = year * 10 + (data[at] - 48)
        at += 1
    month: cython.longlong = (data[at + 1] - 48) * 10 + (data[at + 2] - 48)
    day: cython.longlong = (data[at + 4] - 48) * 10 + (data[at + 5] - 48)
    if data[end - 1] == 67:  # BC
        year = 1 - year
    return _days(year, month, day)


@cython.cfunc
@cython.exceptval(-1, check=True)
def _time_of_day(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.longlong:
    """Microseconds of `07:55:01.123456`; what follows the fraction is not looked at."""
    if end - at < 8:
        raise Unfit("it is no time")
    hour: cython.longlong = (data[at] - 48) * 10 + (data[at + 1] - 48)
    minute: cython.longlong = (data[at + 3] - 48) * 10 + (data[at + 4] - 48)
    second: cython.longlong = (data[at + 6] - 48) * 10 + (data[at + 7] - 48)
    fraction: cython.longlong = 0
    unit: cython.longlong = 1_000_000
    at += 8
    if at < end and data[at] == 46:  # .
        at += 1
        while at < end and 48 <= data[at] <= 57:
            fraction = fraction * 10 + (data[at] - 48)
            unit //= 10
            at += 1
    else:
        unit = 1
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction * unit


@cython.cfunc
@cython.exceptval(-1, check=True)
def _timestamp(data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Microseconds since 1970 of `2026-01-31 07:55:01.5`, with or without `+00` and ` BC`."""
    if end - at < _SHORTEST_DATE:
        return _LAST_MICROS if _is_last(data, at, end) else _FIRST_MICROS
    blank: cython.Py_ssize_t = at
    while blank < end and data[blank] != 32:
        blank += 1
    days: cython.longlong = _date(data, at, end)
    if days > _MAX_DAYS or days < -_MAX_DAYS:
        raise Unfit("its year is beyond what microseconds since 1970 can hold in 64 bits")
    return days * _DAY + _time_of_day(data, blank + 1, end)


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_zoned_timestamp(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """`2026-01-31 07:55:01.5+00` becomes `2026-01-31T07:55:01.5Z`, as Debezium writes it."""
    end: cython.Py_ssize_t = start + size
    blank: cython.Py_ssize_t = start
    if size < _SHORTEST_DATE:
        _is_last(data, start, end)
        return put_bytes(out, at, limit, data, start, size)
    if size < 22 or data[start] < 48 or data[start] > 57:
        raise Unfit("it is not a timestamp")
    while data[blank] != 32 and blank < end:
        blank += 1
    if blank - start != 10 or data[end - 1] == 67:  # a year of five digits, or BC
        odd: bytes = far_timestamp(bytes(data[start:end]))
        return put_bytes(out, at, limit, odd, 0, len(odd))
    if data[end - 3] != 43 or data[end - 2] != 48 or data[end - 1] != 48:  # +00
        raise Unfit("the session's time zone is not UTC")
    at = put_long(out, at, size - 2)  # three characters of zone become one
    at = put_raw(out, at, limit, data, start, 10)
    out[at] = 84  # T
    at = put_raw(out, at + 1, limit, data, start + 11, size - 14)
    out[at] = 90  # Z
    return at + 1


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_float(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    single: cython.bint,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Avro float and double: little-endian; the shortest text names one number exactly.

    A 32-bit number is rounded once: where the double lies half-way between two, the text decides.
    """
    if not cython.compiled:
        text = bytes(data[start : start + size])
        packed = struct.pack("<f", nearest_single(text)) if single else struct.pack("<d", float(text))
        at = put_raw(out, at, at + len(packed), packed, 0, len(packed))
    else:
        i: cython.int
        narrow: cython.float = 0
        other: cython.double = 0  # as far from the double as `narrow` is, on its other side
        few: cython.uint = 0
        many: cython.ulonglong = 0
        stop: cython.p_char = cython.NULL
        value: cython.double = PyOS_string_to_double(
            cython.cast(cython.p_const_char, cython.address(data[start])), cython.address(stop), cython.NULL
        )
        if single:
            narrow = cython.cast(cython.float, value)
            other = 2 * value - narrow
            if value != narrow and other == cython.cast(cython.float, other):
                narrow = nearest_single(bytes(data[start : start + size]))
            memcpy(cython.address(few), cython.address(narrow), 4)
            for i in range(4):
                out[at + i] = (few >> (8 * i)) & 255
            at += 4
        else:
            memcpy(cython.address(many), cython.address(value), 8)
            for i in range(8):
                out[at + i] = (many >> (8 * i)) & 255
            at += 8
    return at


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_bytea(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    r"""`\x0aff`: two hex digits a byte."""
    if size < 2 or data[start + 1] != 120:  # \\x
        raise Unfit("bytea_output is not hex")
    count: cython.Py_ssize_t = (size - 2) // 2
    at = put_long(out, at, count)
    if count > limit - at:
        raise NoRoom
    if not cython.compiled:
        put_raw(out, at, limit, bytes.fromhex(data[start + 2 : start + size].decode()), 0, count)
    else:
        i: cython.Py_ssize_t
        high: cython.int
        low: cython.int
        for i in range(count):
            high = data[start + 2 + 2 * i]
            low = data[start + 3 + 2 * i]
            high -= 48 if high < 58 else 87
            low -= 48 if low < 58 else 87
            out[at + i] = (high << 4) | low
    return at + count


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_odd(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    done: cython.int,
    scale: cython.int,
    text: bytes,
) -> cython.Py_ssize_t:
    """Write the kinds that are rare enough to cost a Python object."""
    if done >= ARRAY:
        return _put_array(out, at, limit, done - ARRAY, scale, text)
    made: bytes
    if done == MONEY:
        made = money_units(text)
    elif done == ZONED_TIME:
        made = zoned_time(text)
    else:
        made = bits(text)
    return put_bytes(out, at, limit, made, 0, len(made))


@cython.cfunc
@cython.exceptval(-1, check=False)
def _put_array(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    limit: cython.Py_ssize_t,
    done: cython.int,
    scale: cython.int,
    text: bytes,
) -> cython.Py_ssize_t:
    """Avro array of nullable elements: their count, the elements, and a block of none."""
    elements: list[bytes | None] = array_elements(text)
    if elements:
        at = put_long(out, at, len(elements))
    for element in elements:
        if at > limit:
            raise NoRoom
        if element is None:
            out[at] = 0
            at += 1
        else:
            out[at] = 2
            at = put_cell(out, at + 1, limit, done, scale, element, 0, len(element))
    out[at] = 0
    return at + 1


def avro_of(column: ColumnType, text: bytes) -> bytes:
    """Return the Avro bytes of one value: for keys of requests, and for tests of every type."""
    limit = 16 + beside_of(column) + growth_of(column) * len(text)
    out = bytearray(limit + SLACK)
    return bytes(out[: put_cell(out, 0, limit, done_to(column), scale_of(column), text, 0, len(text))])
