"""What libraries log, among our own lines: librdkafka, Spark's Python side, uvicorn, Python's warnings.

In: their records, from warnings on.  Out: events `library`, each with the logger's name, without the
pipeline's secrets and what looks like one, because other code wrote them.  The same line is logged once in a
while: a broker that is away is a thousand lines that differ only by a number.
"""

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wrackline.control.runtime.logs.lines import Log

QUIET = 10.0  # seconds in which the same line is not logged again
_KNOWN = 200  # lines that are remembered
# the client's words beside an error that it raises, and which is obeyed
_RAISED = ("GETPID [", "TXNERR [", "ADDPARTS [")
_FENCED = "fenced by a newer instance"  # said as kafka.superseded
_NUMBER = re.compile(r"\d+")


class RepeatFilter:
    """The lines that were logged recently; numbers in them make no difference."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._recent: OrderedDict[str, tuple[float, int]] = OrderedDict()  # when; left out how often since

    def admit(self, line: str) -> int | None:
        """Return how often a line was left out since it was logged; None: it is left out now too."""
        key, now = _NUMBER.sub("0", line), self._clock()
        when, left_out = self._recent.get(key, (now - QUIET, 0))
        if now - when < QUIET:
            self._recent[key] = when, left_out + 1
            return None
        self._recent[key] = now, 0
        self._recent.move_to_end(key)
        while len(self._recent) > _KNOWN:
            self._recent.popitem(last=False)
        return left_out


class LibraryHandler(logging.Handler):
    """Passes records on as lines."""

    def __init__(self, log: Log, clean: Callable[[str], str], clock: Callable[[], float]) -> None:
        super().__init__(logging.WARNING)
        self._log, self._clean, self._repeats = log, clean, RepeatFilter(clock)

    def emit(self, record: logging.LogRecord) -> None:
        """Log it, unless it was logged just now; a logger's lock keeps threads apart."""
        try:
            said = self._clean(record.getMessage()).strip()
        except (TypeError, ValueError):  # its arguments don't fit its format; that is the library's fault
            return
        if said.startswith(_RAISED) or _FENCED in said:
            return
        left_out = self._repeats.admit(f"{record.name}: {said}")
        if left_out is None:
            return
        often = {"repeated": left_out} if left_out else {}
        more = f" (and {left_out} times since it was last logged)" if left_out else ""
        told = {"logger": record.name, **often}
        self._log.log(_level(record), "library", line=f"{record.name}: {said}{more}", **told)


@contextmanager
def log_libraries(log: Log, clean: Callable[[str], str]) -> Iterator[None]:
    """Let `log` log what libraries log until the block ends, redacted of the pipeline's secrets."""
    handler, root = LibraryHandler(log, clean, time.monotonic), logging.getLogger()
    root.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)


def _level(record: logging.LogRecord) -> int:
    return min(max(record.levelno // 10 * 10, logging.WARNING), logging.CRITICAL)
