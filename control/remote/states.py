"""When a verb has come to its end: what a worker tells of a connector, looked at again and again.  Pure.

    pause    PAUSED
    stop     STOPPED
    resume   RUNNING, or FAILED
    restart  once another state than before was seen, or none was for a while, as resume; at once where
             nothing is begun anew

In: statuses as Kafka Connect's REST writes them.  Out: one word, and whether to look again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from wrackline.control.tail.shown import escaped

FAILED: Final = "FAILED"
RUNNING: Final = "RUNNING"
RESTS: Final = ("PAUSED", "STOPPED")
UNSEEN: Final = 5.0  # seconds; who is as before by then has passed through the others between two looks
_WORST: Final = (FAILED, "UNASSIGNED", "RESTARTING", "PAUSED", "STOPPED", RUNNING)


class Verb(StrEnum):
    """What is wanted of a connector."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    RESTART = "restart"


_GOALS: Final = {Verb.PAUSE: "PAUSED", Verb.STOP: "STOPPED"}


@dataclass(frozen=True, slots=True)
class Now:
    """How a connector is, in one word; `trace` is why it failed."""

    state: str
    worker: str
    trace: str | None = None


def now(status: Mapping[str, Any]) -> Now:
    """Return how a connector is: as its worst task, or as itself where it has none or has failed."""
    connector = status["connector"]
    states = [connector, *status["tasks"]] if connector["state"] == FAILED else status["tasks"]
    told = min(states or [connector], key=lambda one: _rank(one["state"]))
    return Now(escaped(str(told["state"])), escaped(str(told["worker_id"])), told.get("trace"))


def every(listed: Mapping[str, Any]) -> dict[str, Now]:
    """Return how each of the connectors is that are listed with their statuses."""
    return {name: now(one["status"]) for name, one in sorted(listed.items())}


@dataclass(slots=True)
class Course:
    """What is seen of a connector since a verb was sent."""

    verb: Verb
    before: str
    only_failed: bool = False
    moved: bool = False

    def over(self, state: str, seconds: float) -> bool:
        """Take what is seen so many seconds after the verb was sent; say whether this is where it ends."""
        self.moved |= state != self.before or seconds > UNSEEN
        if self.verb in _GOALS:
            return state == _GOALS[self.verb]
        if self.verb is Verb.RESTART and not self.moved:
            return self._stays()
        return state in (RUNNING, FAILED) or (self.moved and state in RESTS)

    def _stays(self) -> bool:
        """Whether nothing is begun anew: who rests is woken by resume alone."""
        return self.before in RESTS or (self.only_failed and self.before != FAILED)


def _rank(state: str) -> int:
    return _WORST.index(state) if state in _WORST else len(_WORST)
