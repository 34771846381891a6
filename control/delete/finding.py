"""What a pipeline has made, and which of it a deletion takes away.

    source's server   what the source plug-in calls the pipeline's own
    target            tables that say they are copies of the pipeline's tables     with --tables
    Kafka             topics of these tables, and of the server's control records  with --topics
                      the pipeline's internal topics

In: the pipeline, and what was asked for.  Out: one value, nothing changed.  The tables are those that the
source has now and those that the stored states know, so one that was dropped at the source counts too.
A topic that begins like the pipeline's and is of no such table may be another pipeline's: it stays.  So do
all topics and tables where no stored position shows that the pipeline ever wrote: a file with another's names
is no leave to remove what that one has made.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import orjson
from confluent_kafka.admin import AdminClient

from wrackline.consumers.plugin import Dropping, SparkTarget
from wrackline.control.offsets import RECENT
from wrackline.control.run import TASK, around, group_of, ownership_of
from wrackline.control.status import CONSUMER, asked
from wrackline.control.target_alone import target_alone
from wrackline.producers.changes import Saved
from wrackline.producers.kafka import removal
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.ownership import Ownership
from wrackline.producers.kafka.transaction import Slot
from wrackline.producers.plugin import Kept, Removable, Source, Unheld, load
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.offset_replay import State
from wrackline.schemas.pipeline import Pipeline
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableId
from wrackline.schemas.topics import assign, control_topics, internal_topics

TASK_RUNS = define(
    "delete.task_runs",
    OperatorNeeded,
    "{pipeline} runs: {reader} uses {what}, and nothing is deleted meanwhile",
    hint="stop it (SIGTERM to wrackline run), then repeat the command",
)
MAY_RUN = define(
    "delete.task_may_run",
    Transient,
    "{pipeline} may run: it wrote a position {seconds:.0f} s ago, and its source does not say",
    hint="stop it, and repeat the command in {wait:.0f} s",
)
CONSUMER_RUNS = define(
    "delete.consumer_runs",
    OperatorNeeded,
    "the consumer of {pipeline} runs, and would make the tables anew, or miss the topics",
    hint="stop it (SIGTERM to wrackline consume), then repeat the command",
)

_ONLY_NOW = "{} removes them, together with the rest and not after it"
_NEVER_WROTE = "no stored position shows that the pipeline wrote there"
_DELETE_TOPIC = "kafka-topics --bootstrap-server <brokers> --delete --topic '<topic>'"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a deletion was asked to remove beside what is always removed."""

    topics: bool = False
    tables: bool = False
    source: bool = True  # False: it is gone for good, and is not asked


@dataclass(frozen=True, slots=True)
class Left:
    """Something that stays: what, why, and what takes it away."""

    name: str
    why: str
    drop: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What is there: what goes, by kind and in the order in which it goes, and what stays."""

    source: Mapping[SourcePartition, tuple[Kept, ...]] = field(default_factory=dict)
    tables: tuple[TableId, ...] = ()
    topics: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()

    @property
    def goes(self) -> list[str]:
        """Name all that is removed, in order."""
        kept = [one.name for found in self.source.values() for one in found]
        tables = [f"table {table} of the target" for table in self.tables]
        return [*kept, *tables, *(f"topic {topic}" for topic in (*self.topics, *self.internal))]


@dataclass(frozen=True, slots=True)
class Places:
    """A pipeline's source, Kafka and target, opened."""

    values: Values
    source: Source | None
    ownership: Ownership
    admin: AdminClient
    target: "SparkTarget | None"  # where its tables are to go

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.values.text("name")

    @property
    def offsets(self) -> Slot:
        """Where its positions stand."""
        return Slot(internal_topics(group_of(self.name)).offsets, TASK)


@contextmanager
def places(pipeline: Pipeline, wanted: Wanted) -> Iterator[Places]:
    """Open what is asked; Kafka first, for without its positions nothing is known to be the pipeline's."""
    if pipeline.source is None or pipeline.values is None:
        raise ValueError("a pipeline with errors is not deleted")
    values = pipeline.values
    ownership = ownership_of(values)
    admin = AdminClient(Client(values.below("kafka."), values.integer("max.row.bytes")).admin())
    with ExitStack() as opened:
        source = load(pipeline.source).open(values, around()) if wanted.source else None
        if source is not None:
            opened.callback(source.close)
        target = None
        if wanted.tables and pipeline.target is not None:
            target = opened.enter_context(target_alone(values, pipeline.target))
        yield Places(values, source, ownership, admin, target)


def saved_of(state: State, name: str, partition: SourcePartition) -> Saved | None:
    """Return the position that is stored for a source partition."""
    offset = state.resume(name, partition)
    return None if offset is None else orjson.loads(offset.position)


def find(at: Places, pipeline: Pipeline, wanted: Wanted) -> Found:
    """Look everywhere; an error where the pipeline runs."""
    state = at.ownership.state(over_broken=True)
    source, left = _of_source(at, state)
    _see_that_no_consumer_runs(at, pipeline, wanted)
    tables = _tables(at, state)
    own, more = _of_target(at, tables)
    left += more
    if pipeline.target is not None and not wanted.tables:
        left.append(Left(f"the tables of the target {pipeline.target}", _ONLY_NOW.format("--tables")))
    there = removal.existing(at.admin)
    topics, more = _topics(at, there, tables)
    left += more
    began = any(key.connector == at.name for key in state.positions)
    if not began:
        left += [Left(f"table {table} of the target", _NEVER_WROTE) for table in own]
        own = []
    if topics and not (wanted.topics and began):
        why = _ONLY_NOW.format("--topics") if began else _NEVER_WROTE
        left.append(Left(_listed(topics), why, _DELETE_TOPIC))
        topics = []
    if topics:
        left.append(Left("the topics' schemas in the registry", "others may still read by them"))
    ours = set(_in_order(at.name))
    internal = [topic for topic in _in_order(at.name) if topic in there & ours]
    return Found(source, tuple(own), tuple(topics), tuple(internal), tuple(left))


def _of_source(at: Places, state: State) -> tuple[dict[SourcePartition, tuple[Kept, ...]], list[Left]]:
    if at.source is None:
        _see_that_none_wrote_just_now(at)
        return {}, [Left("what the source's server keeps for it", "the source was not asked")]
    if not isinstance(at.source, Removable):
        return {}, [
            Left("what the source's server keeps for it", "this kind of source can't tell what it is")
        ]
    going: dict[SourcePartition, tuple[Kept, ...]] = {}
    left = []
    begun = bool(state.positions) or at.ownership.last_written_ms() is not None
    for partition in at.source.partitions():
        found = at.source.kept(partition, saved_of(state, at.name, partition))
        for one in found:
            if one.held_by is not None and (one.left is None or begun):
                raise TASK_RUNS(pipeline=at.name, reader=one.held_by, what=one.name)
        left += [Left(one.name, one.left, one.drop) for one in found if one.left is not None]
        going[partition] = tuple(one for one in found if one.left is None)
    if begun and isinstance(at.source, Unheld):
        _see_that_none_reads(at, at.source, at.source.partitions())
    return {partition: found for partition, found in going.items() if found}, left


def _see_that_none_reads(at: Places, source: Unheld, partitions: Sequence[SourcePartition]) -> None:
    try:
        readers = [source.log_reader(partition) for partition in partitions]
    except WracklineError:
        _see_that_none_wrote_just_now(at)
        return
    for reader in filter(None, readers):
        raise TASK_RUNS(pipeline=at.name, reader=reader, what="the source's log")


def _see_that_none_wrote_just_now(at: Places) -> None:
    written = at.ownership.last_written_ms()
    age = RECENT if written is None else time.time() - written / 1000
    if age < RECENT:
        raise MAY_RUN(pipeline=at.name, seconds=age, wait=RECENT - age)


def _see_that_no_consumer_runs(at: Places, pipeline: Pipeline, wanted: Wanted) -> None:
    """It can be asked only where it has a port; else the operator is trusted to have stopped it."""
    port = at.values.integer(CONSUMER.setting)
    if pipeline.target is None or not port or not (wanted.topics or wanted.tables):
        return
    try:
        asked(at.name, CONSUMER, port)
    except WracklineError:
        return
    raise CONSUMER_RUNS(pipeline=at.name)


def _tables(at: Places, state: State) -> list[TableId]:
    known = {key.table for key in state.tables if key.connector == at.name}
    if at.source is not None:
        for partition in at.source.partitions():
            known |= set(at.source.tables(partition))
    return sorted(known)


def _of_target(at: Places, tables: list[TableId]) -> tuple[list[TableId], list[Left]]:
    if at.target is None:
        return [], []
    own, left = [], []
    drops = isinstance(at.target, Dropping)
    for table in tables:
        try:
            if at.target.held(table) is None:
                continue
        except OperatorNeeded as error:  # it is another's
            left.append(Left(f"table {table} of the target", error.sentence))
            continue
        if drops:
            own.append(table)
        else:
            left.append(Left(f"table {table} of the target", "this kind of target drops none; do it by hand"))
    return own, left


def _topics(at: Places, there: frozenset[str], tables: list[TableId]) -> tuple[list[str], list[Left]]:
    server = at.values.text("topic.prefix")
    own = {topic for topic in assign(server, tables).topics.values() if topic in there}
    control = control_topics(server, heartbeat_prefix=at.values.text("topic.heartbeat.prefix"))
    of_server = {
        control.schema_changes, control.transaction, control.message, control.heartbeat, control.signal
    } & there  # fmt: skip
    others = sorted(t for t in there if t.startswith(f"{server}.") and t not in own | of_server)
    left = []
    if others:
        left.append(Left(_listed(others), "no table of this pipeline writes there now"))
        if of_server:
            left.append(Left(_listed(sorted(of_server)), "another pipeline may have the same topic.prefix"))
        of_server = set()
    return sorted(own) + sorted(of_server), left


def _in_order(name: str) -> tuple[str, ...]:
    """Name the internal topics; what says which things are the pipeline's own goes last."""
    topics = internal_topics(group_of(name))
    return (
        topics.configs,
        topics.status,
        topics.tasks,
        topics.requests,
        topics.offset_history,
        topics.offsets,
    )


def _listed(topics: list[str], most: int = 5) -> str:
    more = f" and {len(topics) - most} more" if len(topics) > most else ""
    return f"topics {', '.join(topics[:most])}{more}"
