"""A first load from Kafka into Iceberg: rows that were read in chunks, in ten batches, into a new table.

The peer decodes the same batches of the same topic and keeps nothing: the difference between the two rates is
what the table costs.  The topic has one partition; a tenth of the rows is loaded before the clock starts.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from bench import stage
from bench.benches.decode import TEXTS, newest
from bench.lake import iceberg, seconds, session
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.visible import make_topic
from bench.workloads.backlog import reads
from bench.workloads.envelopes import TOPIC
from wrackline.consumers.batch.batch import Batches
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.kafka.read_range import read_range
from wrackline.consumers.kafka.record_reader import RecordReader
from wrackline.consumers.kafka.topic_offsets import TopicOffsets

METRIC = "rows_per_s"
UNITS = {METRIC: "rows/s"}
FULL = Size(2_000_000, 3)
QUICK = Size(100_000, 1)
BATCHES = 10


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Publish the rows once, for both to read."""
    with stage.servers() as stack, tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        bootstrap = stack.kafka().bootstrap
        publish(bootstrap, rows)
        yield [
            Contender("wrackline", ours, (folder, bootstrap, rows, True), ours=True),
            Contender("decode alone", decoded, (folder, bootstrap, rows)),
        ]


def publish(bootstrap: str, rows: int) -> None:
    """Write the topic."""
    make_topic(bootstrap, TOPIC)
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": "lz4", "linger.ms": 20})
    for key, value in reads(rows):
        while True:
            try:
                producer.produce(TOPIC, value, key)
                break
            except BufferError:  # the queue is full: wait for acknowledgements
                producer.poll(0.05)
    producer.flush()


def ours(folder: str, bootstrap: str, rows: int, directly: bool) -> Outcome:  # noqa: FBT001 - a contender's argument
    """Merge batch after batch, as the driver does."""
    size = -(-rows // BATCHES)
    with tempfile.TemporaryDirectory(dir=folder) as place, session(place) as spark:
        reader = RecordReader({"bootstrap.servers": bootstrap}, "wrackline-bench", is_local=True)
        rules = BatchRules(
            {"kafka.bootstrap.servers": bootstrap},
            TEXTS.__getitem__,
            most_offsets=size,
            reader=reader if directly else None,
        )
        batches = Batches(spark, TopicOffsets({"bootstrap.servers": bootstrap}), iceberg(place, spark), rules)
        try:
            return timed(rows, lambda: batches.merge(TOPIC, {0: rows}))
        finally:
            reader.close()


def decoded(folder: str, bootstrap: str, rows: int) -> Outcome:
    """Read and decode the same batches."""
    size, begun = -(-rows // BATCHES), 0
    with tempfile.TemporaryDirectory(dir=folder) as place, session(place) as spark:

        def batch() -> None:
            nonlocal begun
            upto = min(begun + size, rows)
            _decode(spark, bootstrap, BatchRange(TOPIC, {0: begun}, {0: upto}))
            begun = upto

        return timed(rows, batch)


def _decode(spark: SparkSession, bootstrap: str, wanted: BatchRange) -> None:
    newest(read_range(spark.newSession(), {"kafka.bootstrap.servers": bootstrap}, wanted))


def timed(rows: int, batch: Callable[[], object]) -> Outcome:
    """Run the first batch to warm up, the others against the clock."""
    batch()
    rest = BATCHES - 1
    taken = seconds(lambda: [batch() for _ in range(rest)])
    return Outcome({METRIC: rows * rest / BATCHES / taken})
