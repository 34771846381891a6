"""Dates and times of SQL Server as numbers, to 100 nanoseconds, which `datetime` can't hold.

A day is counted from 0001-01-01, a tick is 100 ns.  Values of one type compare in the order of time.
"""

import datetime as dt
from typing import NamedTuple

TICKS_OF_SECOND = 10_000_000
TICKS_OF_DAY = 86_400 * TICKS_OF_SECOND
_TICKS_OF_MINUTE = 60 * TICKS_OF_SECOND


class Moment(NamedTuple):
    """A value of `datetime`, `smalldatetime` or `datetime2`."""

    day: int
    ticks: int

    @classmethod
    def of(cls, value: dt.datetime, hundreds: int = 0) -> "Moment":
        """Make one of a datetime without zone, and of the 100 ns that it can't hold (0 to 9)."""
        return cls(value.toordinal() - 1, ticks_of(value.time(), hundreds))

    def as_datetime(self) -> dt.datetime:
        """Return the value to the microsecond."""
        return dt.datetime.combine(dt.date.fromordinal(self.day + 1), time_of(self.ticks))


class ZonedMoment(NamedTuple):
    """A value of `datetimeoffset`: day and ticks are UTC, the offset is in minutes."""

    day: int
    ticks: int
    minutes: int

    @classmethod
    def of(cls, value: dt.datetime, hundreds: int = 0) -> "ZonedMoment":
        """Make one of a datetime with a zone."""
        offset = value.utcoffset()
        if offset is None:
            raise ValueError("a datetimeoffset needs a zone")
        utc = Moment.of((value - offset).replace(tzinfo=None), hundreds)
        return cls(*utc, int(offset.total_seconds()) // 60)

    def as_datetime(self) -> dt.datetime:
        """Return the value in its own zone, to the microsecond."""
        zone = dt.timezone(dt.timedelta(minutes=self.minutes))
        return Moment(self.day, self.ticks).as_datetime().replace(tzinfo=dt.UTC).astimezone(zone)


class TimeOfDay(NamedTuple):
    """A value of `time`."""

    ticks: int


def ticks_of(value: dt.time, hundreds: int = 0) -> int:
    """Count the ticks since midnight."""
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * TICKS_OF_SECOND + value.microsecond * 10 + hundreds


def time_of(ticks: int) -> dt.time:
    """Return a time of day to the microsecond."""
    minutes, rest = divmod(ticks, _TICKS_OF_MINUTE)
    seconds, part = divmod(rest, TICKS_OF_SECOND)
    return dt.time(minutes // 60, minutes % 60, seconds, part // 10)


def rounded(day: int, ticks: int, scale: int) -> tuple[int, int]:
    """Round to so many decimal places of a second, as the server does; midnight may be the next day's."""
    unit = 10 ** (7 - scale)
    ticks = (ticks + unit // 2) // unit * unit
    return day + ticks // TICKS_OF_DAY, ticks % TICKS_OF_DAY


def to_thirds(ticks: int) -> int:
    """Return the 1/300 seconds that `datetime` keeps."""
    return (ticks * 300 + TICKS_OF_SECOND // 2) // TICKS_OF_SECOND


def of_thirds(thirds: int) -> int:
    """Return the ticks of 1/300 seconds as they are shown: to the millisecond, which ends in 0, 3 or 7."""
    return (thirds * 10 + 1) // 3 * 10_000
