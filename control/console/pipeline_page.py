"""What one pipeline shows: its way in stations, charts, what needs an operator, and its tables.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.control.console.draw.charts import Chart, line_chart
from wrackline.control.console.draw.day_strip import DayStrip, day_strip
from wrackline.control.console.draw.heat_map import HeatMap
from wrackline.control.console.heat_figures import FIGURES, HeatLegend, heat_legend
from wrackline.control.console.page_words import (
    DASH,
    PAUSED,
    SILENT,
    TASK_BADGES,
    Badge,
    count_or_dash,
    half_badge,
    late_text,
    pipeline_badge,
    rate_text,
    source_badge,
    target_badge,
)
from wrackline.control.console.pipelines_page import ListedPipeline, lost_text, newest_rate, promise_badge
from wrackline.control.console.table_layout import TableChoice, TableLayout
from wrackline.control.runtime.board.board_summary import late_ms, rates, table_error
from wrackline.control.runtime.ground.number_text import count_text, duration_text, size_text, unread_text
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.slo.slo_report import SloReport
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard

PAGE: Final = 100  # tables
_MOST_PROBLEMS: Final = 20
_FEW_MS: Final = 10_000
_MOST_WORST: Final = 5
_RESTS: Final = (TaskState.PAUSED, TaskState.STOPPED, TaskState.COMPLETED)


@dataclass(frozen=True, slots=True)
class Station:
    """One station of the way: what it is, its state, and a few facts."""

    title: str
    name: str
    badge: Badge | None
    facts: Sequence[tuple[str, str]]
    action: "HalfAction | None" = None


@dataclass(frozen=True, slots=True)
class HalfAction:
    """What may be wished for one half alone."""

    task: int
    verb: str


@dataclass(frozen=True, slots=True)
class SourceTask:
    """A task of a source half that has several."""

    number: int
    badge: Badge
    databases: str
    worker: str
    verbs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What needs an operator."""

    where: str
    error: Document
    table: str = ""


@dataclass(frozen=True, slots=True)
class PromiseLook:
    """How the promise of freshness went."""

    badge: Badge
    words: str
    strip: DayStrip
    worst: Sequence[tuple[str, str, str, str]]  # tables: good minutes in percent, bad ones, and what is left


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of the list of tables."""

    name: str
    shown: str
    source: Badge
    target: Badge | None
    percent: int | None
    left: str
    behind: str
    late: str
    events: str
    letters: int
    tone: str


@dataclass(frozen=True, slots=True)
class PipelinePage:
    """The page."""

    name: str
    way: str
    badge: Badge
    worker: str
    actions: Sequence[str]
    stations: Sequence[Station]
    tasks: Sequence[SourceTask]
    charts: Sequence[Chart]
    promise: "PromiseLook | None"
    troubles: Sequence[Trouble]
    more_troubles: int
    map: HeatMap
    legend: Sequence[HeatLegend]
    tables: Sequence[TableRow]
    counts: Sequence[tuple[str, int]]
    chosen: int
    pages: int
    choice: TableChoice


def pipeline_page(
    one: ListedPipeline,
    halves: Mapping[Half, HalfBoard],
    layout: TableLayout,
    choice: TableChoice,
    at_ms: int,
) -> PipelinePage:
    """Make the page."""
    pages = max(1, -(-len(layout.listed) // PAGE))
    page = min(max(1, choice.page), pages)
    troubles, has_target = _troubles(halves, layout.wrong), one.target is not None
    return PipelinePage(
        one.name,
        f"{one.kind} → {one.target or 'Kafka'}",
        pipeline_badge(one.summary, one.standing, has_target=has_target),
        one.standing.worker or one.worker,
        _actions(one),
        _stations(one, halves, at_ms),
        _tasks(one, halves[Half.SOURCE].report.get("tasks", ())),
        _charts(one),
        None if one.slo is None else _promise(one.slo),
        troubles[:_MOST_PROBLEMS],
        max(0, len(troubles) - _MOST_PROBLEMS),
        layout.map,
        heat_legend(choice.figure),
        [
            _table_row(name, layout.tones[name], halves, at_ms, has_target=has_target)
            for name in layout.listed[(page - 1) * PAGE : page * PAGE]
        ],
        layout.counts,
        len(layout.listed),
        pages,
        TableChoice(choice.text, choice.tone, page, choice.figure if choice.figure in FIGURES else ""),
    )


def _actions(one: ListedPipeline) -> Sequence[str]:
    sources = one.standing.sources or (one.standing,)
    states = [task.state for task in (*sources, one.standing.target) if task is not None]
    resting = [state in _RESTS for state in states]
    if all(resting):
        return ("resume",)
    return (*(["resume"] if any(resting) else []), "pause", "restart", "stop")


def _stations(one: ListedPipeline, halves: Mapping[Half, HalfBoard], at_ms: int) -> Sequence[Station]:
    source, target, summary = halves[Half.SOURCE], halves[Half.TARGET], one.summary
    databases = source.report.get("databases", {})
    not_merged = DASH if summary.behind is None else count_text(summary.behind, "offset", "offsets")
    moments = [one["through_ms"] for one in databases.values()]
    through = None if None in moments else min(moments, default=None)
    of_source = [("log not read yet", unread_text(summary.log_behind, through, at_ms) or DASH)]
    kept = [one["retained_bytes"] for one in databases.values() if one["retained_bytes"] is not None]
    of_source += [("log kept", size_text(sum(kept)))] if kept else []
    of_source += [("if nothing is read", lost)] if (lost := lost_text(summary.lost_in_s)) else []
    stations = [
        Station("database", f"{one.kind} {', '.join(databases) or ''}".strip(), None, of_source),
        Station(
            "source half",
            _process(source),
            _half_badge(one.standing, source, at_ms),
            [
                ("changes/s", rate_text(newest_rate(one.history, "published"))),
                *_lag(databases),
                *_since(source, at_ms),
            ],
            None if one.standing.sources else _half_action(one, 0),
        ),
        Station(
            "Kafka",
            count_text(summary.tables, "table", "tables"),
            None,
            [("not merged", not_merged)] if one.target else [],
        ),
    ]
    if one.target is None:
        return stations
    return [
        *stations,
        Station(
            "target half",
            _process(target),
            _half_badge(one.standing.target, target, at_ms),
            [("merged/s", rate_text(newest_rate(one.history, "merged"))), *_since(target, at_ms)],
            _half_action(one, one.standing.target_task),
        ),
        Station("target", one.target, None, [("late", late_text(summary.late_ms))]),
    ]


def _half_badge(task: ConnectorState | None, half: HalfBoard, at_ms: int) -> Badge:
    """Return the state of a half; its process ends when it is paused, and reports only that it ended."""
    return PAUSED if task is not None and task.state is TaskState.PAUSED else half_badge(half, at_ms)


def _half_action(one: ListedPipeline, number: int) -> HalfAction | None:
    """Return what may be wished for one of two tasks; a single task is paused as the whole."""
    task = one.standing.tasks.get(number) if one.standing.target is not None else None
    if task is None:
        return None
    return HalfAction(number, "resume" if task.state is TaskState.PAUSED else "pause")


def _tasks(one: ListedPipeline, reports: Sequence[Document]) -> Sequence[SourceTask]:
    """Return each task, as its worker and its report say."""
    made = []
    for number, state in enumerate(one.standing.sources):
        report = reports[number] if number < len(reports) else {}
        silent = state.state is TaskState.RUNNING and report.get("state") == "silent"
        badge = SILENT if silent else TASK_BADGES[state.state]
        databases = ", ".join(report.get("databases", ())) or DASH
        verbs = ("resume",) if state.state is TaskState.PAUSED else ("pause", "restart")
        shown = () if state.state in _RESTS[1:] else verbs
        made.append(SourceTask(number, badge, databases, state.worker or one.worker, shown))
    return made


def _process(half: HalfBoard) -> str:
    report = half.report
    return f"{report['host']}, pid {report['pid']}" if report else "never ran"


def _since(half: HalfBoard, at_ms: int) -> Sequence[tuple[str, str]]:
    since = half.heard_ms if half.is_silent(at_ms) else half.report.get("since_ms")
    return [] if since is None else [("in this state", duration_text(max(0, at_ms - since)))]


def _lag(databases: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    known = [one["lag_ms"] for one in databases.values() if one["lag_ms"] is not None]
    return [("change to Kafka", duration_text(max(known)))] if known else []


def _charts(one: ListedPipeline) -> Sequence[Chart]:
    history = one.history
    published, merged = rates(history, "published"), rates(history, "merged")
    flow = [("published", published, "one"), *([("merged", merged, "two")] if one.target else [])]
    charts = [line_chart("changes a second", flow, rate_text)]
    if one.target:
        late = [(past.at_ms, past.late_ms or 0) for past in history]
        charts.append(line_chart("how late the slowest table is", [("late", late, "one")], _late))
    return charts


def _promise(slo: SloReport) -> PromiseLook:
    terms, found = slo.terms, slo.totals.tables
    worst = [
        (name, f"{counts.percent or 0:.2f} %", f"{counts.bad:,}", f"{100 * slo.left_of(name):.0f} %")
        for name in slo.worst[:_MOST_WORST]
        if (counts := found[name]).bad
    ]
    words = f"at most {terms.minutes} min old in {terms.percent:g} % of the minutes of {terms.days} days"
    return PromiseLook(promise_badge(slo), words, day_strip(slo.totals.days, terms.percent), worst)


def _late(ms: float) -> str:
    return late_text(round(ms))


def _troubles(halves: Mapping[Half, HalfBoard], wrong: Sequence[str]) -> list[Trouble]:
    found = [
        Trouble(f"{half.value} half", known.report["error"])
        for half, known in halves.items()
        if known.report.get("error")
    ]
    own = halves[Half.SOURCE].tables
    tasks = halves[Half.SOURCE].report.get("tasks", ())
    found += [Trouble(f"task {task['task']}", task["error"]) for task in tasks if task["error"]]
    return found + [
        Trouble(own[name]["table"] if name in own else name, error, name)
        for known in halves.values()
        for name in wrong
        if (error := table_error(known.tables.get(name, {})))
    ]


def _table_row(
    name: str, tone: str, halves: Mapping[Half, HalfBoard], at_ms: int, *, has_target: bool
) -> TableRow:
    source: Document = halves[Half.SOURCE].tables.get(name, {})
    target: Document = halves[Half.TARGET].tables.get(name, {})
    left = source.get("seconds_left")
    return TableRow(
        name,
        source.get("table", name),
        source_badge(source.get("state")),
        target_badge(target.get("standing")) if has_target else None,
        source.get("percent") if source.get("requests") else None,
        f"{duration_text(left * 1000)} left" if left is not None else "",
        count_or_dash(target.get("behind")),
        _late_in_row(name, halves[Half.TARGET], at_ms),
        f"{sum((target or source).get('events', {}).values()):,}",
        target.get("dead_letters", 0),
        tone,
    )


def _late_in_row(name: str, target: HalfBoard, at_ms: int) -> str:
    """Write how late a table is.

    The reports make a few seconds of it where all is well; they are written alike, so that such a row stays.
    """
    late = late_ms(target, name, at_ms)
    if late is None or late >= _FEW_MS or target.complete_ms(name) is None:
        return late_text(late)
    return f"< {duration_text(_FEW_MS)}"
