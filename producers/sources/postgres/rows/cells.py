"""One cell of PostgreSQL's text format into Avro bytes, without a Python value in between.

In: the text of a value as pgoutput and COPY send it under the session settings that both
connections share (ISO dates, iso_8601 intervals, time zone UTC, hex bytea, lc_monetary C).
Out: the bytes that `schemas/events/envelope.py` promises for the column's kind.
A text that the kind can't hold (NaN in a decimal) raises `Unfit`: it is never written as null or as a
similar value.  An infinite date or timestamp is written as schemas/tables/infinity.py says.
"""

import cython

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.postgres.rows.odd_cells import (
    array_elements,
    bits,
    far_timestamp,
    money_units,
    nearest_single,
    wide_decimal,
    wide_integer,
    zoned_time,
)
from wrackline.schemas.events.avro_writer import NoRoom
from wrackline.schemas.tables.infinity import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS
from wrackline.schemas.tables.types import ColumnType, Kind

if not cython.compiled:
    import struct

    from wrackline.producers.sources.postgres.rows.odd_cells import hex_bytes, whole_float
    from wrackline.schemas.events.avro_writer import SLACK, put_bytes, put_long, put_raw, put_units
else:
    from cython.cimports.libc.string import memcpy
    from cython.cimports.wrackline.producers.sources.postgres.rows.parse import PyOS_string_to_double
    from cython.cimports.wrackline.schemas.events.avro_writer import (
        SLACK,
        put_bytes,
        put_long,
        put_raw,
        put_units,
    )

# What is done to a cell; one per kind, as numbers apart from Kind, so that the hot loop compares numbers.
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
SMALL_INTEGER = cython.declare(cython.longlong, 15)
ARRAY = cython.declare(cython.longlong, 64)  # added to what is done to the elements

_DONE_TO = {
    Kind.BOOLEAN: BOOLEAN,
    Kind.INT16: SMALL_INTEGER,
    Kind.INT32: SMALL_INTEGER,
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
_SHORTEST_DATE = cython.declare(cython.longlong, 10)  # every text of an infinite date is shorter
_MOST_YEAR_DIGITS = cython.declare(cython.longlong, 7)  # the last year of a date is 5874897
_MOST_SMALL = cython.declare(cython.longlong, 2_147_483_647)
_FAST_DIGITS = cython.declare(cython.longlong, 18)  # every number with this many digits fits 64 bits


def done_to(column: ColumnType) -> int:
    """Return what is done to the cells of this column."""
    if column.kind is Kind.ARRAY and column.element is not None:
        return ARRAY + done_to(column.element)
    if column.source == _MONEY and column.kind is Kind.DECIMAL:  # not as text
        return MONEY
    return _DONE_TO.get(column.kind, COPY)


def growth_of(column: ColumnType) -> int:
    """Return how many bytes a character of this column's text may become at most, apart from 15 bytes."""
    if column.kind is Kind.ARRAY and column.element is not None:
        # `{1,2}`: a union for two characters, with the eight bytes of a double, or sixteen and a length
        return 10 if column.element.kind is Kind.DECIMAL else 5
    return 1 if done_to(column) in {COPY, BYTEA} else 2


def beside_of(column: ColumnType) -> int:
    """Return how many more bytes a cell may take: the zeros of a decimal, which its text leaves out."""
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
    """Write one non-null value; `growth_of` for each character, `beside_of` and 15 bytes are reserved."""
    if done == COPY:
        return put_bytes(out, at, limit, data, start, size)
    if done == INTEGER:
        return put_long(out, at, _integer(data, start, start + size))
    if done == SMALL_INTEGER:
        return put_long(out, at, _small_integer(data, start, start + size))
    if done == DECIMAL:
        return _put_decimal(out, at, limit, scale, data, start, size)
    if done == TIMESTAMP or done == INSTANT:
        return put_long(out, at, _timestamp(data, start, start + size, done == INSTANT))
    if done == ZONED_TIMESTAMP:
        return _put_zoned_timestamp(out, at, limit, data, start, size)
    if done == BOOLEAN:
        if size != 1 or (data[start] != 116 and data[start] != 102 and data[start] >> 1 != 24):  # t f 1 0
            raise Unfit("it is not a truth value")
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
        return wide_integer(bytes(data[at:end]))
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
@cython.exceptval(-1, check=True)
def _small_integer(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.longlong:
    value: cython.longlong = _integer(data, at, end)
    if value > _MOST_SMALL or value < -_MOST_SMALL - 1:
        raise Unfit("it is out of range")
    return value


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
    """Avro decimal: the unscaled number, big-endian two's complement, in as few bytes as possible."""
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
    if i == end or data[i] == 46 or data[end - 1] == 46:
        raise Unfit("it is not a number")
    while i < end:
        if data[i] == 46 and places < 0:  # .
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
def _two_digits(data: cython.p_const_uchar, at: cython.Py_ssize_t) -> cython.longlong:
    """Return the number; 100 if it is not one, which is above every month, day, hour and minute."""
    tens: cython.longlong = data[at]
    ones: cython.longlong = data[at + 1]
    if tens < 48 or tens > 57 or ones < 48 or ones > 57:
        return 100
    return (tens - 48) * 10 + (ones - 48)


@cython.cfunc
@cython.exceptval(-1, check=False)
def _is_before_christ(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.int:
    """Whether the text ends with ` BC`."""
    if end - at > 3 and data[end - 3] == 32 and data[end - 2] == 66 and data[end - 1] == 67:
        return 1
    return 0


@cython.cfunc
@cython.exceptval(-1, check=True)
def _date(data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Return the days of `2026-01-31`, of a longer year, or with ` BC` behind; or infinity."""
    if end - at < _SHORTEST_DATE:
        return _LAST_DAY if _is_last(data, at, end) else _FIRST_DAY
    before: cython.int = _is_before_christ(data, at, end)
    return _day(data, at, end - 3 * before, before)


@cython.cfunc
@cython.exceptval(-1, check=True)
def _day(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t, before_christ: cython.int
) -> cython.longlong:
    """Days since 1970 of `2026-01-31`, or of a longer year."""
    year: cython.longlong = 0
    dash: cython.Py_ssize_t = end - 6
    if dash - at < 4 or dash - at > _MOST_YEAR_DIGITS or data[dash] != 45 or data[end - 3] != 45:  # -
        raise Unfit("it is not a date")
    while at < dash:
        if data[at] < 48 or data[at] > 57:
            raise Unfit("it is not a date")
        year = year * 10 + (data[at] - 48)
        at += 1
    month: cython.longlong = _two_digits(data, dash + 1)
    day: cython.longlong = _two_digits(data, dash + 4)
    if year == 0 or month == 0 or month > 12 or day == 0 or day > 31:
        raise Unfit("it is not a date")
    if before_christ:
        year = 1 - year
    days: cython.longlong = _days(year, month, day)
    if day > 28 and month != 12 and days >= _days(year, month + 1, 1):
        raise Unfit("it is not a date")
    return days


@cython.cfunc
@cython.exceptval(-1, check=True)
def _time_of_day(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.longlong:
    """Microseconds of `07:55:01.123456`."""
    if end - at < 8 or data[at + 2] != 58 or data[at + 5] != 58:  # :
        raise Unfit("it is not a time")
    hour: cython.longlong = _two_digits(data, at)
    minute: cython.longlong = _two_digits(data, at + 3)
    second: cython.longlong = _two_digits(data, at + 6)
    fraction: cython.longlong = 0
    unit: cython.longlong = 1_000_000
    at += 8
    if at < end and data[at] == 46:  # .
        at += 1
        while at < end and 48 <= data[at] <= 57 and unit > 1:
            fraction = fraction * 10 + (data[at] - 48)
            unit //= 10
            at += 1
    else:
        unit = 1
    whole: cython.longlong = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction * unit
    if at != end or minute > 59 or second > 59 or whole > _DAY:
        raise Unfit("it is not a time")
    return whole


@cython.cfunc
@cython.exceptval(-1, check=True)
def _end_of_time(
    data: cython.p_const_uchar, blank: cython.Py_ssize_t, end: cython.Py_ssize_t, zoned: cython.bint
) -> cython.Py_ssize_t:
    """Return where a timestamp's time ends: before ` BC`, and before `+00` where it has a zone."""
    end -= 3 * _is_before_christ(data, blank, end)
    if not zoned:
        return end
    if end - blank < 4 or data[end - 3] != 43 or data[end - 2] != 48 or data[end - 1] != 48:
        raise Unfit("the session's time zone is not UTC")
    return end - 3


@cython.cfunc
@cython.exceptval(-1, check=True)
def _timestamp(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t, zoned: cython.bint
) -> cython.longlong:
    """Microseconds since 1970 of `2026-01-31 07:55:01.5`, with `+00` where it has a zone, or ` BC`."""
    if end - at < _SHORTEST_DATE:
        return _LAST_MICROS if _is_last(data, at, end) else _FIRST_MICROS
    blank: cython.Py_ssize_t = at
    while blank < end and data[blank] != 32:
        blank += 1
    days: cython.longlong = _day(data, at, blank, _is_before_christ(data, blank, end))
    stop: cython.Py_ssize_t = _end_of_time(data, blank, end, zoned)
    if days > _MAX_DAYS or days < -_MAX_DAYS:
        raise Unfit("its year is beyond what microseconds since 1970 can hold in 64 bits")
    return days * _DAY + _time_of_day(data, blank + 1, stop)


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
    while blank < end and data[blank] != 32:
        blank += 1
    _day(data, start, blank, _is_before_christ(data, blank, end))
    _time_of_day(data, blank + 1, _end_of_time(data, blank, end, True))
    if blank - start != 10 or data[end - 1] == 67:  # a year of five digits, or BC
        odd: bytes = far_timestamp(bytes(data[start:end]))
        return put_bytes(out, at, limit, odd, 0, len(odd))
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

    A 32-bit number is rounded once: where the double lies halfway between two, the text decides.
    """
    if not cython.compiled:
        text = bytes(data[start : start + size])
        number = whole_float(text)
        packed = struct.pack("<f", nearest_single(text)) if single else struct.pack("<d", number)
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
        if stop != cython.cast(cython.p_char, cython.address(data[start + size])):
            raise Unfit("it is not a number")
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
    r"""`\x0aff`: two hex digits for each byte."""
    if size < 2 or data[start + 1] != 120:  # \\x
        raise Unfit("bytea_output is not hex")
    if size & 1:
        raise Unfit("it is not whole bytes")
    count: cython.Py_ssize_t = (size - 2) // 2
    at = put_long(out, at, count)
    if count > limit - at:
        raise NoRoom
    if not cython.compiled:
        put_raw(out, at, limit, hex_bytes(bytes(data[start + 2 : start + size])), 0, count)
    else:
        i: cython.Py_ssize_t
        high: cython.int
        low: cython.int
        for i in range(count):
            high = data[start + 2 + 2 * i]
            low = data[start + 3 + 2 * i]
            high -= 48 if high < 58 else 87
            low -= 48 if low < 58 else 87
            if (high | low) > 15 or (high | low) < 0:
                raise Unfit("bytea_output is not hex")
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
    """Write the rare kinds, which may cost a Python object."""
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
    """Avro array of nullable elements: their count, the elements, and an empty block."""
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
