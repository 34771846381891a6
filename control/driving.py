"""One driver over one target until it is asked to stop: what `wrackline consume` and a script of feeds share.

    driver      consumers/driver.py, on this thread
    upkeep      beside it (consumers/tending.py)
    figures     served at consume.metrics.port, where that is named
    SIGTERM     the batches under way have LAST_WORD seconds to end, then they are let go: what was not
                committed is merged again by the next start
    SIGHUP      tables that stopped are tried again

In: how to look for news and how to merge it.  Out: what failed, of one round.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import orjson

from wrackline.consumers import plugin, topics
from wrackline.consumers.driver import Driver, Look, Merge, Pace, Wish
from wrackline.consumers.figures import Figures
from wrackline.consumers.metrics import families
from wrackline.consumers.standing import Patience
from wrackline.consumers.status import document
from wrackline.consumers.tending import Tending, Upkeep
from wrackline.consumers.writers import table_id
from wrackline.control.consume_telling import Teller
from wrackline.control.moments import now_ms
from wrackline.control.run import asked_to_stop
from wrackline.control.scrape_port import HOST, METRICS, STATUS, Page, metrics_page, serving
from wrackline.schemas import registry
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings import Values

LAST_WORD = 20.0  # seconds for what was begun, once it is asked to stop
_OUTAGES = frozenset({topics.KAFKA_UNREACHABLE.code, registry.UNREACHABLE.code})


@dataclass(frozen=True, slots=True)
class Driven:
    """What is driven, and who tells of it."""

    values: Values
    place: plugin.SparkTarget
    figures: Figures
    teller: Teller

    def drive(self, look: Look, merge: Merge, *, once: bool) -> Sequence[WracklineError]:
        """Merge until asked to stop, or once to where the topics are now; return what failed then."""
        values, teller = self.values, self.teller
        tending = Tending(upkeep(self.place, values), values.integer("consume.upkeep.interval.ms") / 1000)
        driver = Driver(look, merge, pace(values), teller, tending)
        with asked_to_stop() as asked, asked_to_resume() as resumed, self._served():
            teller.begins(values.text("target.kind"), os.getpid())
            if once:
                failed = driver.once()
                teller.ends(whole=True)
                return failed
            whole = driver.run(lambda: Wish.STOP if asked() else Wish.RESUME if resumed() else Wish.GO_ON)
            teller.ends(whole=whole)
        return []

    @contextmanager
    def _served(self) -> Iterator[None]:
        """Serve metrics and status, where a port is named."""
        port, began_ms = self.values.integer("consume.metrics.port"), now_ms()
        name, target = self.values.text("name"), self.values.text("target.kind")
        if not port:
            yield
            return

        def told() -> bytes:
            return orjson.dumps(document(self.figures, name, target, began_ms, now_ms()))

        pages = {
            METRICS: metrics_page(lambda: families(self.figures)),
            STATUS: Page("application/json", told),
        }
        with serving(port, pages, "consume.metrics.port"):
            self.teller.served(f"http://{HOST}:{port}{METRICS}")
            yield


def pace(values: Values) -> Pace:
    """Return how often and how patiently a pipeline's tables are merged."""
    in_all = values.integer("errors.retry.timeout")
    most_wait = values.integer("errors.retry.delay.max.ms") / 1000
    return Pace(
        values.integer("consume.trigger.interval.ms") / 1000,
        values.integer("consume.parallel.tables"),
        Patience(most_wait, None if in_all < 0 else in_all / 1000, _OUTAGES),
        LAST_WORD,
    )


def most_letters(values: Values) -> int:
    """Return how many dead letters a table may have; 0: what can't become a row stops it."""
    tolerant = values.text("errors.tolerance") == "all"
    return values.integer("errors.dead.letters.max") if tolerant else 0


def upkeep(place: plugin.SparkTarget, values: Values) -> Upkeep:
    """Return what tends a table; its topic is named as ours are.

    While it has dead letters it forgets no delete: one of them may be older, and is tried again some day.
    """
    retention_ms = values.integer("consume.delete.retention.ms")

    def tend(topic: str) -> plugin.Upkept:
        table = table_id(topic)
        before_ms = 0 if place.letters.spots(table) else now_ms() - retention_ms
        return place.upkeep(table, forget_before_ms=before_ms)

    return tend


@contextmanager
def asked_to_resume() -> Iterator[Callable[[], bool]]:
    """Hear SIGHUP; each is answered once."""
    heard: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda caught, _: heard.append(caught))

    def asked() -> bool:
        return bool(heard and heard.pop())

    try:
        yield asked
    finally:
        signal.signal(signal.SIGHUP, before)
