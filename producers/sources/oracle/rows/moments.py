"""A moment's text in SQL_REDO as microseconds since 1970, without a Python value in between.

    YYYY-MM-DD HH24:MI:SS[.F...][ +HH:MM]     of the years 1 to 9999, perhaps behind a blank

What is written in another way is no moment here: `cell_readers.py` reads it, or says why it can't be read.
"""

import cython

NO_MOMENT = cython.declare(cython.longlong, -(1 << 62))
_DAY_US = cython.declare(cython.longlong, 86_400_000_000)
_FIRST = cython.declare(cython.longlong, -719_162 * 86_400_000_000)  # 0001-01-01
_LAST = cython.declare(cython.longlong, 2_932_897 * 86_400_000_000)  # 10000-01-01


@cython.cfunc
@cython.exceptval(check=False)
def read_moment(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t, zone: cython.longlong
) -> cython.longlong:
    """Return the microseconds since 1970, of the years 1 to 9999; the rest is left to a function.

    `zone`: 0, none; 1, it must be there; 2, it may be there.
    """
    micros: cython.longlong = 0
    places: cython.int = 0
    moment: cython.longlong
    if at < end and data[at] == 0x20:  # the sign of a year
        at += 1
    moment = _clock(data, at, end)
    if moment == NO_MOMENT:
        return NO_MOMENT
    at += 19
    if at < end and data[at] == 0x2E:
        at += 1
        while at < end and 0x30 <= data[at] <= 0x39:
            if places < 6:
                micros = micros * 10 + (data[at] - 0x30)
            places += 1
            at += 1
        if places > 9:
            return NO_MOMENT
        while places < 6:
            micros *= 10
            places += 1
    moment += micros
    if at == end:
        return NO_MOMENT if zone == 1 else moment
    if zone == 0:
        return NO_MOMENT
    return _in_utc(data, at, end, moment)


@cython.cfunc
@cython.exceptval(check=False)
def _clock(data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.longlong:
    """Read YYYY-MM-DD HH24:MI:SS."""
    if end - at < 19 or data[at + 4] != 0x2D or data[at + 7] != 0x2D or data[at + 10] != 0x20:
        return NO_MOMENT
    if data[at + 13] != 0x3A or data[at + 16] != 0x3A:
        return NO_MOMENT
    year: cython.longlong = _number(data, at, 4)
    month: cython.longlong = _number(data, at + 5, 2)
    day: cython.longlong = _number(data, at + 8, 2)
    hour: cython.longlong = _number(data, at + 11, 2)
    minute: cython.longlong = _number(data, at + 14, 2)
    second: cython.longlong = _number(data, at + 17, 2)
    if not (1 <= year <= 9999 and 1 <= month <= 12 and day >= 1 and hour < 24 and minute < 60):
        return NO_MOMENT
    last: cython.longlong = 30 + (month + (month > 7)) % 2
    if month == 2:
        last = 28 + (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    if day > last or second > 59:
        return NO_MOMENT
    if month < 3:  # a year begins in March here, so that a leap day is its last
        year -= 1
        month += 12
    days: cython.longlong = 365 * year + year // 4 - year // 100 + year // 400
    days += (153 * (month - 3) + 2) // 5 + day - 1 - 719_468
    return days * _DAY_US + ((hour * 60 + minute) * 60 + second) * 1_000_000


@cython.cfunc
@cython.exceptval(check=False)
def _in_utc(
    data: cython.p_const_uchar, at: cython.Py_ssize_t, end: cython.Py_ssize_t, moment: cython.longlong
) -> cython.longlong:
    """Read a zone behind a moment, and take its hours off: ` +02:00`."""
    if end - at != 7 or data[at] != 0x20 or data[at + 4] != 0x3A:
        return NO_MOMENT
    hours: cython.longlong = _number(data, at + 2, 2)
    minutes: cython.longlong = _number(data, at + 5, 2)
    if hours > 15 or minutes > 59 or (data[at + 1] != 0x2B and data[at + 1] != 0x2D):
        return NO_MOMENT
    minutes += 60 * hours
    if minutes > 900:
        return NO_MOMENT
    moment += (minutes if data[at + 1] == 0x2D else -minutes) * 60_000_000
    return moment if _FIRST <= moment < _LAST else NO_MOMENT


@cython.cfunc
@cython.exceptval(check=False)
def _number(data: cython.p_const_uchar, at: cython.Py_ssize_t, digits: cython.int) -> cython.longlong:
    """Return a number of so many digits; a large one if they are none."""
    i: cython.int
    value: cython.longlong = 0
    for i in range(digits):
        if not 0x30 <= data[at + i] <= 0x39:
            return 1 << 30
        value = value * 10 + (data[at + i] - 0x30)
    return value
