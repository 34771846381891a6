"""Looks at each log from outside, on a connection of its own, in threads of its own: none waits for another.

every second        a moment, and then the log's end: published_through.py says why in this order
every third time    how far behind it is, and how long it is kept
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Final, Protocol

from wrackline.producers.contract.optional_parts import Attended, LogEnding, LogState
from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.contract.steps import Position
from wrackline.producers.task.background import Crew
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import SourcePartition

EVERY: Final = 1.0  # seconds
_LEAVE_S: Final = 3.0
_LOG_STATES: Final = 3  # a look at what is kept costs some servers more


class LogWatcher(Protocol):
    """Takes what is seen, and knows what Kafka has; on the threads that look, each log on one at a time."""

    def confirmed(self, partition: SourcePartition) -> Position | None:
        """Return what Kafka has of a log, if known."""
        ...

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        """Take how the server sees a log."""
        ...

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        """Take a moment, and where a log ended after it."""
        ...


@contextmanager
def poll_logs(
    source: Source, watcher: LogWatcher, now_ms: Callable[[], int], every: float = EVERY
) -> Iterator[None]:
    """Look until the block is left; what a source does not offer is skipped."""
    stopping, partitions = Event(), source.partitions()
    looks: Counter[SourcePartition] = Counter()

    def look(partition: SourcePartition) -> None:
        with suppress(WracklineError):  # the task itself reports what is wrong with the server
            if isinstance(source, LogEnding):
                at_ms = now_ms()
                watcher.log_end(partition, at_ms, source.log_end(partition))
        if isinstance(source, Attended) and looks[partition] % _LOG_STATES == 0:
            watcher.log_state(partition, _state(source, partition, watcher.confirmed(partition)))
        looks[partition] += 1

    crew = Crew(look, "log watch")

    def run() -> None:
        while True:
            for partition in partitions:
                crew.begin(partition)
            if stopping.wait(every):
                return

    thread = Thread(target=run, name="log watches", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(_LEAVE_S)
        crew.close(_LEAVE_S)


def _state(source: Attended, partition: SourcePartition, confirmed: Position | None) -> LogState | None:
    try:
        return source.log_state(partition, confirmed)
    except WracklineError:
        return None
