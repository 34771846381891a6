"""How many lines a second are sent: the first of each second, then one line that counts the rest.  Pure.

In: lines, with the time.  Out: the lines to send.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

MOST_A_SECOND: Final = 50
Line = Mapping[str, object]


class LineRate:
    """Counts lines by second."""

    def __init__(self, most: float = MOST_A_SECOND) -> None:
        self._most = most
        self._second, self._sent = 0, 0
        self._left: Counter[str] = Counter()  # by event

    def admit(self, line: Line, now: float) -> list[Line]:
        """Take a line; return what is sent now."""
        made = self.due(now)
        if self._sent >= self._most:
            self._left[str(line.get("event"))] += 1
            return made
        self._sent += 1
        return [*made, line]

    def due(self, now: float) -> list[Line]:
        """Return the line that counts what a second has left out, once the second is over."""
        if int(now) == self._second:
            return []
        self._second, self._sent, left, self._left = int(now), 0, self._left, Counter()
        if not left:
            return []
        (event, most), count = left.most_common(1)[0], left.total()
        line = f"… {count:,} more lines in one second, {most:,} of them: {event}"
        return [{"level": "warning", "event": "left out", "line": line, "left_out": count}]
