"""Flink CDC into Iceberg: one SQL job in Flink's SQL client, with Flink's own cluster inside it.

    PostgreSQL -> postgres-cdc, read in parallel -> to one of two writers by the key -> an Iceberg table

As the connector's documentation asks, the table's replica identity is `full`.  A checkpoint is a commit;
there is one a second.  An update writes a delete by key and a new row, so the table is equal without a rule.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.lake_copy import Copy, Source
from bench.peers.slot import PUBLICATION, connect
from bench.spawned import spawned
from bench.workloads.lineitem import KEY, TABLE
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import classpath, fetch
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.versions import FLINK

NAME = "flink cdc + iceberg"
_HEAP = "-Xmx3g"
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_NAMESPACE, _SLOT = "lake", "flink"
_SAID = 3000
_OPENED = (
    *("java.base/java.lang", "java.base/java.lang.reflect", "java.base/java.net", "java.base/java.nio"),
    *("java.base/java.text", "java.base/java.time", "java.base/java.util", "java.base/java.util.concurrent"),
    *(
        "java.base/java.util.concurrent.atomic",
        "java.base/java.util.concurrent.locks",
        "java.base/sun.net.util",
    ),
    "java.base/sun.nio.ch",
)
_CONFIG = """\
execution.target: local
parallelism.default: 2
taskmanager.numberOfTaskSlots: 2
execution.checkpointing.interval: 1s
execution.checkpointing.timeout: 10min
state.backend.type: hashmap
"""
_COLUMNS = """
  l_orderkey bigint not null, l_partkey bigint not null, l_suppkey bigint not null,
  l_linenumber int not null, l_quantity decimal(15,2) not null, l_extendedprice decimal(15,2) not null,
  l_discount decimal(15,2) not null, l_tax decimal(15,2) not null, l_returnflag string not null,
  l_linestatus string not null, l_shipdate date not null, l_commitdate date not null,
  l_receiptdate date not null, l_shipinstruct string not null, l_shipmode string not null,
  l_comment string not null, primary key ({key}) not enforced"""
_JOB = """
create table source ({columns}) with (
  'connector' = 'postgres-cdc', 'hostname' = '127.0.0.1', 'port' = '{at.port}', 'username' = '{at.user}',
  'password' = '{at.password}', 'database-name' = '{at.database}', 'schema-name' = 'public',
  'table-name' = '{table}', 'slot.name' = '{slot}', 'decoding.plugin.name' = 'pgoutput',
  'scan.incremental.snapshot.enabled' = 'true', 'scan.incremental.snapshot.chunk.size' = '50000',
  'scan.snapshot.fetch.size' = '10240', 'debezium.publication.name' = '{publication}',
  'debezium.publication.autocreate.mode' = 'disabled', 'debezium.poll.interval.ms' = '50');
create catalog lake with ('type' = 'iceberg', 'catalog-type' = 'hadoop', 'warehouse' = '{warehouse}');
create database lake.{namespace};
create table lake.{namespace}.{table} ({columns}) with ('format-version' = '2');
insert into lake.{namespace}.{table} select * from source;
"""

ENDED = define(
    "bench.flink_ended",
    Definite,
    "Flink's job does not run; it said: {said}",
    hint="compare the job with the documentation of Flink CDC; it is built in bench/peers/flink.py",
)


@contextmanager
def keeper(source: Source) -> Iterator[Copy]:
    """Run the job."""
    with connect(source.at) as session:
        session.execute(f"alter table {TABLE} replica identity full")
    warehouse, job, printed = (source.folder / name for name in ("warehouse", "job.sql", "flink.txt"))
    columns = _COLUMNS.format(key=", ".join(KEY))
    given = {"at": source.at, "table": TABLE, "slot": _slot(source), "namespace": _NAMESPACE}
    job.write_text(
        _JOB.format(columns=columns, publication=PUBLICATION, warehouse=warehouse.as_uri(), **given)
    )
    conf = source.folder / "conf"
    conf.mkdir()
    (conf / "config.yaml").write_text(_CONFIG)
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    command = [java.find_java().program, _HEAP, _QUIET, *opened, "-cp", classpath(fetch(FLINK))]
    command += ["org.apache.flink.table.client.SqlClient", "embedded", "-f", str(job)]
    with spawned(command, printed, {"FLINK_CONF_DIR": str(conf)}) as process:

        def check() -> None:
            if process.poll() is not None or "[ERROR]" in printed.read_text():
                raise ENDED(said=printed.read_text()[-_SAID:])

        yield Copy(warehouse / _NAMESPACE / TABLE, [process.pid], check, "{table}")


def _slot(source: Source) -> str:
    return f"{_SLOT}_{source.at.database}"
