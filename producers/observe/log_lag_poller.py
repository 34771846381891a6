"""Looks at each log from outside every few seconds, on a connection of its own, in a thread of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from wrackline.producers.contract.optional_parts import Attended, LogState
from wrackline.producers.contract.source_plugin import Source
from wrackline.producers.contract.steps import Position
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import SourcePartition

EVERY = 3.0  # seconds

OnLogState = Callable[[SourcePartition, LogState | None], None]
ConfirmedOf = Callable[[SourcePartition], Position | None]  # what Kafka has of a log, if known


@contextmanager
def poll_logs(
    source: Source, confirmed: ConfirmedOf, looked: OnLogState, every: float = EVERY
) -> Iterator[None]:
    """Look until the block is left; a source that can't be looked at is skipped."""
    if not isinstance(source, Attended):
        yield
        return
    stopping = Event()
    partitions = source.partitions()
    attended: Attended = source

    def look() -> None:
        while True:
            for partition in partitions:
                looked(partition, _state(attended, partition, confirmed(partition)))
            if stopping.wait(every):
                return

    thread = Thread(target=look, name="log watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(every)


def _state(source: Attended, partition: SourcePartition, confirmed: Position | None) -> LogState | None:
    try:
        return source.log_state(partition, confirmed)
    except WracklineError:  # the task itself reports what is wrong with the server
        return None
