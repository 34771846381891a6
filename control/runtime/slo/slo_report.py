"""How a pipeline's promise went: the minutes of all tables, of each table, and of each day.  Pure.

In: what the target half has reported, and the promise.  Out: one value.  Tables that never were complete have
no copy yet, so nothing is counted of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from wrackline.control.runtime.ground.number_text import count_text
from wrackline.schemas.kafka.board_records import Document, HalfBoard
from wrackline.schemas.minutes.minute_counts import (
    MinuteCounts,
    MinuteTotals,
    budget_left,
    count_minutes,
    judged_range,
    last_look,
)
from wrackline.schemas.minutes.minute_records import MINUTE_MS
from wrackline.schemas.minutes.slo_terms import SloTerms


@dataclass(frozen=True, slots=True)
class SloReport:
    """How a promise went."""

    terms: SloTerms
    at_ms: int
    since_ms: int  # the first minute that is counted
    totals: MinuteTotals
    whole: MinuteCounts  # of all tables together
    worst: Sequence[str]  # all tables, those with most bad minutes first

    @property
    def left(self) -> float:
        """Which part of the bad minutes that all tables together may have is left."""
        return budget_left(self.whole, self.terms, max(1, len(self.totals.tables)))

    def left_of(self, table: str) -> float:
        """Return which part of its bad minutes a table has left."""
        return budget_left(self.totals.tables[table], self.terms)

    def broken(self) -> list[str]:
        """Return the tables that had more bad minutes than they may, the worst first."""
        return [table for table in self.worst if self.left_of(table) < 0]


def slo_report(target: HalfBoard, terms: SloTerms, at_ms: int) -> SloReport:
    """Count a board's minutes."""
    since = {name: ms for name, table in target.tables.items() if (ms := _since(table)) is not None}
    judged, last = judged_range(target.minutes, terms, at_ms), last_look(target.minutes)
    rests = target.report.get("wished") and not target.runs(at_ms) and last is not None
    totals = count_minutes(target.minutes, since, judged, pause_since=(last or 0) + 1 if rests else None)
    worst = sorted(totals.tables, key=lambda table: (-totals.tables[table].bad, table))
    return SloReport(terms, at_ms, judged.first * MINUTE_MS, totals, totals.whole, worst)


def broken_promise(pipeline: str, report: SloReport) -> Document | None:
    """Return an error if the promise is broken for a table."""
    broken, terms = report.broken(), report.terms
    if not broken:
        return None
    bad = report.totals.tables[broken[0]].bad
    return {
        "code": "",
        "sentence": f"{count_text(len(broken), 'table', 'tables')} had more bad minutes in {terms.days} days"
        f" than the {terms.most_bad:,.0f} that are promised; {broken[0]} had {bad:,}",
        "hint": f"wrackline slo {pipeline}",
    }


def _since(table: Document) -> int | None:
    ms: int | None = table.get("complete_since_ms")
    return ms
