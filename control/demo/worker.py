"""The worker as a process of its own, so that it can be killed: PostgreSQL's log into Kafka, exactly once.

In: a pipeline's file.  Out: events, and with them in the same Kafka transaction where to go on.  It is right
after `kill -9` because the database is told only what Kafka has committed, and because the next worker reads
its place from Kafka after it has fenced this one.  Unoptimised: one batch, one transaction.
"""

import os
import signal
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from wrackline.control.demo import settings
from wrackline.control.demo.worker_process import READY
from wrackline.producers.changes import Batch, Commit, Fault, Position, Rows, Saved, Shape, Truncate
from wrackline.producers.plugin import LogStream, WriterIds, load
from wrackline.schemas import offsets
from wrackline.schemas.envelope import dump, key_schema, value_schema
from wrackline.schemas.errors import Transient
from wrackline.schemas.offset_replay import replay
from wrackline.schemas.registry import Access, Registry
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableId, TableSchema
from wrackline.schemas.topics import internal_topics, table_topic

_TRIES = 50
_BETWEEN_TRIES = 0.2
_PATIENCE = 30.0


class Topics:
    """Registers schemas and makes topics, each once."""

    def __init__(self, values: Values) -> None:
        self._server = values.text("topic.prefix")
        self._partitions = values.integer("topic.creation.default.partitions")
        self._admin = AdminClient({"bootstrap.servers": values.text("kafka.bootstrap.servers")})
        self._registry = Registry(Access(values.listed("schema.registry.url")[0]))
        self._made: set[str] = set()

    def register(self, table: TableSchema) -> WriterIds:
        """Return the ids of a table's schemas."""
        topic = table_topic(self._server, table.id)
        key = key_schema(table, topic=topic)
        fields = load("postgres").source_fields
        value = value_schema(table, topic=topic, connector="postgresql", source_fields=fields)
        return WriterIds(
            None if key is None else self._registry.register(f"{topic}-key", dump(key)),
            self._registry.register(f"{topic}-value", dump(value)),
        )

    def ensure(self, topic: str, partitions: int | None = None, **config: str) -> None:
        """Make a topic if it is not there."""
        if topic in self._made:
            return
        new = NewTopic(topic, partitions or self._partitions, 1, config=config)
        try:
            self._admin.create_topics([new])[topic].result(_PATIENCE)
        except KafkaException as exc:
            if exc.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        self._made.add(topic)

    def of(self, table: TableId) -> str:
        """Return a table's topic, which is there from its first event on."""
        topic = table_topic(self._server, table)
        self.ensure(topic)
        return topic


class Publisher:
    """One transactional id: events and the place they lead to, committed together."""

    def __init__(self, values: Values, topics: Topics, partition: SourcePartition) -> None:
        brokers = {"bootstrap.servers": values.text("kafka.bootstrap.servers")}
        name = values.text("name")
        self._topics, self._topic = topics, internal_topics("wrackline").offsets
        self._key = offsets.position_key(name, partition)
        topics.ensure(self._topic, 1, **{"cleanup.policy": "compact"})
        self._producer = Producer(
            brokers
            | {
                "transactional.id": f"{name}-0",
                "partitioner": "murmur2_random",
                "message.max.bytes": 67108864,
            }
        )
        self._producer.init_transactions(_PATIENCE)  # from here on, whoever had this id can't publish
        found = replay(_records(brokers, self._topic)).resume(name, partition)
        self.saved: Saved | None = None if found is None else orjson.loads(found.position)
        self._generation = 1 if found is None else found.generation + 1
        self._previous = None if found is None else found.position
        self._n = 0
        self._tables: dict[int, TableId] = {}

    def publish(self, batch: Batch) -> Position | None:
        """Commit a batch and return the place after it; None when it holds nothing to publish."""
        after: Position | None = None
        events = checksum = 0
        for step in batch.steps:
            match step:
                case Fault():
                    raise step.error
                case Shape():
                    self._tables[step.ref] = step.table.id
                case Commit() if after is not None:
                    after = step.position
                case Rows() | Truncate():
                    if after is None:
                        self._producer.begin_transaction()
                    after = step.upto
                    for topic, key, value in self._written(step):
                        self._producer.produce(topic, value, key)
                        events += 1
                        checksum = zlib.crc32(value or b"", checksum)
        if after is not None:
            self._finish(after, events, checksum)
        return after

    def _written(self, step: Rows | Truncate) -> Sequence[tuple[str, bytes | None, bytes | None]]:
        if isinstance(step, Truncate):
            return [(self._topics.of(self._tables[step.ref]), None, step.value)]
        records: list[tuple[str, bytes | None, bytes | None]] = []
        for ref, op, key, value, _ in step.rows:
            topic = self._topics.of(self._tables[ref])
            records.append((topic, key, value))
            if op == "d":
                records.append((topic, key, None))  # lets compaction forget the key
        return records

    def _finish(self, after: Position, events: int, checksum: int) -> None:
        position = offsets.canonical(after.saved())
        self._n += 1
        offset = offsets.Offset(self._generation, self._n, position, self._previous, events, checksum)
        self._producer.produce(self._topic, offsets.encode(offset), self._key)
        self._producer.commit_transaction(_PATIENCE)
        self._previous = position


def _records(brokers: dict[str, str], topic: str) -> Sequence[offsets.Record]:
    """Read the offsets topic to its end, committed records only."""
    own = {"group.id": "wrackline-demo", "isolation.level": "read_committed", "enable.auto.commit": "false"}
    consumer = Consumer(brokers | own | {"enable.partition.eof": "true"})
    found: list[offsets.Record] = []
    deadline = time.monotonic() + _PATIENCE
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while time.monotonic() < deadline:
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is None:
                place = offsets.Place(topic, 0, message.offset() or 0)
                found.append(offsets.parse(place, message.key(), message.value()))
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its only name
                return found
            else:
                raise KafkaException(error)
        raise TimeoutError(f"the end of {topic} was not reached")
    finally:
        consumer.close()


def stream(file: Path, ended: Callable[[], bool]) -> None:
    """Stream until told to end; only a transient error is tried again."""
    values = settings.read(file)
    topics = Topics(values)
    source = settings.open_source(values, topics.register)
    try:
        for left in range(_TRIES, 0, -1):
            try:
                _stream(source.stream, file, values, topics, ended)
            except Transient:  # as a slot that the worker before us has not quite let go of
                if left == 1:
                    raise
                time.sleep(_BETWEEN_TRIES)
            else:
                return
    finally:
        source.close()


def _stream(
    open_stream: Callable[[SourcePartition, Sequence[TableId], Saved | None], LogStream],
    file: Path,
    values: Values,
    topics: Topics,
    ended: Callable[[], bool],
) -> None:
    partition = SourcePartition(values.text("topic.prefix"), values.text("database.dbname"))
    table = TableId(partition.database, settings.ORDERS.schema, settings.ORDERS.name)
    publisher = Publisher(values, topics, partition)
    log = open_stream(partition, [table], publisher.saved)
    try:
        tell_ready(file)
        while not ended():
            batch = log.poll(time.monotonic() + _BETWEEN_TRIES)
            after = None if batch is None else publisher.publish(batch)
            if after is not None:
                log.confirm(after)
    finally:
        log.close()


def tell_ready(file: Path) -> None:
    """Say that the process of this number streams."""
    made = file.with_name(f"{READY}.part")
    made.write_text(str(os.getpid()))
    made.replace(file.with_name(READY))


def main() -> None:
    """Stream the pipeline of the named file until SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    stream(Path(sys.argv[1]), ended.is_set)


if __name__ == "__main__":
    main()
