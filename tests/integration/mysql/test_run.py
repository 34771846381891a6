"""`wrackline run` over a server with many databases: killed in mid stream, every row once in Kafka."""

import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import orjson
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.integration.mysql.world import FLAVOURS, root
from tests.integration.running.world import COMMAND, Running, committed, environment, wait_until
from wrackline.control.exits import Exit
from wrackline.control.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.control.stack.stack import Stack

pytestmark = pytest.mark.servers

FILE = """
name = "{prefix}"
topic.prefix = "{prefix}"
metrics.port = 0
[source]
connector.class = "{kind}"
snapshot.mode = "no_data"
database.hostname = "{host}"
database.port = {port}
database.user = "{user}"
database.ssl.mode = "disabled"
database.include.list = "{databases}"
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
"""
ROWS = 6_000
EACH = 7  # rows of a transaction


@dataclass
class World:
    """Two databases of one server with a table each, and one pipeline."""

    folder: Path
    kind: str
    server: MysqlServer
    kafka: Broker
    registry: SchemaRegistry
    prefix: str
    started: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.databases = [f"{self.prefix}_{name}" for name in ("a", "b")]
        self.sql = root(self.server)
        for database in self.databases:
            self.execute(f"CREATE DATABASE {database}")
            self.execute(f"CREATE TABLE {database}.orders (id int PRIMARY KEY, note varchar(200))")
        self.file = self.folder / "pipeline.toml"
        self.file.write_text(
            FILE.format(
                prefix=self.prefix,
                kind=self.kind,
                host=self.server.host,
                port=self.server.port,
                user=self.server.user,
                databases=",".join(self.databases),
                brokers=self.kafka.bootstrap,
                registry=self.registry.url,
            )
        )

    def execute(self, statement: str, *given: object) -> None:
        """Run a statement as root."""
        with self.sql.cursor() as cursor:
            cursor.execute(statement, given or None)

    def run(self) -> Running:
        """Start `wrackline run` and wait until it runs."""
        printed = self.folder / f"printed-{len(self.started)}"
        with printed.open("wb") as out:
            command = [*COMMAND, "run", "--text", str(self.file)]
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment())
        self.started.append(Running(process, printed))
        self.started[-1].says("running\n")
        return self.started[-1]

    def write(self) -> None:
        """Insert all rows into both tables, some at a time, as one transaction of both."""
        with root(self.server, database=self.databases[0]) as writing, writing.cursor() as cursor:
            writing.autocommit(False)
            for first in range(0, ROWS, EACH):
                for number in range(first, min(first + EACH, ROWS)):
                    for database in self.databases:
                        cursor.execute(f"INSERT INTO {database}.orders VALUES (%s, %s)", (number, "n" * 150))
                writing.commit()

    def records(self, database: str) -> list[tuple[bytes | None, bytes | None]]:
        """What Kafka has of one of the tables."""
        return committed(self.kafka.bootstrap, f"{self.prefix}.{database}.{database}.orders")

    def arrived(self) -> int:
        """How many records there are."""
        return sum(len(self.records(database)) for database in self.databases)

    def ids(self, database: str) -> Counter[int]:
        """How often each row is there, and its seqs rise."""
        shapes: dict[int, Any] = {}
        found: Counter[int] = Counter()
        last = ""
        with SchemaRegistryClient({"url": self.registry.url}) as registry:
            for _, value in self.records(database):
                assert value is not None
                number = int.from_bytes(value[1:5], "big")
                if number not in shapes:
                    shapes[number] = orjson.loads(registry.get_schema(number).schema_str or "")
                read: Any = fastavro.schemaless_reader(BytesIO(value[5:]), shapes[number], None)
                assert read["seq"] > last
                last = read["seq"]
                assert (read["source"]["db"], read["source"]["connector"]) == (database, self.kind)
                found[read["after"]["id"]] += 1
        return found

    def close(self) -> None:
        """End what was started."""
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        for database in self.databases:
            self.execute(f"DROP DATABASE {database}")
        self.sql.close()


@pytest.fixture(params=FLAVOURS)
def pipeline(
    request: pytest.FixtureRequest,
    stack: Stack,
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
) -> Iterator[World]:
    """A pipeline over each server, under its own kind."""
    server: MysqlServer = getattr(stack, request.param)()
    made = World(tmp_path, request.param, server, kafka, registry, topic_prefix)
    yield made
    made.close()


def test_killed_in_mid_stream_every_row_is_there_once(pipeline: World) -> None:
    world = pipeline
    running = world.run()
    writing = threading.Thread(target=world.write)
    writing.start()
    for killed in range(1, 4):
        least = killed * ROWS // 3
        wait_until(lambda: world.arrived() >= least)  # noqa: B023 - at once
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
        running = world.run()
    writing.join()
    wait_until(lambda: world.arrived() >= 2 * ROWS)
    assert running.stop() == Exit.OK
    for database in world.databases:
        assert world.ids(database) == dict.fromkeys(range(ROWS), 1)
