"""Which tables a pipeline captures at its source, and what of each is in Kafka.

In: a pipeline that was found good.  Out: one value; a table that can't be described and a Kafka that does
not answer are part of it.  Nothing is changed.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.control.runtime.services import topic_ends
from wrackline.producers.contract.optional_parts import Surveying
from wrackline.producers.contract.source_plugin import Source, load
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.login_check import check_login
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import Naming, assign
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema


@dataclass(frozen=True, slots=True)
class TopicContents:
    """What a topic holds now."""

    partitions: int
    most: int  # offsets from its first to its end: events, and the marks of their transactions


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A table, or why it can't be described; its topic, or why it can have none."""

    table: TableId
    shape: TableSchema | WracklineError
    topic: str | WracklineError

    @property
    def errors(self) -> Sequence[WracklineError]:
        """What an operator should know of it."""
        return [one for one in (self.shape, self.topic) if isinstance(one, WracklineError)]


@dataclass(frozen=True, slots=True)
class TableSurvey:
    """All that was found; `left_out` is None if the source can't report it."""

    captured: Sequence[CapturedTable]
    left_out: Mapping[TableId, UncapturedReason] | None
    held: Mapping[str, TopicContents] | WracklineError

    @property
    def errors(self) -> Iterator[WracklineError]:
        """Every error in it."""
        if isinstance(self.held, WracklineError):
            yield self.held
        for one in self.captured:
            yield from one.errors


def survey_tables(pipeline: Pipeline) -> TableSurvey:
    """Ask the source for its tables, and Kafka for their topics."""
    if pipeline.source is None or pipeline.values is None:
        raise ValueError("a pipeline with errors captures no tables")
    source = load(pipeline.source).open(pipeline.values, surroundings())
    try:
        naming = naming_of(pipeline.values)
        captured = [one for each in source.partitions() for one in _capture(source, each, naming)]
        left_out = None
        if isinstance(source, Surveying):
            left_out = dict(one for each in source.partitions() for one in source.left_out(each).items())
    finally:
        source.close()
    return TableSurvey(captured, left_out, _topic_contents(pipeline.values, captured))


def _capture(source: Source, partition: SourcePartition, naming: Naming) -> Iterator[CapturedTable]:
    found = source.tables(partition)
    assigned = assign(partition.server, found, naming=naming)
    shapes = source.described(partition, found) if isinstance(source, Surveying) else {}
    for table in found:
        topic = assigned.topics.get(table)
        shape = shapes.get(table) or _shape(source, partition, table)
        yield CapturedTable(table, shape, topic or assigned.refused[table])


def _shape(source: Source, partition: SourcePartition, table: TableId) -> TableSchema | WracklineError:
    try:
        return source.describe(partition, table)
    except WracklineError as error:
        return error


def _topic_contents(
    values: Values, captured: Sequence[CapturedTable]
) -> Mapping[str, TopicContents] | WracklineError:
    """Ask Kafka for the topics; the tables are worth something without it."""
    wanted = {one.topic for one in captured if isinstance(one.topic, str)}
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    try:
        check_login(client, time.monotonic)
        found = topic_ends.read_spans(client, f"{values.text('name')}.tables", wanted.__contains__)
    except WracklineError as error:
        return error
    held: dict[str, TopicContents] = {}
    for spot, span in found.items():
        before = held.get(spot.topic, TopicContents(0, 0))
        held[spot.topic] = TopicContents(before.partitions + 1, before.most + span.end - span.first)
    return held
