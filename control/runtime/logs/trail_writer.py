"""Sends lines to a topic that is kept for some days, and never keeps anybody waiting.

    any thread --put--> the last 1,000 lines --> one thread --> Kafka

While Kafka is away the newest lines are kept, and sent when it answers.  An error is logged at the level
of debugging, because standard error has every line anyway.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Event, Lock, Thread
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from wrackline.control.runtime.logs.line_rate import MOST_A_SECOND, Line, LineRate
from wrackline.control.runtime.logs.lines import line_bytes
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client
from wrackline.schemas.errors import WracklineError

KEPT: Final = 1_000  # lines that wait
_LOOK_S: Final = 0.25
_AGAIN_S: Final = 5.0  # after Kafka did not answer
_LAST_S: Final = 2.0
_LEAVE_S: Final = 3.0
_DAY_MS: Final = 86_400_000
_LOG: Final = logging.getLogger(__name__)


class TrailWriter:
    """The lines that wait, and the thread that sends them."""

    def __init__(
        self,
        client: Client,
        topic: str,
        days: int,
        most: float = MOST_A_SECOND,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._topic, self._days, self._clock = client, topic, days, clock
        self._waiting: deque[bytes] = deque(maxlen=KEPT)
        self._returned: list[bytes] = []  # that Kafka did not take, oldest first
        self._rate, self._lock, self._ending = LineRate(most), Lock(), Event()
        self._thread = Thread(target=self._run, name="trail", daemon=True)
        self._thread.start()

    def put(self, line: Line) -> None:
        """Send a line some time; it never waits, and any thread may call it."""
        with self._lock:
            self._keep(self._rate.admit(line, self._clock()))

    def close(self) -> None:
        """Send what waits, for a while, and end."""
        self._ending.set()
        self._thread.join(_LEAVE_S)

    def _keep(self, lines: list[Line]) -> None:
        now_ms = round(self._clock() * 1000)
        self._waiting.extend(line_bytes({"ts_ms": now_ms, **line}) for line in lines)

    def _run(self) -> None:
        producer: Producer | None = None
        ended = False
        while not ended:
            ended = self._ending.wait(_LOOK_S)
            try:
                if producer is None and self._waiting:
                    producer = self._prepared()
                if producer is not None:
                    self._send(producer, last=ended)
            except (WracklineError, KafkaException) as error:
                _LOG.debug("lines can't be sent to %s now: %s", self._topic, type(error).__name__)
                ended = ended or self._ending.wait(_AGAIN_S)
        if producer is not None:
            producer.flush(_LAST_S)

    def _prepared(self) -> Producer:
        offsets_topic.prepare_trail(AdminClient(self._client.admin()), self._topic, self._days * _DAY_MS)
        return Producer(self._client.reporter("trail"))

    def _send(self, producer: Producer, *, last: bool) -> None:
        with self._lock:
            self._keep(self._rate.due(self._clock() + last))  # at the end, the second is taken for over
            room = KEPT - len(self._waiting)  # newer lines have the place of the others
            self._waiting.extendleft(reversed(self._returned[-room:] if room else []))
            self._returned = []
        while self._waiting and len(producer) < KEPT:
            line = self._waiting.popleft()
            try:
                producer.produce(self._topic, line, partition=0, on_delivery=partial(self._delivered, line))
            except BufferError:  # long lines fill the client's memory before there are so many
                self._returned.append(line)
                break
        producer.poll(0)

    def _delivered(self, line: bytes, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._returned.append(line)


@contextmanager
def open_trail(
    client: Client, topic: str, days: int, most: float = MOST_A_SECOND
) -> Iterator[Callable[[Mapping[str, object]], None]]:
    """Yield what sends a line, at most so many a second, until the block ends."""
    writer = TrailWriter(client, topic, days, most)
    try:
        yield writer.put
    finally:
        writer.close()
