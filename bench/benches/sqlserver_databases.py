"""A connector of 200 quiet databases of a stand-in for SQL Server in four tasks: its start, its idle cost.

Only the cost of our side means anything, because the server is a stand-in, in Python: `idle_cpu` is the
worker's and its tasks' CPU as a share of one core, while nothing is written.  `running_s` is the time until
each database is read; much of it is the stand-in's.  Lower is better.  The goals are those of
pg-databases: 30 s for the start, and 5 % of a core while idle.
"""

import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytds

from bench import stage
from bench.cost import cpu_seconds, metered
from bench.ours import postgres as ours
from bench.ours.worker_lines import read_databases, running_tasks
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.spawned import spawned
from wrackline.control.local.sqlserver_standin.__main__ import PASSWORD, USER
from wrackline.schemas.errors import Definite, define

UNITS = {"running_s": "s", "idle_cpu": "% of a core", "idle_server_cpu": "% of a core"}
FULL = Size(200, 1)  # databases
QUICK = Size(48, 1)
TASKS: Final = 4
_SETTLE_S, _IDLE_S, _LIMIT_S = 10.0, 20.0, 180.0
_TABLE: Final = (
    "CREATE DATABASE {name}; USE {name}; CREATE TABLE dbo.changes (id bigint NOT NULL PRIMARY KEY);"
    " EXEC sys.sp_cdc_enable_db; EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name ="
    " N'changes', @role_name = NULL; USE master;"
)
_FILE = """\
name = "{prefix}"
topic.prefix = "{prefix}"
tasks.max = {tasks}
[source]
connector.class = "sqlserver"
snapshot.mode = "no_data"
database.hostname = "127.0.0.1"
database.port = {port}
database.user = "{user}"
database.password = "{password}"
database.names = [{names}]
driver.encrypt = "false"
table.include.list = 'dbo\\.changes'
[kafka]
bootstrap.servers = "{bootstrap}"
[schema.registry]
url = "{registry}"
"""

NOT_RUNNING = define(
    "bench.tasks_not_running",
    Definite,
    "after {seconds:.0f} s only {running} of {all} tasks run, or a database is not read; the worker said:"
    " {said}",
    hint="run the bench again with --quick",
)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start a stand-in, and make databases, each with a captured table."""
    command = [sys.executable, "-m", "wrackline.control.local.sqlserver_standin", "--scan-every", "0.5"]
    with stage.servers() as stack, tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        printed = Path(folder) / "printed"
        bootstrap, registry = stack.kafka().bootstrap, stack.registry().url
        with spawned(command, printed) as server:
            while (found := re.search(r"127\.0\.0\.1:(\d+)", printed.read_text())) is None:
                time.sleep(0.1)
            names = [f"d{number:03}" for number in range(rows)]
            _make(int(found[1]), names)
            given = (int(found[1]), server.pid, names, bootstrap, registry)
            yield [Contender(f"{ours.NAME}, {TASKS} tasks", start, given, ours=True)]


def _make(port: int, names: Sequence[str]) -> None:
    login = {"port": port, "user": USER, "password": PASSWORD, "autocommit": True}
    with closing(pytds.connect("127.0.0.1", **login)) as session, closing(session.cursor()) as cursor:
        for name in names:
            cursor.execute(_TABLE.format(name=name))


def start(port: int, server: int, names: Sequence[str], bootstrap: str, registry: str) -> Outcome:
    """Run a worker with the connector."""
    with tempfile.TemporaryDirectory() as folder:
        file, said = Path(folder) / "pipeline.toml", Path(folder) / "said"
        listed = ", ".join(f'"{name}"' for name in names)
        file.write_text(
            _FILE.format(
                prefix=f"wrackline{secrets.token_hex(4)}",
                tasks=TASKS,
                port=port,
                user=USER,
                password=PASSWORD,
                names=listed,
                bootstrap=bootstrap,
                registry=registry,
            )
        )
        began = time.perf_counter()
        command = [sys.executable, "-m", "wrackline.control", "worker", "--json", str(file)]
        with spawned(command, said) as process, metered(process.pid) as meter:
            while (running := running_tasks(said)) < TASKS or read_databases(said) < len(names):
                seconds = time.perf_counter() - began
                if process.poll() is not None or seconds > _LIMIT_S:
                    text = said.read_text()[-2000:]
                    raise NOT_RUNNING(seconds=seconds, running=running, all=TASKS, said=text)
                time.sleep(0.1)
            values = {"running_s": time.perf_counter() - began}
            time.sleep(_SETTLE_S)
            before, at = (cpu_seconds(process.pid), cpu_seconds(server)), time.perf_counter()
            time.sleep(_IDLE_S)
            after, seconds = (cpu_seconds(process.pid), cpu_seconds(server)), time.perf_counter() - at
            values["idle_cpu"], values["idle_server_cpu"] = (
                100 * (late - early) / seconds for early, late in zip(before, after, strict=True)
            )
    return Outcome(values, meter.cost)
