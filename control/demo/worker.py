"""The worker as a process of its own, so that it can be killed: PostgreSQL's log into Kafka, exactly once.

In: a pipeline's file.  Out: the product's own task, run until SIGTERM.  Each start claims a generation in
Kafka, so whoever was killed, or only frozen, can't publish any more.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from wrackline.control.demo import settings
from wrackline.control.demo.worker_process import READY
from wrackline.control.moments import now_ms
from wrackline.producers.assembly import Owner, task
from wrackline.producers.batching import Publication
from wrackline.producers.changes import Fault
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.ownership import Ownership
from wrackline.producers.lanes import Health
from wrackline.producers.pace import Moments
from wrackline.producers.plugin import load
from wrackline.schemas.offset_replay import State
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition

_TASK = 0  # the only one


class Watch:
    """Says when the worker streams, and ends it at the first table that can't be carried."""

    def __init__(self, ready: Path) -> None:
        self._ready = ready

    def health(self, health: Health, error: Exception | None) -> None:
        """Note that the log is streamed; what is tried again goes to the log."""
        if error is not None:
            sys.stderr.write(f"{health.value}: {error}\n")
        if health is Health.RUNNING:
            unfinished = self._ready.with_suffix(".part")
            unfinished.write_text(str(os.getpid()))
            unfinished.replace(self._ready)  # whoever waits finds a whole number

    def resumed(self, state: State) -> None:
        """Take notice of nothing: where a task goes on is its own affair."""

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """Stop: the demo's copy could not be exact any more."""
        del partition
        raise fault.error

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Take notice of nothing: the demo counts what a reader of the topic sees."""


def main() -> None:
    """Stream the pipeline of the named file until SIGTERM."""
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    file = Path(sys.argv[1])
    values = settings.read(file)
    chance = random.Random().random  # noqa: S311 - it spreads waits, and keeps no secret
    moments = Moments(time.monotonic, now_ms, chance)
    watch = Watch(file.with_name(READY))
    with task(load("postgres"), values, _owner(values), watch, moments, stopping) as made:
        made.run()


def _owner(values: Values) -> Owner:
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    ownership = Ownership(client, settings.GROUP, values.text("name"), _TASK)
    ownership.prepare()
    claimed = ownership.claim(time.monotonic)
    return Owner(settings.GROUP, _TASK, ownership.newest, claimed.generation)


if __name__ == "__main__":
    main()
