"""When a verb has ended: a worker's reports of a connector, read again and again.  Pure.

    pause    PAUSED, all of it
    stop     STOPPED
    resume   RUNNING and no task rests, or FAILED
    restart  once another state than before was seen, or none was for a while, as resume; at once if
             nothing starts again

In: statuses as Kafka Connect's REST writes them.  Out: one word, and whether to look again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from wrackline.control.runtime.ground.terminal_text import escape

FAILED: Final = "FAILED"
RUNNING: Final = "RUNNING"
RESTS: Final = ("PAUSED", "STOPPED")
UNSEEN: Final = 5.0  # seconds; if it is the same by then, the others passed between two looks
_NUMBERS: Final = {"source": 0, "target": 1}  # of the halves, where each has one task
_TOLD: Final = (
    FAILED,
    "UNASSIGNED",
    "RESTARTING",
    RUNNING,
    "PAUSED",
    "STOPPED",
)  # the first that a task is in


class Verb(StrEnum):
    """What a connector is to do."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    RESTART = "restart"


_GOALS: Final = {Verb.PAUSE: "PAUSED", Verb.STOP: "STOPPED"}


@dataclass(frozen=True, slots=True)
class RemoteState:
    """A connector's state, in one word, and the state of each task; `trace` is why it failed."""

    state: str
    worker: str
    trace: str | None = None
    wrong: int = 0  # tables with errors, which the task continues without
    down: int = 0  # databases that are not read now
    tasks: tuple[tuple[int, str], ...] = ()  # their numbers and states

    @property
    def differ(self) -> bool:
        """Whether a task is in another state than the connector."""
        return any(state != self.state for _, state in self.tasks)


def read_state(status: Mapping[str, Any], half: str | None = None) -> RemoteState:
    """Return a connector's state: that of a task which failed or starts, else RUNNING while one runs.

    It is its own if it has no task or has failed.  With a half only its tasks count.
    """
    connector = status["connector"]
    states = [one for one in status["tasks"] if half is None or _half_of(one) == half]
    if connector["state"] == FAILED and half is None:
        states.insert(0, connector)
    worst = min(states or [connector], key=lambda one: _rank(one["state"]))
    state, worker = escape(str(worst["state"])), escape(str(worst["worker_id"]))
    wrong, down = (_count(status.get(f"{of}_with_errors")) for of in ("tables", "databases"))
    tasks = tuple((one["id"], escape(str(one["state"]))) for one in states if one is not connector)
    return RemoteState(state, worker, worst.get("trace"), wrong, down, tasks)


def _count(reported: object) -> int:
    """Read what Connect's own workers do not report."""
    count = reported.get("count") if isinstance(reported, dict) else None
    return count if isinstance(count, int) else 0


def read_tasks(status: Mapping[str, Any], half: str) -> Sequence[int]:
    """Return the numbers of a half's tasks; of one that rests, the number that it has where it is alone."""
    return [int(one["id"]) for one in status["tasks"] if _half_of(one) == half] or [_NUMBERS[half]]


def _half_of(task: Mapping[str, Any]) -> str:
    """Return which half a task is of; a worker says so only where a half has several."""
    return str(task.get("half", "source" if task["id"] == _NUMBERS["source"] else "target"))


def read_states(listed: Mapping[str, Any]) -> dict[str, RemoteState]:
    """Return the state of each connector that is listed with its status: FAILED, or else its own."""
    return {name: _own_state(one["status"]) for name, one in sorted(listed.items())}


def _own_state(status: Mapping[str, Any]) -> RemoteState:
    found, connector = read_state(status), status["connector"]
    if found.state == FAILED:
        return found
    return replace(found, state=escape(str(connector["state"])), worker=escape(str(connector["worker_id"])))


@dataclass(slots=True)
class VerbCourse:
    """What is seen of a connector since a verb was sent."""

    verb: Verb
    before: str
    only_failed: bool = False
    moved: bool = False

    def over(self, found: RemoteState, seconds: float) -> bool:
        """Take the state this many seconds after the verb was sent; return whether the verb has ended."""
        state = found.state
        if self.verb is Verb.RESUME and state == RUNNING:  # as long as a task rests it is not resumed
            state = next((of_task for _, of_task in found.tasks if of_task in RESTS), state)
        self.moved |= state != self.before or seconds > UNSEEN
        if self.verb in _GOALS:
            return state == _GOALS[self.verb]
        if self.verb is Verb.RESTART and not self.moved:
            return self._stays()
        return state in (RUNNING, FAILED) or (self.moved and state in RESTS)

    def _stays(self) -> bool:
        """Whether nothing starts again: only resume wakes a connector that rests."""
        return self.before in RESTS or (self.only_failed and self.before != FAILED)


def _rank(state: str) -> int:
    return _TOLD.index(state) if state in _TOLD else len(_TOLD)
