"""A task made from a pipeline's settings: source, registry, topics, publisher, loop.

In: typed settings, and who we are (group, task number, generation).  Out: a `Task` that is ready to
run; leaving the block closes what was opened for it.  Decides nothing: each part is told what it needs.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event

from confluent_kafka.admin import AdminClient

from wrackline.producers import garbage
from wrackline.producers.batching import QUIET, Policy
from wrackline.producers.chunks import Bound
from wrackline.producers.control_records import ControlRecords, Origin, Register, Wanted
from wrackline.producers.first_reads import FirstReads
from wrackline.producers.heartbeat import beating
from wrackline.producers.kafka import offsets_topic, requests_topic, signal_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.recovery import Publisher
from wrackline.producers.kafka.signal_topic import SignalTopic
from wrackline.producers.kafka.topics import Topics, creation
from wrackline.producers.kafka.transaction import Slot
from wrackline.producers.lanes import NoticeWitness, QueueWitness, Reading, ShapeWitness, SourceLanes, Witness
from wrackline.producers.left_out import Bounds
from wrackline.producers.message_filter import MessageFilter
from wrackline.producers.own_topics import OwnTopics
from wrackline.producers.pace import Limits, Moments
from wrackline.producers.plugin import SourcePlugin, Surroundings, WriterIds
from wrackline.producers.receipt_book import ReceiptBook
from wrackline.producers.snapshot import keys
from wrackline.producers.snapshot.work import Limits as SnapshotLimits
from wrackline.producers.task import Task
from wrackline.schemas import versions
from wrackline.schemas.envelope import dump, key_schema, value_schema
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.receipts import fold
from wrackline.schemas.registry import Registry, access
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableSchema
from wrackline.schemas.topics import control_topics, internal_topics


@dataclass(frozen=True, slots=True)
class Owner:
    """Which task this is, and whether it still is."""

    group: str
    number: int
    generation: Callable[[], int]  # the newest there is: asked before and after fencing
    claimed: int | None = None  # ours; None: what is the newest now
    replication: int = -1  # of the offsets topic; -1: the broker's default


@contextmanager
def task(
    plugin: SourcePlugin,
    values: Values,
    owner: Owner,
    witness: Witness,
    moments: Moments,
    stopping: Event,
    limits_given: Limits | None = None,
) -> Iterator[Task]:
    """Put a task together; its source is opened, nothing is read yet."""
    server, name = values.text("topic.prefix"), values.text("name")
    with ExitStack() as opened:
        registry = opened.enter_context(Registry(access(values)))
        own = OwnTopics(server)
        register = _Schemas(plugin, own, registry, _shaped_of(witness)).register
        source = plugin.open(values, Surroundings(moments.monotonic, moments.now_ms, register))
        opened.callback(source.close)
        partitions = source.partitions()
        origin = Origin(versions.OURS, plugin.connector, server, plugin.source_fields)
        topics = control_topics(server, heartbeat_prefix=values.text("topic.heartbeat.prefix"))
        wanted, tell = _wanted(values), _tell_of(witness)

        made = partial(ControlRecords, topics, wanted, origin, now_ms=moments.now_ms, tell=tell)
        control_of = partial(_control_of, made, registry.register)
        signals_of = partial(_signals, values, server, topics.signal, owner)
        receipts_of = partial(_receipts, values, owner, moments, tell, control_of)
        lanes = SourceLanes(
            source,
            name,
            _policy(values),
            _reading(values, signals_of, receipts_of, tell),
            topics=own,
            control_of=control_of,
            moments=moments,
        )
        if isinstance(witness, QueueWitness):
            witness.queue(lambda: lanes.queued)
        publisher = _publisher(values, name, owner, moments)
        opened.enter_context(
            beating(
                source,
                partitions,
                lanes.busy,
                values.integer("heartbeat.interval.ms") / 1000,
                clock=moments.monotonic,
                tell=tell,
            )
        )
        opened.enter_context(garbage.looked_for_seldom())
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
        topics: OwnTopics,
        registry: Registry,
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


def _signals(values: Values, server: str, own: str, owner: Owner, partition: SourcePartition) -> SignalTopic:
    """Open the topic of signals: a reader for each source partition, for each has tables of its own."""
    given = values["signal.kafka.topic"]
    topic = own if given is None else str(given)
    client = _client(values)
    signal_topic.prepare(AdminClient(client.admin()), topic, owner.replication)
    identity = Identity(owner.group, f"{values.text('name')}.{partition.database}", owner.number, 0)
    return SignalTopic(client.reader(identity), topic, server)


def _receipts(
    values: Values,
    owner: Owner,
    moments: Moments,
    tell: Callable[[WracklineError], None],
    control_of: Callable[[SourcePartition], ControlRecords],
    partition: SourcePartition,
) -> ReceiptBook:
    """Go on with the receipts that Kafka has; asked once the task's forerunners are shut out.

    Their topic is made where it is not: who deleted it has lost receipts, and nothing stops for that.
    """
    client, name, topic = _client(values), values.text("name"), internal_topics(owner.group).requests
    admin, reader = AdminClient(client.admin()), client.reader(Identity(owner.group, name, owner.number, 0))
    requests_topic.prepare(admin, topic, owner.replication, client.most_record_bytes)
    found = requests_topic.read(admin, reader, topic, tell, fenced=True)
    known = fold(receipt for key, receipt in found if key[:3] == (name, *partition))
    return ReceiptBook(
        name,
        partition,
        topic,
        known,
        clock=moments.monotonic,
        now_ms=moments.now_ms,
        tell=tell,
        notify=control_of(partition).notify,
    )


def _wanted(values: Values) -> Wanted:
    channels, topic = values["notification.enabled.channels"], values["notification.sink.topic.name"]
    return Wanted(
        values.flag("provide.transaction.metadata"),
        values.flag("include.schema.changes"),
        notifications=str(topic) if isinstance(channels, tuple) and "sink" in channels else None,
        messages=MessageFilter.of(values, _client(values).most_record_bytes),
    )


def _publisher(values: Values, name: str, owner: Owner, moments: Moments) -> Publisher:
    client = _client(values)
    admin = AdminClient(client.admin())
    topics = internal_topics(owner.group)
    offsets_topic.prepare(admin, topics.offsets, owner.number + 1, owner.replication)
    offsets_topic.prepare_history(admin, topics.offset_history, owner.replication)
    claimed = owner.generation() if owner.claimed is None else owner.claimed
    return Publisher(
        Identity(owner.group, name, owner.number, claimed),
        client,
        Slot(topics.offsets, owner.number, topics.offset_history),
        Topics(admin, creation(values), client.most_record_bytes),
        admin,
        generation=owner.generation,
        clock=moments.monotonic,
    )


def _client(values: Values) -> Client:
    return Client(values.below("kafka."), values.integer("max.row.bytes"))


def _bound_of(rules: ColumnRules, table: TableSchema, key: bytes) -> Bound | None:
    """Read a key back as the server writes it; one with a masked column is not the server's."""
    hidden = any(rules.mask(table.id, name) is not None for name in table.key)
    return None if hidden else keys.bound_of(table, key)


def _tell_of(witness: Witness) -> Callable[[WracklineError], None]:
    return witness.notice if isinstance(witness, NoticeWitness) else lambda _: None


def _shaped_of(witness: Witness) -> Callable[[TableSchema, str], None]:
    return witness.shaped if isinstance(witness, ShapeWitness) else lambda _table, _topic: None


def _reading(
    values: Values,
    signals: Callable[[SourcePartition], SignalTopic],
    receipts_of: Callable[[SourcePartition], ReceiptBook],
    tell: Callable[[WracklineError], None],
) -> Reading:
    limits = SnapshotLimits(
        readers=values.integer("snapshot.max.threads"),
        chunk_rows=values.integer("incremental.snapshot.chunk.size"),
    )
    channels = values.listed("signal.enabled.channels")
    return Reading(
        FirstReads.of(values),
        limits,
        partial(_bound_of, ColumnRules.of(values)),
        signals if "kafka" in channels else lambda _: None,
        signal_rows="source" in channels,
        tell=tell,
        receipts_of=receipts_of,
    )


def _policy(values: Values) -> Policy:
    skipped = frozenset(values.listed("skipped.operations")) - {"none"}
    heartbeat = values.integer("heartbeat.interval.ms") / 1000
    return Policy(
        quiet=min(QUIET, heartbeat or QUIET),
        heartbeat=heartbeat,
        tombstones=values.flag("tombstones.on.delete"),
        skipped=skipped,
        voids=values.flag("snapshot.truncate.events"),
        bounds=Bounds(values.integer("max.row.bytes"), _client(values).most_record_bytes),
    )


def limits(values: Values) -> Limits:
    """How often a pipeline tries again, and how long it waits."""
    return Limits(
        most_tries=values.integer("errors.max.retries"),
        longest_wait=values.integer("retriable.restart.connector.wait.ms") / 1000,
    )
