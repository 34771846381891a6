"""What a cell of SQL_REDO says, as a plain value; `rows/` is to write the same without one.

    text, number as text   str            raw    bytes        interval   int: microseconds, or months
    date, timestamp        int: microseconds since 1970-01-01 00:00:00, nothing is known of a zone
    with time zone         RedoMoment

Our session's formats are expected: YYYY-MM-DD HH24:MI:SS, with .FF9, with TZH:TZM; a year may have a sign.
Days are those of the Gregorian calendar at all times.  What is finer than a microsecond is cut off.

LogMiner writes TIMESTAMP WITH LOCAL TIME ZONE as TO_TIMESTAMP_TZ without a zone: its offset is None.
What is unsupported, and a document that is bound, has no value here.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from wrackline.producers.sources.oracle.redo.kinds import RedoKind, UnknownRedoError

_MOMENT = re.compile(
    r" ?(-?\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?(?: ([+-])(\d\d):(\d\d))?", re.ASCII
)
_DAYS = re.compile(r"([+-])(\d{1,9}) (\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?", re.ASCII)
_MONTHS = re.compile(r"([+-])(\d{1,9})-(\d\d)", re.ASCII)
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*", re.ASCII)
_ESCAPE = re.compile(r"\\(?:\\|([0-9A-Fa-f]{4})|)", re.ASCII)
_PART = re.compile(r"\s*(?:UNISTR\('((?:[^']|'')*)'\)|'((?:[^']|'')*)')\s*(\|\||$)")
_DAYS_OF_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH = 719_468  # days from 0000-03-01 to 1970-01-01


class RedoMoment(NamedTuple):
    """A local moment in microseconds since 1970, and how many minutes its zone is before UTC."""

    local: int
    offset: int | None

    @property
    def instant(self) -> int:
        """Return the moment in UTC, where a zone is known."""
        if self.offset is None:
            raise UnknownRedoError("a moment has no zone", 0)
        return self.local - self.offset * 60_000_000


RedoValue = str | bytes | int | RedoMoment | None


def value_of(kind: RedoKind, data: bytes) -> RedoValue:
    """Read a cell's text; what is not written as its kind is refused."""
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        raise UnknownRedoError("a value is not UTF-8", exc.start) from None
    if kind not in _READERS:
        raise UnknownRedoError("the statement does not have the value", 0)
    return _READERS[kind](text)


def _quoted(text: str) -> str:
    return text.replace("''", "'")


def _raw(text: str) -> bytes:
    if not _HEX.fullmatch(text):
        raise UnknownRedoError("a raw value is not in pairs of hexadecimal digits", 0)
    return bytes.fromhex(text)


def _unistr(text: str) -> str:
    """Read UTF-16 units behind backslashes; a character that has two is whole, or it is refused."""

    def unit(found: re.Match[str]) -> str:
        if found.group() == "\\":
            raise UnknownRedoError("a backslash has no four digits", found.start())
        return chr(int(found[1], 16)) if found[1] else "\\"

    units = _ESCAPE.sub(unit, _quoted(text))
    try:
        return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as exc:
        raise UnknownRedoError("half of a character", exc.start) from None


def _chain(text: str) -> str:
    """Read what stands between the || of an expression."""
    read, at, more = [], 0, True
    while more:
        part = _PART.match(text, at)
        if part is None:
            raise UnknownRedoError("no text beside ||", at)
        read.append(_quoted(part[2]) if part[1] is None else _unistr(part[1]))
        at, more = part.end(), bool(part[3])
    return "".join(read)


def _moment(text: str) -> RedoMoment:
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise UnknownRedoError("a moment is in another format", 0)
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    offset = None
    if found[8]:
        offset = (int(found[9]) * 60 + int(found[10])) * (-1 if found[8] == "-" else 1)
    if not (year and 1 <= month <= 12 and 1 <= day <= _days_of_month(year + (year < 0), month)):
        raise UnknownRedoError("a day is in no calendar", 0)
    if not (hour < 24 and minute < 60 and second < 60 and abs(offset or 0) <= 900):
        raise UnknownRedoError("a time is on no clock", 0)
    seconds = _days(year + (year < 0), month, day) * 86_400 + hour * 3600 + minute * 60 + second
    return RedoMoment(seconds * 1_000_000 + _micros(found[7]), offset)


def _days_of_month(year: int, month: int) -> int:
    """Return its last day; the year 0 is the one before 1 here."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _DAYS_OF_MONTH[month - 1] + (month == 2 and leap)


def _days(year: int, month: int, day: int) -> int:
    """Count days since 1970; a year begins in March here."""
    year -= month < 3
    in_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + in_year - _EPOCH


def _micros(fraction: str | None) -> int:
    return int(f"{fraction or '':0<6}"[:6])


def _local(text: str) -> int:
    read = _moment(text)
    if read.offset is not None:
        raise UnknownRedoError("a moment has a zone", 0)
    return read.local


def _interval_days(text: str) -> int:
    found = _DAYS.fullmatch(text)
    if found is None or int(found[3]) > 23 or int(found[4]) > 59 or int(found[5]) > 59:
        raise UnknownRedoError("an interval is in another format", 0)
    days, hours, minutes, seconds = (int(part) for part in found.groups()[1:5])
    micros = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + _micros(found[6])
    return -micros if found[1] == "-" else micros


def _interval_months(text: str) -> int:
    found = _MONTHS.fullmatch(text)
    if found is None or int(found[3]) > 11:
        raise UnknownRedoError("an interval is in another format", 0)
    months = int(found[2]) * 12 + int(found[3])
    return -months if found[1] == "-" else months


_READERS: Mapping[RedoKind, Callable[[str], RedoValue]] = MappingProxyType(
    {
        RedoKind.NULL: lambda _: None,
        RedoKind.TEXT: str,
        RedoKind.QUOTED: _quoted,
        RedoKind.NUMBER: str,
        RedoKind.RAW: _raw,
        RedoKind.UNISTR: _unistr,
        RedoKind.CHAIN: _chain,
        RedoKind.DATE: _local,
        RedoKind.TIMESTAMP: _local,
        RedoKind.ZONED: _moment,
        RedoKind.DAYS: _interval_days,
        RedoKind.MONTHS: _interval_months,
        RedoKind.EMPTY_CLOB: lambda _: "",
        RedoKind.EMPTY_BLOB: lambda _: b"",
        RedoKind.XML: _quoted,
    }
)
