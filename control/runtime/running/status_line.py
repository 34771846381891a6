"""What a running pipeline reports: a line for each event, and one status line that is redrawn.

On a terminal the status line is the last line and changes once a second; elsewhere it is a line every ten
seconds, so that a log stays a log.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from wrackline.control.runtime.ground.number_text import size_text
from wrackline.control.runtime.ground.pipeline_access import PositionText
from wrackline.control.runtime.lineage.source_half import SourceHalf
from wrackline.control.runtime.logs.lines import Log
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.contract.steps import Fault, Position
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.cutting.table_fault import FaultReason, reason_of
from wrackline.producers.observe.task_metrics import PartitionFigures, TaskMeasures
from wrackline.producers.snapshot.table_state import Outcome, TableState, TableStatus, parse_state
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import WracklineError, error_text, of_database
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

TellWrong = Callable[[str, Mapping[str, FaultReason]], None]  # what they are: tables, or databases

EVERY, EVERY_ON_TERMINAL = 10.0, 1.0  # seconds
QUIET = 10.0  # seconds in which the same error is not logged again


class Narration:
    """A witness that counts, and logs what an operator should know."""

    def __init__(
        self,
        measures: TaskMeasures,
        log: Log,
        clock: Callable[[], float],
        tell: Callable[[Health, Exception | None], None],
        lineage: SourceHalf | None = None,
        wrong: TellWrong = lambda _what, _now: None,
    ) -> None:
        """Take also what gets all tables that have an error, or all databases, whenever that changes."""
        self._lineage, self._wrongs = lineage, wrong
        self._shapes: Callable[[TableSchema, str], None] = lambda _table, _topic: None
        self._measures, self._log, self._clock, self._tell = measures, log, clock, tell
        self._last_report: tuple[str, float] = ("", 0.0)
        self._captured: set[TableId] = set()
        self._wrong: dict[
            TableId, FaultReason | None
        ] = {}  # tables that are set aside, or lack rows, with the reason as of now
        self._wrong_told: Mapping[TableId, FaultReason] | None = None  # each start reports it once
        self._down: dict[str, WracklineError] = {}  # databases that are not read beside others
        self._down_told: Mapping[str, str] = {}  # their codes
        self._unread: dict[TableId, str] = {}  # tables whose first read has not ended, with its id
        self._all_read = True  # whether each first read that ended has all rows
        self.completed = False

    def pass_shapes(self, shapes: Callable[[TableSchema, str], None]) -> None:
        """Take what else gets each shape with its topic."""
        self._shapes = shapes

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        """Pass on how the server sees the log."""
        self._measures.log_state(partition, log)

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        """Pass on where the log ended after a moment."""
        self._measures.log_end(partition, at_ms, end)

    def reached(self, partition: SourcePartition, position: Position) -> None:
        """Pass on that all up to a place is in Kafka."""
        self._measures.reached(partition, position)

    def confirmed(self, partition: SourcePartition) -> Position | None:
        """Return the newest position in Kafka, of the positions that this process has seen."""
        return self._measures.figures()[partition].position

    def queue(self, queued: Callable[[], int]) -> None:
        """Pass it on."""
        self._measures.queue(queued)

    def reads(self, look: Callable[[], Sequence[ReadUnderWay]]) -> None:
        """Pass it on."""
        self._measures.reads(look)

    def health(self, health: Health, error: Exception | None) -> None:
        """Log that it runs, or what it recovers from; note that all is done."""
        self._measures.health(health, error)
        self._tell(health, error)
        if isinstance(error, WracklineError):
            self._tell_down({partition.database: error for partition in self._measures.figures()})
        elif error is None:
            self._tell_down(self._down)
        if error is not None:
            self._recovering(error)
        elif health is Health.RUNNING:
            self._log.info("running", line="running")
            if self._lineage is not None:
                self._lineage.begins()
        elif health is Health.COMPLETED:
            self.completed = True
            if self._lineage is not None:
                self._lineage.completed()

    def database(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        """Log how one of several databases is."""
        error = error and of_database(error, partition.database)
        self._measures.database(partition, health, error)
        self._down.pop(partition.database, None)
        if error is not None:
            self._down[partition.database] = error
        self._tell_down(self._down)
        told, name = {"database": partition.database, "health": health.value}, partition.database
        if error is None:
            is_read = "is read" if health is Health.RUNNING else "has not answered yet; the others are read"
            self._log.info("database", line=f"database {name} {is_read}", **told)
            return
        what = "is tried again" if health is Health.RECOVERING else "has failed; the others are read"
        line = f"database {name} {what}: {error}"
        self._log.warning("database", line=line, error=error.document(), **told)

    def sees(self, partition: SourcePartition, tables: Sequence[TableId]) -> None:
        """Take which tables are captured, and pass it on."""
        self._captured.update(tables)
        if self._lineage is not None:
            self._lineage.sees(partition, tables)

    def left_out(self, partition: SourcePartition, tables: Mapping[TableId, UncapturedReason]) -> None:
        """Pass on which tables are not captured, and why."""
        self._measures.left_out(partition, tables)

    def shaped(self, table: TableSchema, topic: str) -> None:
        """Pass on how a table's events are written; it may be called on any thread."""
        self._captured.add(table.id)
        self._shapes(table, topic)
        if self._lineage is not None:
            self._lineage.shaped(table, topic)

    def resumed(self, state: OffsetsState) -> None:
        """Log which tables stay set aside or unread, and what is inconsistent in the offsets.

        A table that the settings leave out now needs no operator.
        """
        tables = {key: parse_state(kept.snapshot, key.table) for key, kept in state.tables.items()}
        self._measures.resumed(state)
        for key, table in tables.items():
            if first := _first_of(table):
                self._unread[key.table] = first
            if table.reason is not None and key.table in self._captured:
                self._wrong[key.table] = table.reason
                stays = "set aside" if table.set_aside else "without all of its rows"
                error = asdict(table.reason)
                line = f"{key.table} is still {stays}: {error_text(error)}"
                self._log.warning(f"still {stays}", line=line, table=str(key.table), error=error)
        for found in state.findings:
            told = {"fault": found.fault.value, "place": str(found.place)}
            self._log.warning("offsets", line=f"offsets: {found.fault.value} at {found.place}", **told)
        self._tell_wrong()

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """Log what is set aside."""
        self._measures.fault(partition, fault)
        self._wrong[fault.table] = reason_of(fault)
        told = {"table": str(fault.table), "error": fault.error.document()}
        self._log.error("set aside", line=f"{fault.table} is set aside: {fault.error}", **told)

    def notice(self, error: WracklineError) -> None:
        """Log what does not work beside the stream."""
        self._log.warning("continues without", line=f"continues without: {error}", error=error.document())

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Count them; log which tables are right again."""
        self._measures.published(publications, commit_seconds)
        for publication in publications:
            states = {
                table: None if kept is None else parse_state(kept, table)
                for table, kept in publication.states.items()
            }
            for table, state in states.items():
                self._stands(table, state)
            self._first_read(states)
        self._tell_wrong()

    def _stands(self, table: TableId, state: TableState | None) -> None:
        """Log whether a table is right again; note whether it is not."""
        if state is None:  # nothing of it is kept any more
            self._wrong.pop(table, None)
        elif table in self._wrong and is_right(state):
            del self._wrong[table]
            line = f"{table} has come back: all of its rows are read"
            self._log.info("come back", line=line, table=str(table))
        elif table in self._wrong or state.reason is not None:
            self._wrong[table] = state.reason

    def _tell_wrong(self) -> None:
        """Pass on which tables have an error, if that has changed; a table that is read again has none."""
        now = {table: reason for table, reason in self._wrong.items() if reason is not None}
        if now != self._wrong_told:
            self._wrong_told = now
            self._wrongs("table", {str(table): reason for table, reason in now.items()})

    def _tell_down(self, down: Mapping[str, WracklineError]) -> None:
        """Pass on which databases are not read, if other ones are, or for another reason."""
        codes = {name: error.code for name, error in down.items()}
        if codes != self._down_told:
            self._down_told = codes
            reasons = {name: FaultReason(one.code, one.sentence, one.hint) for name, one in down.items()}
            self._wrongs("database", reasons)

    def _first_read(self, states: Mapping[TableId, TableState | None]) -> None:
        """Log once that all existing rows are read."""
        before = len(self._unread)
        for table, kept in states.items():
            state = kept or TableState()
            if first := _first_of(state):
                self._unread[table] = first
            elif table in self._unread:
                outcome = state.ended.get(self._unread.pop(table))
                self._all_read &= outcome is Outcome.SUCCEEDED
        if before and not self._unread and self._all_read:
            self._log.info("existing rows read", line="the existing rows of all tables are read")

    def _recovering(self, error: Exception) -> None:
        code = error.code if isinstance(error, WracklineError) else type(error).__name__
        before, when = self._last_report
        if code == before and self._clock() - when <= QUIET:
            return
        self._last_report = code, self._clock()
        if isinstance(error, WracklineError):
            self._log.warning("recovering", line=f"recovering: {error}", error=error.document())
        else:  # its text may hold anything
            self._log.warning("recovering", line=f"recovering: {code}", fault=code)


def _first_of(state: TableState) -> str | None:
    """Return the id of a table's first read that has not ended."""
    return next((job.id for job in state.jobs if job.purpose is Purpose.INITIAL), None)


def is_right(state: TableState) -> bool:
    """Whether a table is captured and whole, with nothing left to read."""
    return state.status is TableStatus.STREAMING and state.reason is None


class Pulse:
    """Reports the figures, when they are due and always at the end."""

    def __init__(
        self,
        line: Callable[[], tuple[str, Mapping[str, object]]],
        log: Log,
        clock: Callable[[], float],
        draw: Callable[[str], None] | None = None,
    ) -> None:
        """Take what redraws the line on a terminal; without it, each line goes to the log."""
        self._line, self._log, self._clock, self._draw = line, log, clock, draw
        self._every = EVERY if draw is None else EVERY_ON_TERMINAL
        self._due = clock() + self._every

    def __call__(self, *, last: bool = False) -> None:
        """Report them, if they are due."""
        if not last and self._clock() < self._due:
            return
        self._due = self._clock() + self._every
        text, told = self._line()
        if self._draw is None:
            self._log.info("figures", line=text, **told)
        else:
            self._draw(text)


class StatusLine:
    """Makes the line: events per second since the previous line, lag, position."""

    def __init__(self, measures: TaskMeasures, place: PositionText, clock: Callable[[], float]) -> None:
        self._measures, self._place, self._clock = measures, place, clock
        self._events, self._when = 0, clock()

    def __call__(self) -> tuple[str, Mapping[str, object]]:
        """Return the line as it is now, and its figures for programs."""
        events, now = self._measures.events, self._clock()
        rate = (events - self._events) / max(0.001, now - self._when)
        self._events, self._when = events, now
        figures = self._measures.figures()
        places = {partition: self._placed(partition, one) for partition, one in figures.items()}
        parts = [
            f"{partition.database}: {_line_of(one, place)}" if len(figures) > 1 else _line_of(one, place)
            for (partition, one), place in zip(figures.items(), places.values(), strict=True)
        ]
        databases = [
            {"database": partition.database, **_figures(one), "position": places[partition]}
            for partition, one in figures.items()
        ]
        told = {"events": events, "events_per_s": round(rate, 1), "databases": databases}
        return f"{rate:,.0f} events/s  {events:,} in all  {'; '.join(parts)}", told

    def _placed(self, partition: SourcePartition, figures: PartitionFigures) -> str | None:
        return None if figures.position is None else self._place(partition, figures.position.saved())


def _line_of(figures: PartitionFigures, place: str | None) -> str:
    behind = _figures(figures)["behind_bytes"]
    size = None if behind is None else size_text(behind)
    since = None if figures.lag_ms is None else f"{figures.lag_ms:,} ms"
    return f"lag {', '.join(part for part in (size, since) if part) or '-'}  at {place or '-'}"


def _figures(figures: PartitionFigures) -> Mapping[str, int | None]:
    behind = None if figures.log is None else figures.log.behind
    return {"behind_bytes": behind, "lag_ms": figures.lag_ms}
