"""Counts again what was handed out, so that a wrong assumption is loud and not silent for ever.  Pure.

    a poll:  commits above A ... up to B, so many rows of each change table
    later:   SELECT COUNT_BIG(*) of each, in the same range   more rows: they came late, and nobody read them

The source reads commits up to the newest that `cdc.lsn_time_mapping` lists, and relies on two things that no
document promises: that a listed commit has all of its rows, and that none is listed below one that was seen.
If either is wrong, rows appear in a range that was read.  A range is counted some seconds after it was handed
out, the newest of these, because what comes late comes soon.  A commit that was cut by a restart is left out:
its first part was handed out by somebody else.
"""

import math
from collections import Counter, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.log.change_rows import lsn_of
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
    " reset <pipeline.toml>, and the next start reads all rows",
)

REST_S: Final = 10.0  # between the read of a range and its count


class CountedRange(NamedTuple):
    """Commits above one LSN, up to another, in one change table; `rows` were handed out."""

    table: int
    above: Lsn
    upto: Lsn
    rows: int


class RangeAudit:
    """Remembers the ranges of the last seconds; `interval_s` is the time between two counts, or infinite."""

    def __init__(self, database: str, interval_s: float) -> None:
        self._database, self._interval = database, interval_s
        self._read: deque[tuple[float, Sequence[CountedRange]]] = deque()
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
            self._rows.update(change[0] for change in part.changes)
            self._rows.update(change[0] for change in part.changes if change[1] == "u")

    def end(self, now: float) -> None:
        """Note that all of the poll was handed out."""
        made = [
            CountedRange(one.table, max(self._above, _above(one)), one.upto, self._rows[one.table])
            for one in self._ranges
        ]
        while len(self._read) > 1 and self._read[1][0] <= now - REST_S:
            self._read.popleft()
        self._read.append((now, [one for one in made if one.above < one.upto]))

    def due(self, now: float) -> Sequence[CountedRange]:
        """Return what to count now: the newest range that has rested; nothing if it is too soon."""
        found: Sequence[CountedRange] = ()
        if math.isinf(self._interval) or now - self._counted_at < self._interval:
            return found
        while self._read and self._read[0][0] <= now - REST_S:
            found = self._read.popleft()[1]
        if found:
            self._counted_at = now
        return found

    def rest_s(self, now: float) -> float:
        """Return the time until something is to be counted."""
        if math.isinf(self._interval) or not self._read:
            return math.inf
        return max(self._read[0][0] + REST_S, self._counted_at + self._interval) - now

    def compare(self, asked: Sequence[CountedRange], counts: Sequence[int]) -> None:
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


def _above(one: TableRange) -> Lsn:
    """Return the commit above which a range is whole."""
    lsn = lsn_of(one.after)
    return previous_lsn(lsn) if len(one.after) == SIZE else lsn
