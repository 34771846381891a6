"""What the tests of publishing share: a publisher on a real broker, and a reader of what was committed."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol
from zlib import crc32

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.fakes.place import Place
from wrackline.producers.contract.steps import Fault
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.cutting.record_buffer import Record
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity, client
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.kafka.topic_creation import TopicCreation, TopicCreator, TopicGroup
from wrackline.producers.kafka.transactor import OffsetsSlot, Transactor
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import orders

PATIENCE = 60.0
CONNECTOR = "shop"


def until(done: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + patience
    while not done():
        assert time.monotonic() < deadline, f"not within {patience:.0f} s: {what}"
        time.sleep(0.02)


def topic_arrives(admin: AdminClient, topic: str, partitions: int) -> None:
    """Wait until the broker has this many partitions of a topic; the controller answers a moment before."""

    def is_there() -> bool:
        found = admin.list_topics(timeout=30).topics.get(topic)
        return found is not None and len(found.partitions) == partitions

    until(is_there, f"{topic} has {partitions} partitions")


@dataclass(frozen=True)
class Names:
    """Names of one test's things in Kafka."""

    prefix: str

    @property
    def offsets(self) -> str:
        return f"{self.prefix}-offsets"

    @property
    def partition(self) -> SourcePartition:
        return SourcePartition(self.prefix, "db0")

    @property
    def table(self) -> TableId:
        return orders(self.partition).id

    @property
    def topic(self) -> str:
        return f"{self.prefix}.{self.table}"

    def publication(self, end: int, *records: Record, new: bool = True) -> Publication:
        """Some records and the place after them."""
        size = sum(len(value or b"") for _, _, value in records)
        topics = sorted({record[0] for record in records}) if new else []
        checksum = sum(crc32(value or b"") for _, _, value in records) & 0xFFFF_FFFF
        return Publication(
            self.partition, records, size, checksum, topics, Place(0, end), Place(0, end), {}, None
        )

    def events(self, *values: str) -> list[Record]:
        return [(self.topic, b"key", value.encode()) for value in values]


class HasOffsets(Protocol):
    """Names a group and its topic of offsets."""

    @property
    def prefix(self) -> str: ...

    @property
    def offsets(self) -> str: ...


def made_publisher(  # each argument is one thing that a test changes
    bootstrap: str,
    names: HasOffsets,
    *,
    kafka: Client | None = None,
    generation: int = 1,
    newest: Callable[[], int] | None = None,
    task: int = 0,
    slots: int = 2,
    transactor: Callable[..., Transactor] = Transactor,
    clock: Callable[[], float] = time.monotonic,
    group: TopicGroup = TopicGroup(2),  # noqa: B008 - frozen
    groups: tuple[TopicGroup, ...] = (),
) -> Publisher:
    """A publisher of task 0, whose offsets topic is there."""
    of = kafka or client(bootstrap)
    admin = AdminClient(of.admin())
    offsets_topic.prepare_offsets(admin, names.offsets, slots, 1)
    topics = TopicCreator(admin, TopicCreation(group, groups), of.most_record_bytes)
    identity = Identity(names.prefix, CONNECTOR, task, generation)
    made = Publisher(
        identity,
        of,
        OffsetsSlot(names.offsets, task),
        topics,
        admin,
        generation=newest or (lambda: generation),
        clock=clock,
    )
    made.make_transactor = transactor
    return made


def surely(publisher: Publisher, publication: Publication) -> None:
    """Publish as a task does: after an error, only what is not there yet."""
    wanted = offsets_records.canonical_json(publication.position.saved())
    for _ in range(20):
        try:
            publisher.publish([publication])
        except Transient:
            state = publisher.start()
            if any(offset.position == wanted for offset in state.positions.values()):
                return
        else:
            return
    raise AssertionError("twenty tries were not enough")


def committed(bootstrap: str, topic: str) -> list[Record]:
    """What a read_committed reader sees, partition by partition; an open transaction ends its view."""
    reader = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        there = reader.list_topics(topic, timeout=20).topics[topic]
        if there.error is not None:
            return []
        left = set(there.partitions)
        reader.assign([TopicPartition(topic, partition, 0) for partition in left])
        found: dict[int, list[Record]] = {partition: [] for partition in sorted(left)}
        while left:
            message = reader.poll(20)
            assert message is not None, f"{topic} is not readable to its end"
            error, partition = message.error(), message.partition() or 0
            if error is None:
                key, value = message.key(), message.value()
                assert not isinstance(key, str)
                assert not isinstance(value, str)
                found[partition].append((topic, key, value))
            else:
                assert error.code() == KafkaError._PARTITION_EOF
                left.discard(partition)
        return [record for records in found.values() for record in records]
    finally:
        reader.close()


def values(bootstrap: str, topic: str) -> list[str]:
    """The values of what is committed."""
    return [(value or b"").decode() for _, _, value in committed(bootstrap, topic)]


def offset_records(bootstrap: str, topic: str) -> list[offsets_records.OffsetsRecord]:
    """The committed records of an offsets topic of one used slot."""
    return [
        offsets_records.parse(offsets_records.RecordPlace(topic, 0, number), key, value)
        for number, (_, key, value) in enumerate(committed(bootstrap, topic))
    ]


@dataclass
class Notes:
    """A witness that remembers."""

    healths: list[tuple[Health, Exception | None]] = field(default_factory=list)
    states: list[OffsetsState] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    of_databases: list[str] = field(default_factory=list)

    def health(self, health: Health, error: Exception | None) -> None:
        self.healths.append((health, error))

    def database(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        if error is not None:
            self.of_databases.append(f"{partition.database} {health.value}: {error.code}")

    def resumed(self, state: OffsetsState) -> None:
        self.states.append(state)

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        del partition
        self.faults.append(fault)

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        del publications
        self.commits.append(commit_seconds)

    @property
    def errors(self) -> list[str]:
        """The codes of what was recovered from."""
        return [str(getattr(error, "code", error)) for _, error in self.healths if error is not None]


class NoControl:
    """Only rows."""

    counts = False

    def begin(self, transaction: str, ts_ms: int) -> Record:
        raise NotImplementedError

    def end(self, transaction: str, ts_ms: int, counts: Mapping[TableId, int]) -> Record:
        raise NotImplementedError

    def heartbeat(self) -> Record:
        raise NotImplementedError

    def message(self, step: object, ts_ms: int) -> None:
        """Publish no messages."""

    def unfit(self, *_: object) -> None:
        """Nothing is set aside."""

    def shape(self, step: object, ts_ms: int) -> None:
        """Publish no schema changes."""

    def coming(self, step: object, ts_ms: int) -> None:
        """Nor of tables that come and go."""


@contextmanager
def running(run: Callable[[], None], stopping: threading.Event) -> Iterator[list[BaseException]]:
    """Run a task beside the test; leaving the block stops it, and its error is in the list."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            errors.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    try:
        yield errors
    finally:
        stopping.set()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the task does not stop"


def chance() -> float:
    return random.random()
