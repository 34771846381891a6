"""A day of minutes as records of the board, and the fold of them.  Pure.

    ["shop","target","",1764028800000,"minutes"]                     the half: minutes that were looked at
    ["shop","target","shop.public.orders",1764028800000,"minutes"]   a table: what is not implied by the half

The number in the key is the day's first moment, in UTC.  A day has a bit for each of its 1,440 minutes, the
first minute is the lowest bit.  A table without a record was good in each minute in which the half looked,
unless the half itself was late.  A record of a table says how each minute before `since` was, and in one word
how all later ones are.  So a table that is stuck for a day is written twice.

Anybody who may write to the topic could fill a reader's memory, so all days of tables together have a bound.
Beyond it the oldest day is given up with all its records: without those of its tables it would look good.
"""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

import orjson

from wrackline.schemas.untrusted import number

VERSION: Final = 1
MINUTE_MS: Final = 60_000
MINUTES: Final = 1_440
DAY_MS: Final = MINUTES * MINUTE_MS
MOST_DAYS: Final = 100
MOST_TABLES: Final = 50_000  # as a board has at most
MOST_BYTES: Final = 256 << 20  # of the days of all tables: 30 days of 30,000 tables that are never good
_DAY_BYTES: Final = 200  # that a day of a table takes beside its name and its bits
ALL: Final = (1 << MINUTES) - 1  # every minute of a day


class MinuteState(Enum):
    """How a table was in a minute."""

    GOOD = "good"
    BAD = "bad"
    PAUSED = "paused"


class HalfDay(NamedTuple):
    """A day of the half."""

    looked: int = 0  # minutes in which it looked at its tables
    late: int = 0  # minutes in which what it knows was too old, so all tables were
    planned: int = 0  # minutes of a pause that somebody wished, of one of the two halves

    def encode(self) -> bytes:
        """Return the record's value."""
        bits = {name: _text(value) for name, value in self._asdict().items()}
        return orjson.dumps({"version": VERSION, **bits})


class TableDay(NamedTuple):
    """A day of a table."""

    bad: int = 0
    paused: int = 0
    since: int = 0  # the minute from which on `rest` holds
    rest: MinuteState = MinuteState.GOOD

    def encode(self) -> bytes:
        """Return the record's value."""
        bits = {"bad": _text(self.bad), "paused": _text(self.paused)}
        return orjson.dumps({"version": VERSION, **bits, "since": self.since, "rest": self.rest.value})

    def minutes(self, state: MinuteState) -> int:
        """Return the minutes in which it was in a state other than good, those to come included."""
        bits = self.bad if state is MinuteState.BAD else self.paused
        return bits | (ALL >> self.since << self.since) if self.rest is state else bits

    def then(self, state: MinuteState, minute: int, *, seen: bool) -> "TableDay":
        """Return the day after a look in a minute; `seen`: this minute had a look before, with `rest`.

        A state other than good counts for its whole minute.
        """
        if state is self.rest or (minute < self.since and state is MinuteState.GOOD):
            return self
        ended = self.rest is not MinuteState.GOOD and seen
        until = max(self.since, minute + 1 if ended else minute)
        bits = span(self.since, until)
        day = self._replace(
            bad=self.bad | (bits if self.rest is MinuteState.BAD else 0),
            paused=self.paused | (bits if self.rest is MinuteState.PAUSED else 0),
        )
        return day._replace(since=until if state is MinuteState.GOOD else minute, rest=state)


def span(first: int, until: int) -> int:
    """Return the bits of minutes."""
    return (1 << until) - (1 << first) if until > first else 0


def bits_of_day(day: int, first: int, until: int) -> int:
    """Return the bits of a day for a range of minutes since 1970."""
    start = day * MINUTES
    return span(max(0, first - start), min(MINUTES, max(0, until - start)))


def read_half(value: bytes) -> HalfDay:
    """Read the half's record; ValueError, KeyError or TypeError: it is none."""
    document = _document(value)
    return HalfDay(*(_bits(document[name]) for name in HalfDay._fields))


def read_table(value: bytes) -> TableDay:
    """Read a table's record; ValueError, KeyError or TypeError: it is none."""
    document = _document(value)
    since = number(document["since"])
    if since > MINUTES:
        raise ValueError("no minute")
    return TableDay(_bits(document["bad"]), _bits(document["paused"]), since, MinuteState(document["rest"]))


class MinuteLog:
    """The days of a target half and its tables, by the day's number since 1970."""

    def __init__(self) -> None:
        self.half: dict[int, HalfDay] = {}
        self.tables: dict[str, dict[int, TableDay]] = {}  # `put` changes them
        self._bytes, self._all_bytes = Counter[int](), 0  # of each day of the tables
        self._first = 0  # the first day that is not given up

    def take(self, table: str, at_ms: int, value: bytes | None) -> None:
        """Take a record; an empty name is the half.  ValueError, KeyError or TypeError: it is none."""
        day, off = divmod(at_ms, DAY_MS)
        if off:
            raise ValueError("no day")
        if table:
            self.put(table, day, None if value is None else read_table(value))
            return
        half = None if value is None else read_half(value)
        self.half.pop(day, None)
        if half is not None and day >= self._first:
            self.half[day] = half
            if len(self.half) > MOST_DAYS:
                del self.half[min(self.half)]

    def put(self, table: str, day: int, known: TableDay | None) -> None:
        """Keep a day of a table, or forget it; a day that was given up stays so."""
        if table not in self.tables and (known is None or len(self.tables) >= MOST_TABLES):
            return
        days = self.tables.setdefault(table, {})
        self._forget(table, day)
        if known is not None and day >= self._first:
            days[day] = known
            self._add(day, _size(table, known))
            if len(days) > MOST_DAYS:
                self._forget(table, min(days))
        if not days:
            del self.tables[table]
        while self._all_bytes > MOST_BYTES:
            self._give_up(min(self._bytes))

    def _add(self, day: int, size: int) -> None:
        self._all_bytes += size
        self._bytes[day] += size
        if not self._bytes[day]:
            del self._bytes[day]

    def _forget(self, table: str, day: int) -> None:
        if (known := self.tables[table].pop(day, None)) is not None:
            self._add(day, -_size(table, known))

    def _give_up(self, day: int) -> None:
        self._first = day + 1
        for one in [one for one in self.half if one <= day]:
            del self.half[one]
        for table, days in list(self.tables.items()):
            self._forget(table, day)
            if not days:
                del self.tables[table]

    def copy(self) -> "MinuteLog":
        """Return what is known now."""
        made = MinuteLog()
        made.half, made.tables = dict(self.half), {table: dict(days) for table, days in self.tables.items()}
        made._bytes, made._all_bytes, made._first = self._bytes.copy(), self._all_bytes, self._first
        return made

    def places(self) -> Iterator[tuple[str, int]]:
        """Yield each record's table and day."""
        yield from (("", day) for day in self.half)
        yield from ((table, day) for table, days in self.tables.items() for day in days)


def _size(table: str, day: TableDay) -> int:
    """Return about how many bytes of memory a day of a table takes."""
    return _DAY_BYTES + len(table) + (day.bad.bit_length() + day.paused.bit_length()) // 8


def _document(value: bytes) -> Mapping[str, Any]:
    document = orjson.loads(value)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise ValueError("a version that is not known")
    return document


def _text(bits: int) -> str:
    return b64encode(bits.to_bytes(-(-bits.bit_length() // 8), "little")).decode()


def _bits(text: object) -> int:
    if not isinstance(text, str) or len(text) > MINUTES // 6:
        raise ValueError("no minutes")
    return int.from_bytes(b64decode(text, validate=True), "little")
