"""From a commit in PostgreSQL until its row is in Iceberg, at 2,000 changes a second over ten tables.

The peers are the same with 190 quiet tables beside the ten, and the ten at 200 changes a second.  Lower is
better: a ratio below 1 means that the ten tables at the full rate are ahead.  `publish` ends when the record
is made; the seconds of a batch are the means of its steps.  Everything is computed afterwards from Kafka and
from the tables' own history, so only the load runs beside it.
"""

import io
import json
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any

import fastavro
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient

from bench import stage
from bench.address import Address
from bench.late import Change, commits, late_ms
from bench.ours.pipeline import BATCHES, Pipeline, Wanted, running
from bench.peers.slot import held
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads.shops import A_SECOND, BUSY, Load, begin, make, names
from wrackline.consumers.batch.report import Step
from wrackline.consumers.records.wire import reader_schema
from wrackline.schemas.errors import Definite, define

UNITS = {"p50_ms": "ms", "p95_ms": "ms", "publish_p95_ms": "ms"} | {f"{one.value}_s": "s" for one in Step}
FULL = Size(120_000, 3)  # changes that are counted
QUICK = Size(20_000, 1)
MANY, SLOWER = 200, 10
WARM_UP_S, PATIENCE_S = 60.0, 600.0
_HEAD = 5  # bytes of the registry's wire format

NOT_MERGED = define(
    "bench.not_merged",
    Definite,
    "after {seconds} s {missing} of {tables} tables had not all of their changes",
    hint="run the bench again with --quick",
)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start the servers; each contender makes its own tables in a database of its own."""
    with stage.servers() as stack:
        at = Address(stack.postgres().port, "postgres", "", "postgres")
        given = (at, stack.kafka().bootstrap, stack.registry().url, rows)
        yield [
            Contender(f"{BUSY} tables", latency, (*given, BUSY), ours=True),
            Contender(f"{MANY} tables", latency, (*given, MANY)),
            Contender(f"{A_SECOND // SLOWER} a second", latency, (*given, BUSY, SLOWER)),
        ]


def latency(
    at: Address, bootstrap: str, registry: str, changes: int, tables: int, slower: int = 1
) -> Outcome:
    """Write at a steady rate; reckon how late each change was once all are merged."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    at = stage.new_database(at, prefix)
    make(at, tables)
    topics = {name: f"{prefix}.{at.database}.public.{name}" for name in names(tables)}
    with tempfile.TemporaryDirectory() as folder, held(at) as slot:
        begin(at, tables)
        with running(Path(folder), at, bootstrap, registry, Wanted(prefix, slot, "shop_.*")) as pipeline:
            _until_merged(pipeline, bootstrap, topics)
            load = Load(at, slower)
            load.start()
            time.sleep(WARM_UP_S)
            before, since_ms = pipeline.steps(), time.time_ns() // 1_000_000
            time.sleep(changes / A_SECOND)
            steps = pipeline.steps()
            load.end()
            _until_merged(pipeline, bootstrap, {name: topics[name] for name in names(BUSY)})
            late, published = _lateness(pipeline, bootstrap, registry, topics, since_ms)
    batches = steps[BATCHES] - before[BATCHES]
    means = {f"{one.value}_s": (steps[one.value] - before[one.value]) / batches for one in Step}
    cuts = quantiles(late, n=100)
    return Outcome(
        {"p50_ms": cuts[49], "p95_ms": cuts[94], "publish_p95_ms": quantiles(published, n=100)[94], **means}
    )


def _until_merged(pipeline: Pipeline, bootstrap: str, topics: Mapping[str, str]) -> None:
    """Wait until each table has what its topic has."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        pipeline.check()
        with closing(_consumer(bootstrap)) as consumer:  # one that has missed a topic may go on missing it
            missing = sum(not _whole(pipeline, consumer, *one) for one in topics.items())
        if not missing:
            return
        time.sleep(1)
    raise NOT_MERGED(seconds=PATIENCE_S, missing=missing, tables=len(topics))


def _whole(pipeline: Pipeline, consumer: Consumer, table: str, topic: str) -> bool:
    """Whether a table's newest commit reaches the end of its topic, which has something."""
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
    except KafkaException:  # not there yet
        return False
    made = commits(pipeline.table(table), topic)
    return bool(made) and end > 0 and made[-1].upto >= end


def _lateness(
    pipeline: Pipeline, bootstrap: str, registry: str, topics: Mapping[str, str], since_ms: int
) -> tuple[list[int], list[int]]:
    """Return how late each change of the time was in its table, and in Kafka."""
    late, published = list[int](), list[int]()
    with closing(_consumer(bootstrap)) as consumer:
        for table in names(BUSY):
            read = _changes(consumer, topics[table], registry)
            counted = [one for one in read if one.committed_ms >= since_ms]
            late += late_ms(counted, commits(pipeline.table(table), topics[table]))
            published += [one.published_ms - one.committed_ms for one in counted]
    return late, published


def _changes(consumer: Consumer, topic: str, registry: str) -> Iterator[Change]:
    """Read a topic's one partition whole, as `read_committed` has it."""
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
    consumer.assign([TopicPartition(topic, 0, 0)])
    schemas: dict[bytes, tuple[fastavro.types.Schema, fastavro.types.Schema]] = {}
    while consumer.position([TopicPartition(topic, 0)])[0].offset < end:
        for message in consumer.consume(10_000, 1.0):
            if (error := message.error()) is not None:
                raise KafkaException(error)
            value = message.value()
            if not value:  # for compaction
                continue
            head = value[1:_HEAD]
            if head not in schemas:
                schemas[head] = _schemas(registry, int.from_bytes(head, "big"))
            event: Any = fastavro.schemaless_reader(io.BytesIO(value[_HEAD:]), *schemas[head])
            yield Change(message.offset() or 0, event["source"]["ts_ms"], message.timestamp()[1])


def _schemas(registry: str, value_id: int) -> tuple[fastavro.types.Schema, fastavro.types.Schema]:
    """Return a schema, and what of it is read."""
    text = SchemaRegistryClient({"url": registry}).get_schema(value_id).schema_str or ""
    return fastavro.parse_schema(json.loads(text)), fastavro.parse_schema(
        json.loads(reader_schema(text, ("source",)))
    )


def _consumer(bootstrap: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-latency",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 3,
        }
    )
