"""The worker as a process of its own, so that it can be killed: PostgreSQL's log into Kafka, exactly once.

In: a pipeline's file.  Out: one task, put together from it and run until SIGTERM.  Each start is a generation
of its own, counted in a file beside the pipeline's, so that Kafka tells it from the one that was killed.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from confluent_kafka.admin import AdminClient

from wrackline.control.demo import settings
from wrackline.control.demo.worker_process import READY
from wrackline.producers.batching import Policy, Publication
from wrackline.producers.changes import Fault
from wrackline.producers.control_records import ControlRecords, Origin, Wanted
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.recovery import Publisher
from wrackline.producers.kafka.topics import Topics, creation
from wrackline.producers.kafka.transaction import Slot
from wrackline.producers.lanes import Health, SourceLanes
from wrackline.producers.pace import Limits
from wrackline.producers.plugin import Source, WriterIds
from wrackline.producers.sources.postgres.origin import CONNECTOR, FIELDS
from wrackline.producers.task import Task
from wrackline.schemas.envelope import dump, key_schema, value_schema
from wrackline.schemas.offset_replay import State
from wrackline.schemas.registry import Access, Registry
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableId, TableSchema
from wrackline.schemas.topics import control_topics, internal_topics, table_topic

_GENERATION = "generation"  # the file beside the pipeline's
_VERSION = "0.1.0"


class Watch:
    """Says when the worker streams, and ends it at the first table that can't be carried."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def health(self, health: Health, error: Exception | None) -> None:
        """Note that the log is streamed; what is tried again goes to the log."""
        if error is not None:
            sys.stderr.write(f"{health.value}: {error}\n")
        if health is Health.RUNNING:
            _write(self._file.with_name(READY), os.getpid())

    def resumed(self, state: State) -> None:
        """Take notice of nothing: where a task goes on is its own affair."""

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """Stop: the demo's copy could not be exact any more."""
        del partition
        raise fault.error

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Take notice of nothing: the demo counts what a reader of the topic sees."""


class Schemas:
    """Registers the schemas of tables."""

    def __init__(self, server: str, registry: Registry) -> None:
        self._server, self._registry = server, registry

    def register(self, table: TableSchema) -> WriterIds:
        """Return the ids of a table's schemas."""
        topic = table_topic(self._server, table.id)
        key = key_schema(table, topic=topic)
        value = value_schema(table, topic=topic, connector=CONNECTOR, source_fields=FIELDS)
        return WriterIds(
            None if key is None else self._registry.register(f"{topic}-key", dump(key)),
            self._registry.register(f"{topic}-value", dump(value)),
        )


def build(file: Path, values: Values, source: Source, registry: Registry, stopping: Event) -> Task:
    """Put the task together."""
    server, name = values.text("topic.prefix"), values.text("name")
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    admin = AdminClient(client.admin())
    slot = Slot(internal_topics(settings.GROUP).offsets, 0)
    offsets_topic.prepare(admin, slot.topic, 1, 1)
    most = client.most_record_bytes
    publisher = Publisher(
        Identity(settings.GROUP, name, 0, _next_generation(file)),
        client,
        slot,
        Topics(admin, creation(values), most),
        admin,
        generation=lambda: _generation(file),
        clock=time.monotonic,
    )
    origin = Origin(_VERSION, CONNECTOR, server, FIELDS)

    def control_of(partition: SourcePartition) -> ControlRecords:
        topics = control_topics(server)
        return ControlRecords(topics, Wanted(), origin, partition.database, registry.register)

    def topic_of(table: TableId) -> str:
        return table_topic(server, table)

    lanes = SourceLanes(
        source,
        {partition: source.tables(partition) for partition in source.partitions()},
        name,
        Policy(tombstones=values.flag("tombstones.on.delete"), most_record_bytes=most),
        topic_of=topic_of,
        control_of=control_of,
        clock=time.monotonic,
    )
    chance = random.Random().random  # noqa: S311 - it spreads waits, and keeps no secret
    return Task(
        lanes, publisher, Watch(file), Limits(), clock=time.monotonic, chance=chance, stopping=stopping
    )


def main() -> None:
    """Stream the pipeline of the named file until SIGTERM."""
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    file = Path(sys.argv[1])
    values = settings.read(file)
    with Registry(Access(values.listed("schema.registry.url")[0])) as registry:
        schemas = Schemas(values.text("topic.prefix"), registry)
        source = settings.open_source(values, schemas.register)
        try:
            build(file, values, source, registry, stopping).run()
        finally:
            source.close()


def _next_generation(file: Path) -> int:
    number = _generation(file) + 1
    _write(file.with_name(_GENERATION), number)
    return number


def _generation(file: Path) -> int:
    counted = file.with_name(_GENERATION)
    return int(counted.read_text()) if counted.exists() else 0


def _write(file: Path, number: int) -> None:
    """Write a number so that a reader finds all of it or the one before."""
    unfinished = file.with_suffix(".part")
    unfinished.write_text(str(number))
    unfinished.replace(file)


if __name__ == "__main__":
    main()
