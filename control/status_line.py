"""What a running pipeline says: a line for each event, and one status line that is written anew.

On a terminal the status line stands last and changes once a second; elsewhere it is a line every ten
seconds, so that a log stays a log.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from threading import Lock

from wrackline.control.lineage.source_half import SourceHalf
from wrackline.control.logs.lines import Log
from wrackline.producers.batching import Publication
from wrackline.producers.changes import Fault, Position, Saved
from wrackline.producers.lanes import Health
from wrackline.producers.metrics import Figures, Measures
from wrackline.producers.plugin import LogState
from wrackline.producers.snapshot.state import Status, TableState, parse
from wrackline.schemas.errors import WracklineError, in_words
from wrackline.schemas.offset_replay import State
from wrackline.schemas.table import SourcePartition, TableId, TableSchema

EVERY, EVERY_ON_TERMINAL = 10.0, 1.0  # seconds
QUIET = 10.0  # seconds in which the same error is not told again
_REDRAW, _CLEAR = "\r\x1b[2K", "\x1b[K"


class Screen:
    """A terminal, shared by the threads of a run: lines stay, and the status line stands below them."""

    def __init__(self) -> None:
        self._lock, self._drawn = Lock(), ""

    def write(self, lines: str) -> int:
        """Write whole lines above the status line."""
        with self._lock:
            return sys.stdout.write(f"{_REDRAW}{lines}{self._drawn}")

    def flush(self) -> None:
        """Show what was written."""
        sys.stdout.flush()

    def draw(self, text: str) -> None:
        """Write the status line anew."""
        with self._lock:
            self._drawn = text
            sys.stdout.write(f"{_REDRAW}{text}{_CLEAR}")
            sys.stdout.flush()

    def close(self) -> None:
        """End the line that stands last, so that what follows has its own."""
        with self._lock:
            sys.stdout.write("\n" if self._drawn else "")
            sys.stdout.flush()
            self._drawn = ""


class Narration:
    """A witness that counts, and says what somebody should know."""

    def __init__(
        self,
        measures: Measures,
        log: Log,
        clock: Callable[[], float],
        tell: Callable[[Health, Exception | None], None],
        lineage: SourceHalf | None = None,
    ) -> None:
        self._lineage = lineage
        self._measures, self._log, self._clock, self._tell = measures, log, clock, tell
        self._told: tuple[str, float] = ("", 0.0)
        self._captured: set[TableId] = set()
        self._wrong: set[TableId] = set()  # tables that are set aside, or lack rows
        self.completed = False

    def looked(self, partition: SourcePartition, log: LogState | None) -> None:
        """Hand on how the server sees the log."""
        self._measures.looked(partition, log)

    def confirmed(self, partition: SourcePartition) -> Position | None:
        """Return the newest position that Kafka has, of those that this process has seen."""
        return self._measures.figures()[partition].position

    def queue(self, queued: Callable[[], int]) -> None:
        """Hand it on."""
        self._measures.queue(queued)

    def health(self, health: Health, error: Exception | None) -> None:
        """Say that it runs, or what it recovers from; note that all is done."""
        self._measures.health(health, error)
        self._tell(health, error)
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

    def sees(self, partition: SourcePartition, tables: Sequence[TableId]) -> None:
        """Take which tables are captured, and hand it on."""
        self._captured.update(tables)
        if self._lineage is not None:
            self._lineage.sees(partition, tables)

    def shaped(self, table: TableSchema, topic: str) -> None:
        """Hand on how a table's events are written; on any thread."""
        self._captured.add(table.id)
        if self._lineage is not None:
            self._lineage.shaped(table, topic)

    def resumed(self, state: State) -> None:
        """Say which tables stay set aside or unread, and what does not fit together in the offsets.

        A table that the settings leave out now needs nobody.
        """
        self._measures.resumed(state)
        for key, kept in state.tables.items():
            table = parse(kept.snapshot)
            if table.reason is not None and key.table in self._captured:
                self._wrong.add(key.table)
                stays = "set aside" if table.set_aside else "without all of its rows"
                error = asdict(table.reason)
                line = f"{key.table} stays {stays}: {in_words(error)}"
                self._log.warning(f"stays {stays}", line=line, table=str(key.table), error=error)
        for found in state.findings:
            told = {"fault": found.fault.value, "place": str(found.place)}
            self._log.warning("offsets", line=f"offsets: {found.fault.value} at {found.place}", **told)

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """Say what is set aside."""
        self._measures.fault(partition, fault)
        self._wrong.add(fault.table)
        told = {"table": str(fault.table), "error": fault.error.document()}
        self._log.error("set aside", line=f"{fault.table} is set aside: {fault.error}", **told)

    def notice(self, error: WracklineError) -> None:
        """Say what does not work beside the stream."""
        self._log.warning("goes on without", line=f"goes on without: {error}", error=error.document())

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Count them; say which tables are right again."""
        self._measures.published(publications, commit_seconds)
        for publication in publications:
            for table in self._wrong.intersection(publication.states):
                kept = publication.states[table]
                if kept is not None and is_right(parse(kept)):
                    self._wrong.discard(table)
                    line = f"{table} has come back: all of its rows are read"
                    self._log.info("come back", line=line, table=str(table))

    def _recovering(self, error: Exception) -> None:
        code = error.code if isinstance(error, WracklineError) else type(error).__name__
        before, when = self._told
        if code == before and self._clock() - when <= QUIET:
            return
        self._told = code, self._clock()
        if isinstance(error, WracklineError):
            self._log.warning("recovering", line=f"recovering: {error}", error=error.document())
        else:  # its text may hold anything
            self._log.warning("recovering", line=f"recovering: {code}", fault=code)


def is_right(state: TableState) -> bool:
    """Whether a table is captured and whole, with nothing left to read."""
    return state.status is Status.STREAMING and state.reason is None


class Pulse:
    """Says how it goes, when it is time to and always at the end."""

    def __init__(
        self,
        line: Callable[[], tuple[str, Mapping[str, object]]],
        log: Log,
        clock: Callable[[], float],
        draw: Callable[[str], None] | None = None,
    ) -> None:
        """Take who draws the line anew on a terminal; without one it is a line of the log."""
        self._line, self._log, self._clock, self._draw = line, log, clock, draw
        self._every = EVERY if draw is None else EVERY_ON_TERMINAL
        self._due = clock() + self._every

    def __call__(self, *, last: bool = False) -> None:
        """Say it, if it is time to."""
        if not last and self._clock() < self._due:
            return
        self._due = self._clock() + self._every
        text, told = self._line()
        if self._draw is None:
            self._log.info("figures", line=text, **told)
        else:
            self._draw(text)


class StatusLine:
    """Makes the line: events a second since the line before, lag, position."""

    def __init__(self, measures: Measures, place: Callable[[Saved], str], clock: Callable[[], float]) -> None:
        self._measures, self._place, self._clock = measures, place, clock
        self._events, self._when = 0, clock()

    def __call__(self) -> tuple[str, Mapping[str, object]]:
        """The line as it is now, and its figures for programs."""
        events, now = self._measures.events, self._clock()
        rate = (events - self._events) / max(0.001, now - self._when)
        self._events, self._when = events, now
        figures = self._measures.figures()
        places = {partition: self._placed(one) for partition, one in figures.items()}
        parts = [
            f"{partition.database}: {_of(one, place)}" if len(figures) > 1 else _of(one, place)
            for (partition, one), place in zip(figures.items(), places.values(), strict=True)
        ]
        databases = [
            {"database": partition.database, **_figures(one), "position": places[partition]}
            for partition, one in figures.items()
        ]
        told = {"events": events, "events_per_s": round(rate, 1), "databases": databases}
        return f"{rate:,.0f} events/s  {events:,} in all  {'; '.join(parts)}", told

    def _placed(self, figures: Figures) -> str | None:
        return None if figures.position is None else self._place(figures.position.saved())


def _of(figures: Figures, place: str | None) -> str:
    behind = _figures(figures)["behind_bytes"]
    lag = "lag -" if behind is None else f"lag {size(behind)}"
    since = "-" if figures.lag_ms is None else f"{figures.lag_ms:,} ms"
    return f"{lag}, {since}  at {place or '-'}"


def _figures(figures: Figures) -> Mapping[str, int | None]:
    behind = None if figures.log is None else figures.log.behind
    return {"behind_bytes": behind, "lag_ms": figures.lag_ms}


def size(count: int) -> str:
    """Write a number of bytes."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
