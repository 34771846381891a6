"""A pipeline over a table that is written by hand, merged by the command however it is started.

In: what starts it, and the lines of its file that say where it merges to.  Out: the rows of two batches, read
by the same settings in a process of its own: no Spark of this one has the jars.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tests.e2e.written import AMOUNT, AT, ID, NOTE, Server, Written, merged, order
from tests.integration.consuming.world import SPARK_PATIENCE, Consuming
from tests.integration.running.world import COMMAND, environment, wait_until
from wrackline.control.local.stack.servers import SchemaRegistry
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind

FILE = """
name = "{name}"
topic.prefix = "{name}"
[source]
connector.class = "postgres"
database.hostname = "127.0.0.1"
database.user = "nobody"
database.dbname = "shop"
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
[consume]
trigger.interval.ms = 200
metrics.port = {port}
"""
ADDED = Column("added", 5, ColumnType(Kind.INT32, "integer"))


class Copying:
    """One written table, its pipeline's file, and the process that merges it."""

    def __init__(
        self,
        folder: Path,
        server: Server,
        registry: SchemaRegistry,
        port: int,
        lines: Sequence[str],
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Write the file; the merging and the reading process have these variables besides our own."""
        self._folder, self._port = folder, port
        self._environment = environment() | dict(variables or {})
        self.file = folder / "pipeline.toml"
        text = FILE.format(
            name=server.server, brokers=server.kafka.bootstrap, registry=registry.url, port=port
        )
        self.file.write_text("\n".join([text, *lines, ""]))
        self.table = Written(server)

    def merged_by(self, start: Sequence[str] = COMMAND) -> set[tuple[Any, ...]]:
        """Have two batches merged by one process that is started so, and return what is there then."""
        self._first()
        process = self.started([*start, "consume", str(self.file)])
        try:
            self.await_batches(process, 1)
            self._second()
            self.await_batches(process, 2)
            os.kill(process.told("running")["pid"], 15)  # it may be a child of the process that was started
            wait_until(lambda: process.process.poll() is not None, patience=SPARK_PATIENCE)
            assert process.told("stopped")["whole"], process.output
            assert process.process.returncode == 0, process.output
        finally:
            if process.process.poll() is None:
                process.process.kill()
                process.process.wait()
        return self.rows()

    def started(self, command: Sequence[str]) -> Consuming:
        """Start a command; what it prints goes to a file."""
        printed = self._folder / "printed"
        with printed.open("wb") as out, (self._folder / "errors").open("wb") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err, env=self._environment)
        return Consuming(process, printed)

    def told(self) -> str:
        """Return all that the process has printed."""
        return "".join((self._folder / name).read_text() for name in ("printed", "errors"))

    def await_batches(self, process: Consuming, count: int) -> None:
        """Wait until so many batches are merged, and nothing is left."""

        def done() -> bool:
            if process.process.poll() is not None or any("error" in event for event in process.events):
                return True
            table = self._status()
            return table is not None and table["batches"] >= count and table["behind"] == 0

        wait_until(done, patience=SPARK_PATIENCE)
        assert process.process.poll() is None, self.told()
        assert not any("error" in event for event in process.events), self.told()

    def rows(self) -> set[tuple[Any, ...]]:
        """Read the copy."""
        command = [sys.executable, "-m", "tests.e2e.read_back", str(self.file), *self.table.id]
        done = subprocess.run(
            command,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SPARK_PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return {tuple(row) for row in json.loads(done.stdout)}

    def _first(self) -> None:
        with self.table.transaction():
            for number in range(6):
                self.table.event("r", order(number))

    def _second(self) -> None:
        with self.table.transaction():
            self.table.event("u", order(2, "2.00", None), unsent=["note"])
            self.table.event("d", {"id": 3})
            self.table.reshape([ID, AMOUNT, NOTE, AT, ADDED])
            self.table.event("c", {**order(30, note="new"), "added": 5})

    def _status(self) -> dict[str, Any] | None:
        try:
            with urlopen(f"http://127.0.0.1:{self._port}/status", timeout=5) as answer:
                tables = json.load(answer)["tables"]
        except (URLError, OSError):
            time.sleep(0.2)
            return None
        return next(iter(tables.values()), None)


def expected() -> set[tuple[Any, ...]]:
    """Return what two batches make of the table, as `rows` reads it."""
    stay = [merged(0), merged(1), merged(2, "2.00"), merged(4), merged(5)]
    rows = [(*row, None) for row in stay] + [(*merged(30, note="new"), 5)]
    return {tuple(map(plain, row)) for row in rows}


def plain(value: object) -> object:
    """Return a value as JSON holds it."""
    return value if value is None or isinstance(value, int) else str(value)
