"""Debezium with Apache Iceberg's own sink for Kafka Connect: both connectors in one worker.

    PostgreSQL -> Debezium -> one topic, Avro -> the sink -> an Iceberg table that it makes itself

The sink has no upsert: each event becomes a row, so the table is a log of the changes, and its reader finds
the newest row of each key.  Debezium sends flat rows with what was done and where in the log; types are those
of the database, exactly.  The sink commits once a second, and reads what is committed.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.lake_copy import Copy, Source
from bench.peers import debezium
from bench.peers.connect import avro, worker
from bench.visible import make_topic
from bench.workloads.lineitem import KEY, TABLE
from wrackline.schemas.versions import ICEBERG_SINK

NAME = "debezium + iceberg sink"
_NAMESPACE = "lake"
_COMMIT_EVERY_MS = "1000"
_WORKER = {
    "session.timeout.ms": "60000",  # it is frozen while a backlog comes about
    "offset.flush.interval.ms": "1000",  # how long a sink waits for records before it looks whether to commit
}
NEWEST = f"""
(select * from (select *, row_number() over (partition by {", ".join(KEY)} order by __source_lsn desc)
 as place from {{table}}) where place = 1 and __deleted = 'false')"""


@contextmanager
def keeper(source: Source) -> Iterator[Copy]:
    """Run both connectors."""
    prefix = debezium.new_prefix().replace("-", "_")  # Avro knows no dashes
    wanted = debezium.Source("postgres", source.at, source.bootstrap, TABLE)
    topic, control, sink = f"{prefix}.{wanted.table}", f"{prefix}-control", f"{prefix}-sink"
    make_topic(source.bootstrap, topic)
    make_topic(source.bootstrap, control)
    converted = avro(source.registry)
    given = debezium.config(wanted, prefix) | _flat() | converted | {"snapshot.mode": "initial"}
    given |= {"slot.name": prefix, "time.precision.mode": "connect"}
    warehouse = source.folder / "warehouse"
    folder = Path(tempfile.mkdtemp(prefix="connect-", dir=source.folder))
    with worker(folder, source.bootstrap, ICEBERG_SINK, _WORKER) as connect:
        connect.create(debezium.NAME, given)
        connect.create(sink, _sink(source, topic, control, warehouse) | converted)

        def check() -> None:
            connect.check(debezium.NAME)
            connect.check(sink)

        yield Copy(warehouse / _NAMESPACE / TABLE, [connect.pid], check, NEWEST)


def _flat() -> dict[str, str]:
    return {
        "transforms": "flat",
        "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.flat.delete.tombstone.handling.mode": "rewrite",
        "transforms.flat.add.fields": "op,source.lsn",
    }


def _sink(source: Source, topic: str, control: str, warehouse: Path) -> dict[str, str]:
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "1",
        "topics": topic,
        "iceberg.tables": f"{_NAMESPACE}.{TABLE}",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": str(warehouse),
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": _COMMIT_EVERY_MS,
        "iceberg.kafka.bootstrap.servers": source.bootstrap,
        "consumer.override.isolation.level": "read_committed",
        "consumer.override.auto.offset.reset": "earliest",
        "consumer.override.session.timeout.ms": "60000",
        "consumer.override.max.poll.records": "20000",
        "consumer.override.max.partition.fetch.bytes": "16777216",
    }
