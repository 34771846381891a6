"""What the minutes of a pipeline add up to: good, bad and paused ones, percent, and what is left.  Pure.

In: the records of a target half, and since when each of its tables has a copy.  Out: counts.  A minute in
which nobody looked is bad, unless somebody wished the pause; at the end it counts only once it is clear that
no record of it will come.  The minute that is not over does not count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from wrackline.schemas.minutes.minute_records import (
    ALL,
    DAY_MS,
    MINUTE_MS,
    MINUTES,
    HalfDay,
    MinuteLog,
    MinuteState,
    TableDay,
    bits_of_day,
)
from wrackline.schemas.minutes.slo_terms import SloTerms

_CLEAR: Final = 2  # minutes after which a record that has not come does not come


class MinuteCounts(NamedTuple):
    """Minutes of a table, or of several."""

    good: int = 0
    bad: int = 0
    paused: int = 0

    def plus(self, other: "MinuteCounts", times: int = 1) -> "MinuteCounts":
        """Return both together."""
        return MinuteCounts(
            self.good + times * other.good, self.bad + times * other.bad, self.paused + times * other.paused
        )

    @property
    def percent(self) -> float | None:
        """How many of those that count are good; None: none counts."""
        counted = self.good + self.bad
        return 100 * self.good / counted if counted else None


@dataclass(frozen=True, slots=True)
class MinuteTotals:
    """What was found of a pipeline."""

    tables: Mapping[str, MinuteCounts]
    days: Sequence[tuple[int, MinuteCounts]]  # by their first moment, all tables together; oldest first

    @property
    def whole(self) -> MinuteCounts:
        """All tables together."""
        found = MinuteCounts()
        for _, counts in self.days:
            found = found.plus(counts)
        return found


class MinuteRange(NamedTuple):
    """Minutes since 1970."""

    first: int
    until: int


def judged_range(log: MinuteLog, terms: SloTerms, now_ms: int) -> MinuteRange:
    """Return the minutes that are judged: from the first that was looked at, within the promise's days."""
    looked = {day: one.looked for day, one in log.half.items() if one.looked}
    now = now_ms // MINUTE_MS
    if not looked:
        return MinuteRange(now, now)
    first, last = min(looked), last_look(log) or 0
    begun = first * MINUTES + (looked[first] & -looked[first]).bit_length() - 1
    until = min(now, max(last + 1, now - _CLEAR))
    return MinuteRange(max(begun, now - terms.days * MINUTES), until)


def last_look(log: MinuteLog) -> int | None:
    """Return the newest minute in which the half looked."""
    day = max((day for day, one in log.half.items() if one.looked), default=None)
    return None if day is None else day * MINUTES + log.half[day].looked.bit_length() - 1


def count_minutes(
    log: MinuteLog, tables: Mapping[str, int], judged: MinuteRange, *, pause_since: int | None = None
) -> MinuteTotals:
    """Count the minutes of tables, each since its moment; `pause_since`: the minute of a pause that lasts.

    Most tables have no records and are older than all of it: these are counted once.
    """
    days = range(judged.first // MINUTES, -(-judged.until // MINUTES))
    looks = {day: _Looks.of(log, day, judged, pause_since) for day in days}
    common = {day: one.counts(None, 0) for day, one in looks.items()}
    old = MinuteCounts()
    for counts in common.values():
        old = old.plus(counts)
    found: dict[str, MinuteCounts] = {}
    by_day = dict.fromkeys(days, MinuteCounts())
    ordinary = 0
    for table, since_ms in tables.items():
        since, its = since_ms // MINUTE_MS, log.tables.get(table, {})
        if not its and since <= judged.first:
            found[table] = old
            ordinary += 1
            continue
        whole = MinuteCounts()
        for day, one in looks.items():
            fits = day not in its and since <= max(judged.first, day * MINUTES)
            counts = common[day] if fits else one.counts(its.get(day), since - day * MINUTES)
            whole = whole.plus(counts)
            by_day[day] = by_day[day].plus(counts)
        found[table] = whole
    listed = [(day * DAY_MS, by_day[day].plus(common[day], ordinary)) for day in days]
    return MinuteTotals(found, listed)


class _Looks(NamedTuple):
    """A day of the half, as masks."""

    span: int  # minutes that are judged
    looked: int
    off: int  # minutes that are bad for all
    planned: int

    @classmethod
    def of(cls, log: MinuteLog, day: int, judged: MinuteRange, pause_since: int | None) -> "_Looks":
        half = log.half.get(day, HalfDay())
        span = bits_of_day(day, *judged)
        lasts = 0 if pause_since is None else bits_of_day(day, pause_since, judged.until) & ~half.looked
        return cls(span, half.looked, half.late | (ALL & ~half.looked), half.planned | lasts)

    def counts(self, table: TableDay | None, since: int) -> MinuteCounts:
        span = self.span & ~((1 << max(0, min(since, MINUTES))) - 1)
        bad, paused = self.off, self.planned
        if table is not None:
            bad |= table.minutes(MinuteState.BAD)
            paused |= table.minutes(MinuteState.PAUSED) & self.looked
        paused &= span
        bad &= span & ~paused
        off, rest = bad.bit_count(), paused.bit_count()
        return MinuteCounts(span.bit_count() - off - rest, off, rest)


def budget_left(counts: MinuteCounts, terms: SloTerms, tables: int = 1) -> float:
    """Return which part of the bad minutes that are allowed is left; below 0 the promise is broken."""
    most = terms.most_bad * tables
    return 1 - counts.bad / most if most else float(not counts.bad)
