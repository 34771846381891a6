"""Heartbeats: a source must write something small into its log while nothing else is written there.

    nothing was published for so long --> source.beat --> the log --> the task's loop --> a position, a record

What is written comes back through the log like anything else: the position moves, the database may drop
what lies before, and a heartbeat's record is in the same Kafka transaction as that position.  A thread
of its own decides when, and others write: neither the task's loop nor the other databases wait for one that
does not answer.  A source that can't write reports that once.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from wrackline.producers.contract.optional_parts import Beating
from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.task.background import Crew
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import SourcePartition

_PATIENCE = 5.0  # seconds for a beat under way, when the task ends
_LEAST_WAIT = 0.01

Busy = Callable[[SourcePartition], float | None]  # when a change was last cut; None: its log is not open
Tell = Callable[[WracklineError], None]


class _Pulse:
    """When to write to each partition next, and what was reported about it."""

    def __init__(
        self, source: Beating, busy: Busy, every: float, clock: Callable[[], float], tell: Tell
    ) -> None:
        self._source, self._busy, self._every, self._clock, self._tell = source, busy, every, clock, tell
        self._beaten: dict[SourcePartition, float] = {}
        self._last_codes: dict[SourcePartition, str] = {}

    def due(self, partition: SourcePartition) -> float:
        """Return the seconds until the next beat."""
        busy, now = self._busy(partition), self._clock()
        if busy is None:
            return self._every
        return max(busy, self._beaten.get(partition, busy)) + self._every - now

    def begins(self, partition: SourcePartition) -> None:
        """Note that it is written to now, or still is since the last time."""
        self._beaten[partition] = self._clock()

    def beat(self, partition: SourcePartition) -> None:
        """Write to it; the same error is reported once."""
        try:
            self._source.beat(partition)
        except WracklineError as error:
            if self._last_codes.get(partition) != error.code:
                self._last_codes[partition] = error.code
                self._tell(error)
        else:
            self._last_codes.pop(partition, None)


@contextmanager
def run_heartbeats(
    source: Source,
    partitions: Sequence[SourcePartition],
    busy: Busy,
    every: float,
    *,
    clock: Callable[[], float],
    tell: Tell,
) -> Iterator[None]:
    """Beat until the block is left; never, if `every` is 0 or the source has no heartbeats."""
    if every <= 0 or not isinstance(source, Beating):
        yield
        return
    pulse, stopping = _Pulse(source, busy, every, clock, tell), Event()
    crew = Crew(pulse.beat, "heartbeat")

    def run() -> None:
        while True:
            wait = min(pulse.due(partition) for partition in partitions)
            if stopping.wait(max(_LEAST_WAIT, wait)):
                return
            for partition in partitions:
                if pulse.due(partition) <= 0:
                    pulse.begins(partition)
                    crew.begin(partition)

    thread = Thread(target=run, name="heartbeats", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(_PATIENCE)
        crew.close(_PATIENCE)
