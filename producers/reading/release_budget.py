"""How many bytes of rows may wait for Kafka before another slice is given out.

    log quiet: as much as keeps Kafka busy           log moves: what Kafka lately takes in a moment

Why it matters: the log's changes go out behind the rows that already wait.  A Kafka transaction costs
some milliseconds however small it is, so the room settles where a transaction takes about that moment.
"""

from math import inf
from typing import Final

_QUIET: Final = 6 << 20
_MOST: Final = 2 << 20
_LEAST: Final = 256 << 10
_MOMENT: Final = 0.035  # seconds
_LIVELY: Final = 1.0  # seconds after a change of the log in which another is likely


class ReleaseBudget:
    """The room of one source partition."""

    def __init__(self) -> None:
        self._lively = -inf
        self._paced = float(_LEAST)

    def moved(self, now: float) -> None:
        """Note that the log contains a change."""
        self._lively = now + _LIVELY

    def took(self, size: int, seconds: float) -> None:
        """Note that Kafka took this many bytes in this many seconds."""
        if size and seconds > 0:
            wanted = min(max(size * _MOMENT / seconds, _LEAST), _MOST)
            self._paced = (self._paced + wanted) / 2

    def size(self, now: float) -> float:
        """Return the bytes that may wait now."""
        return self._paced if now < self._lively else _QUIET
