"""Where a task's requests come from, and what is known of them: the topics of signals and of receipts.

In: the settings, and the one client that asks brokers for the whole task.  Out: for each source partition a
channel of requests, and its receipts as Kafka has them.  What is the same for all partitions is done once:
two hundred databases would ask the brokers the same two hundred times.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

from confluent_kafka.admin import AdminClient

from wrackline.producers.cutting.control_records import ControlRecords
from wrackline.producers.kafka import requests_topic, signal_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.requests_topic import SharedReceipts
from wrackline.producers.kafka.signal_topic import SignalTopic, SignalTopicEnd
from wrackline.producers.reading.receipt_records import ReceiptRecords
from wrackline.producers.reading.request_intake import RequestChannel
from wrackline.producers.reading.resting_channel import RestingChannel
from wrackline.producers.task.task_limits import Clocks
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.receipts import Receipt, ReceiptKey, fold
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition

ControlOf = Callable[[SourcePartition], ControlRecords]


@dataclass(slots=True)
class TaskRequests:
    """The requests of one task; partitions are opened on several threads."""

    values: Values
    client: Client
    identity: Identity
    admin: AdminClient
    replication: int
    moments: Clocks
    tell: Callable[[WracklineError], None]
    _lock: Lock = field(default_factory=Lock)
    _there: bool = False  # the topic of signals

    @contextmanager
    def signals(self, own: str, *, alone: bool) -> Iterator[Callable[[SourcePartition], RequestChannel]]:
        """Offer a reader of signals for each partition, because each has its own tables."""
        given = self.values["signal.kafka.topic"]
        topic = own if given is None else str(given)
        if alone:
            yield partial(self._signals, topic)
            return
        with closing(SignalTopicEnd(self.client.reader(self.identity), topic)) as end:
            yield partial(self._resting, topic, end)

    def receipts(self, control_of: ControlOf) -> Callable[[SourcePartition], ReceiptRecords]:
        """Continue with what Kafka has; the task's forerunners are shut out, its neighbours are not.

        The topic is created if it is missing: if it was deleted, its receipts are lost, but nothing stops.
        """
        topic = internal_topics(self.identity.group).requests
        return partial(self._receipts, topic, SharedReceipts(partial(self._read, topic)), control_of)

    def _resting(self, topic: str, end: SignalTopicEnd, partition: SourcePartition) -> RestingChannel:
        self._prepare(topic)
        return RestingChannel(partial(self._signals, topic, partition), end, self.moments.monotonic)

    def _signals(self, topic: str, partition: SourcePartition) -> SignalTopic:
        there = self._prepare(topic)
        reads = replace(self.identity, connector=f"{self.identity.connector}.{partition.database}")
        server = self.values.text("topic.prefix")
        return SignalTopic(self.client.reader(reads), topic, server, there=there)

    def _prepare(self, topic: str) -> bool:
        with self._lock:
            self._there = self._there or signal_topic.prepare_signals(self.admin, topic, self.replication)
            return self._there

    def _read(self, topic: str) -> list[tuple[ReceiptKey, Receipt]]:
        requests_topic.prepare_requests(self.admin, topic, self.replication, self.client.most_record_bytes)
        reader, clock = self.client.reader(self.identity), self.moments.monotonic
        return list(requests_topic.read_beside_others(self.admin, reader, topic, self.tell, clock))

    def _receipts(
        self, topic: str, shared: SharedReceipts, control_of: ControlOf, partition: SourcePartition
    ) -> ReceiptRecords:
        connector = self.identity.connector
        return ReceiptRecords(
            connector,
            partition,
            topic,
            fold(shared.of(connector, partition)),
            clock=self.moments.monotonic,
            now_ms=self.moments.now_ms,
            tell=self.tell,
            notify=control_of(partition).notify,
        )
