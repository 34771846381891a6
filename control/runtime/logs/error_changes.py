"""Which counts of errors are due: how often a half has logged each error today.  Pure, but for a lock.

In: the lines that a half logs, on any thread, and how it ends.  Out: a record of each count that has changed,
and the end of those that are too old.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Final

from wrackline.schemas.kafka.board_records import BoardKey, Document, Half, HalfState
from wrackline.schemas.kafka.past.error_days import (
    DAY_MS,
    LONGEST,
    LONGEST_CODE,
    MOST_DAYS,
    ErrorCount,
    ErrorDay,
    ErrorDays,
)

Record = tuple[bytes, bytes | None]
_LEVELS: Final = ("warning", "error", "critical")


class ErrorChanges:
    """Counts, and remembers which counts the board has."""

    def __init__(self, pipeline: str, half: Half, now_ms: Callable[[], int], task: int = 0) -> None:
        self._half, self._now_ms = BoardKey(pipeline, half, task=task), now_ms
        self._lock = Lock()
        self._new: dict[ErrorDay, ErrorCount] = {}  # that the board does not have
        self._days = ErrorDays()
        self._mine: set[ErrorDay] = set()  # that this process has changed
        self._again = self._ended = False

    def hear(self, line: Mapping[str, object]) -> None:
        """Take a line that was logged; any thread may call it."""
        error = line.get("error")
        if line.get("level") in _LEVELS and isinstance(error, Mapping):
            self._count(error)

    def ends(self, report: Document) -> None:
        """Take how the half is: the error that ends it is logged only after it has ended."""
        error = report.get("error")
        if not self._ended and report.get("state") == HalfState.FAILED.value and error:
            self._ended = True
            self._count(error)

    def recorded(self, days: ErrorDays) -> None:
        """Take the counts that the board has of earlier processes."""
        self._days = days

    def due(self) -> list[Record]:
        """Return the records to write now."""
        with self._lock:
            new, self._new = self._new, {}
        today = self._now_ms() // DAY_MS
        made: list[Record] = [(self._key(old), None) for old in self._days.before(today - MOST_DAYS + 1)]
        for about, one in new.items():
            known = self._days.of(about)
            whole = (
                one if known is None else replace(one, count=known.count + one.count, first_ms=known.first_ms)
            )
            self._days.take(about, whole, today)
        self._mine |= new.keys()
        wanted = self._mine if self._again else new
        self._again = False
        counts = ((about, self._days.of(about)) for about in wanted)
        return [*made, *((self._key(about), one.encode()) for about, one in counts if one is not None)]

    def lost(self) -> None:
        """Take that something may not have been written."""
        self._again = True

    def _count(self, error: Mapping[str, object]) -> None:
        at_ms = self._now_ms()
        about = ErrorDay(at_ms // DAY_MS, _text(error.get("code"), LONGEST_CODE))
        kind, sentence = (_text(error.get(name, ""), LONGEST) for name in ("kind", "sentence"))
        with self._lock:
            known = self._new.get(about)
            count, first = (0, at_ms) if known is None else (known.count, known.first_ms)
            self._new[about] = ErrorCount(count + 1, first, at_ms, kind, sentence)

    def _key(self, about: ErrorDay) -> bytes:
        return self._half._replace(errors=about).encode()


def _text(value: object, longest: int) -> str:
    """Return what a record can hold: half of a surrogate pair has no bytes."""
    return str(value)[:longest].encode(errors="replace").decode()
