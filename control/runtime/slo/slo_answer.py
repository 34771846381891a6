"""How a pipeline's promise went as plain values, as REST answers it.  Pure."""

from collections.abc import Mapping
from typing import Any, Final

from wrackline.control.runtime.slo.slo_report import SloReport
from wrackline.schemas.minutes.minute_counts import MinuteCounts

MOST_TABLES: Final = 100  # in one answer


def slo_answer(pipeline: str, report: SloReport | None, table: str = "") -> Mapping[str, Any]:
    """Return it, with the tables that have least left, or with one table; without a promise it is null."""
    if report is None:
        return {"pipeline": pipeline, "promise": None}
    terms, found = report.terms, report.totals.tables
    worst = report.worst
    shown = [one for one in worst if one == table] if table else worst[:MOST_TABLES]
    return {
        "pipeline": pipeline,
        "promise": {"minutes": terms.minutes, "percent": terms.percent, "window_days": terms.days},
        "at_ms": report.at_ms,
        "since_ms": report.since_ms,
        **_counts(report.whole, report.left),
        "tables_counted": len(found),
        "tables_broken": len(report.broken()),
        "days": [{"day_ms": day_ms, **counts._asdict()} for day_ms, counts in report.totals.days],
        "tables": [{"table": one, **_counts(found[one], report.left_of(one))} for one in shown],
        "left_out": 0 if table else max(0, len(worst) - MOST_TABLES),
    }


def _counts(counts: MinuteCounts, left: float) -> Mapping[str, Any]:
    percent = counts.percent
    return {
        "percent": None if percent is None else round(percent, 4),
        **counts._asdict(),
        "budget_left": round(left, 4),
    }
