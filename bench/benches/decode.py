"""Kafka's bytes to the newest change of each key, in Spark: a backlog of about three events a key.

`from_avro` parses the key and the whole envelope of every record and takes `max_by` of them by key, as
hand-written code would; it detects no bad record, and carries nothing forward.  Both read the records
from the same files, so Kafka is not measured, and both run until Java has compiled what they use, as in a
job that runs for days.  Ours leaves its rows in memory, where a merge reads them.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import fastavro
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.avro.functions import from_avro

from bench.lake import drained, seconds, session
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads.backlog import KEY_ID, VALUE_ID, Record, changes
from bench.workloads.envelopes import TOPIC, key_schema, value_schema
from bench.workloads.lake import SEQ_WIDTH
from wrackline.consumers.batch.planning import writer_schema_of
from wrackline.consumers.contract.batch_scope import SchemaPair
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, NewestChange, plan_merge
from wrackline.consumers.records.fast_path import fast_newest_changes, outline_columns, read_outline
from wrackline.schemas.events.envelope import dump

METRIC = "events_per_s"
UNITS = {METRIC: "events/s"}
FULL = Size(1_000_000, 5)
QUICK = Size(100_000, 1)
_WARM = 8  # times

TEXTS = {KEY_ID: dump(key_schema()), VALUE_ID: dump(value_schema())}
RECORD = {
    "type": "record",
    "name": "Record",
    "fields": [
        {"name": "key", "type": "bytes"},
        {"name": "value", "type": "bytes"},
        {"name": "partition", "type": "int"},
        {"name": "offset", "type": "long"},
        {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Write the records once, for both to read."""
    with tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        write(Path(folder, "records.avro"), changes(rows))
        yield [
            Contender("wrackline", ours, (folder, rows), ours=True),
            Contender("from_avro", plain, (folder, rows)),
        ]


def write(file: Path, records: Sequence[Record]) -> None:
    """Write records where Spark can read them."""
    with file.open("wb") as out:
        fastavro.writer(out, RECORD, (record._asdict() for record in records))


def ours(folder: str, events: int) -> Outcome:
    """Do what a batch does between Kafka and the target, on a table that has come here already."""
    return _timed(folder, events, newest)


def newest(records: DataFrame) -> None:
    """Find the newest change of each key, and compute all of it."""
    pair = SchemaPair(KEY_ID, VALUE_ID)
    writer = writer_schema_of(TOPIC, pair, TEXTS.__getitem__)
    known = NewestChange("0" * SEQ_WIDTH, *pair)
    plan = plan_merge(writer.table, Identifiers(255), Applied(newest=known))
    newest = fast_newest_changes(records, known, writer, plan).persist()
    try:
        [answer] = newest.agg(outline_columns()).collect()[0]
        if read_outline(answer, known) is None:
            raise ValueError("the backlog is not as it is known to be")
        drained(newest)
    finally:
        newest.unpersist(blocking=True)


def plain(folder: str, events: int) -> Outcome:
    """Parse everything, then take the newest."""

    def newest(records: DataFrame) -> None:
        body = "substring({0}, 6, 2147483647)"
        parsed = records.where("value IS NOT NULL").select(
            from_avro(F.expr(body.format("key")), TEXTS[KEY_ID]).alias("k"),
            from_avro(F.expr(body.format("value")), TEXTS[VALUE_ID]).alias("e"),
        )
        row = F.struct("e.after", "e.op", "e.source.ts_ms", "e.seq")
        drained(parsed.groupBy("k.id").agg(F.max_by(row, F.col("e.seq")).alias("newest")))

    return _timed(folder, events, newest)


def _timed(folder: str, events: int, work: Callable[[DataFrame], None]) -> Outcome:
    with session(folder) as spark, tempfile.TemporaryDirectory(dir=folder) as place:
        parquet = str(Path(place, "records"))
        spark.read.format("avro").load(str(Path(folder, "records.avro"))).write.parquet(parquet)
        records = spark.read.parquet(parquet)
        for _ in range(_WARM):
            work(records)
        return Outcome({METRIC: events / seconds(lambda: work(records))})
