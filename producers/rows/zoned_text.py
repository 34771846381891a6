"""A moment of the years 1 to 9999 as a text of Avro: `2026-01-31T07:55:01.5Z`.

In: microseconds since 1970 in UTC.  Out: the text behind its length, at a place that the caller has reserved.
"""

import cython

_DAY_US = cython.declare(cython.longlong, 86_400_000_000)
_MARCH = cython.declare(cython.longlong, 719_468)  # days from 0000-03-01 to 1970-01-01


@cython.cfunc
@cython.exceptval(check=False)
def put_zoned(out: cython.p_uchar, at: cython.Py_ssize_t, moment: cython.longlong) -> cython.Py_ssize_t:
    """Write it; as in every source, no zeros stand behind the fraction's last digit."""
    moment += _MARCH * _DAY_US  # never negative; a year begins in March, so that a leap day is its last
    days: cython.longlong = moment // _DAY_US
    seconds: cython.longlong = moment % _DAY_US // 1_000_000
    micros: cython.longlong = moment % 1_000_000
    of_era: cython.longlong = days % 146_097  # 400 years
    year: cython.longlong = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year: cython.longlong = of_era - (365 * year + year // 4 - year // 100)
    month: cython.longlong = (5 * of_year + 2) // 153  # 0 is March
    places: cython.int = 6
    while places > 0 and micros % 10 == 0:
        micros //= 10
        places -= 1
    out[at] = (20 + places + (places > 0)) << 1
    at = _put_digits(out, at + 1, year + days // 146_097 * 400 + (month > 9), 4, 45)
    at = _put_digits(out, at, month + (3 if month < 10 else -9), 2, 45)
    at = _put_digits(out, at, of_year - (153 * month + 2) // 5 + 1, 2, 84)
    at = _put_digits(out, at, seconds // 3600, 2, 58)
    at = _put_digits(out, at, seconds // 60 % 60, 2, 58)
    at = _put_digits(out, at, seconds % 60, 2, 46 if places else 90)
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
