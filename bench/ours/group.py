"""A group of Wrackline's workers, as its users start it, with connectors over tables of one database.

with group(folder, at, bootstrap, registry) as ours: ours.start(); ours.make(number, running=True)
"""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.address import Address
from bench.peers.slot import connect
from bench.spawned import spawned
from wrackline.control.local.processes.ports import choose
from wrackline.schemas.errors import Definite, define

PATIENCE_S, _LOOK_S = 180.0, 0.1
_FILE = """\
group.id = "{prefix}"
[kafka]
bootstrap.servers = "{bootstrap}"
[schema.registry]
url = "{registry}"
"""

NOT_RUNNING = define(
    "bench.not_running",
    Definite,
    "after {seconds} s only {running} of {count} tasks run; a worker said: {said}",
    hint="run the bench again with --quick",
)


@dataclass
class Worker:
    """One worker's process."""

    process: "subprocess.Popen[bytes]"
    url: str
    said: Path

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Ask by REST."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)  # noqa: S310 - ours
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
            return json.loads(answer.read() or b"null")

    def running(self) -> Mapping[str, str]:
        """Name the tasks that run, each with its worker."""
        found = self.ask("GET", "/connectors?expand=status")
        tasks = {name: told["status"]["tasks"] for name, told in found.items()}
        return {
            name: one[0]["worker_id"] for name, one in tasks.items() if one and one[0]["state"] == "RUNNING"
        }


@dataclass
class Group:
    """The workers, and how a connector is made."""

    folder: Path
    at: Address
    prefix: str
    opened: ExitStack
    workers: list[Worker] = field(default_factory=list)

    def start(self) -> Worker:
        """Start a worker; return when it can be asked for anything."""
        number = len(self.workers)
        port = choose(self.folder / str(number), "rest")["rest"]
        said = self.folder / f"said-{number}"
        words = ["worker", "--json", "--group", str(self.folder / "group.toml"), "--rest-port", str(port)]
        command = [sys.executable, "-m", "wrackline.control", *words]
        process = self.opened.enter_context(spawned(command, said))
        worker = Worker(process, f"http://127.0.0.1:{port}", said)
        deadline = time.monotonic() + PATIENCE_S
        while b'"requests"' not in said.read_bytes():
            self._look(deadline, worker, 0, 0)
        self.workers.append(worker)
        return worker

    def make(self, number: int, *, running: bool) -> None:
        """Make a table and its connector."""
        with connect(self.at) as session:
            session.execute(f"create table t{number} (id bigint primary key, at_ms bigint)")
        config = {
            "connector.class": "postgres",
            "topic.prefix": self.name(number),
            "snapshot.mode": "no_data",
            "database.hostname": "127.0.0.1",
            "database.port": str(self.at.port),
            "database.user": self.at.user,
            "database.dbname": self.at.database,
            "database.sslmode": "disable",
            "slot.name": self.name(number),
            "publication.name": self.name(number),
            "table.include.list": f"public.t{number}",
        }
        state = "RUNNING" if running else "PAUSED"
        asked = {"name": self.name(number), "config": config, "initial_state": state}
        self.workers[0].ask("POST", "/connectors", asked)

    def name(self, number: int) -> str:
        """Name a connector, which is the first part of its topic too."""
        return f"{self.prefix}{number}"

    def topic(self, number: int) -> str:
        """Name its table's topic."""
        return f"{self.name(number)}.{self.at.database}.public.t{number}"

    def until_running(self, worker: Worker, count: int, elsewhere: str = "") -> None:
        """Wait until this many tasks run, none on a worker that is gone."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = worker.running()
            if len(found) == count and elsewhere not in found.values():
                return
            self._look(deadline, worker, len(found), count)

    def _look(self, deadline: float, worker: Worker, running: int, count: int) -> None:
        if time.monotonic() > deadline or worker.process.poll() is not None:
            said = worker.said.read_text()[-2000:]
            raise NOT_RUNNING(seconds=PATIENCE_S, running=running, count=count, said=said)
        time.sleep(_LOOK_S)


@contextmanager
def group(folder: Path, at: Address, bootstrap: str, registry: str, prefix: str) -> Iterator[Group]:
    """Have a group without workers; those that are started end with the block."""
    (folder / "group.toml").write_text(
        _FILE.format(prefix=prefix, bootstrap=bootstrap, registry=registry), encoding="utf-8"
    )
    with ExitStack() as opened:
        yield Group(folder, at, prefix, opened)
