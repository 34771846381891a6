"""One round of the consumer: for every topic with news, read, decode, dedupe, merge.

    applied offsets (in the table) -> last stable offsets (in Kafka)
        -> bytes -> typed changes -> newest change per key -> one commit with rows and new offsets

It is right at any interruption because nothing is remembered beside the table: a round that did not
commit is done again.  Each table has a Spark session of its own and fails alone.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from wrackline.consumers import plan as plans
from wrackline.consumers.batch import NO_KEY, NOT_WIRE_FORMAT, ROUND_FAILED
from wrackline.consumers.decode import decode, outlines
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.kafka_settings import asking
from wrackline.consumers.names import Identifiers
from wrackline.consumers.plan import MergePlan, TopicPartition, plan_merge
from wrackline.consumers.read import read
from wrackline.consumers.rounds import Range
from wrackline.consumers.targets.iceberg import schema
from wrackline.consumers.targets.iceberg.applied import Applied, applied
from wrackline.consumers.targets.iceberg.apply import apply
from wrackline.consumers.topics import Topics
from wrackline.consumers.writers import SchemaById, Writer, table_id, writer
from wrackline.schemas.errors import WracklineError

_NAMES = Identifiers(most_characters=255)
_AT_ONCE = 2  # tables merged side by side


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What the rounds of one pipeline need to know."""

    server: str
    brokers: str
    schema_by_id: SchemaById


@dataclass(frozen=True, slots=True)
class Round:
    """What became of one topic: how many offsets it moved, or why it stays behind."""

    topic: str
    offsets: int = 0
    error: WracklineError | None = None


def run_once(spark: SparkSession, pipeline: Pipeline) -> list[Round]:
    """Bring every table of the pipeline to where its topic is now."""
    topics = Topics(asking({"bootstrap.servers": pipeline.brokers}))
    ends = topics.ends(pipeline.server)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="merge") as pool:
        return list(
            pool.map(lambda topic: _guarded(spark, pipeline, topics, topic, ends[topic]), sorted(ends))
        )


def _guarded(
    spark: SparkSession, pipeline: Pipeline, topics: Topics, topic: str, ends: Mapping[int, int]
) -> Round:
    try:
        return _round(spark.newSession(), pipeline, topics, topic, ends)
    except WracklineError as error:
        return Round(topic, error=error)
    except (PySparkException, Py4JError) as exc:
        condition = exc.getCondition() if isinstance(exc, PySparkException) else type(exc).__name__
        failed = ROUND_FAILED(topic=topic, condition=condition or type(exc).__name__)
        failed.__cause__ = exc  # not its text: Spark's messages show values
        return Round(topic, error=failed)


def _round(
    session: SparkSession, pipeline: Pipeline, topics: Topics, topic: str, ends: Mapping[int, int]
) -> Round:
    before = applied(session, table_id(topic))
    wanted = topics.range_of(topic, before.offsets, ends)
    if wanted.empty:
        return Round(topic)
    records = read(
        session, {"kafka.bootstrap.servers": pipeline.brokers}, wanted
    ).persist()  # looked at twice, fetched once
    try:
        merge_batch(session, records, wanted, before, pipeline.schema_by_id)
    finally:
        records.unpersist()
    return Round(topic, sum(wanted.end.values()) - sum(wanted.start.values()))


def merge_batch(
    session: SparkSession, records: DataFrame, wanted: Range, before: Applied, schema_by_id: SchemaById
) -> None:
    """Merge one batch and commit its end; before a table's first row there is nothing to commit to."""
    topic = wanted.topic
    seen = _seen(topic, records, before, schema_by_id)
    written = [found for found in seen if found["changes"]]
    newest = max(written, key=lambda found: found["newest"], default=None)
    after = Applied(wanted.end, _greatest(before.floor, *(found["floor"] for found in seen)), *before.shape)
    if newest is not None and newest["newest"] > before.newest:
        after = replace(after, newest=newest["newest"], key_id=newest["key_id"], value_id=newest["value_id"])
    if after.key_id is None or after.value_id is None:
        return
    pairs = {(found["key_id"], found["value_id"]) for found in written} | {(after.key_id, after.value_id)}
    writers = {pair: writer(topic, *map(schema_by_id, pair)) for pair in pairs}
    table = writers[after.key_id, after.value_id].table
    offsets = {TopicPartition(topic, partition): offset for partition, offset in wanted.end.items()}
    plan = plan_merge(table, _NAMES, plans.Applied(offsets, after.floor))
    _check_keys(writers, plan)
    schema.ensure(session, plan)
    columns = [column.target for column in plan.columns]
    changes = dedupe(decode(records, writers, plan), columns, plan.key)
    apply(session, changes, plan, after, truncated=after.floor != before.floor)


def _seen(topic: str, records: DataFrame, before: Applied, schema_by_id: SchemaById) -> list[Row]:
    """Return the outlines of the batch by pair of schemas, all of them readable and with keys."""
    texts = {} if before.value_id is None else {before.value_id: schema_by_id(before.value_id)}
    while True:  # twice at most: once more when the batch was written with schemas not seen before
        seen = outlines(records, texts).collect()
        strange = {found["value_id"] for found in seen if found["newest"] is None}
        if None in strange:
            raise NOT_WIRE_FORMAT(topic=topic)
        if not strange:
            break
        texts |= {value_id: schema_by_id(value_id) for value_id in strange}
    if any(found["changes"] and found["key_id"] is None for found in seen):
        raise NO_KEY(topic=topic, table=table_id(topic))
    return seen


def _check_keys(writers: Mapping[tuple[int, int], Writer], plan: MergePlan) -> None:
    """Refuse a batch whose rows are told apart by different columns."""
    wanted = [column.identity for column in plan.table.key_columns]
    if any([column.identity for column in w.table.key_columns] != wanted for w in writers.values()):
        raise schema.KEY_CHANGED(table=plan.table.id, target=schema.target_table(plan.table.id))


def _greatest(*seqs: str | None) -> str | None:
    return max((seq for seq in seqs if seq is not None), default=None)
