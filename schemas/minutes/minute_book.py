"""What the target half writes of its minutes: samples of freshness become records.  Pure.

    look at all tables, each two seconds --> states of this minute --> records that have changed

A record is due as soon as a state changes, not at the minute's end: a half that is killed has lost nothing.
The records of tables come before the half's, which says that the minute was looked at.  Days that are older
than the promise's are removed.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wrackline.schemas.minutes.minute_records import (
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


class MinuteSample(NamedTuple):
    """How fresh everything is at a moment."""

    moments: Mapping[str, int | None]  # through which each table is complete that ever was; None: not known
    newest_ms: int | None  # through which any table can be
    paused: frozenset[str] = frozenset()  # tables whose pause somebody wished
    planned: bool = False  # whether somebody wished that the source half pauses


class MinuteRecord(NamedTuple):
    """A record that is due; the half's has no table, and None removes it."""

    table: str
    day_ms: int
    value: bytes | None


class MinuteBook:
    """The minutes of one pipeline; without terms it only removes what is there."""

    def __init__(self, terms: SloTerms | None) -> None:
        self._terms, self.log = terms, MinuteLog()
        self._planned: set[int] = set()  # days in which this process found a pause of the earlier one
        self._day: int | None = None

    def open(self, log: MinuteLog, *, was_planned: bool, now_ms: int) -> None:
        """Take what is written, and whether the earlier process ended because somebody wished it."""
        self.log, self._day, self._planned = log, None, set()
        if self._terms is not None and was_planned and log.half:
            last = max(log.half)
            minute = last * MINUTES + log.half[last].looked.bit_length()
            for day in range(max(last, now_ms // DAY_MS - self._terms.days), now_ms // DAY_MS + 1):
                if bits := bits_of_day(day, minute, now_ms // MINUTE_MS):
                    known = log.half.get(day, HalfDay())
                    log.half[day] = known._replace(planned=known.planned | bits)
                    self._planned.add(day)

    def due(self, sample: MinuteSample, now_ms: int, *, whole: bool) -> list[MinuteRecord]:
        """Take a sample; return the records to write now.  `whole`: earlier ones may not have arrived."""
        day, minute = divmod(now_ms // MINUTE_MS, MINUTES)
        made = self._removed(day) if day != self._day else []
        whole, self._day = whole or self._day is None, day  # a process that starts may have found a pause
        if self._terms is None:
            return made
        before = self.log.half.get(day, HalfDay())
        bit, limit = 1 << minute, now_ms - self._terms.minutes * MINUTE_MS
        is_late = sample.newest_ms is not None and sample.newest_ms < limit
        changed = []
        for table, state in self._states(sample, limit, day, is_late=is_late):
            known = self.log.tables.get(table, {}).get(day, TableDay())
            after = known.then(state, minute, seen=bool(before.looked & bit))
            if after != known:
                self.log.put(table, day, after)
                changed.append(table)
        half = HalfDay(
            before.looked | bit, before.late | bit * is_late, before.planned | bit * sample.planned
        )
        self.log.half[day] = half
        if whole:
            return made + self._again(day)
        made += [self._record(table, day) for table in changed]
        return made + ([self._record("", day)] if half != before else [])

    def _states(
        self, sample: MinuteSample, limit: int, day: int, *, is_late: bool
    ) -> Iterator[tuple[str, MinuteState]]:
        """Yield states of tables; while the half itself is late, only of those that are or were paused."""
        for table, at_ms in sample.moments.items():
            if table in sample.paused:
                yield table, MinuteState.PAUSED
            elif not is_late:
                yield table, MinuteState.BAD if at_ms is None or at_ms < limit else MinuteState.GOOD
            elif (known := self.log.tables.get(table, {}).get(day)) and known.rest is MinuteState.PAUSED:
                yield table, MinuteState.BAD

    def _removed(self, day: int) -> list[MinuteRecord]:
        """Forget old days; not the half's last one before them: it says that nobody has looked since."""
        oldest = day - self._terms.days if self._terms is not None else day + 1
        old = {(table, at) for table, at in self.log.places() if at < oldest}
        if self._terms is not None:
            looked = (at for at, one in self.log.half.items() if at < oldest and one.looked)
            old.discard(("", max(looked, default=oldest)))
        for table, at in old:
            self.log.take(table, at * DAY_MS, None)
        return [MinuteRecord(table, at * DAY_MS, None) for table, at in sorted(old)]

    def _again(self, day: int) -> list[MinuteRecord]:
        """Return what this process may have changed lately."""
        keys = [
            (table, one) for table, days in self.log.tables.items() for one in (day - 1, day) if one in days
        ]
        keys += [("", one) for one in sorted({*self._planned, day - 1, day}) if one in self.log.half]
        return [self._record(*key) for key in keys]

    def _record(self, table: str, day: int) -> MinuteRecord:
        value = self.log.tables[table][day] if table else self.log.half[day]
        return MinuteRecord(table, day * DAY_MS, value.encode())
