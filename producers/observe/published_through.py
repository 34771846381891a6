"""Through which moment all changes of a log are in Kafka, by this process's clock.

    moment -> the log's end asked (log_lag_poller.py) -> everything up to a place is in Kafka (task_loop.py)

The moment is ours, not the server's: a keepalive of PostgreSQL has the server's time, but the place beside it
is only that of its decoder, which may be far behind; and a commit's own time is taken before others see it.
What a SELECT showed at our moment ends before the log's end that was asked for after it.
"""

from threading import Lock

from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.steps import Position, Progress
from wrackline.schemas.kafka.moment_queue import MomentQueue


class PublishedThrough:
    """Follows one log; any thread may call."""

    def __init__(self) -> None:
        self._moments: MomentQueue[Mark] = MomentQueue()
        self._reached: Progress | None = None
        self._lock = Lock()

    @property
    def at_ms(self) -> int | None:
        """The moment; None: not known yet."""
        return self._moments.through

    def take_end(self, at_ms: int, end: Mark) -> None:
        """Take a moment, and the log's end as it was asked for after it."""
        with self._lock:
            self._moments.add(at_ms, end)
            self._reach()

    def reached(self, position: Position) -> None:
        """Take that all up to a place is in Kafka."""
        with self._lock:
            self._reached = Progress(position)
            self._reach()

    def reopened(self) -> None:
        """Take that the log is opened again, perhaps another one: its places are new."""
        with self._lock:
            self._reached = None
            self._moments.forget()

    def _reach(self) -> None:
        if (step := self._reached) is not None:
            self._moments.reach(lambda end: end.passed(step))
