"""A task made from a pipeline's settings: source, registry, topics, publisher, loop.

In: typed settings, and the task's identity (group, task number, generation).  Out: a `Task` that is ready to
run; leaving the block closes what was opened for it.  Decides nothing: each part is given what it needs.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

from confluent_kafka.admin import AdminClient

from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.source_plugin import SourcePlugin, Surroundings, WriterIds
from wrackline.producers.cutting.control_records import ControlRecords, EventOrigin, Register, WantedTopics
from wrackline.producers.cutting.cutter import QUIET, CutPolicy
from wrackline.producers.cutting.message_filter import MessageFilter
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.cutting.unpublishable import SizeBounds
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.neighbours import neighbour_positions
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.kafka.topic_creation import TopicCreator, read_creation
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.producers.reading.receipt_records import ReceiptRecords
from wrackline.producers.reading.request_intake import RequestChannel
from wrackline.producers.snapshot import key_bounds
from wrackline.producers.snapshot.work_items import SnapshotLimits
from wrackline.producers.task import memory_tuning
from wrackline.producers.task.heartbeat_loop import run_heartbeats
from wrackline.producers.task.partition_opener import SnapshotOptions, SourcePartitionOpener
from wrackline.producers.task.task_limits import Clocks, TaskLimits
from wrackline.producers.task.task_loop import Task
from wrackline.producers.task.task_observers import (
    NoticeObserver,
    QueueObserver,
    ReadsObserver,
    ShapeObserver,
    TaskObserver,
)
from wrackline.producers.task.task_requests import TaskRequests
from wrackline.schemas import versions
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.envelope import dump, key_schema, value_schema
from wrackline.schemas.kafka.schema_registry import RegistryClient, registry_access
from wrackline.schemas.kafka.topic_names import control_topics, internal_topics
from wrackline.schemas.pipelines.publication_settings import naming_of, skipped_of_table
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableSchema


@dataclass(frozen=True, slots=True)
class TaskOwner:
    """Which task this is, and whether it still owns its partition."""

    group: str
    number: int
    generation: Callable[[], int]  # the newest generation: read before and after fencing
    claimed: int | None = None  # ours; None: the newest one now
    replication: int = -1  # of the offsets topic; -1: the broker's default
    share: tuple[str, ...] | None = None  # the databases that are dealt to it; None: all


@contextmanager
def task(
    plugin: SourcePlugin,
    values: Values,
    owner: TaskOwner,
    witness: TaskObserver,
    moments: Clocks,
    stopping: Event,
    limits_given: TaskLimits | None = None,
) -> Iterator[Task]:
    """Make a task; its source is opened, nothing is read yet."""
    server, name = values.text("topic.prefix"), values.text("name")
    with ExitStack() as opened:
        registry = opened.enter_context(RegistryClient(registry_access(values)))
        own = TableTopics(server, naming_of(values))
        register = _Schemas(plugin, own, registry, _shaped_of(witness)).register
        wanted, tell = _wanted(values), _tell_of(witness)
        others = partial(neighbour_positions, _client(values), _identity(owner, name), tell)
        around = Surroundings(moments.monotonic, moments.now_ms, register, tell=tell, neighbours=others)
        source = plugin.open(values, replace(around, share=owner.share))
        opened.callback(source.close)
        partitions = source.partitions()
        origin = EventOrigin(versions.OURS, plugin.connector, server, plugin.source_fields, own.naming)
        topics = control_topics(server, heartbeat_prefix=values.text("topic.heartbeat.prefix"))
        made = partial(ControlRecords, topics, wanted, origin, now_ms=moments.now_ms, tell=tell)
        control_of = partial(_control_of, made, registry.register)
        admin = AdminClient(_client(values).admin())  # one for all: each has three threads
        requests = TaskRequests(
            values, _client(values), _identity(owner, name), admin, owner.replication, moments, tell
        )
        signals_of = opened.enter_context(requests.signals(topics.signal, alone=len(partitions) == 1))
        lanes = SourcePartitionOpener(
            source,
            name,
            _policy(values),
            _reading(values, len(partitions), signals_of, requests.receipts(control_of), tell),
            topics=own,
            control_of=control_of,
            moments=moments,
        )
        if isinstance(witness, QueueObserver):
            witness.queue(lambda: lanes.queued)
        if isinstance(witness, ReadsObserver):
            witness.reads(lambda: lanes.reads)
        publisher = _publisher(values, name, owner, moments, admin)
        every = values.integer("heartbeat.interval.ms") / 1000
        opened.enter_context(
            run_heartbeats(source, partitions, lanes.busy, every, clock=moments.monotonic, tell=tell)
        )
        opened.enter_context(memory_tuning.collect_rarely())
        yield Task(
            lanes,
            publisher,
            witness,
            limits_given or limits(values),
            clock=moments.monotonic,
            chance=moments.chance,
            stopping=stopping,
        )


def _control_of(
    made: Callable[[str, Register], ControlRecords], register: Register, partition: SourcePartition
) -> ControlRecords:
    return made(partition.database, register)


class _Schemas:
    """Registers a table's schemas under its topic's subjects."""

    def __init__(
        self,
        plugin: SourcePlugin,
        topics: TableTopics,
        registry: RegistryClient,
        shaped: Callable[[TableSchema, str], None],
    ) -> None:
        self._plugin, self._topics, self._registry, self._shaped = plugin, topics, registry, shaped

    def register(self, table: TableSchema) -> WriterIds:
        topic = self._topics.of(table.id)
        key = key_schema(table, topic=topic)
        value = value_schema(
            table,
            topic=topic,
            connector=self._plugin.connector,
            source_fields=self._plugin.source_fields,
            position_bytes=self._plugin.position_bytes,
        )
        ids = WriterIds(
            None if key is None else self._registry.register(f"{topic}-key", dump(key)),
            self._registry.register(f"{topic}-value", dump(value)),
        )
        self._shaped(table, topic)
        return ids


def _wanted(values: Values) -> WantedTopics:
    channels, topic = values["notification.enabled.channels"], values["notification.sink.topic.name"]
    return WantedTopics(
        values.flag("provide.transaction.metadata"),
        values.flag("include.schema.changes"),
        notifications=str(topic) if isinstance(channels, tuple) and "sink" in channels else None,
        messages=MessageFilter.of(values, _client(values).most_record_bytes),
    )


def _publisher(values: Values, name: str, owner: TaskOwner, moments: Clocks, admin: AdminClient) -> Publisher:
    client = _client(values)
    topics = internal_topics(owner.group)
    offsets_topic.prepare_offsets(admin, topics.offsets, owner.number + 1, owner.replication)
    offsets_topic.prepare_history(admin, topics.offset_history, owner.replication)
    claimed = owner.generation() if owner.claimed is None else owner.claimed
    return Publisher(
        Identity(owner.group, name, owner.number, claimed),
        client,
        OffsetsSlot(topics.offsets, owner.number, topics.offset_history),
        TopicCreator(admin, read_creation(values), client.most_record_bytes),
        admin,
        generation=owner.generation,
        clock=moments.monotonic,
    )


def _client(values: Values) -> Client:
    return Client(values.below("kafka."), values.integer("max.row.bytes"))


def _bound_of(rules: ColumnRules, table: TableSchema, key: bytes) -> Bound | None:
    """Read a key back as the server writes it; a key with a masked column is not the server's."""
    hidden = any(rules.mask(table.id, name) is not None for name in table.key)
    return None if hidden else key_bounds.bound_of(table, key)


def _identity(owner: TaskOwner, name: str) -> Identity:
    return Identity(owner.group, name, owner.number, 0)


def _tell_of(witness: TaskObserver) -> Callable[[WracklineError], None]:
    return witness.notice if isinstance(witness, NoticeObserver) else lambda _: None


def _shaped_of(witness: TaskObserver) -> Callable[[TableSchema, str], None]:
    return witness.shaped if isinstance(witness, ShapeObserver) else lambda _table, _topic: None


def _reading(
    values: Values,
    partitions: int,
    signals: Callable[[SourcePartition], RequestChannel],
    receipts_of: Callable[[SourcePartition], ReceiptRecords],
    tell: Callable[[WracklineError], None],
) -> SnapshotOptions:
    limits = SnapshotLimits(
        readers=values.integer("snapshot.max.threads"),
        chunk_rows=values.integer("incremental.snapshot.chunk.size"),
        databases=partitions,
    )
    channels = values.listed("signal.enabled.channels")
    return SnapshotOptions(
        FirstReads.of(values),
        limits,
        partial(_bound_of, ColumnRules.of(values)),
        signals if "kafka" in channels else lambda _: None,
        signal_rows="source" in channels,
        tell=tell,
        receipts_of=receipts_of,
    )


def _policy(values: Values) -> CutPolicy:
    skipped = frozenset(values.listed("skipped.operations")) - {"none"}
    heartbeat = values.integer("heartbeat.interval.ms") / 1000
    return CutPolicy(
        quiet=min(QUIET, heartbeat or QUIET),
        heartbeat=heartbeat,
        tombstones=values.flag("tombstones.on.delete"),
        skipped=skipped,
        skipped_of=skipped_of_table(values),
        voids=values.flag("snapshot.truncate.events"),
        bounds=SizeBounds(values.integer("max.row.bytes"), _client(values).most_record_bytes),
    )


def limits(values: Values) -> TaskLimits:
    """Return how often a pipeline tries again, and how long it waits."""
    in_all = values.integer("errors.retry.timeout")
    return TaskLimits(
        most_tries=values.integer("errors.max.retries"),
        most_seconds=None if in_all < 0 else in_all / 1000,
        longest_wait=values.integer("retriable.restart.connector.wait.ms") / 1000,
    )
