"""Counts what anybody can cause as often as they like, and reports it at most once a minute."""

from collections.abc import Callable
from typing import Final

from wrackline.schemas.errors import ErrorCode, WracklineError

_SELDOM_MS: Final = 60_000  # between two notices of one code


class NoticeThrottle:
    """One count for each code, and for each table if one is named."""

    def __init__(self, now_ms: Callable[[], int], tell: Callable[[WracklineError], None]) -> None:
        self._now_ms, self._tell = now_ms, tell
        self._counted: dict[str, tuple[int, int]] = {}  # how many, and when it was reported

    def tell(self, code: ErrorCode, **fields: object) -> None:
        """Count it; the notice has the count and these fields."""
        name = f"{code.code} {fields.get('table', '')}"
        count, told_ms = self._counted.get(name, (0, -_SELDOM_MS))
        now = self._now_ms()
        due = not 0 <= now - told_ms < _SELDOM_MS  # less: the clock was set back
        self._counted[name] = count + 1, now if due else told_ms
        if due:
            self._tell(code(count=count + 1, **fields))
