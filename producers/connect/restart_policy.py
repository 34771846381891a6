"""What becomes of a task whose process ended: started again after a wait, or given up with its reason.  Pure.

    STARTING -> RUNNING <-> RECOVERING          the task itself says so
        any  -> RESTARTING -> STARTING          its process ended, and a new one may do better
        any  -> FAILED                          its error needs an operator: nothing is tried automatically
        any  -> STOPPED, PAUSED                 it was asked to end; a resume starts it again
    RUNNING  -> COMPLETED                       it said that all is done, and is not started again

Waits grow while a task ends again and again, up to a bound, and start over after it ran for a while.
"""

from dataclasses import dataclass, replace
from enum import Enum

FIRST_WAIT = 0.5  # seconds
LONGEST_WAIT = 60.0
WELL = 60.0  # seconds of running, after which an end is not counted with earlier ends


class TaskState(Enum):
    """The state of a task; the words are Kafka Connect's where it has them."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    RECOVERING = "RECOVERING"
    RESTARTING = "RESTARTING"
    FAILED = "FAILED"
    STOPPED = "STOPPED"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"  # ours: Connect's tasks never end by themselves


ENDED = (TaskState.FAILED, TaskState.STOPPED, TaskState.PAUSED, TaskState.COMPLETED)


class DesiredState(Enum):
    """What an operator wants of one task."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"
    RESTART = "restart"  # end it, whatever it does now, and then run it


_LEAVES = {DesiredState.PAUSE: TaskState.PAUSED, DesiredState.STOP: TaskState.STOPPED}


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """A task as its worker knows it; `ends` counts its ends in a row."""

    state: TaskState
    since: float
    ends: int = 0
    begins: float = 0.0  # the moment when a restart is due

    def at(self, state: TaskState, now: float) -> "TaskStatus":
        """Return the status after the task says that it is in another state."""
        return self if state is self.state else replace(self, state=state, since=now)

    def wished(self, wish: DesiredState, now: float) -> "TaskStatus":
        """Return the status after a wish, if the task has no process."""
        if wish in _LEAVES:
            return self.at(_LEAVES[wish], now)
        if wish is DesiredState.RESTART or self.state in _LEAVES.values():
            return TaskStatus(TaskState.RESTARTING, now, 0, now)
        return self

    def ended(
        self, now: float, *, asked: bool, for_somebody: bool, wish: DesiredState = DesiredState.RUN
    ) -> "TaskStatus":
        """Return the status after its process has ended."""
        if wish is not DesiredState.RUN:
            return self.wished(wish, now)
        if self.state is TaskState.COMPLETED:
            return self
        if for_somebody:
            return replace(self, state=TaskState.FAILED, since=now)
        if asked:
            return replace(self, state=TaskState.STOPPED, since=now)
        well = self.state is TaskState.RUNNING and now - self.since >= WELL
        ends = 1 if well else self.ends + 1
        return TaskStatus(TaskState.RESTARTING, now, ends, now + wait_before(ends))


def wait_before(ends: int) -> float:
    """Return how long to wait before the next start, after this many ends in a row."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(ends - 1, 30))
