"""A connector of 200 databases of a SQL Server stand-in in four tasks: its start, its idle cost, ten busy.

Only the cost of our side means anything, because the server is a stand-in, in Python: `idle_cpu` is the
worker's and its tasks' CPU as a share of one core, while nothing is written.  `running_s` is the time until
each database is read; `running_cpu_s` and `running_server_cpu_s` say whose CPU it was.  Then ten databases
get two one-row transactions a second each, and each is timed until a `read_committed` consumer sees it; the
stand-in's capture job runs twice a second, and that is in the wait.  Lower is better.  The goals are those
of pg-databases: 30 s for the start, and 5 % of a core while idle.
"""

import re
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Final

import pytds

from bench import stage
from bench.cost import cpu_seconds, metered
from bench.ours import postgres as ours
from bench.ours.worker_lines import read_databases, running_tasks
from bench.pulse import Reader, waits_ms
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.spawned import spawned
from bench.visible import make_topic
from wrackline.control.local.sqlserver_standin.__main__ import PASSWORD, USER
from wrackline.schemas.errors import Definite, define

UNITS = {
    "running_s": "s",
    "running_cpu_s": "s of CPU",
    "running_server_cpu_s": "s of CPU",
    "idle_cpu": "% of a core",
    "idle_server_cpu": "% of a core",
    "busy_cpu": "% of a core",
    "busy_server_cpu": "% of a core",
    "p50_ms": "ms",
    "p99_ms": "ms",
}
FULL = Size(200, 1)  # databases
QUICK = Size(48, 1)
TASKS: Final = 4
BUSY: Final = 10
_EVERY_S, _CHANGES, _WARM_UP = 0.5, 30, 5  # of each busy database
_SETTLE_S, _IDLE_S, _LIMIT_S, _QUIET_S = 10.0, 20.0, 180.0, 60.0
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


def _session(port: int) -> pytds.Connection:
    return pytds.connect("127.0.0.1", port=port, user=USER, password=PASSWORD, autocommit=True)


def _make(port: int, names: Sequence[str]) -> None:
    with closing(_session(port)) as session, closing(session.cursor()) as cursor:
        for name in names:
            cursor.execute(_TABLE.format(name=name))


class Inserts(threading.Thread):
    """Inserts rows into a database at a steady rate, with ids that count up."""

    def __init__(self, port: int, database: str, first: int) -> None:
        """Take the first id."""
        super().__init__(daemon=True)
        self.sent: dict[int, float] = {}
        self._port, self._database, self._first = port, database, first

    def run(self) -> None:
        """Write at the rate."""
        with closing(_session(self._port)) as session, closing(session.cursor()) as cursor:
            began = time.perf_counter()
            for number in range(_CHANGES):
                time.sleep(max(0.0, began + number * _EVERY_S - time.perf_counter()))
                self.sent[self._first + number] = time.perf_counter()
                cursor.execute(f"INSERT INTO {self._database}.dbo.changes VALUES ({self._first + number})")


def start(port: int, server: int, names: Sequence[str], bootstrap: str, registry: str) -> Outcome:
    """Run a worker with the connector."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    topics = [f"{prefix}.{name}.dbo.changes" for name in names[:BUSY]]
    for topic in topics:
        make_topic(bootstrap, topic)
    with tempfile.TemporaryDirectory() as folder, closing(Reader(bootstrap, *topics)) as reader:
        file, said = Path(folder) / "pipeline.toml", Path(folder) / "said"
        listed = ", ".join(f'"{name}"' for name in names)
        file.write_text(
            _FILE.format(
                prefix=prefix,
                tasks=TASKS,
                port=port,
                user=USER,
                password=PASSWORD,
                names=listed,
                bootstrap=bootstrap,
                registry=registry,
            )
        )
        at_server, began = cpu_seconds(server), time.perf_counter()
        command = [sys.executable, "-m", "wrackline.control", "worker", "--json", str(file)]
        with spawned(command, said) as process, metered(process.pid) as meter:

            def check(quiet: float, most: float = _QUIET_S) -> None:
                if process.poll() is not None or quiet > most:
                    raise NOT_RUNNING(
                        seconds=time.perf_counter() - began,
                        running=running_tasks(said),
                        all=TASKS,
                        said=said.read_text()[-2000:],
                    )

            while running_tasks(said) < TASKS or read_databases(said) < len(names):
                check(time.perf_counter() - began, _LIMIT_S)
                time.sleep(0.1)
            values = {
                "running_s": time.perf_counter() - began,
                "running_cpu_s": cpu_seconds(process.pid),
                "running_server_cpu_s": cpu_seconds(server) - at_server,
            }
            time.sleep(_SETTLE_S)
            values |= _cost("idle", process.pid, server, lambda: time.sleep(_IDLE_S))
            writers = [Inserts(port, name, at * 1_000_000) for at, name in enumerate(names[:BUSY])]
            values |= _cost("busy", process.pid, server, lambda: _busy(writers, reader, check))
    counted = {key: at for one in writers for key, at in sorted(one.sent.items())[_WARM_UP:]}
    cuts = quantiles(waits_ms(counted, reader.seen), n=100)
    return Outcome(values | {"p50_ms": cuts[49], "p99_ms": cuts[98]}, meter.cost)


def _busy(writers: Sequence[Inserts], reader: Reader, check: Callable[[float], None]) -> None:
    """Write into the busy databases, and read until all is there."""
    for writer in writers:
        writer.start()
    reader.read(lambda: len(reader.seen) == _CHANGES * len(writers), check)


def _cost(what: str, worker: int, server: int, work: Callable[[], None]) -> Mapping[str, float]:
    """Measure both sides' CPU, as a share of a core, while something is done."""
    before, at = (cpu_seconds(worker), cpu_seconds(server)), time.perf_counter()
    work()
    after, seconds = (cpu_seconds(worker), cpu_seconds(server)), time.perf_counter() - at
    mine, theirs = (100 * (late - early) / seconds for early, late in zip(before, after, strict=True))
    return {f"{what}_cpu": mine, f"{what}_server_cpu": theirs}
