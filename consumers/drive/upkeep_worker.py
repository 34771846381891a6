"""Upkeep beside the batches: one table at a time, on a thread of its own, so that no batch waits for it.

In: which tables got a batch.  Out: upkeep of each such table, no sooner than an interval after its last,
and its outcome.  When the last one was is not kept beyond the process: it counts as if it had been at any
moment of the interval before the first batch, taken by chance.  So a table is tended once in an interval on
the average, also by consumers that never run for as long, and seldom by one that restarts in a loop.  It is
right because a target's upkeep changes nothing that a reader sees and gives way to a batch that commits
meanwhile: what fails is reported, and left for the next time.
"""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from wrackline.consumers.contract.target import UpkeepResult
from wrackline.schemas.errors import Transient, WracklineError, define

FAILED = define(
    "consume.upkeep_failed",
    Transient,
    "the upkeep of the table of topic {topic} did not succeed ({condition})",
    hint="its rows are right, and the upkeep is tried again; if it keeps failing, read Spark's log:"
    " wrackline consume <pipeline.toml> --spark-log spark.log",
)

Upkeep = Callable[[str], UpkeepResult]  # of a topic's table


@dataclass(frozen=True, slots=True)
class UpkeepOutcome:
    """The outcome of one table's upkeep."""

    topic: str
    seconds: float
    error: WracklineError | None
    did: UpkeepResult = field(default_factory=UpkeepResult)


class UpkeepWorker:
    """Tends the tables of one pipeline; called only on the driver's thread."""

    def __init__(
        self,
        upkeep: Upkeep,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Take the seconds between two upkeeps of a table; 0: there are none.  A chance is below 1."""
        self._upkeep, self._interval, self._clock, self._chance = upkeep, interval, clock, chance
        self._since: dict[str, float] = {}  # the last upkeep, or when it may have been
        self._under_way: dict[Future[UpkeepOutcome], str] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="upkeep")

    def merged(self, topic: str) -> None:
        """A table got a batch: tend it if it is time."""
        now = self._clock()
        since = self._since.get(topic)
        if since is None:
            since = self._since[topic] = now - self._interval * self._chance()
        if not self._interval or now - since < self._interval or self.is_under_way(topic):
            return
        self._since[topic] = now
        self._under_way[self._pool.submit(self._tend, topic)] = topic

    def is_under_way(self, topic: str) -> bool:
        """Whether a table's upkeep has begun, or waits, and its end was not yielded."""
        return topic in self._under_way.values()

    def done(self) -> Iterator[UpkeepOutcome]:
        """Yield what has ended since the last call."""
        for future in [one for one in self._under_way if one.done()]:
            del self._under_way[future]
            yield future.result()

    def close(self) -> None:
        """Begin no more; what is under way ends with its target."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _tend(self, topic: str) -> UpkeepOutcome:
        begun, error, did = self._clock(), None, UpkeepResult()
        try:
            did = self._upkeep(topic)
        except WracklineError as found:
            error = found
        except Exception as exc:  # noqa: BLE001 - nothing of it may end the batches; its text may show values
            error = FAILED(topic=topic, condition=type(exc).__name__)
            error.__cause__ = exc
        return UpkeepOutcome(topic, self._clock() - begun, error, did)
