"""sysbench writes, worker and consumer are killed again and again: then the copy in Iceberg is the source."""

import random
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.chaos.mysql.world import World
from tests.integration.consuming.world import SPARK_PATIENCE, Consuming
from tests.integration.running.world import COMMAND, Running, environment, wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry

pytestmark = [
    pytest.mark.servers,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed"),
]

_COPY = """
[target]
kind = "iceberg"
warehouse = "{warehouse}"
[consume]
trigger.interval.ms = 500
[spark]
master = "local[2]"
"""
_ROWS = 1_000
_RATE = 25  # transactions a second, each of about four changes


class Copied(World):
    """Two tables of sysbench's, their topics, and a copy in Iceberg."""

    tables: Sequence[str] = ("sbtest1", "sbtest2")

    def fill(self) -> None:
        """Have sysbench make its tables, and say how the pipeline continues after the topics."""
        subprocess.run(
            [*self._sysbench(), "prepare"], check=True, capture_output=True, timeout=SPARK_PATIENCE
        )
        self.warehouse = self.folder / "warehouse"

    @contextmanager
    def load(self) -> Iterator[None]:
        """Write until the block is left."""
        command = [*self._sysbench(), f"--rate={_RATE}", "--threads=2", "--time=0", "run"]
        with (self.folder / "sysbench").open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield
            assert process.poll() is None, (self.folder / "sysbench").read_text()
        finally:
            process.kill()
            process.wait()

    def consume(self) -> Consuming:
        """Start to merge."""
        number = len(self.started)
        file = self.folder / "consume.toml"
        file.write_text(self.file.read_text() + _COPY.format(warehouse=self.warehouse))
        log, printed = self.folder / f"spark-{number}.log", self.folder / f"consumed-{number}"
        with printed.open("wb") as out:
            command = [*COMMAND, "consume", str(file), "--spark-log", str(log)]
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment())
        started = Consuming(process, printed)
        self.started.append(started)
        return started

    def await_updates(self, more: int) -> None:
        """Wait until the server has run so many more; sysbench makes two a transaction."""
        goal = self._updates() + more
        wait_until(lambda: self._updates() >= goal)

    def differences(self, spark: SparkSession) -> list[tuple[Any, ...]]:
        """Rows that one side has and the other has not."""
        found: list[tuple[Any, ...]] = []
        for table in self.tables:
            there = set(self.sql(f"SELECT id, k, c, pad FROM {table}"))
            folder = self.warehouse / self.database / table
            if not (folder / "metadata" / "version-hint.text").exists():
                return sorted(there)
            copy = spark.newSession().read.format("iceberg").load(str(folder))
            rows = [tuple(row) for row in copy.select("id", "k", "c", "pad").collect()]
            assert len(rows) == len(set(rows)), f"{table} has rows twice"
            found += sorted(there ^ set(rows), key=repr)  # a row may have nulls
        return found

    def _updates(self) -> int:
        return int(self.sql("SHOW GLOBAL STATUS LIKE 'Com_update'")[0][1])

    def _sysbench(self) -> list[str]:
        server = self.server
        return [
            "sysbench",
            "oltp_read_write",
            "--db-driver=mysql",
            f"--mysql-host={server.host}",
            f"--mysql-port={server.port}",
            f"--mysql-user={server.user}",
            f"--mysql-password={server.password}",
            f"--mysql-db={self.database}",
            f"--tables={len(self.tables)}",
            f"--table-size={_ROWS}",
        ]


@pytest.fixture
def world(
    tmp_path: Path,
    kind: str,
    own: MysqlServer,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
) -> Iterator[Copied]:
    """A pipeline whose existing rows take several chunks."""
    settings = {"incremental.snapshot.chunk.size": "100"}
    made = Copied(tmp_path, kind, own, kafka, registry, topic_prefix, settings)
    yield made
    made.close()


def storm(world: Copied, spark: SparkSession, seed: int, kills: int) -> None:
    """Kill one of the two at a time, at any moment of its work."""
    chance = random.Random(seed)
    with world.load():
        worker: Running = world.run()
        consumer = world.consume()
        consumer.told("running")
        for _ in range(kills):
            world.await_updates(chance.randint(20, 300))
            for killed in chance.choice(([worker], [consumer], [worker, consumer])):
                assert killed.process.poll() is None, killed.output
                assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
                if killed is worker:
                    worker = world.run(wait=chance.random() < 0.5)
                else:
                    consumer = world.consume()
                    if chance.random() < 0.7:
                        consumer.told("running")
    wait_until(lambda: not world.differences(spark), patience=SPARK_PATIENCE)
    assert consumer.stop() == 0, consumer.output
    assert worker.stop() == 0, worker.output
    assert not world.differences(spark)


@pytest.mark.parametrize("kind", ["mariadb", pytest.param("mysql", marks=pytest.mark.deep)], indirect=True)
@pytest.mark.full
def test_a_small_storm(world: Copied, spark: SparkSession) -> None:
    storm(world, spark, 1, 2)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2))
def test_a_storm(world: Copied, spark: SparkSession, seed: int) -> None:
    storm(world, spark, seed, 12)
