"""What the list of pipelines shows: a row for each, the worst first, and counters that are filters.  Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from wrackline.control.console.draw.charts import sparkline
from wrackline.control.console.page_words import (
    DASH,
    Badge,
    count_or_dash,
    late_text,
    pipeline_badge,
    rate_text,
)
from wrackline.control.runtime.board.board_summary import PastMinute, PipelineSummary, rates
from wrackline.control.runtime.ground.number_text import count_text, duration_text, size_text
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.slo.slo_report import SloReport

_TONES: Final = ("bad", "warn", "busy", "good", "idle")
_RATE_OVER: Final = 6  # samples: a rate of some ten seconds
_POINTS: Final = 40  # of a small line
_DAY_FROM: Final = 20  # minutes from which on a line shows the day
_DID: Final = {"pause": "Pause", "resume": "Resume", "restart": "Restart"}
_SOON_S: Final = 3 * 86_400  # a log that may be lost sooner than this is shown


@dataclass(frozen=True, slots=True)
class ListedPipeline:
    """A pipeline as it was found."""

    name: str
    kind: str
    target: str | None
    standing: ConnectorState
    summary: PipelineSummary
    history: Sequence[PipelineSummary]
    worker: str
    minutes: Sequence[PastMinute] = ()  # of the last day
    slo: SloReport | None = None


class RowLines(NamedTuple):
    """The small lines of a row."""

    late: str
    rate: str


class Why(NamedTuple):
    """An error, in a row of its own."""

    sentence: str
    code: str


@dataclass(frozen=True, slots=True)
class PipelineRow:
    """A line of the list; where it is equal, so is its HTML."""

    name: str
    way: str
    badge: Badge
    tables: str
    wrong: int
    late: str
    promise: Badge | None
    rate: str
    behind: str
    log: str
    lost: str
    worker: str
    lines: RowLines
    why: Why | None


@dataclass(frozen=True, slots=True)
class Counted:
    """A counter, which is also a filter."""

    word: str
    tone: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class PipelinesPage:
    """The page."""

    rows: Sequence[PipelineRow]
    counters: Sequence[Counted]
    shown: str
    promises: bool  # whether any pipeline promises something


class SmallLines:
    """Keeps the lines of each pipeline until its history has one more sample; any thread may ask."""

    def __init__(self) -> None:
        self._drawn: Mapping[str, tuple[int, RowLines]] = {}

    def of(self, found: Sequence[ListedPipeline]) -> Mapping[str, RowLines]:
        """Return the lines by pipeline; those of other pipelines are forgotten."""
        drawn = {}
        for one in found:
            newest = one.history[-1].at_ms if one.history else 0
            known = self._drawn.get(one.name)
            drawn[one.name] = known if known and known[0] == newest else (newest, _lines(one))
        self._drawn = drawn
        return {name: lines for name, (_, lines) in drawn.items()}


def pipelines_page(
    found: Sequence[ListedPipeline], lines: SmallLines, state: str = "", text: str = ""
) -> PipelinesPage:
    """Make the page; `state` and `text` choose rows."""
    drawn = lines.of(found)
    rows = sorted(
        (_row(one, drawn[one.name]) for one in found),
        key=lambda row: (_TONES.index(row.badge.tone), row.name),
    )
    counts = Counter(row.badge.word for row in rows)
    tones = {row.badge.word: row.badge.tone for row in rows}
    counters = [Counted("all", "idle", len(rows), not state)]
    counters += [
        Counted(word, tones[word], counts[word], word == state)
        for word in sorted(counts, key=lambda word: (_TONES.index(tones[word]), word))
    ]
    chosen = [
        row
        for row in rows
        if state in ("", row.badge.word) and text.lower() in f"{row.name} {row.way}".lower()
    ]
    promises = any(row.promise is not None for row in chosen)
    return PipelinesPage(chosen, counters, f"{len(chosen)} of {len(rows)}", promises)


def bulk_note(did: str, done: int, refused: int) -> str:
    """Write what was asked of several pipelines; nothing where it was no such action."""
    if did not in _DID:
        return ""
    left = f" {count_text(refused, 'pipeline', 'pipelines')} could not be asked." if refused else ""
    return f"{_DID[did]} was asked of {count_text(done, 'pipeline', 'pipelines')}.{left}"


def newest_rate(history: Sequence[PipelineSummary], total: str) -> float | None:
    """Return how fast a total grows, over some ten seconds."""
    last = history[-_RATE_OVER:]
    if len(last) < 2:
        return None
    seconds = (last[-1].at_ms - last[0].at_ms) / 1000
    grown: int = getattr(last[-1], total) - getattr(last[0], total)
    return max(0.0, grown / seconds)


def lost_text(seconds: int | None) -> str:
    """Write when the log may be lost, if that is soon."""
    return "" if seconds is None or seconds > _SOON_S else f"may be lost in {duration_text(seconds * 1000)}"


def promise_badge(slo: SloReport) -> Badge:
    """Return how the promise of freshness went, in one word and its percentage."""
    percent, broken = slo.whole.percent, len(slo.broken())
    if percent is None:
        return Badge("not counted yet", "○", "idle")
    if broken:
        return Badge(f"{percent:.2f} %, broken for {count_text(broken, 'table', 'tables')}", "✕", "bad")
    return Badge(f"{percent:.2f} %, kept", "●", "good")


def _lines(one: ListedPipeline) -> RowLines:
    samples: Sequence[PipelineSummary | PastMinute] = one.history
    if len(one.minutes) > _DAY_FROM:
        samples = one.minutes
    return RowLines(
        sparkline([(past.at_ms, past.late_ms or 0) for past in samples]),
        sparkline(rates(samples[:: max(1, len(samples) // _POINTS)], "published")),
    )


def _row(one: ListedPipeline, lines: RowLines) -> PipelineRow:
    summary, error = one.summary, one.summary.error
    wrong = (
        f"{summary.tables - summary.wrong:,} of {summary.tables:,}"
        if summary.wrong and summary.tables
        else f"{summary.tables:,}"
    )
    return PipelineRow(
        one.name,
        f"{one.kind} → {one.target or 'Kafka'}",
        pipeline_badge(summary, one.standing, has_target=one.target is not None),
        wrong,
        summary.wrong,
        late_text(summary.late_ms),
        None if one.slo is None else promise_badge(one.slo),
        rate_text(newest_rate(one.history, "published")),
        count_or_dash(summary.behind),
        DASH if summary.log_behind is None else size_text(summary.log_behind),
        lost_text(summary.lost_in_s),
        one.standing.worker or one.worker,
        lines,
        None if error is None else Why(error["sentence"], error["code"]),
    )
