"""The records of a range, read into the driver's memory.

In: a range that topic_offsets.py found, and the settings of client_settings.py.  Out: its records, as
`read_committed` shows them, or as many of the first ones as there is memory for; or None, where Spark's
source has to read the range: it has too many offsets, or something is not as expected, and Spark says what.
A client that has read a range is used again for the next one, because a new one has to find the brokers
first.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, LifoQueue
from threading import Lock
from typing import Any, Final, Protocol

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.kafka.client_settings import reader_settings
from wrackline.consumers.kafka.native_consumer import NativeConsumer, NativeError, librdkafka
from wrackline.consumers.newest.fetched_records import COMPILED, FetchedRecords

SMALL_OFFSETS: Final = 5_000  # several threads may read such a range at once
MOST_OFFSETS_OF_A_CLUSTER: Final = 100_000  # beyond it its tasks are faster than its driver
_PATIENCE: Final = 20.0  # seconds without a message
_LOOK: Final = 1.0
_MOST_BYTES: Final = 256 << 20
_MOST_SMALL_BYTES: Final = 16 << 20


class Fetching(Protocol):
    """What hands messages over."""

    def fetch(self, into: FetchedRecords, wait_s: float) -> int:
        """Add what is there; return how many messages came."""
        ...


class RecordReader:
    """Reads ranges; any thread may ask, and each has a client of its own meanwhile."""

    def __init__(self, settings: Mapping[str, Any], group: str, *, is_local: bool = False) -> None:
        """Take the client's settings, and a group that it may name: nothing is kept in it.

        `is_local` says that Spark has no other machine, which could read a large range faster.
        """
        self._settings = {
            **reader_settings(settings, group),
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 10,  # at the end of a topic nothing more is waited for
            "queued.max.messages.kbytes": _MOST_SMALL_BYTES >> 10,
            "queued.min.messages": 500_000,
            "fetch.queue.backoff.ms": 10,  # else a full queue is left alone for a second
        }
        self._most = SMALL_OFFSETS
        if COMPILED:
            self._most = 2**63 if is_local else MOST_OFFSETS_OF_A_CLUSTER
        self._idle: LifoQueue[NativeConsumer] = LifoQueue()
        self._is_closed = False
        self._one_large = Lock()
        self._sizes: dict[str, float] = {}  # bytes of an offset, by topic, as it was seen last

    def fits(self, wanted: BatchRange) -> bool:
        """Whether a range has few enough offsets."""
        return wanted.offsets <= self._most and librdkafka() is not None

    @contextmanager
    def turn(self, wanted: BatchRange) -> Iterator[None]:
        """Wait until there is memory for a range: of large ones there is one at a time."""
        if self._is_small(wanted):
            yield
        else:
            with self._one_large:
                yield

    def _is_small(self, wanted: BatchRange) -> bool:
        bytes_ = self._sizes.get(wanted.topic, 0.0) * wanted.offsets
        return wanted.offsets <= SMALL_OFFSETS and bytes_ <= _MOST_SMALL_BYTES

    def read(self, wanted: BatchRange) -> FetchedRecords | None:
        """Return the records of a range, or of its beginning; None: Spark has to read it."""
        at = {partition: start for partition, start in wanted.start.items() if start < wanted.end[partition]}
        most = _MOST_SMALL_BYTES if self._is_small(wanted) else _MOST_BYTES
        found = FetchedRecords(wanted.topic, at, wanted.end, most)
        read, consumer = False, None
        try:
            consumer = self._client()
            if consumer is None:
                return None
            consumer.assign(wanted.topic, at)
            read = read_records(consumer, found)
            consumer.unassign()
        except NativeError:
            read = False
        finally:
            if consumer is not None and (found.full or not read):  # it may have fetched what nobody wants
                consumer.close()
        if len(found):
            self._sizes[wanted.topic] = found.size / len(found)
        if consumer is None or not read:
            return None
        if found.full:
            return found
        self._idle.put(consumer)
        if self._is_closed:
            self.close()
        return found

    def close(self) -> None:
        """Leave Kafka; a client that is in use does so when it has read its range."""
        self._is_closed = True
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _client(self) -> NativeConsumer | None:
        native = librdkafka()
        if native is None:
            return None
        try:
            return self._idle.get_nowait()
        except Empty:
            return NativeConsumer(native, self._settings)


def read_records(consumer: Fetching, found: FetchedRecords) -> bool:
    """Read to the ends, or until there is no more room; False: something is odd, or it takes too long."""
    progress = time.monotonic()
    while not (found.done or found.odd or found.full):
        before = found.reached
        consumer.fetch(found, _LOOK)
        now = time.monotonic()
        if found.reached != before:
            progress = now
        elif now - progress > _PATIENCE:
            return False
    return not found.odd and (found.done or len(found) > 0)
