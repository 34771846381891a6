"""A group over the local stack: workers as real processes, connectors over tables of one database."""

import json
import os
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psycopg
import requests
from kafka_connect import KafkaConnect  # type: ignore[import-untyped]  # it has none
from psycopg import sql

from tests.fixtures.prepared import Forked
from tests.fixtures.servers import Database
from tests.integration.running.world import CANARY, PATIENCE, committed, environment, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry

FILE = """
group.id = "{group}"
{more}
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
"""


@dataclass
class Worker:
    """A `wrackline worker --group`; what it says is in a file, a JSON object a line."""

    process: subprocess.Popen[bytes]
    said: Path

    @property
    def text(self) -> str:
        return self.said.read_text()

    @cached_property
    def url(self) -> str:
        """Where it answers."""
        wait_until(lambda: '"requests"' in self.text or self.process.poll() is not None)
        lines = [json.loads(line) for line in self.text.splitlines()]
        found = [told["requests"] for told in lines if "requests" in told]
        assert found, self.text
        return str(found[0]).removesuffix("/connectors")

    @property
    def id(self) -> str:
        return self.url.removeprefix("http://")

    @cached_property
    def connect(self) -> KafkaConnect:
        """A client of Kafka Connect's."""
        return KafkaConnect(self.url)

    def began(self, name: str) -> int:
        """How often it has begun a process for a connector."""
        whole = self.text.rpartition("\n")[0].splitlines()
        told = [one for one in map(json.loads, whole) if one.get("pipeline") == name]
        return sum(one.get("state") == "STARTING" for one in told)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@dataclass
class GroupWorld:
    """One database, a group, its workers."""

    folder: Path
    database: Database
    kafka: Broker
    registry: SchemaRegistry
    prefix: str
    workers: list[Worker] = field(default_factory=list)
    more: str = ""

    def __post_init__(self) -> None:
        """Make a role with a password that must be seen nowhere."""
        self.group, self.user = f"g-{self.prefix}", f"u_{self.prefix}"
        self.sql = psycopg.connect(self.database.dsn, autocommit=True)
        role, password = sql.Identifier(self.user), sql.Literal(CANARY)
        self.sql.execute(
            sql.SQL("CREATE ROLE {} LOGIN SUPERUSER REPLICATION PASSWORD {}").format(role, password)
        )

    def start(self, *flags: str, **variables: str) -> Worker:
        """Start a worker, with more flags and variables."""
        file = self.folder / "group.toml"
        file.write_text(
            FILE.format(
                group=self.group, brokers=self.kafka.bootstrap, registry=self.registry.url, more=self.more
            )
        )
        said = self.folder / f"said-{len(self.workers)}"
        with said.open("wb") as out:
            command = ["worker", "--json", "--group", str(file), "--rest-port", "0", *flags]
            around = {**environment(), **variables}
            process = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=around)
        self.workers.append(Worker(process, said))
        return self.workers[-1]

    def name(self, number: int) -> str:
        return f"{self.prefix}p{number}"

    def config(self, number: int, **more: str) -> dict[str, str]:
        """A connector over a table of its own, which is made if it is not there."""
        name = self.name(number)
        self.sql.execute(
            sql.SQL("CREATE TABLE IF NOT EXISTS {} (id int PRIMARY KEY, note text)").format(
                sql.Identifier(f"t{number}")
            )
        )
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": name,
            "snapshot.mode": "no_data",
            "database.hostname": "127.0.0.1",
            "database.port": str(self.database.server.port),
            "database.user": self.user,
            "database.password": "${env:WRACKLINE_DB_PASSWORD}",
            "database.dbname": self.database.name,
            "database.sslmode": "disable",
            "slot.name": f"s_{name}",
            "publication.name": name,
            "table.include.list": f"public.t{number}",
            **more,
        }

    def make(self, on: Worker, number: int) -> Any:
        """Make a connector, by Connect's client at one of the workers."""
        try:
            return on.connect.create_connector({"name": self.name(number), "config": self.config(number)})
        except requests.HTTPError as error:
            if error.response is not None:
                error.add_note(error.response.text)  # the client leaves out why
            raise

    def insert(self, number: int, first: int, last: int) -> None:
        """Insert rows into a connector's table, each in a transaction of its own."""
        statement = sql.SQL("INSERT INTO {} VALUES (%s, 'n')").format(sql.Identifier(f"t{number}"))
        for row in range(first, last + 1):
            self.sql.execute(statement, [row])

    def events(self, number: int) -> list[bytes | None]:
        """The values of every committed record of a connector's table."""
        topic = f"{self.name(number)}.{self.database.name}.public.t{number}"
        return [value for _, value in committed(self.kafka.bootstrap, topic)]

    def arrived(self, number: int, count: int) -> None:
        """Wait for so many of them: each once."""
        wait_until(lambda: len(self.events(number)) >= count)
        values = self.events(number)
        assert len(values) == len(set(values)) == count

    def places(self, of: Worker) -> dict[str, str]:
        """Which worker runs each connector that runs, as one of them reports."""
        found = of.connect.list_connectors(expand="status")
        return {
            name: told["status"]["tasks"][0]["worker_id"]
            for name, told in found.items()
            if told["status"]["tasks"] and told["status"]["tasks"][0]["state"] == "RUNNING"
        }

    def runs(self, of: Worker, count: int, *, on: set[str] | None = None) -> Counter[str]:
        """Wait until so many connectors run, on exactly these workers; return how many each has."""
        found: dict[str, str] = {}

        def settled() -> bool:
            nonlocal found
            found = self.places(of)
            return len(found) == count and (on is None or set(found.values()) == on)

        try:
            wait_until(settled)
        except AssertionError as error:
            error.add_note(f"wanted {count} on {sorted(on) if on else 'any'}, and saw {found}")
            raise
        return Counter(self.places(of).values())

    def held(self, of: Worker, count: int, by: set[str]) -> None:
        """Wait until so many tasks are held by these workers alone, however they are.

        One that comes for one that was killed may have none: it takes a part of what the others have, and
        what they take over is not moved to even it out.
        """
        said: list[str] = []

        def settled() -> bool:
            told = of.connect.list_connectors(expand="status")
            tasks = [task for one in told.values() for task in one["status"]["tasks"]]
            said[:] = [f"{name}: {one['status']['tasks']}" for name, one in told.items()]
            return len(tasks) == count and {task["worker_id"] for task in tasks} <= by

        try:
            wait_until(settled, patience=2 * PATIENCE)  # a group chooses several times, each after a silence
        except AssertionError as error:
            error.add_note(f"wanted {sorted(by)}")
            error.add_note("\n".join(said))
            raise

    def close(self) -> None:
        """End what was started."""
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.thaw()
                worker.kill()
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
        wait_until(lambda: not self.sql.execute(ended, [self.user]).fetchall())
        for statement in ("DROP OWNED BY {}", "DROP ROLE {}"):
            self.sql.execute(sql.SQL(statement).format(sql.Identifier(self.user)))
        self.sql.close()


def asked(method: str, url: str, body: object = None) -> tuple[int, Any]:
    """Ask over HTTP, as curl would."""
    data = None if body is None else json.dumps(body).encode()
    made = Request(url, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - ours
    try:
        with urlopen(made, timeout=60) as answer:  # noqa: S310 - ours
            return answer.status, json.loads(answer.read() or b"null")
    except HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"null")
