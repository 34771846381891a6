"""What a pipeline's board adds up to: one line for a list, and points for its charts.  Pure.

In: both halves as they were reported.  Out: their totals at a moment, and the last samples of them.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

from wrackline.control.runtime.ground.times import FIGURES_S
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard, HalfState

_READING: Final = frozenset({"queued", "snapshotting", "refreshing"})
_EVERY_MS, _SAMPLES = int(FIGURES_S * 1000), 450  # a quarter of an hour
_MINUTE_MS, _MINUTES = 60_000, 1_440  # a day


class BoardVersion(NamedTuple):
    """Numbers that are others once a board says something else."""

    states: int  # of the halves and their tables
    all: int  # figures as well


_NEVER: Final = BoardVersion(0, 0)


def board_version(halves: Iterable[HalfBoard]) -> BoardVersion:
    """Return the version of halves, or of all their tasks; numbers grow over all of them."""
    known = list(halves)
    states = max((one.states for one in known), default=0)
    return BoardVersion(states, max((one.version for one in known), default=0))


@dataclass(frozen=True, slots=True)
class PipelineSummary:
    """A pipeline at a moment; None is what is not known."""

    at_ms: int
    states: Mapping[Half, HalfState | None]
    silent: frozenset[Half]
    tables: int
    reading: int  # tables whose rows are being read
    wrong: int  # tables with an error
    published: int  # events since the source half began
    merged: int  # events since the target half began
    behind: int | None  # offsets that are not merged
    late_ms: int | None  # of the table that is latest
    log_behind: int | None  # bytes of the log that Kafka does not have
    lost_in_s: int | None  # seconds until the log that is needed may be lost
    error: Document | None  # the worst
    log_end: int | None = None  # bytes that were ever written to the log
    log_kept: int | None = None  # bytes of the log that are kept for the source half
    version: BoardVersion = _NEVER  # of the board that it adds up


def summarise(halves: Mapping[Half, HalfBoard], at_ms: int) -> PipelineSummary:
    """Add up both halves."""
    source, target = halves[Half.SOURCE], halves[Half.TARGET]
    behind = [table["behind"] for table in target.tables.values() if table.get("behind") is not None]
    late = [found for name in target.tables if (found := late_ms(target, name, at_ms)) is not None]
    databases = source.report.get("databases", {}).values()
    wrong = [table_errors(half) for half in halves.values()]
    errors = [*_half_errors(halves), *(error for found in wrong for error in found.values())]
    return PipelineSummary(
        at_ms,
        {half: known.state for half, known in halves.items()},
        frozenset(half for half, known in halves.items() if known.is_silent(at_ms)),
        len(source.tables.keys() | target.tables.keys()),
        sum(table.get("state") in _READING for table in source.tables.values()),
        len({name for found in wrong for name in found}),
        source.report.get("events", 0),
        sum(sum(table.get("events", {}).values()) for table in target.tables.values()),
        sum(behind) if behind else None,
        max(late) if late else None,
        _total(database["behind_bytes"] for database in databases),
        min((one["lost_in_s"] for one in databases if one["lost_in_s"] is not None), default=None),
        errors[0] if errors else None,
        _total(database["end_bytes"] for database in databases),
        _total(database["retained_bytes"] for database in databases),
        board_version(halves.values()),
    )


def table_errors(half: HalfBoard) -> Mapping[str, Document]:
    """Return the errors of a half's tables, by table."""
    return {name: error for name, table in half.tables.items() if (error := table_error(table))}


def table_error(table: Document) -> Document | None:
    """Return the error of a table of either half."""
    return table.get("reason") or table.get("error")


def database_errors(half: HalfBoard) -> Mapping[str, Document]:
    """Return the errors of single databases, by name, where a half has several."""
    return {
        name: error
        for name, database in half.report.get("databases", {}).items()
        if (error := database.get("error"))
    }


def _half_errors(halves: Mapping[Half, HalfBoard]) -> Sequence[Document]:
    of_halves = [half.report["error"] for half in halves.values() if half.report.get("error")]
    return [*of_halves, *(error for half in halves.values() for error in database_errors(half).values())]


def late_ms(target: HalfBoard, name: str, at_ms: int) -> int | None:
    """Return how late a table of the target is: since the moment through which it is complete.

    Where no source half reports that moment: how long its oldest event waits, or how late the newest was.
    """
    if (complete := target.complete_ms(name)) is not None:
        return max(0, at_ms - complete)
    table = target.tables.get(name, {})
    if waits := table.get("behind_s"):
        return int(waits * 1000) + max(0, at_ms - int(table["at_ms"]))
    lag: Mapping[str, int] = table.get("lag_ms") or {}
    return lag.get("whole")


def _total(numbers: Any) -> int | None:  # noqa: ANN401 - an iterable of numbers that may be missing
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


class PastMinute(NamedTuple):
    """What is remembered of a pipeline for a day: few, because there are many pipelines."""

    at_ms: int
    published: int
    late_ms: int | None  # the most of this minute
    log_behind: int | None
    log_end: int | None


_Sample = TypeVar("_Sample", PipelineSummary, PastMinute)


class PipelineHistory:
    """The last summaries of a pipeline: each two seconds of a quarter of an hour, each minute of a day."""

    def __init__(self) -> None:
        self._samples: deque[PipelineSummary] = deque(maxlen=_SAMPLES)
        self._minutes: deque[PastMinute] = deque(maxlen=_MINUTES)
        self._late_ms: int | None = None  # the most since the last minute began

    def is_due(self, at_ms: int) -> bool:
        """Whether a report has become due since the last one."""
        return not self._samples or at_ms // _EVERY_MS != self.last_ms // _EVERY_MS

    def add(self, summary: PipelineSummary) -> None:
        """Take one; it counts where it is due.  Those of later are forgotten: the clock was set back."""
        if self.is_due(summary.at_ms):
            if self.last_ms >= summary.at_ms:  # others read meanwhile, so nothing is taken out
                self._samples = deque(_before(self._samples, summary.at_ms), _SAMPLES)
                self._minutes = deque(_before(self._minutes, summary.at_ms), _MINUTES)
            self._samples.append(summary)
            self._late_ms = max(
                (ms for ms in (self._late_ms, summary.late_ms) if ms is not None), default=None
            )
            if not self._minutes or summary.at_ms - self._minutes[-1].at_ms >= _MINUTE_MS:
                self._minutes.append(_minute(summary, self._late_ms))
                self._late_ms = None

    @property
    def last_ms(self) -> int:
        """When the last one was; 0: there is none."""
        samples = self._samples
        return samples[-1].at_ms if samples else 0

    def minutes(self) -> Sequence[PastMinute]:
        """Return the last day, oldest first."""
        return tuple(self._minutes)

    def newest(self, halves: Mapping[Half, HalfBoard], at_ms: int) -> PipelineSummary:
        """Return the last one; another one where that is too old, or where a state has changed since."""
        samples = self._samples
        last = samples[-1] if samples else None
        if last is None or abs(at_ms - last.at_ms) > 2 * _EVERY_MS:
            return summarise(halves, at_ms)
        is_same = last.version.states == board_version(halves.values()).states
        return last if is_same else summarise(halves, at_ms)

    def samples(self) -> Sequence[PipelineSummary]:
        """Return them, oldest first."""
        return tuple(self._samples)


def _before(samples: Iterable[_Sample], at_ms: int) -> Iterable[_Sample]:
    return [one for one in samples if one.at_ms < at_ms]


def _minute(summary: PipelineSummary, late_ms: int | None) -> PastMinute:
    return PastMinute(summary.at_ms, summary.published, late_ms, summary.log_behind, summary.log_end)


def rates(history: Sequence[PipelineSummary | PastMinute], total: str) -> Sequence[tuple[int, float]]:
    """Return how fast a total grew, between each two samples; a process that began again grew from 0."""
    found = []
    for before, after in pairwise(history):
        seconds = (after.at_ms - before.at_ms) / 1000
        grown = getattr(after, total) - getattr(before, total)
        if seconds > 0:
            found.append((after.at_ms, (getattr(after, total) if grown < 0 else grown) / seconds))
    return found
