"""One-row transactions at a steady rate, and when a `read_committed` consumer sees each.

    Writer: id -> moment before its INSERT is sent        Reader: id -> moment when its event is there

The clock of each starts before its INSERT is sent, so the figure includes the commit.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from bench.address import Address
from bench.peers.slot import connect

_EVERY_S: Final = 0.001
_KEY_AT: Final = 5  # behind the wire format's head the id follows as Avro's long


class Writer(threading.Thread):
    """Inserts rows with ids that count up, this many or until it is asked to stop."""

    def __init__(
        self, at: Address, table: str, insert: str, most: int | None = None, every_s: float = _EVERY_S
    ) -> None:
        """Take the statement, with one place for the id."""
        super().__init__(daemon=True)
        self.sent: dict[int, float] = {}
        self._at, self._table, self._insert, self._most = at, table, insert, most
        self._every_s = every_s
        self._ending = threading.Event()

    def run(self) -> None:
        """Write at the rate, or as fast as it goes where the database is slower."""
        with connect(self._at) as session:
            row = session.execute(f"select coalesce(max(id), 0) from {self._table}").fetchone()
            base = int(row[0]) + 1 if row else 1
            began, number = time.perf_counter(), 0
            while number != self._most and not self._ending.is_set():
                ahead = began + number * self._every_s - time.perf_counter()
                if ahead > 0:
                    time.sleep(ahead)
                self.sent[base + number] = time.perf_counter()
                session.execute(self._insert, [base + number], prepare=True)
                number += 1

    def end(self) -> None:
        """Write no more."""
        self._ending.set()
        self.join()


class Reader:
    """Reads topics of one partition each from their beginning; no two of them have the same ids."""

    def __init__(self, bootstrap: str, *topics: str, id_of: Callable[[bytes], int] | None = None) -> None:
        """Take what reads the id out of a record's key, where that is not our own Avro."""
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-pulse",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 5,
            "fetch.queue.backoff.ms": 1,
        }
        self.seen: dict[int, float] = {}
        self._id_of = id_of or _avro_id
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(topic, 0, 0) for topic in topics])

    def read(self, enough: Callable[[], bool], check: Callable[[float], None]) -> None:
        """Read until it is enough; `check` gets the number of seconds without news, and may raise."""
        since = time.monotonic()
        while not enough():
            for message in self._consumer.consume(100, 0.001):
                if (error := message.error()) is not None:
                    raise KafkaException(error)
                self.seen[self._id_of(message.key() or b"")] = time.perf_counter()
                since = time.monotonic()
            check(time.monotonic() - since)

    def close(self) -> None:
        """Leave the topic."""
        self._consumer.close()


def waits_ms(sent: Mapping[int, float], seen: Mapping[int, float]) -> Sequence[float]:
    """How long each took that was sent, in order of length."""
    return sorted(1000 * (seen[key] - moment) for key, moment in sent.items())


def _avro_id(key: bytes) -> int:
    """Read Avro's zigzag."""
    value = shift = 0
    for byte in key[_KEY_AT:]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return value >> 1 ^ -(value & 1)
