"""A pipeline's file over the local stack, `wrackline` as real processes, and what stands in Kafka."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

import psycopg
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from psycopg import sql

from tests.fixtures.prepared import Forked, run_command
from tests.fixtures.servers import Database
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

T = TypeVar("T")

CANARY = "canary'pass\\word 7!"
PATIENCE = 60.0
_NO_LEADER = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
COMMAND = (sys.executable, "-m", "wrackline.control")
FILE = """
name = "{name}"
topic.prefix = "{prefix}"
metrics.port = {port}
[source]
connector.class = "postgres"
snapshot.mode = "no_data"
database.hostname = "127.0.0.1"
database.port = {database_port}
database.user = "{user}"
database.password = "${{env:WRACKLINE_DB_PASSWORD}}"
database.dbname = "{database}"
database.sslmode = "disable"
slot.name = "{slot}"
publication.name = "{name}"
table.include.list = "public.orders"
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
"""


@dataclass
class Running:
    """A `wrackline run`; what it printed is in a file, as the one it was given."""

    process: subprocess.Popen[bytes]
    printed: Path

    @property
    def output(self) -> str:
        """Everything that it has printed, errors too."""
        return self.printed.read_text()

    @property
    def has_begun(self) -> bool:
        """Whether it runs, or has ended."""
        return "running\n" in self.output or self.process.poll() is not None

    def says(self, text: str) -> str:
        """Wait until it has printed this."""
        wait_until(lambda: text in self.output or self.process.poll() is not None)
        assert text in self.output, self.output
        return self.output

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@dataclass
class World:
    """One database with a table, one pipeline."""

    folder: Path
    database: Database
    kafka: Broker
    registry: SchemaRegistry
    prefix: str
    port: int
    slot: str = ""
    started: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the table, and a role with a password that must be seen nowhere."""
        self.user = f"u_{self.prefix}"
        self.slot = self.slot or f"slot_{self.prefix}"
        self.sql = psycopg.connect(self.database.dsn, autocommit=True)
        role, password = sql.Identifier(self.user), sql.Literal(CANARY)
        self.sql.execute(
            sql.SQL("CREATE ROLE {} LOGIN SUPERUSER REPLICATION PASSWORD {}").format(role, password)
        )
        self.sql.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        self.topic = f"{self.prefix}.{self.database.name}.public.orders"
        self.group = f"wrackline-{self.prefix}"
        self.write()

    def write(self) -> None:
        """Write the pipeline's file."""
        self.file = self.folder / "pipeline.toml"
        self.file.write_text(
            FILE.format(
                name=self.prefix,
                prefix=self.prefix,
                port=self.port,
                database_port=self.database.server.port,
                user=self.user,
                database=self.database.name,
                slot=self.slot,
                brokers=self.kafka.bootstrap,
                registry=self.registry.url,
            )
        )

    def reconnect(self) -> None:
        """Connect again after the server was down."""
        self.sql.close()
        self.sql = psycopg.connect(self.database.dsn, autocommit=True)

    def close(self) -> None:
        """End what was started."""
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        self.sql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", [self.user]
        )
        for statement in ("DROP OWNED BY {}", "DROP ROLE {}"):
            self.sql.execute(sql.SQL(statement).format(sql.Identifier(self.user)))
        self.sql.close()

    def run(self, ready: str = "running\n") -> Running:
        """Start `wrackline run` and wait until it runs, or says something else."""
        printed = self.folder / f"printed-{len(self.started)}"
        with printed.open("wb") as out:
            command = ["run", "--text", str(self.file)]
            process = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=environment())
        running = Running(process, printed)
        self.started.append(running)
        running.says(ready)
        return running

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another `wrackline` command on the file."""
        command = [*arguments[:2], str(self.file), *arguments[2:]]
        return run_command(command, env=environment())

    def offsets(self, *arguments: str) -> Any:
        """Run `wrackline offsets … --json`, which must succeed."""
        done = self.command("offsets", *arguments, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def position(self) -> dict[str, Any]:
        """The one stored position, with what is shown of it."""
        (stored,) = self.offsets("show")["offsets"]
        assert isinstance(stored, dict)
        return stored

    def insert(self, first: int, last: int) -> None:
        """Insert orders, each in a transaction of its own."""
        for number in range(first, last + 1):
            self.sql.execute("INSERT INTO orders VALUES (%s, 'n')", [number])

    def events(self, topic: str = "") -> list[tuple[bytes | None, bytes | None]]:
        """Every committed record of a topic, the orders' by default."""
        return committed(self.kafka.bootstrap, topic or self.topic)

    def arrived(self, count: int) -> list[tuple[bytes | None, bytes | None]]:
        """Wait for so many of them."""
        wait_until(lambda: len(self.events()) >= count)
        return self.events()

    def metrics(self) -> str:
        """What is served now."""
        return metrics_of(self.port)

    def metric(self, line: str) -> float:
        """The value of the line whose name and labels begin and contain these words."""
        return metric_of(self.port, line)


def metrics_of(port: int) -> str:
    """What is served there now."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        body: bytes = answer.read()
    return body.decode()


def metric_of(port: int, line: str) -> float:
    """The value of the line whose name and labels begin and contain these words; -1: it is not served."""
    name, *labels = line.split()
    for found in metrics_of(port).splitlines():
        if re.match(rf"{name}\{{", found) and all(label in found for label in labels):
            return float(found.rpartition(" ")[2])
    return -1.0


def wait_until(holds: Callable[[], bool], *, look: float = 0.05, patience: float = PATIENCE) -> None:
    """Poll until it holds, or the test fails."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(look)


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port: int = made.getsockname()[1]
    return port


def committed(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Every committed record of a topic's first partition up to now; none where there is no topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,  # the end of a partition is said after such a wait
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    records: list[tuple[bytes | None, bytes | None]] = []
    try:
        if consumer.list_topics(topic, timeout=30).topics[topic].error is not None:
            return []
        consumer.assign([TopicPartition(topic, 0, 0)])
        end = _end(consumer, topic)
        while (message := consumer.poll(30)) is not None:
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return records
            if (message.offset() or 0) >= end:  # written meanwhile: where much is, there is never an end
                return records
            key, value = message.key(), message.value()
            assert not isinstance(key, str)
            assert not isinstance(value, str)
            records.append((key, value))
    finally:
        consumer.close()
    raise TimeoutError(topic)


def _end(consumer: Consumer, topic: str) -> int:
    """Where a topic's first partition ends; one that was just made has no leader for a moment."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
        except KafkaException as error:
            if error.args[0].code() not in _NO_LEADER or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def environment() -> dict[str, str]:
    """What a command is started with."""
    return {**os.environ, "WRACKLINE_DB_PASSWORD": CANARY, "COLUMNS": "200", "NO_COLOR": "1"}
