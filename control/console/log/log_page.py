"""What the page of positions and log shows.  Pure.

In: what the source half reports of each database's log, and the samples of the last day.
Out: facts, forecasts, charts, and commands for what a page does not do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from wrackline.control.console.draw.charts import Chart, Series, line_chart
from wrackline.control.console.draw.log_forecast import LogForecast, age_forecast, size_forecast
from wrackline.control.console.log.log_advice import log_advice, log_badge
from wrackline.control.console.page_words import DASH, Badge, half_badge
from wrackline.control.console.pipelines_page import ListedPipeline
from wrackline.control.runtime.board.board_summary import PastMinute, PipelineSummary
from wrackline.control.runtime.ground.number_text import ago_text, duration_text, size_text, unread_text
from wrackline.schemas.kafka.board_records import Document, HalfBoard

_DAY_FROM: Final = 20  # minutes from which on the day says more than the quarter of an hour
_GO_BACK: Final = "Go back to a time: all events since then are published again. Stop the pipeline first"
_START_OVER: Final = (
    "Start over in a new epoch: the next start begins where the log begins. Stop the pipeline first"
)
_BY_FILE: Final = (
    ("See the stored positions, each with its epoch and who owns it", "wrackline offsets show pipeline.toml"),
    ("See the positions of the last 30 days, a minute apart", "wrackline offsets history pipeline.toml"),
    (_GO_BACK, "wrackline offsets rewind pipeline.toml --to 2026-05-01T12:00:00Z"),
    (_START_OVER, "wrackline offsets reset pipeline.toml"),
)


@dataclass(frozen=True, slots=True)
class LogPanel:
    """One database's log."""

    database: str
    log: str
    badge: Badge
    position: Sequence[tuple[str, str]]
    retention: Sequence[tuple[str, str]]
    advice: Sequence[str]
    forecast: LogForecast | None
    error: Document | None


@dataclass(frozen=True, slots=True)
class LogPage:
    """The page."""

    name: str
    badge: Badge
    panels: Sequence[LogPanel]
    charts: Sequence[Chart]
    commands: Sequence[tuple[str, str]]


def log_page(one: ListedPipeline, source: HalfBoard, at_ms: int, *, grouped: bool) -> LogPage:
    """Make the page; `grouped`: positions are moved by REST, not by commands with a file."""
    silent = not source.runs(at_ms)
    databases = source.report.get("databases", {})
    past = [(sample.at_ms, float(sample.log_kept)) for sample in one.history if sample.log_kept is not None]
    return LogPage(
        one.name,
        half_badge(source, at_ms),
        [
            _panel(name, one.kind, known, past if len(databases) == 1 else (), at_ms, silent=silent)
            for name, known in sorted(databases.items())
        ],
        _charts(one),
        _by_rest(one.name) if grouped else _BY_FILE,
    )


def _by_rest(name: str) -> Sequence[tuple[str, str]]:
    offsets = f"/connectors/{quote(name, safe='')}/offsets"
    return (
        ("See the stored positions", f"GET {offsets}"),
        ("See the positions of the last 30 days, a minute apart", f"GET {offsets}/history"),
        (
            f"{_GO_BACK}; a dry run says how far back that is, and changes nothing",
            f'POST {offsets}/rewind?dry_run=true  {{"to": "2026-05-01T12:00:00Z"}}',
        ),
        (_START_OVER, f"DELETE {offsets}"),
    )


def _panel(name: str, kind: str, database: Document, past: Series, at_ms: int, *, silent: bool) -> LogPanel:
    return LogPanel(
        name,
        database["log"] or "log",
        log_badge(database),
        _position(database, at_ms),
        _retention(database),
        log_advice(kind, database, silent=silent),
        _forecast(database, past),
        database.get("error"),
    )


def _position(database: Document, at_ms: int) -> Sequence[tuple[str, str]]:
    lag, last = database["lag_ms"], database["last_ms"]
    return [
        ("in Kafka up to", database["position"] or DASH),
        ("log not read yet", unread_text(database["behind_bytes"], database["through_ms"], at_ms) or DASH),
        ("change to Kafka", DASH if lag is None else duration_text(lag)),
        ("newest change", DASH if last is None else ago_text(last, at_ms)),
        (
            "since the process began",
            f"{size_text(database['bytes'])}, {database['transactions']:,} transactions",
        ),
    ]


def _retention(database: Document) -> Sequence[tuple[str, str]]:
    rate, left, kept_s = database["bytes_a_second"], database["lost_in_s"], database["kept_s"]
    facts = [("kept for this pipeline", _size(database["retained_bytes"]))]
    facts.append(("may still grow by", _size(database["spare_bytes"], "no limit")))
    facts += [("the server keeps its log for", duration_text(kept_s * 1000))] if kept_s else []
    expires = database["expires_s"]
    facts += (
        [("the oldest needed file expires in", duration_text(expires * 1000))] if expires is not None else []
    )
    facts.append(("log is written at", DASH if rate is None else f"{size_text(rate)}/s"))
    when = "not within 8 weeks" if left is None else f"in {duration_text(left * 1000)}"
    facts.append(("may be lost", when))
    facts += [("the server says", database["status"])] if database["status"] else []
    return facts


def _size(count: int | None, unknown: str = DASH) -> str:
    return unknown if count is None else size_text(count)


def _forecast(database: Document, past: Series) -> LogForecast | None:
    """Draw what is kept towards the limit, by size or by age; nothing where there is no limit."""
    left, spare, kept_s = database["lost_in_s"], database["spare_bytes"], database["kept_s"]
    kept = database["retained_bytes"] if database["retained_bytes"] is not None else database["behind_bytes"]
    by_age = (
        kept_s and database["expires_s"] is not None and left is not None and left >= database["expires_s"]
    )
    if by_age:
        return age_forecast(kept_s, database["expires_s"])
    if spare is not None and kept is not None:
        return size_forecast(past, kept, spare, left, database["bytes_a_second"])
    return None


def _charts(one: ListedPipeline) -> Sequence[Chart]:
    """Draw position against time: where it is flat, nothing was published."""
    samples: Sequence[PipelineSummary | PastMinute] = one.history
    if len(one.minutes) > _DAY_FROM:
        samples = one.minutes
    known = [sample for sample in samples if sample.log_end is not None and sample.log_behind is not None]
    first = min(((one.log_end or 0) - (one.log_behind or 0) for one in known), default=0)
    written = [(one.at_ms, float((one.log_end or 0) - first)) for one in known]
    read = [(one.at_ms, float((one.log_end or 0) - (one.log_behind or 0) - first)) for one in known]
    behind = [(one.at_ms, float(one.log_behind or 0)) for one in known]
    lines = [("log written", written, "two"), ("in Kafka", read, "one")] if known else []
    return [
        line_chart("position against time", lines, _bytes),
        line_chart("log not read yet", [("behind", behind, "one")], _bytes),
    ]


def _bytes(count: float) -> str:
    """Write a number of bytes."""
    return size_text(round(count))
