"""Numbers and moments as the servers write them: the forms of the log, and of a result's binary row.

    a moment in any form  ->  year * 13 + month | day | hour | minute | second | microsecond  ->  Avro
                              '-------------- 64 bits, as the servers pack it ---------------'

The servers store dates with a month or a day of zero, and dates that no calendar has.  These can be published
only as text: their days and microseconds raise `Unfit`.  A value that no server stores (a 24th hour, a month
above 12, the year 10000) raises `Unfit` in every form.
"""

import cython

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import WireColumn

# How a moment or a duration is written.
OF_DATE = cython.declare(cython.longlong, 0)
OF_DATETIME = cython.declare(cython.longlong, 1)
OF_TIMESTAMP = cython.declare(cython.longlong, 2)
OF_OLD_DATETIME = cython.declare(cython.longlong, 3)
OF_OLD_TIMESTAMP = cython.declare(cython.longlong, 4)
OF_RESULT = cython.declare(cython.longlong, 5)
OF_TIME = cython.declare(cython.longlong, 6)
OF_OLD_TIME = cython.declare(cython.longlong, 7)

_DAY = cython.declare(cython.longlong, 86_400)
_MILLION = cython.declare(cython.longlong, 1_000_000)
_MOST_YEAR = cython.declare(cython.longlong, 9999)
_MOST_HOURS = cython.declare(cython.longlong, 838)  # of a TIME

_FORMS = {
    wire.DATE: OF_DATE,
    wire.NEWDATE: OF_DATE,
    wire.DATETIME2: OF_DATETIME,
    wire.TIMESTAMP2: OF_TIMESTAMP,
    wire.DATETIME: OF_OLD_DATETIME,
    wire.TIMESTAMP: OF_OLD_TIMESTAMP,
    wire.TIME2: OF_TIME,
    wire.TIME: OF_OLD_TIME,
}


def form_of(column: WireColumn, *, result: bool) -> int:
    """Return how a column's moments or durations are written, if it has any."""
    return OF_RESULT if result else _FORMS.get(column.wire, OF_RESULT)


@cython.cfunc
@cython.exceptval(check=False)
def little_number(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.longlong:
    """Read a number whose last byte is the highest."""
    value: cython.longlong = 0
    while size > 0:
        size -= 1
        value = value << 8 | data[start + size]
    return value


@cython.cfunc
@cython.exceptval(check=False)
def signed_number(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.longlong:
    """Read the same in two's complement."""
    value: cython.longlong = 0
    flip: cython.int = 255 if data[start + size - 1] > 127 else 0
    while size > 0:
        size -= 1
        value = value << 8 | (data[start + size] ^ flip)
    return -1 - value if flip else value


@cython.cfunc
@cython.exceptval(check=False)
def _big(data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.longlong:
    i: cython.Py_ssize_t
    value: cython.longlong = 0
    for i in range(size):
        value = value << 8 | data[start + i]
    return value


@cython.ccall
@cython.exceptval(-1, check=True)
def moment(
    form: cython.int, data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.longlong:
    """Read a date, a datetime or a timestamp in any form; 0 is the zero date."""
    value: cython.longlong
    micros: cython.longlong
    if form == OF_DATETIME:
        value = _big(data, start, 5) - 0x8000000000
        if value < 0:
            raise Unfit("it is not a date")
        return _pack_time(
            value, value >> 12 & 31, value >> 6 & 63, value & 63, _fraction(data, start + 5, size - 5)
        )
    if form == OF_TIMESTAMP:
        value = _big(data, start, 4)
        return _of_seconds(value, _fraction(data, start + 4, size - 4))
    if form == OF_RESULT:
        if size < 4:
            return 0
        value = pack_day(data[start] | data[start + 1] << 8, data[start + 2], data[start + 3])
        if size < 7:
            return value << 24
        micros = little_number(data, start + 7, 4) if size >= 11 else 0
        return _pack_time(value, data[start + 4], data[start + 5], data[start + 6], micros)
    value = little_number(data, start, size)
    if form == OF_DATE:
        return pack_day(value >> 9, value >> 5 & 15, value & 31) << 24
    if form == OF_OLD_TIMESTAMP:
        return _of_seconds(value, 0)
    day: cython.longlong = pack_day(
        value // 10_000_000_000, value // 100_000_000 % 100, value // _MILLION % 100
    )
    return _pack_time(day, value // 10_000 % 100, value // 100 % 100, value % 100, 0)


@cython.cfunc
@cython.exceptval(-1, check=False)
def pack_day(year: cython.longlong, month: cython.longlong, day: cython.longlong) -> cython.longlong:
    """Pack a day as the servers do, above the 17 bits of a time."""
    if year > _MOST_YEAR or year < 0 or month > 12 or day > 31:
        raise Unfit("it has a year, month or day that no server stores")
    return (year * 13 + month) << 22 | day << 17


@cython.cfunc
@cython.exceptval(-1, check=False)
def _pack_time(
    day: cython.longlong,
    hour: cython.longlong,
    minute: cython.longlong,
    second: cython.longlong,
    micros: cython.longlong,
) -> cython.longlong:
    """Put a time into a packed day; if the day already has the bits of a time, they are the same."""
    if hour > 23 or minute > 59 or second > 59 or micros >= _MILLION:
        raise Unfit("it has a time that does not exist")
    if day >> 22 >= 13 * (_MOST_YEAR + 1):
        raise Unfit("it has a year, month or day that no server stores")
    return (day | hour << 12 | minute << 6 | second) << 24 | micros


@cython.cfunc
@cython.exceptval(check=False)
def _fraction(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.longlong:
    """Read microseconds, with one byte for two digits."""
    value: cython.longlong = _big(data, start, size)
    while size < 3:
        value *= 100
        size += 1
    return value


@cython.cfunc
@cython.exceptval(-1, check=False)
def _of_seconds(seconds: cython.longlong, micros: cython.longlong) -> cython.longlong:
    """Make a moment from seconds since 1970; 0 is the zero date."""
    if seconds == 0 and micros == 0:
        return 0
    if micros >= _MILLION:
        raise Unfit("it has a million microseconds or more")
    days: cython.longlong = seconds // _DAY + 719_468  # since 0000-03-01: a leap day is a year's last
    era: cython.longlong = days // 146_097
    of_era: cython.longlong = days % 146_097
    year: cython.longlong = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year: cython.longlong = of_era - (365 * year + year // 4 - year // 100)
    month: cython.longlong = (5 * of_year + 2) // 153  # 0 is March
    day: cython.longlong = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    seconds %= _DAY
    time: cython.longlong = seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60
    return (pack_day(year + 400 * era + (month <= 2), month, day) | time) << 24 | micros


@cython.cfunc
@cython.exceptval(-1, check=True)
def days(value: cython.longlong) -> cython.longlong:
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    day: cython.longlong = value >> 41 & 31
    month: cython.longlong = (value >> 46) % 13
    year: cython.longlong = (value >> 46) // 13
    if month == 0 or day == 0:
        raise Unfit("it has a year, month or day of zero")
    last: cython.int = 30 + (month + month // 8) % 2
    if month == 2:
        last = 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    if month > 12 or day > last:
        raise Unfit("it is a day that does not exist")
    year += 400 - (month <= 2)  # begins in March, so that the leap day is its last; above 0
    of_year: cython.longlong = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719_468 - 146_097


@cython.cfunc
@cython.exceptval(-1, check=True)
def micros_of(value: cython.longlong) -> cython.longlong:
    """Microseconds since 1970-01-01 00:00."""
    time: cython.longlong = value >> 24 & 0x1FFFF
    seconds: cython.longlong = days(value) * _DAY + (time >> 12) * 3600 + (time >> 6 & 63) * 60 + (time & 63)
    return seconds * _MILLION + (value & 0xFFFFFF)


@cython.ccall
@cython.exceptval(-1, check=True)
def duration(
    form: cython.int, data: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t
) -> cython.longlong:
    """Read a TIME in any form, as microseconds."""
    value: cython.longlong
    micros: cython.longlong = 0
    shift: cython.int
    if form == OF_RESULT:
        if size < 8:
            return 0
        micros = little_number(data, start + 8, 4) if size >= 12 else 0
        value = little_number(data, start + 1, 4) * 24 + data[start + 5]
        value = _pack_duration(value, data[start + 6], data[start + 7], micros)
        return -value if data[start] else value
    if form == OF_OLD_TIME:
        value = signed_number(data, start, size)
        micros = abs(value)
        micros = _pack_duration(micros // 10_000, micros // 100 % 100, micros % 100, 0)
        return -micros if value < 0 else micros
    # The sign belongs to the whole number with its fraction: both are negated together.
    shift = 8 * (size - 3)
    value = _big(data, start, size) - (cython.cast(cython.longlong, 0x800000) << shift)
    left: cython.longlong = abs(value)
    micros = left & ((cython.cast(cython.longlong, 1) << shift) - 1)
    while shift < 24:
        micros *= 100
        shift += 8
    left >>= 8 * (size - 3)
    micros = _pack_duration(left >> 12, left >> 6 & 63, left & 63, micros)
    return -micros if value < 0 else micros


@cython.cfunc
@cython.exceptval(-1, check=False)
def _pack_duration(
    hours: cython.longlong, minutes: cython.longlong, seconds: cython.longlong, micros: cython.longlong
) -> cython.longlong:
    """Microseconds of a duration without its sign."""
    if hours > _MOST_HOURS or minutes > 59 or seconds > 59 or micros >= _MILLION:
        raise Unfit("it is not a time that a server stores")
    return (hours * 3600 + minutes * 60 + seconds) * _MILLION + micros


@cython.cfunc
@cython.exceptval(-1, check=False)
def put_zoned(out: cython.p_uchar, at: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """`2026-01-31T07:55:01.5Z`: no zeros behind the fraction's last digit, as in every source."""
    micros: cython.longlong = value & 0xFFFFFF
    places: cython.int = 6
    days(value)  # refuses a value that is not a day
    while places > 0 and micros % 10 == 0:
        micros //= 10
        places -= 1
    out[at] = (20 + places + (places > 0)) << 1
    at = _put_digits(out, at + 1, (value >> 46) // 13, 4, 45)
    at = _put_digits(out, at, (value >> 46) % 13, 2, 45)
    at = _put_digits(out, at, value >> 41 & 31, 2, 84)
    at = _put_digits(out, at, value >> 36 & 31, 2, 58)
    at = _put_digits(out, at, value >> 30 & 63, 2, 58)
    at = _put_digits(out, at, value >> 24 & 63, 2, 46 if places else 90)
    return _put_digits(out, at, micros, places, 90) if places else at


@cython.cfunc
@cython.exceptval(check=False)
def _put_digits(
    out: cython.p_uchar, at: cython.Py_ssize_t, value: cython.longlong, places: cython.int, then: cython.uchar
) -> cython.Py_ssize_t:
    """Write a number with `places` digits, and the character that follows it."""
    end: cython.Py_ssize_t = at + places
    out[end] = then
    while places > 0:
        places -= 1
        out[at + places] = 48 + value % 10
        value //= 10
    return end + 1
