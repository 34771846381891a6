"""Through which moment something is complete: moments wait until their places are reached.

    moment taken -> end asked -> add(moment, end)  ...  the end is reached -> `through` is that moment

Why it is right: whatever happened before the moment ends before the place, because the place was asked for
later.  The two the other way round would claim what happened between them.  A clock that is set back makes
all earlier moments worthless: by the new time they may lie ahead of what is there.  Pure.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

P = TypeVar("P")
_MOST: Final = 64  # of more that wait, every second one is given up: `through` is coarser, never wrong


class MomentQueue(Generic[P]):
    """Moments of one clock, each with the place that has to be reached, which only grows."""

    def __init__(self, through: int | None = None) -> None:
        """Take through which moment it is known to be complete."""
        self.through = through
        self._waiting: list[tuple[int, P]] = []

    def add(self, at_ms: int, place: P) -> None:
        """Take a moment, and the place that was asked for after it."""
        self.now(at_ms)
        self._waiting.append((at_ms, place))
        if len(self._waiting) > _MOST:
            del self._waiting[1::2]

    def now(self, at_ms: int) -> None:
        """Take what time it is: what lies after it was taken before the clock was set back."""
        if self.through is not None and at_ms < self.through:
            self.through = None
        self._waiting = [one for one in self._waiting if one[0] <= at_ms]

    def reach(self, passed: Callable[[P], bool]) -> bool:
        """Take which places are reached, up to the first that is not; return whether there are any."""
        done = 0
        for at_ms, place in self._waiting:
            if not passed(place):
                break
            self.through = at_ms
            done += 1
        del self._waiting[:done]
        return done > 0

    def forget(self) -> None:
        """Drop what waits: its places mean nothing any more."""
        self._waiting.clear()
