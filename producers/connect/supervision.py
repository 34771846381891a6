"""What becomes of a task whose process ended: begun again after a wait, or given up with its reason.  Pure.

    STARTING -> RUNNING <-> RECOVERING          the task itself says so
        any  -> RESTARTING -> STARTING          its process ended, and a new one may do better
        any  -> FAILED                          its error asks for somebody: nothing is tried by itself
        any  -> STOPPED, PAUSED                 it was asked to end; who resumes it begins it again
    RUNNING  -> COMPLETED                       it said that all is done, and is not begun again

Waits grow while a task ends again and again, up to a bound, and begin anew after it ran for a while.
"""

from dataclasses import dataclass, replace
from enum import Enum

FIRST_WAIT = 0.5  # seconds
LONGEST_WAIT = 60.0
WELL = 60.0  # seconds of running, after which an end is not counted with the ones before


class State(Enum):
    """How a task is; the words are Kafka Connect's where it has them."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    RECOVERING = "RECOVERING"
    RESTARTING = "RESTARTING"
    FAILED = "FAILED"
    STOPPED = "STOPPED"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"  # ours: Connect's tasks never end by themselves


ENDED = (State.FAILED, State.STOPPED, State.PAUSED, State.COMPLETED)


class Wish(Enum):
    """What somebody wants of one task."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"
    RESTART = "restart"  # whatever it does now; and then to run


_LEAVES = {Wish.PAUSE: State.PAUSED, Wish.STOP: State.STOPPED}


@dataclass(frozen=True, slots=True)
class Status:
    """A task as its worker knows it; `ends` counts its ends in a row."""

    state: State
    since: float
    ends: int = 0
    begins: float = 0.0  # when a restart is due

    def at(self, state: State, now: float) -> "Status":
        """It says that it is in another state."""
        return self if state is self.state else replace(self, state=state, since=now)

    def wished(self, wish: Wish, now: float) -> "Status":
        """Somebody wants this of it, and it has no process."""
        if wish in _LEAVES:
            return self.at(_LEAVES[wish], now)
        if wish is Wish.RESTART or self.state in _LEAVES.values():
            return Status(State.RESTARTING, now, 0, now)
        return self

    def ended(self, now: float, *, asked: bool, for_somebody: bool, wish: Wish = Wish.RUN) -> "Status":
        """Its process has ended."""
        if wish is not Wish.RUN:
            return self.wished(wish, now)
        if self.state is State.COMPLETED:
            return self
        if for_somebody:
            return replace(self, state=State.FAILED, since=now)
        if asked:
            return replace(self, state=State.STOPPED, since=now)
        well = self.state is State.RUNNING and now - self.since >= WELL
        ends = 1 if well else self.ends + 1
        return Status(State.RESTARTING, now, ends, now + wait_before(ends))


def wait_before(ends: int) -> float:
    """Return how long to wait before the next start, after so many ends in a row."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(ends - 1, 30))
