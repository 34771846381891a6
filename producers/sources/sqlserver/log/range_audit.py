"""Counts again what was handed out, so that a wrong assumption is loud and not silent for ever.  Pure.

    a poll:  commits above A ... up to B, so many rows of each change table
    later:   SELECT COUNT_BIG(*) of each, in the same range   more rows: they came late, and nobody read them

The source reads commits up to the newest that `cdc.lsn_time_mapping` lists, and relies on two things that no
document promises: that a listed commit has all of its rows, and that none is listed below one that was seen.
If either is wrong, rows appear in a range that was read.  Each range is counted once, some seconds after it
was handed out, because what comes late comes soon.  Ranges that follow one another are joined, so a log that
is never quiet costs one count of each change table in an interval, and no more memory than a quiet one.  A
commit that was cut by a restart is left out: its first part was handed out by somebody else.
"""

import math
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.log.change_rows import lsn_of
from wrackline.producers.sources.sqlserver.log.changes import rows_by_table
from wrackline.producers.sources.sqlserver.log.lsn import SIZE, ZERO, Lsn, lsn_text, previous_lsn
from wrackline.producers.sources.sqlserver.log.page_merger import CommitPart, TableRange
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.schemas.errors import Definite, define

LATE_ROWS = define(
    "sqlserver.late_rows",
    Definite,
    "the change tables of {database} have {found} rows between {above} and {upto}, but had {read} when these"
    " commits were read: the copy may lack the others",
    hint="report it with the server's version: SELECT @@VERSION; to copy the tables again: wrackline offsets"
    ' reset <pipeline.toml>, and the next start reads all rows; or set snapshot.mode = "when_needed"',
)

REST_S: Final = 10.0  # between the read of a range and its count
_JOINED_S: Final = 1.0  # between the first and the last of ranges that rest together
_MOST_TABLES: Final = 50  # that are counted in one poll
_MOST_ROWS: Final = 100_000  # the same, as far as ranges can be apart


class CountedRange(NamedTuple):
    """Commits above one LSN, up to another, in one change table; `rows` were handed out."""

    table: int
    above: Lsn
    upto: Lsn
    rows: int


@dataclass(slots=True)
class AuditTally:
    """How many ranges of a database were counted, however often its log was opened; any thread may look."""

    ranges: int = 0
    last_at: float | None = None  # when the last one was


class RangeAudit:
    """Remembers the ranges of the last seconds; `interval_s` is the time between two counts, or infinite."""

    def __init__(self, database: str, interval_s: float, tally: AuditTally | None = None) -> None:
        self._database, self._interval, self._tally = database, interval_s, tally or AuditTally()
        self._read: deque[_RestingRanges] = deque()
        self._due: list[CountedRange] = []
        self._ranges: Sequence[TableRange] = ()
        self._above = ZERO
        self._rows: Counter[int] = Counter()
        self._counted_at = float("-inf")

    def begin(self, position: SqlServerPosition, ranges: Sequence[TableRange]) -> None:
        """Take what a poll reads from a position on; an earlier poll that did not end is forgotten."""
        self._above, self._ranges = position.lsn, ranges
        self._rows.clear()

    def count(self, part: CommitPart) -> None:
        """Count the rows of what is handed out: an update has two."""
        if part.commit.lsn > self._above:
            self._rows.update(rows_by_table(part.changes))

    def end(self, now: float) -> None:
        """Note that all of the poll was handed out."""
        if math.isinf(self._interval):
            return
        made = [
            CountedRange(one.table, max(self._above, _above(one)), one.upto, self._rows[one.table])
            for one in self._ranges
        ]
        if not self._read or now - self._read[-1].began >= _JOINED_S:
            self._read.append(_RestingRanges(now))
        self._read[-1].add(now, (one for one in made if one.above < one.upto))

    def due(self, now: float, tables: Collection[int]) -> Sequence[CountedRange]:
        """Return what to count in this poll, until it is compared; ranges of other tables are forgotten."""
        if not self._due and now - self._counted_at >= self._interval:
            rested = _RestingRanges(now)
            while self._read and self._read[0].ended <= now - REST_S:
                rested.add(now, self._read.popleft().ranges())
            self._due = rested.ranges()
            self._counted_at = now if self._due else self._counted_at
        self._due = [one for one in self._due if one.table in tables]
        rows = list(accumulate(one.rows for one in self._due[:_MOST_TABLES]))
        return self._due[: max(1, sum(so_far <= _MOST_ROWS for so_far in rows))]

    @property
    def waits(self) -> bool:
        """Whether more is due than one poll counts."""
        return bool(self._due)

    def rest_s(self, now: float) -> float:
        """Return the time until something is to be counted."""
        if not self._read:
            return math.inf
        return max(self._read[0].ended + REST_S, self._counted_at + self._interval) - now

    def compare(self, asked: Sequence[CountedRange], counts: Sequence[int], now: float) -> None:
        """Raise if a table has more rows than it had; fewer are the cleanup job's work."""
        for one, found in zip(asked, counts, strict=True):
            if found > one.rows:
                raise LATE_ROWS(
                    database=self._database,
                    found=found,
                    read=one.rows,
                    above=lsn_text(one.above),
                    upto=lsn_text(one.upto),
                )
        del self._due[: len(asked)]
        if asked:
            self._tally.ranges += len(asked)
            self._tally.last_at = now


class _RestingRanges:
    """Ranges that were handed out about the same time; one that continues another is joined with it."""

    def __init__(self, began: float) -> None:
        self.began = self.ended = began
        self._of_tables: dict[int, list[CountedRange]] = {}

    def add(self, now: float, ranges: Iterable[CountedRange]) -> None:
        self.ended = now
        for one in ranges:
            known = self._of_tables.setdefault(one.table, [])
            last = known[-1] if known else None
            if last is not None and last.upto == one.above and last.rows + one.rows <= _MOST_ROWS:
                known[-1] = last._replace(upto=one.upto, rows=last.rows + one.rows)
            else:
                known.append(one)

    def ranges(self) -> list[CountedRange]:
        return [one for known in self._of_tables.values() for one in known]


def _above(one: TableRange) -> Lsn:
    """Return the commit above which a range is whole."""
    lsn = lsn_of(one.after)
    return previous_lsn(lsn) if len(one.after) == SIZE else lsn
