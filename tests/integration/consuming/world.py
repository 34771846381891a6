"""One database that is source and target: `wrackline run` publishes `public`, `wrackline consume` copies it.

The copy stands beside its source, so one statement says where they differ.
"""

import json
import resource
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.fixtures.prepared import PRINTED, finish
from tests.fixtures.warm_spark import start_consumer
from tests.integration.running import world as running
from tests.integration.running.world import COMMAND, PATIENCE, Running, environment, wait_until
from wrackline.consumers.failpoints import VARIABLE

COPY = "copy"
TARGET = """
[target]
kind = "postgres"
hostname = "127.0.0.1"
port = {port}
user = "postgres"
dbname = "{database}"
sslmode = "disable"
schema = "copy"
[consume]
trigger.interval.ms = 200
upkeep.interval.ms = 500
delete.retention.ms = 0
[errors]
retry.delay.max.ms = 500
[spark]
master = "local[2]"
"""
ICEBERG = """
[target]
kind = "iceberg"
warehouse = "{warehouse}"
[spark]
master = "local[2]"
"""
SPARK_PATIENCE = 3 * PATIENCE  # Java starts while other tests run


@dataclass
class Consuming(Running):
    """A `wrackline consume` without a terminal: it prints JSON lines."""

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it said, line by line."""
        return [json.loads(line) for line in self.output.splitlines() if line.endswith("}")]

    def told(self, event: str, **wanted: object) -> dict[str, Any]:
        """Wait until it has said this, and return it."""

        def found() -> list[dict[str, Any]]:
            return [
                one
                for one in self.events
                if one.get("event") == event
                and all(_part(one, name) == text for name, text in wanted.items())
            ]

        wait_until(lambda: bool(found()) or self.process.poll() is not None, patience=SPARK_PATIENCE)
        assert found(), self.output
        return found()[-1]


class World(running.World):
    """A source, its topics, and a copy; `brokers` and `url` are the consumer's own ways to them."""

    target = TARGET
    brokers = ""
    url = ""

    def write(self) -> None:
        """Write the source's file, and the consumer's beside it."""
        super().write()
        text = self.file.read_text().replace('"public.orders"', r"'public\..*'")
        self.file.write_text(text)
        port, database = self.database.server.port, self.database.name
        text += self.target.format(port=port, database=database, warehouse=self.folder / "warehouse")
        if self.brokers:
            text = text.replace(self.kafka.bootstrap, self.brokers).replace(self.registry.url, self.url)
        self.consumer_file = self.folder / "consume.toml"
        self.consumer_file.write_text(text)

    def consume(self, *options: str) -> Consuming:
        """Start `wrackline consume` and wait until it runs."""
        printed = self.folder / f"printed-{len(self.started)}"
        log = self.folder / f"spark-{len(self.started)}.log"
        with printed.open("wb") as out:
            command = ["consume", str(self.consumer_file), "--spark-log", str(log), *options]
            process = start_consumer(command, stdout=out, stderr=subprocess.STDOUT, env=environment())
        started = Consuming(process, printed)
        self.started.append(started)
        return started

    def once(
        self, failpoints: str = "", *, largest_file: int = resource.RLIM_INFINITY
    ) -> tuple[int, list[dict[str, Any]]]:
        """Run one round to its end; return the exit code and what was said.

        A file that may not grow further stands for a full disk, which a test can't make without a mount.
        """
        command = ["consume", str(self.consumer_file), "--once", "--spark-log", str(self.folder / "log")]
        process: subprocess.Popen[str]
        if largest_file == resource.RLIM_INFINITY:
            process = start_consumer(command, env={**environment(), VARIABLE: failpoints}, **PRINTED)
        else:  # for its Java too, which is therefore its own
            limit = f"--fsize={largest_file}"
            process = subprocess.Popen(["prlimit", limit, *COMMAND, *command], env=environment(), **PRINTED)
        done = finish(process, SPARK_PATIENCE)
        assert not done.stderr, done.stderr
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def differences(self, table: str) -> list[tuple[object, ...]]:
        """Rows of the source or of the copy that the other has not; one row if there is no such copy."""
        there = self.sql.execute("SELECT to_regclass(%s)", [f"{COPY}.{table}"]).fetchone()
        if there == (None,):
            return [("no copy",)]
        both = f"(TABLE public.{table} EXCEPT ALL TABLE {COPY}.{table})"
        back = f"(TABLE {COPY}.{table} EXCEPT ALL TABLE public.{table})"
        try:
            return self.sql.execute(f"{both} UNION ALL {back}").fetchall()
        except (psycopg.errors.SyntaxError, psycopg.errors.DatatypeMismatch):  # not the same columns
            return [("another shape",)]

    def arrives(self, table: str = "orders") -> None:
        """Wait until the copy equals its source."""
        wait_until(lambda: not self.differences(table), patience=SPARK_PATIENCE)


def _part(event: Mapping[str, Any], name: str) -> object:
    return event.get("error", {}).get("code") if name == "code" else event.get(name)
