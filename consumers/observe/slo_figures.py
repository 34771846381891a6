"""How many minutes of each table were good: the target half's book of minutes, and its metrics.

    the board's thread, each two seconds --> look --> records that are due
    who scrapes metrics                  --> lines

The counters begin with the process, and with them the minutes in which no process ran before it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from threading import Lock

from wrackline.consumers.observe import metric_names as names
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.schemas.language.exposition import Metric
from wrackline.schemas.minutes.minute_book import MinuteBook, MinuteRecord, MinuteSample
from wrackline.schemas.minutes.minute_counts import (
    MinuteCounts,
    MinuteRange,
    budget_left,
    count_minutes,
    judged_range,
    last_look,
)
from wrackline.schemas.minutes.minute_records import MINUTE_MS, MINUTES, MinuteLog
from wrackline.schemas.minutes.slo_terms import SloTerms

Line = tuple[Metric, Mapping[str, str], float]


class SloFigures:
    """The minutes of one pipeline's tables; any thread may call."""

    def __init__(self, terms: SloTerms | None, figures: ConsumerFigures) -> None:
        self._terms, self._figures = terms, figures
        self._book, self._lock = MinuteBook(terms), Lock()
        self._since: dict[str, int] = {}  # by table: since when it has a copy
        self._counted: int | None = None  # the first minute that is not in the counters
        self._totals: defaultdict[str, MinuteCounts] = defaultdict(MinuteCounts)

    def open(self, log: MinuteLog, *, was_wished: bool) -> None:
        """Take what is written, and whether somebody wished that the earlier process ends."""
        now_ms = self._figures.now_ms
        with self._lock:
            self._book.open(log, was_planned=was_wished, now_ms=now_ms)
            self._counted = last_look(log)

    def look(self, *, source_rests: bool, whole: bool) -> list[MinuteRecord]:
        """Look how fresh each table is; return the records that are due."""
        figures, now_ms = self._figures, self._figures.now_ms
        moments = figures.moments()
        reached = [one.through_ms for one in moments.values() if one.through_ms is not None]
        newest = max(reached, default=None) if figures.through_ms is None else figures.through_ms
        known = {table: one.through_ms for table, one in moments.items()}
        with self._lock:
            self._since = {table: one.since_ms for table, one in moments.items()}
            sample = MinuteSample(known, newest, figures.paused, source_rests)
            due = self._book.due(sample, now_ms, whole=whole)
            self._count(now_ms // MINUTE_MS)
            return due

    def _count(self, minute: int) -> None:
        first = minute if self._counted is None else self._counted
        if self._terms is not None and minute > first:
            first = max(first, minute - self._terms.days * MINUTES)  # an earlier clock may have been wrong
            over = count_minutes(self._book.log, self._since, MinuteRange(first, minute))
            for table, counts in over.tables.items():
                self._totals[table] = self._totals[table].plus(counts)
        self._counted = minute

    def lines(self) -> Iterator[Line]:
        """Yield what is served."""
        terms = self._terms
        if terms is None:
            return
        with self._lock:
            since, totals = self._since, dict(self._totals)
            log = self._book.log
            found = count_minutes(log, since, judged_range(log, terms, self._figures.now_ms))
        yield names.SLO_OBJECTIVE, {}, terms.percent / 100
        for table, counts in found.tables.items():
            total = totals.get(table, MinuteCounts())
            yield names.SLO_MINUTES, {"table": table, "good": "true"}, total.good
            yield names.SLO_MINUTES, {"table": table, "good": "false"}, total.bad
            yield names.SLO_BUDGET, {"table": table}, budget_left(counts, terms)
