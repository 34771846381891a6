"""What a pipeline has made, and which parts of it a deletion removes.

    source's server   what the source plug-in calls the pipeline's own
    target            tables that say they are copies of the pipeline's tables     with --tables
    Kafka             topics of these tables, and of the server's control records  with --topics
                      the pipeline's internal topics

In: the pipeline, and the request.  Out: one value, nothing changed.  The tables are those that the source has
now and those that the stored states contain, so a table that was dropped at the source counts too.
A topic that begins like the pipeline's, but belongs to no such table, may be another pipeline's: it stays.
So do all topics and tables if no stored position shows that the pipeline ever wrote: a file with another
pipeline's names does not permit its owner to remove what that pipeline has made.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import orjson
from confluent_kafka.admin import AdminClient

from wrackline.consumers.contract.target import Dropping, SparkTarget
from wrackline.control.runtime.board.board_reader import read_board
from wrackline.control.runtime.ground.pipeline_access import BYSTANDER, group_of, ownership_of, surroundings
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.services.offsets import RECENT
from wrackline.control.runtime.spark.target_access import open_target_alone
from wrackline.producers.contract.optional_parts import NoServerPosition, Removable, ServerObject
from wrackline.producers.contract.source_plugin import Source, load
from wrackline.producers.contract.steps import Saved
from wrackline.producers.kafka import topic_deletion
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.ownership import Ownership
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.board_records import ALIVE_S, Half, HalfBoard
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.topic_names import assign, control_topics, internal_topics, table_of, table_topic
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId

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
    "the consumer of {pipeline} runs, and would create the tables again, or miss the topics",
    hint="stop it (SIGTERM to wrackline consume), then repeat the command",
)

_ONLY_NOW = "{} removes them, but only together with the rest"
_NEVER_WROTE = "no stored position shows that the pipeline wrote there"
_DELETE_TOPIC = "kafka-topics --bootstrap-server <brokers> --delete --topic '<topic>'"


@dataclass(frozen=True, slots=True)
class DeletionRequest:
    """What a deletion removes beside what is always removed."""

    topics: bool = False
    tables: bool = False
    source: bool = True  # False: the source is gone for good, and is not asked


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that stays: what, why, and what removes it."""

    name: str
    why: str
    drop: str | None = None


@dataclass(frozen=True, slots=True)
class DeletionPlan:
    """What exists: what goes, by kind and in the order of removal, and what stays."""

    source: Mapping[SourcePartition, tuple[ServerObject, ...]] = field(default_factory=dict)
    tables: tuple[TableId, ...] = ()
    topics: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    left: tuple[Leftover, ...] = ()

    @property
    def goes(self) -> list[str]:
        """Name all that is removed, in order."""
        kept = [one.name for found in self.source.values() for one in found]
        tables = [f"table {table} of the target" for table in self.tables]
        return [*kept, *tables, *(f"topic {topic}" for topic in (*self.topics, *self.internal))]


@dataclass(frozen=True, slots=True)
class PipelineParts:
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
    def offsets(self) -> OffsetsSlot:
        """Where its positions are."""
        return OffsetsSlot(internal_topics(group_of(self.name)).offsets, BYSTANDER)


@contextmanager
def open_parts(pipeline: Pipeline, wanted: DeletionRequest) -> Iterator[PipelineParts]:
    """Open the parts; Kafka first, because only its positions show what belongs to the pipeline."""
    if pipeline.source is None or pipeline.values is None:
        raise ValueError("a pipeline with errors is not deleted")
    values = pipeline.values
    ownership = ownership_of(values)
    admin = AdminClient(Client(values.below("kafka."), values.integer("max.row.bytes")).admin())
    with ExitStack() as opened:
        source = load(pipeline.source).open(values, surroundings()) if wanted.source else None
        if source is not None:
            opened.callback(source.close)
        target = None
        if wanted.tables and pipeline.target is not None:
            target = opened.enter_context(open_target_alone(values, pipeline.target))
        yield PipelineParts(values, source, ownership, admin, target)


def saved_position(state: OffsetsState, name: str, partition: SourcePartition) -> Saved | None:
    """Return the position that is stored for a source partition."""
    offset = state.resume(name, partition)
    return None if offset is None else orjson.loads(offset.position)


def plan_deletion(at: PipelineParts, pipeline: Pipeline, wanted: DeletionRequest) -> DeletionPlan:
    """Look everywhere; raise an error if the pipeline runs."""
    state = at.ownership.state(over_broken=True)
    source, left = _of_source(at, state)
    _see_that_no_consumer_runs(at, pipeline, wanted)
    tables = _tables(at, state)
    own, more = _of_target(at, _target_tables(at, tables))
    left += more
    if pipeline.target is not None and not wanted.tables:
        left.append(Leftover(f"the tables of the target {pipeline.target}", _ONLY_NOW.format("--tables")))
    there = topic_deletion.list_topics(at.admin)
    topics, more = _topics(at, there, tables)
    left += more
    began = any(key.connector == at.name for key in state.positions)
    if not began:
        left += [Leftover(f"table {table} of the target", _NEVER_WROTE) for table in own]
        own = []
    if topics and not (wanted.topics and began):
        why = _ONLY_NOW.format("--topics") if began else _NEVER_WROTE
        left.append(Leftover(_list_topics(topics), why, _DELETE_TOPIC))
        topics = []
    if topics:
        left.append(Leftover("the topics' schemas in the registry", "other readers may still need them"))
    ours = set(_in_order(at.name))
    internal = [topic for topic in _in_order(at.name) if topic in there & ours]
    return DeletionPlan(source, tuple(own), tuple(topics), tuple(internal), tuple(left))


def _of_source(
    at: PipelineParts, state: OffsetsState
) -> tuple[dict[SourcePartition, tuple[ServerObject, ...]], list[Leftover]]:
    if at.source is None:
        _see_that_none_wrote_just_now(at)
        return {}, [Leftover("what the source's server keeps for it", "the source was not asked")]
    if not isinstance(at.source, Removable):
        return {}, [Leftover("what the source's server keeps for it", "this kind of source can't list it")]
    going: dict[SourcePartition, tuple[ServerObject, ...]] = {}
    left = []
    begun = bool(state.positions) or at.ownership.last_written_ms() is not None
    for partition in at.source.partitions():
        found = at.source.kept(partition, saved_position(state, at.name, partition))
        for one in found:
            if one.held_by is not None and (one.left is None or begun):
                raise TASK_RUNS(pipeline=at.name, reader=one.held_by, what=one.name)
        left += [Leftover(one.name, one.left, one.drop) for one in found if one.left is not None]
        going[partition] = tuple(one for one in found if one.left is None)
    if begun and isinstance(at.source, NoServerPosition):
        _see_that_none_reads(at, at.source, at.source.partitions())
    return {partition: found for partition, found in going.items() if found}, left


def _see_that_none_reads(
    at: PipelineParts, source: NoServerPosition, partitions: Sequence[SourcePartition]
) -> None:
    try:
        readers = [source.log_reader(partition) for partition in partitions]
    except WracklineError:
        _see_that_none_wrote_just_now(at)
        return
    for reader in filter(None, readers):
        raise TASK_RUNS(pipeline=at.name, reader=reader, what="the source's log")


def _see_that_none_wrote_just_now(at: PipelineParts) -> None:
    written = at.ownership.last_written_ms()
    age = RECENT if written is None else time.time() - written / 1000
    if age < RECENT:
        raise MAY_RUN(pipeline=at.name, seconds=age, wait=RECENT - age)


def _see_that_no_consumer_runs(at: PipelineParts, pipeline: Pipeline, wanted: DeletionRequest) -> None:
    if pipeline.target is None or not (wanted.topics or wanted.tables):
        return
    half = read_board(at.values).half(at.name, Half.TARGET)
    if half.runs(now_ms()) or (half.is_silent(now_ms()) and _still_reports(at, half)):
        raise CONSUMER_RUNS(pipeline=at.name)


def _still_reports(at: PipelineParts, half: HalfBoard) -> bool:
    """Whether a half that seems silent reports after all: its machine's clock may be behind ours."""
    time.sleep(ALIVE_S + 1)
    return read_board(at.values).half(at.name, Half.TARGET).report != half.report


def _tables(at: PipelineParts, state: OffsetsState) -> list[TableId]:
    known = {key.table for key in state.tables if key.connector == at.name}
    if at.source is not None:
        for partition in at.source.partitions():
            known |= set(at.source.tables(partition))
    return sorted(known)


def _target_tables(at: PipelineParts, tables: list[TableId]) -> list[TableId]:
    """Return the tables as the target knows them, which is by their topics."""
    server, naming = at.values.text("topic.prefix"), naming_of(at.values)
    return sorted({table_of(table_topic(server, table, naming)) for table in tables})


def _of_target(at: PipelineParts, tables: list[TableId]) -> tuple[list[TableId], list[Leftover]]:
    if at.target is None:
        return [], []
    own, left = [], []
    drops = isinstance(at.target, Dropping)
    for table in tables:
        try:
            if at.target.held(table) is None:
                continue
        except OperatorNeeded as error:  # it belongs to another pipeline
            left.append(Leftover(f"table {table} of the target", error.sentence))
            continue
        if drops:
            own.append(table)
        else:
            left.append(
                Leftover(
                    f"table {table} of the target", "this kind of target drops no tables; drop it by hand"
                )
            )
    return own, left


def _topics(
    at: PipelineParts, there: frozenset[str], tables: list[TableId]
) -> tuple[list[str], list[Leftover]]:
    server = at.values.text("topic.prefix")
    own = {
        topic
        for topic in assign(server, tables, naming=naming_of(at.values)).topics.values()
        if topic in there
    }
    control = control_topics(server, heartbeat_prefix=at.values.text("topic.heartbeat.prefix"))
    of_server = {
        control.schema_changes, control.transaction, control.message, control.heartbeat, control.signal,
        control.letter
    } & there  # fmt: skip
    others = sorted(t for t in there if t.startswith(f"{server}.") and t not in own | of_server)
    left = []
    if others:
        left.append(Leftover(_list_topics(others), "no table of this pipeline is published there now"))
        if of_server:
            left.append(
                Leftover(_list_topics(sorted(of_server)), "another pipeline may have the same topic.prefix")
            )
        of_server = set()
    return sorted(own) + sorted(of_server), left


def _in_order(name: str) -> tuple[str, ...]:
    """Name the internal topics; the topic that shows what belongs to the pipeline goes last."""
    topics = internal_topics(group_of(name))
    return (
        topics.configs,
        topics.status,
        topics.tasks,
        topics.requests,
        topics.wishes,
        topics.logs,
        topics.offset_history,
        topics.offsets,
    )


def _list_topics(topics: list[str], most: int = 5) -> str:
    more = f" and {len(topics) - most} more" if len(topics) > most else ""
    return f"topics {', '.join(topics[:most])}{more}"
