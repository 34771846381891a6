"""What the source half reports: its state, how far behind each log is, and each table with its progress.

In: a task's figures, and its states as it reports them.  Out: looks for the board.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from wrackline.control.runtime.board.board_changes import HalfLook, LookScope, urgent
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.control.runtime.board.range_report import RangeReport
from wrackline.control.runtime.ground.pipeline_access import PositionText
from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.observe.status_document import database_state, databases_document, events_of
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.board_records import Document, HalfState
from wrackline.schemas.kafka.receipts import TableProgress
from wrackline.schemas.kafka.topic_names import COLLISION, table_topic
from wrackline.schemas.pipelines.deal import Deal
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

_STATES = {
    Health.STARTING: HalfState.STARTING,
    Health.RUNNING: HalfState.RUNNING,
    Health.RECOVERING: HalfState.RECOVERING,
    Health.COMPLETED: HalfState.COMPLETED,
}


class _Pace(NamedTuple):
    """When a read under way was first seen, and how many rows it had by then."""

    job: str
    rows: int
    at_ms: int


class SourceReport:
    """Looks at a task; on the board's thread."""

    def __init__(
        self,
        values: Values,
        kind: str,
        measures: TaskMeasures,
        place: PositionText,
        is_wished: Callable[[], bool] = lambda: False,
        deal: Deal = Deal(0, (("",),)),  # noqa: B008 - frozen
    ) -> None:
        """Take also what writes a position as the source's people do, if a rest is wished, and the deal."""
        self._deal = {"number": deal.number, "tasks": deal.tasks}
        self.standing = HalfStanding(is_wished=is_wished)
        self._kind, self._measures, self._place = kind, measures, place
        self._server, self._naming = values.text("topic.prefix"), naming_of(values)
        self._first = FirstReads.of(values)
        self._paces: dict[TableId, _Pace] = {}
        self._ranges: dict[TableId, RangeReport] = {}
        self._figures: Document = {}  # of the half, at the last look at them

    def health(self, health: Health, error: Exception | None) -> None:
        """Take the task's state; on any thread."""
        self.standing.becomes(_STATES[health], error if isinstance(error, WracklineError) else None)

    def look(self, scope: LookScope) -> HalfLook:
        """Return the half, and those of its tables that the look is at."""
        measures = self._measures
        knows_all = measures.has_resumed
        if scope is LookScope.STATES:
            wanted = urgent(measures.take_states())
        else:
            self._figures = self._half_figures()  # first: a table that is set aside later is not in it
            wanted = measures.take_changed().union(measures.known() if scope is LookScope.ALL else ())
        half = {**self.standing.document(), "deal": self._deal, **self._figures, **self._database_states()}
        reads: defaultdict[TableId, list[ReadUnderWay]] = defaultdict(list)
        if scope is not LookScope.STATES or wanted:
            for read in measures.reads_under_way():
                reads[read.table].append(read)
        if scope is not LookScope.STATES:
            wanted = wanted.union(self._ranges, reads)
        tables = {self._name(table): self._table(table, reads.get(table, ())) for table in wanted}
        return HalfLook(half, tables, knows_all)

    def _half_figures(self) -> Document:
        measures = self._measures
        databases = databases_document(measures)
        for partition, figures in measures.figures().items():
            place = figures.position
            databases[partition.database]["position"] = (
                None if place is None else self._place(partition, place.saved())
            )
        return {"kind": self._kind, "events": measures.events, "databases": databases}

    def _database_states(self) -> Document:
        """Return the databases with the state of each as of now; nothing before the first figures."""
        known: Mapping[str, Document] = self._figures.get("databases", {})
        if not known:
            return {}
        return {
            "databases": {
                partition.database: {**known[partition.database], **database_state(figures)}
                for partition, figures in self._measures.figures().items()
            }
        }

    def _name(self, table: TableId) -> str:
        """Return its topic's name without the server; its own where that topic is another table's."""
        if (_reason(self._state(table) or {}) or {}).get("code") == COLLISION.code:
            return str(table)
        return table_topic(self._server, table, self._naming).partition(".")[2]

    def _state(self, table: TableId) -> Mapping[str, Any] | None:
        known = (figures.tables.state(table) for figures in self._measures.figures().values())
        return next((one for one in known if one is not None), None)

    def _table(self, table: TableId, reads: Sequence[ReadUnderWay]) -> Document | None:
        state, events = self._state(table), events_of(self._measures, table)
        if state is None and not events:
            return None
        shown = table_progress(str(table), {"status": "streaming"} if state is None else state)
        left, ranges = self._seconds_left(table, shown), self._ranges_of(table, state or {}, reads)
        shown |= {"seconds_left": left, "events": events, **ranges}
        if shown["renamed_to"] is not None:
            new = TableId(*shown["renamed_to"])
            # else the copy of the old name has rows that the topic of the new one never gets
            shown |= {"renamed_to": self._name(new), "dropped": self._reads_whole(new)}
        return shown

    def _ranges_of(
        self, table: TableId, state: Mapping[str, Any], reads: Sequence[ReadUnderWay]
    ) -> Mapping[str, Any]:
        """Return how far each range is; nothing of a table whose rows are not under way."""
        job = active_job(state)
        if not job.get("ranges"):
            self._ranges.pop(table, None)
            return {}
        report = self._ranges.get(table)
        if report is None or report.job != job["id"]:
            report = self._ranges[table] = RangeReport(job["id"])
        return report.look(job, reads, now_ms())

    def _reads_whole(self, table: TableId) -> bool:
        return self._first.comes(table, "") is not None and self._first.condition(table) is None

    def _seconds_left(self, table: TableId, shown: Mapping[str, Any]) -> int | None:
        """Reckon from the rows that were read since the read was first seen."""
        if not shown["requests"] or not shown["expected"]:
            self._paces.pop(table, None)
            return None
        job, now = shown["requests"][0], now_ms()
        pace = self._paces.get(table)
        if pace is None or pace.job != job:
            pace = self._paces[table] = _Pace(job, shown["rows"], now)
        passed, rows = now - pace.at_ms, shown["rows"] - pace.rows
        left = max(0, shown["expected"] - shown["rows"])
        return round(left * passed / rows / 1000) if rows > 0 and passed > 0 else None


def jobs_left(state: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the jobs of a table that have not failed."""
    return [job for job in state.get("jobs", []) if "failed" not in job]


def active_job(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the job that is under way; empty where there is none."""
    return next(iter(jobs_left(state)), {})


def _reason(state: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an error's document, or none
    return state.get("reason") or state.get("set_aside")


def table_progress(table: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a table's saved state that is for people."""
    jobs, job = jobs_left(state), active_job(state)
    line = TableProgress(table, rows=job.get("rows", 0), expected=job.get("expected"))
    return {
        "table": table,
        "state": state.get("status", "failed"),
        "requests": [job["id"] for job in jobs],
        "rows": sum(job.get("rows", 0) for job in jobs),
        "expected": line.expected,
        "percent": receipts.percent(line),
        "seconds_left": None,
        "letters": state.get("letters", {}),
        "nulls": state.get("nulls", {}),
        "reason": _reason(state),
        "dropped": state.get("dropped", False),
        "renamed_to": state.get("renamed_to"),
    }
