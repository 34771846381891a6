"""A promise of freshness and how it went: one table of two was stuck for some minutes of yesterday."""

from typing import Final

from wrackline.control.runtime.slo.slo_report import SloReport, slo_report
from wrackline.schemas.kafka.board_records import HalfBoard
from wrackline.schemas.minutes.minute_records import DAY_MS, HalfDay, MinuteState, TableDay, span
from wrackline.schemas.minutes.slo_terms import SloTerms

STUCK, GOOD = "shop.public.stuck", "shop.public.good"
TODAY: Final = 20_001
TERMS: Final = SloTerms(minutes=5, percent=99.9, days=3)  # 4.32 minutes may be bad


def board(bad: int) -> HalfBoard:
    """Return a target half that looked since yesterday at noon until today at one, but for ten minutes."""
    made = HalfBoard({"state": "running", "wished": False})
    made.tables |= {STUCK: {"complete_since_ms": 0}, GOOD: {"complete_since_ms": 0}}
    made.minutes.half |= {
        TODAY - 1: HalfDay(span(720, 1_440)),
        TODAY: HalfDay(span(0, 60), planned=span(0, 10)),
    }
    made.minutes.tables[STUCK] = {TODAY - 1: TableDay(span(800, 800 + bad), 0, 1_440, MinuteState.GOOD)}
    return made


def report(bad: int = 5) -> SloReport:
    """Return how it went."""
    return slo_report(board(bad), TERMS, TODAY * DAY_MS + 60 * 60_000)
