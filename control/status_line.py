"""What a running pipeline says: a line for each event, and one status line that is written anew.

On a terminal the status line stands last and changes once a second; elsewhere it is a line every ten
seconds, so that a log stays a log.
"""

import sys
from collections.abc import Callable, Sequence
from threading import Lock

from wrackline.producers.batching import Publication
from wrackline.producers.changes import Fault, Saved
from wrackline.producers.lanes import Health
from wrackline.producers.metrics import Figures, Measures
from wrackline.producers.plugin import LogState
from wrackline.producers.snapshot.state import parse
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.offset_replay import State
from wrackline.schemas.table import SourcePartition

EVERY, EVERY_ON_TERMINAL = 10.0, 1.0  # seconds
QUIET = 10.0  # seconds in which the same error is not told again
_REDRAW, _CLEAR = "\r\x1b[2K", "\x1b[K"


class Screen:
    """Standard output, shared by the threads of a run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._lock = clock, Lock()
        self._live = sys.stdout.isatty()
        self._every = EVERY_ON_TERMINAL if self._live else EVERY
        self._due = clock() + self._every
        self._drawn = ""

    def say(self, line: str) -> None:
        """Write a line that stays."""
        with self._lock:
            above = _REDRAW if self._live else ""
            sys.stdout.write(f"{above}{line}\n{self._drawn}")
            sys.stdout.flush()

    def status(self, line: Callable[[], str], *, last: bool = False) -> None:
        """Write the status line when it is time to, and always the last one."""
        if not last and self._clock() < self._due:
            return
        self._due = self._clock() + self._every
        text = line()
        with self._lock:
            ended = last or not self._live
            self._drawn = "" if ended else text
            sys.stdout.write(f"{_REDRAW}{text}{_CLEAR}" if self._live else text)
            sys.stdout.write("\n" if ended else "")
            sys.stdout.flush()

    def close(self) -> None:
        """End the line that stands last, so that what follows has its own."""
        with self._lock:
            sys.stdout.write("\n" if self._drawn else "")
            sys.stdout.flush()
            self._drawn = ""


class Narration:
    """A witness that counts, and says what somebody should know."""

    def __init__(
        self,
        measures: Measures,
        screen: Screen,
        clock: Callable[[], float],
        tell: Callable[[Health, Exception | None], None],
    ) -> None:
        self._measures, self._screen, self._clock, self._tell = measures, screen, clock, tell
        self._told: tuple[str, float] = ("", 0.0)
        self.completed = False

    def say(self, line: str) -> None:
        """Say what is no event of the task's."""
        self._screen.say(line)

    def looked(self, partition: SourcePartition, log: LogState | None) -> None:
        """Hand on how the server sees the log."""
        self._measures.looked(partition, log)

    def queue(self, queued: Callable[[], int]) -> None:
        """Hand it on."""
        self._measures.queue(queued)

    def health(self, health: Health, error: Exception | None) -> None:
        """Say that it runs, or what it recovers from; note that all is done."""
        self._measures.health(health, error)
        self._tell(health, error)
        if error is not None:
            self._recovering(error)
        elif health is Health.RUNNING:
            self._screen.say("running")
        elif health is Health.COMPLETED:
            self.completed = True

    def resumed(self, state: State) -> None:
        """Say which tables stay set aside or unread, and what does not fit together in the offsets."""
        self._measures.resumed(state)
        for key, kept in state.tables.items():
            table = parse(kept.snapshot)
            if table.reason is not None:
                stays = "set aside" if table.set_aside else "without all of its rows"
                why = f"[{table.reason.code}] {table.reason.sentence}\n  hint: {table.reason.hint}"
                self._screen.say(f"{key.table} stays {stays}: {why}")
        for found in state.findings:
            self._screen.say(f"offsets: {found.fault.value} at {found.place}")

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """Say what is set aside."""
        self._measures.fault(partition, fault)
        self._screen.say(f"{fault.table} is set aside: {fault.error}")

    def notice(self, error: WracklineError) -> None:
        """Say what does not work beside the stream."""
        self._screen.say(f"goes on without: {error}")

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Count them."""
        self._measures.published(publications, commit_seconds)

    def _recovering(self, error: Exception) -> None:
        code = error.code if isinstance(error, WracklineError) else type(error).__name__
        before, when = self._told
        if code != before or self._clock() - when > QUIET:
            self._told = code, self._clock()
            self._screen.say(f"recovering: {error if isinstance(error, WracklineError) else code}")


class StatusLine:
    """Makes the line: events a second since the line before, lag, position."""

    def __init__(self, measures: Measures, place: Callable[[Saved], str], clock: Callable[[], float]) -> None:
        self._measures, self._place, self._clock = measures, place, clock
        self._events, self._when = 0, clock()

    def __call__(self) -> str:
        """The line as it is now."""
        events, now = self._measures.events, self._clock()
        rate = (events - self._events) / max(0.001, now - self._when)
        self._events, self._when = events, now
        figures = self._measures.figures()
        parts = [
            f"{partition.database}: {self._of(one)}" if len(figures) > 1 else self._of(one)
            for partition, one in figures.items()
        ]
        return f"{rate:,.0f} events/s  {events:,} in all  {'; '.join(parts)}"

    def _of(self, figures: Figures) -> str:
        behind = None if figures.log is None else figures.log.behind
        lag = "lag -" if behind is None else f"lag {size(behind)}"
        since = "-" if figures.lag_ms is None else f"{figures.lag_ms:,} ms"
        position = "-" if figures.position is None else self._place(figures.position.saved())
        return f"{lag}, {since}  at {position}"


def size(count: int) -> str:
    """Write a number of bytes."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:,.0f} {unit}" if unit == "B" else f"{amount:,.1f} {unit}"
