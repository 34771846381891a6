"""Looks at each log from outside every few seconds, on a connection of its own, in a thread of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from wrackline.producers.changes import Position
from wrackline.producers.plugin import Attended, LogState, Source
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.table import SourcePartition

EVERY = 3.0  # seconds

Looked = Callable[[SourcePartition, LogState | None], None]
Confirmed = Callable[[SourcePartition], Position | None]  # what Kafka has of a log, as far as it is known


@contextmanager
def watching(source: Source, confirmed: Confirmed, looked: Looked, every: float = EVERY) -> Iterator[None]:
    """Look until the block is left; a source that can't be looked at is left alone."""
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
    except WracklineError:  # the task says by itself what is wrong with the server
        return None
