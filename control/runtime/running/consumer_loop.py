"""One driver over one target until it is asked to stop: what `wrackline consume` and a script of feeds share.

    driver      consumers/drive/driver.py, on this thread
    upkeep      beside it (consumers/drive/upkeep_worker.py)
    figures     served at consume.metrics.port, where that is named
    SIGTERM     the batches under way have LAST_WORD seconds to end, then they are abandoned: what was not
                committed is merged again by the next start
    SIGHUP      tables that stopped are tried again

In: how to look for news and how to merge it.  Out: what failed, of one round.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from wrackline.consumers.contract.target import SparkTarget, UpkeepResult
from wrackline.consumers.drive import claim
from wrackline.consumers.drive.driver import (
    Driver,
    DriverPace,
    DriverRequest,
    DriverWishes,
    Merge,
    PollEnds,
)
from wrackline.consumers.drive.leaving import CopyRemover
from wrackline.consumers.drive.retry_state import RetryLimits
from wrackline.consumers.drive.upkeep_worker import Upkeep, UpkeepWorker
from wrackline.consumers.kafka.topic_offsets import KAFKA_UNREACHABLE
from wrackline.consumers.observe.figures import ConsumerFigures
from wrackline.consumers.observe.metrics import families
from wrackline.consumers.observe.slo_figures import SloFigures
from wrackline.control.runtime.ground.scrape_port import HOST, METRICS, metrics_page, serve_pages
from wrackline.control.runtime.ground.stop_signals import hear_resume_signal, hear_stop_signals
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.running.consumer_log import ConsumerLog
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import schema_registry
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.settings.settings_registry import Values

LAST_WORD = 20.0  # seconds to finish what it began, after a request to stop
_OUTAGES = frozenset({KAFKA_UNREACHABLE.code, claim.UNCONFIRMED.code, schema_registry.UNREACHABLE.code})


@dataclass(frozen=True, slots=True)
class ConsumerLoop:
    """What is driven, and what logs it."""

    values: Values
    place: SparkTarget
    figures: ConsumerFigures
    teller: ConsumerLog
    begun: Callable[[], None] = lambda: None
    wishes: DriverWishes | None = None
    leaving: CopyRemover | None = None
    slo: SloFigures | None = None

    def drive(self, look: PollEnds, merge: Merge, *, once: bool) -> Sequence[WracklineError]:
        """Merge until asked to stop, or once to where the topics are now; return what failed then."""
        values, teller = self.values, self.teller
        tending = UpkeepWorker(table_upkeep(self.place, values), upkeep_interval(self.place, values))
        driver = Driver(look, merge, pace(values), teller, tending, wishes=self.wishes, leaving=self.leaving)
        with hear_stop_signals() as asked, hear_resume_signal() as resumed, self._served():
            teller.begins(values.text("target.kind"), os.getpid())
            self.begun()
            if once:
                failed = driver.once()
                teller.ends(whole=True)
                return failed
            whole = driver.run(
                lambda: (
                    DriverRequest.STOP
                    if asked()
                    else DriverRequest.RESUME
                    if resumed()
                    else DriverRequest.GO_ON
                )
            )
            teller.ends(whole=whole)
        return []

    @contextmanager
    def _served(self) -> Iterator[None]:
        """Serve metrics, where a port is named."""
        port = self.values.integer("consume.metrics.port")
        if not port:
            yield
            return
        pages = {METRICS: metrics_page(lambda: families(self.figures, self.slo))}
        with serve_pages(port, pages, "consume.metrics.port"):
            self.teller.served(f"http://{HOST}:{port}{METRICS}")
            yield


def pace(values: Values) -> DriverPace:
    """Return how often and how patiently a pipeline's tables are merged."""
    in_all = values.integer("errors.retry.timeout")
    most_wait = values.integer("errors.retry.delay.max.ms") / 1000
    return DriverPace(
        values.integer("consume.trigger.interval.ms") / 1000,
        values.integer("consume.parallel.tables"),
        RetryLimits(most_wait, None if in_all < 0 else in_all / 1000, _OUTAGES),
        LAST_WORD,
    )


def upkeep_interval(place: SparkTarget, values: Values) -> float:
    """Return the seconds between two upkeeps of a table: those that are set, else the target's own."""
    name = "consume.upkeep.interval.ms"
    return (place.can.upkeep_ms if values[name] is None else values.integer(name)) / 1000


def table_upkeep(place: SparkTarget, values: Values) -> Upkeep:
    """Return what tends a table; its topic is named as ours are.

    While it has dead letters it forgets no delete: one of them may be older, and is tried again some day.
    """
    retention_ms = values.integer("consume.delete.retention.ms")

    def tend(topic: str) -> UpkeepResult:
        table = table_of(topic)
        before_ms = 0 if place.letters.spots(table) else max(0, now_ms() - retention_ms)
        return place.upkeep(table, forget_before_ms=before_ms)

    return tend
