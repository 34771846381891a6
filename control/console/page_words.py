"""States as a page shows them: a word, an icon and a tone, so that no colour is needed to tell them apart.

In: the states of halves, tasks and tables.  Out: badges.  Pure.
"""

from dataclasses import dataclass
from typing import Final

from wrackline.control.runtime.board.board_summary import PipelineSummary
from wrackline.control.runtime.ground.number_text import duration_text
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import Half, HalfBoard, HalfState


@dataclass(frozen=True, slots=True)
class Badge:
    """A state: `tone` is good, busy, warn, bad or idle."""

    word: str
    icon: str
    tone: str


RUNNING: Final = Badge("running", "●", "good")
READING: Final = Badge("reading rows", "◐", "busy")
SILENT: Final = Badge("silent", "◌", "warn")
FAILED: Final = Badge("failed", "✕", "bad")
TROUBLE: Final = Badge("needs you", "!", "bad")
PAUSED: Final = Badge("paused", "‖", "idle")
HALF_PAUSED: Final = Badge("half paused", "‖", "warn")
STOPPED: Final = Badge("stopped", "■", "idle")
NEVER: Final = Badge("never ran", "○", "idle")
STARTING: Final = Badge("starting", "◔", "busy")
RECOVERING: Final = Badge("recovering", "↻", "warn")
RESTARTING: Final = Badge("restarting", "↻", "warn")
COMPLETED: Final = Badge("completed", "✓", "idle")

HALF_BADGES: Final = {
    HalfState.STARTING: STARTING,
    HalfState.RUNNING: RUNNING,
    HalfState.RECOVERING: RECOVERING,
    HalfState.COMPLETED: COMPLETED,
    HalfState.STOPPED: STOPPED,
    HalfState.FAILED: FAILED,
}
TASK_BADGES: Final = {
    TaskState.STARTING: STARTING,
    TaskState.RUNNING: RUNNING,
    TaskState.RECOVERING: RECOVERING,
    TaskState.RESTARTING: RESTARTING,
    TaskState.FAILED: FAILED,
    TaskState.STOPPED: STOPPED,
    TaskState.PAUSED: PAUSED,
    TaskState.COMPLETED: COMPLETED,
}
RESTS: Final = (TaskState.PAUSED, TaskState.STOPPED)
_SOURCE_TABLES: Final = {
    "streaming": Badge("streaming", "●", "good"),
    "queued": Badge("queued", "◔", "busy"),
    "snapshotting": Badge("reading rows", "◐", "busy"),
    "refreshing": Badge("reading again", "◐", "busy"),
    "paused": PAUSED,
    "failed": FAILED,
    "gone": Badge("gone", "○", "idle"),
}
_TARGET_TABLES: Final = {
    "going": Badge("merging", "●", "good"),
    "waiting": Badge("waiting", "↻", "warn"),
    "stopped": Badge("stopped", "✕", "bad"),
    "paused": PAUSED,
}
DASH: Final = "\u2013"  # where nothing is known
UNKNOWN: Final = Badge("unknown", "○", "idle")
_WORST_FIRST: Final = (
    *(FAILED, TROUBLE, SILENT, RESTARTING, RECOVERING, HALF_PAUSED, STARTING, READING),
    *(PAUSED, STOPPED, COMPLETED, NEVER, RUNNING),
)


def half_badge(known: HalfBoard, at_ms: int) -> Badge:
    """Return the state of a half."""
    state = known.state
    if state is None:
        return NEVER
    return SILENT if known.is_silent(at_ms) else HALF_BADGES[state]


def pipeline_badge(summary: PipelineSummary, standing: ConnectorState, *, has_target: bool) -> Badge:
    """Return the worst of what is known: what the worker says of its tasks, and what the halves report."""
    tasks = {
        half: one for half, one in zip(Half, (standing, standing.target), strict=True) if one is not None
    }
    resting = {half for half, one in tasks.items() if one.state in RESTS}
    found = [TASK_BADGES[one.state] for one in tasks.values()]
    if any(one.state not in RESTS for one in standing.sources):  # the half is where its best task is
        badges = (TASK_BADGES[one.state] for one in standing.sources)
        found += [HALF_PAUSED if one is PAUSED else one for one in badges]
    if resting != tasks.keys():
        awake = {Half.SOURCE, *([Half.TARGET] if has_target else [])} - resting
        found += [HALF_PAUSED] if resting else []
        found += [SILENT for half in awake if half in summary.silent]
        found += [FAILED for half in awake if summary.states[half] is HalfState.FAILED]
        found += [TROUBLE] if summary.wrong else []
        found += [READING] if summary.reading else []
    return min(found, key=_WORST_FIRST.index)


def source_badge(state: str | None) -> Badge:
    """Return a table's state at the source."""
    return _SOURCE_TABLES.get(state or "", UNKNOWN)


def target_badge(state: str | None) -> Badge:
    """Return a table's state in the target."""
    return _TARGET_TABLES.get(state or "", UNKNOWN)


def late_text(ms: int | None) -> str:
    """Write how late a copy is."""
    return DASH if ms is None else "now" if ms < 1 else duration_text(ms)


def rate_text(a_second: float | None) -> str:
    """Write how many a second."""
    if a_second is None:
        return DASH
    return f"{a_second:,.0f}" if a_second >= 10 or a_second == 0 else f"{a_second:.1f}"


def count_or_dash(number: int | None) -> str:
    """Write a number that may be unknown."""
    return DASH if number is None else f"{number:,}"
