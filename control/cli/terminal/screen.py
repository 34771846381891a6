"""A terminal on which lines stay and one status line below them changes."""

import sys
from threading import Lock

_REDRAW, _CLEAR = "\r\x1b[2K", "\x1b[K"


class Screen:
    """A terminal, shared by the threads of a run: lines stay, and the status line is below them."""

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
        """Redraw the status line."""
        with self._lock:
            self._drawn = text
            sys.stdout.write(f"{_REDRAW}{text}{_CLEAR}")
            sys.stdout.flush()

    def close(self) -> None:
        """End the status line, so that what follows has its own line."""
        with self._lock:
            sys.stdout.write("\n" if self._drawn else "")
            sys.stdout.flush()
            self._drawn = ""
