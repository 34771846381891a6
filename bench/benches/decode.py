"""Kafka's bytes to the newest change of each key: a backlog of about three events a key, from a topic.

`from_avro` parses the key and the whole envelope of every record and takes `max_by` of them by key, as
hand-written code would; it detects no bad record, and carries nothing forward.  `wrackline` is what a driver
does with a batch that fits into its memory: it leaves Arrow columns.  `wrackline, by Spark` is what it does
with any other: it leaves rows in Spark's memory.  All read the same topic, and all of it again until Java
has compiled what they use, as in a job that runs for days.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.avro.functions import from_avro

from bench import stage
from bench.cost import metered
from bench.lake import drained, seconds, session
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads.backlog import KEY_ID, PARTITIONS, VALUE_ID, changes
from bench.workloads.envelopes import TOPIC, key_schema, value_schema
from bench.workloads.lake import SEQ_WIDTH
from wrackline.consumers.batch.planning import writer_schema_of
from wrackline.consumers.contract.batch_scope import BatchRange, SchemaPair
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, MergePlan, NewestChange, plan_merge
from wrackline.consumers.kafka.read_range import read_range
from wrackline.consumers.kafka.record_reader import RecordReader
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.newest.newest_changes import NewestReader
from wrackline.consumers.records.fast_path import fast_newest_changes, outline_columns, read_outline
from wrackline.consumers.records.writer_schema import WriterSchema
from wrackline.schemas.events.envelope import dump

METRIC, CPU = "events_per_s", "cpu_us"
UNITS = {METRIC: "events/s", CPU: "µs of CPU an event"}
FULL = Size(1_000_000, 5)
QUICK = Size(100_000, 1)
_WARM, _WARM_ALONE = 8, 2  # times

TEXTS = {KEY_ID: dump(key_schema()), VALUE_ID: dump(value_schema())}


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Publish the records once, for all to read."""
    with stage.servers() as stack, tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        bootstrap = stack.kafka().bootstrap
        publish(bootstrap, TOPIC, rows, PARTITIONS)
        yield [
            Contender("wrackline", alone, (bootstrap, TOPIC, rows), ours=True),
            Contender("wrackline, by Spark", by_spark, (folder, bootstrap, rows)),
            Contender("from_avro", plain, (folder, bootstrap, rows)),
        ]


def publish(bootstrap: str, topic: str, rows: int, partitions: int) -> None:
    """Write the backlog."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "lz4", "linger.ms": 20})
    for record in changes(rows, partitions):
        while True:
            try:
                producer.produce(topic, record.value, record.key, record.partition)
                break
            except BufferError:  # the queue is full: wait for acknowledgements
                producer.poll(0.05)
    producer.flush()


def alone(bootstrap: str, topic: str, events: int) -> Outcome:
    """Do what a driver does by itself between Kafka and the target."""
    wanted, (known, writer, plan) = _range(bootstrap, topic), _known()
    reader = RecordReader({"bootstrap.servers": bootstrap}, "wrackline-bench", is_local=True)

    def work() -> None:
        records, newest = reader.read(wanted), NewestReader.of(known, writer, plan)
        if records is None or newest is None or newest.newest(records) is None:
            raise ValueError("the backlog is not as it is known to be")

    try:
        return _timed(work, events, _WARM_ALONE)
    finally:
        reader.close()


def by_spark(folder: str, bootstrap: str, events: int) -> Outcome:
    """Do what a batch does where Spark reads it, on a table that has come here already."""
    return _timed_in_spark(folder, bootstrap, events, newest)


def newest(records: DataFrame) -> None:
    """Find the newest change of each key, and compute all of it."""
    known, writer, plan = _known()
    newest = fast_newest_changes(records, known, writer, plan).persist()
    try:
        [answer] = newest.agg(outline_columns()).collect()[0]
        if read_outline(answer, known) is None:
            raise ValueError("the backlog is not as it is known to be")
        drained(newest)
    finally:
        newest.unpersist(blocking=True)


def plain(folder: str, bootstrap: str, events: int) -> Outcome:
    """Parse everything, then take the newest."""

    def newest(records: DataFrame) -> None:
        body = "substring({0}, 6, 2147483647)"
        parsed = records.where("value IS NOT NULL").select(
            from_avro(F.expr(body.format("key")), TEXTS[KEY_ID]).alias("k"),
            from_avro(F.expr(body.format("value")), TEXTS[VALUE_ID]).alias("e"),
        )
        row = F.struct("e.after", "e.op", "e.source.ts_ms", "e.seq")
        drained(parsed.groupBy("k.id").agg(F.max_by(row, F.col("e.seq")).alias("newest")))

    return _timed_in_spark(folder, bootstrap, events, newest)


def _known() -> tuple[NewestChange, WriterSchema, MergePlan]:
    """Return how the records are written, and the plan that follows from it."""
    pair = SchemaPair(KEY_ID, VALUE_ID)
    writer = writer_schema_of(TOPIC, pair, TEXTS.__getitem__)
    known = NewestChange("0" * SEQ_WIDTH, *pair)
    return known, writer, plan_merge(writer.table, Identifiers(255), Applied(newest=known))


def _range(bootstrap: str, topic: str) -> BatchRange:
    ends = TopicOffsets({"bootstrap.servers": bootstrap}).ends_of(topic.__eq__)[topic]
    return BatchRange(topic, dict.fromkeys(ends, 0), ends)


def _timed_in_spark(folder: str, bootstrap: str, events: int, work: Callable[[DataFrame], None]) -> Outcome:
    wanted = _range(bootstrap, TOPIC)
    with session(folder) as spark:
        records = read_range(spark, {"kafka.bootstrap.servers": bootstrap}, wanted)
        return _timed(lambda: work(records), events, _WARM)


def _timed(work: Callable[[], None], events: int, warm: int) -> Outcome:
    for _ in range(warm):
        work()
    with metered() as meter:
        taken = seconds(work)
    return Outcome({METRIC: events / taken, CPU: meter.cost.cpu_s / events * 1e6})
