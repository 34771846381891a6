"""A connector of 200 databases of one PostgreSQL in four tasks: its start, its idle cost, ten busy databases.

First nothing is written anywhere: `idle_cpu` is the worker's and its tasks' CPU as a share of one core, and
`idle_statements` counts what the server was asked in all databases.  No poll of a log is among them: the
server sends a log by itself, over a connection of its own for each database.  Then ten databases get two
one-row transactions a second each, and each is timed until a `read_committed` consumer sees it.

The peer is what the server's protocol costs everybody: as many bare connections for logs that only listen,
and time a row as it comes, without Kafka.  Lower is better.  The goals are 30 s for the start, and 5 % of a
core while idle.
"""

import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import Final, NamedTuple

from bench import stage
from bench.address import Address
from bench.cost import cpu_seconds, metered
from bench.ours import postgres as ours
from bench.ours.worker_lines import running_tasks
from bench.peers.slot import PUBLICATION, connect
from bench.peers.walsenders import followed
from bench.pulse import Reader, Writer, waits_ms
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.spawned import spawned
from bench.visible import make_topic
from wrackline.control.local.stack.postgres import postgres as make_server
from wrackline.control.local.stack.stack import POSTGRES_DEFAULT
from wrackline.schemas.errors import Definite, define

UNITS = {
    "followed_s": "s",
    "idle_cpu": "% of a core",
    "idle_server_cpu": "% of a core",
    "idle_statements": "statements/s",
    "busy_cpu": "% of a core",
    "busy_server_cpu": "% of a core",
    "p50_ms": "ms",
    "p99_ms": "ms",
}
FULL = Size(200, 1)  # databases
QUICK = Size(48, 1)
TASKS: Final = 4
BUSY: Final = 10
TABLE: Final = "changes"
_EVERY_S, _CHANGES, _WARM_UP = 0.5, 30, 5  # of each busy database
_SETTLE_S, _IDLE_S, _START_LIMIT_S, _QUIET_S = 10.0, 20.0, 180.0, 60.0
_CONNECTIONS: Final = 3  # of a task to a database, beside the one for the log
_FILE = """\
name = "{prefix}"
topic.prefix = "{prefix}"
tasks.max = {tasks}
[source]
connector.class = "postgres"
snapshot.mode = "no_data"
database.hostname = "127.0.0.1"
database.port = {at.port}
database.user = "{at.user}"
database.names = [{names}]
database.sslmode = "disable"
publication.name = "{publication}"
publication.autocreate.mode = "disabled"
table.include.list = "public.{table}"
[kafka]
bootstrap.servers = "{bootstrap}"
[schema.registry]
url = "{registry}"
"""
_FOLLOWED = """
SELECT count(*) FROM pg_stat_replication r JOIN pg_replication_slots s ON s.active_pid = r.pid
WHERE r.application_name LIKE %s AND r.state = 'streaming'"""
_ASKED = "SELECT sum(xact_commit + xact_rollback)::float8 FROM pg_stat_database"
_DROP = """
SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots
WHERE NOT active AND database LIKE 'd%'"""

NOT_FOLLOWED = define(
    "bench.not_followed",
    Definite,
    "after {seconds:.0f} s only {followed} of {all} databases are followed; the worker said: {said}",
    hint="run the bench again with --quick",
)


class Databases(NamedTuple):
    """The databases, and the process of their server."""

    ats: Sequence[Address]
    server: int

    @property
    def home(self) -> Address:
        """A database that nobody reads."""
        return self.ats[0]._replace(database="postgres")


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start a server with room for so many databases, and make them, each with a published table."""
    with stage.servers() as stack, tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        bootstrap, registry = stack.kafka().bootstrap, stack.registry().url
        room = {
            "max_replication_slots": str(rows + 10),
            "max_wal_senders": str(rows + 10),
            "max_connections": str(_CONNECTIONS * rows + 50),
        }
        server = make_server(Path(folder), POSTGRES_DEFAULT, settings=room)
        server.process.start()
        try:
            databases = _made(Address(server.port, "postgres", "", "postgres"), rows)
            yield [
                Contender(f"{ours.NAME}, {TASKS} tasks", start, (databases, bootstrap, registry), ours=True),
                Contender("walsenders that only listen", listen, (databases,)),
            ]
        finally:
            server.process.stop()


def _made(at: Address, number: int) -> Databases:
    template = at._replace(database="template")
    with connect(at) as session:
        session.execute("CREATE DATABASE template")
        with connect(template) as inside:
            inside.execute(f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY)")
            inside.execute(f"CREATE PUBLICATION {PUBLICATION} FOR TABLE {TABLE}")
        ats = [at._replace(database=f"d{one:03}") for one in range(number)]
        for one in ats:
            session.execute(f"CREATE DATABASE {one.database} TEMPLATE template")
        for one, first in zip(ats[:BUSY], count(0, 1_000_000), strict=False):
            with connect(one) as inside:  # so that no two databases have the same ids
                inside.execute(f"INSERT INTO {TABLE} VALUES (%s)", [first])
        ((file,),) = session.execute("SELECT pg_read_file('postmaster.pid')")
    return Databases(ats, int(str(file).split()[0]))


def start(databases: Databases, bootstrap: str, registry: str) -> Outcome:
    """Run a worker with the connector."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    names = ", ".join(f'"{one.database}"' for one in databases.ats)
    topics = [f"{prefix}.{one.database}.public.{TABLE}" for one in databases.ats[:BUSY]]
    for topic in topics:
        make_topic(bootstrap, topic)
    with tempfile.TemporaryDirectory() as folder, closing(Reader(bootstrap, *topics)) as reader:
        file, said = Path(folder) / "pipeline.toml", Path(folder) / "said"
        file.write_text(
            _FILE.format(
                prefix=prefix,
                tasks=TASKS,
                at=databases.home,
                names=names,
                publication=PUBLICATION,
                table=TABLE,
                bootstrap=bootstrap,
                registry=registry,
            )
        )
        began = time.perf_counter()
        command = [sys.executable, "-m", "wrackline.control", "worker", "--json", str(file)]
        with spawned(command, said) as process, metered(process.pid) as meter:

            def check(quiet: float, most: float = _QUIET_S) -> None:
                if process.poll() is not None or quiet > most:
                    raise NOT_FOLLOWED(
                        seconds=time.perf_counter() - began,
                        followed=_followed(databases, prefix),
                        all=len(databases.ats),
                        said=said.read_text()[-2000:],
                    )

            while running_tasks(said) < TASKS or _followed(databases, prefix) < len(databases.ats):
                check(time.perf_counter() - began, _START_LIMIT_S)
                time.sleep(0.1)
            values = {"followed_s": time.perf_counter() - began}
            values |= _idle(databases, process.pid, time.sleep)
            values |= _busy(databases, process.pid, reader.seen, lambda enough: reader.read(enough, check))
    _let_go(databases)
    return Outcome(values, meter.cost)


def listen(databases: Databases) -> Outcome:
    """Open the connections and listen."""
    prefix = f"listen{secrets.token_hex(4)}"
    with metered() as meter:
        began = time.perf_counter()
        with followed(databases.ats, prefix) as listener:
            values = {"followed_s": time.perf_counter() - began}
            here = os.getpid()

            def pause(seconds: float) -> None:
                until = time.monotonic() + seconds
                listener.hear(lambda: time.monotonic() >= until)

            values |= _idle(databases, here, pause)
            values |= _busy(databases, here, listener.seen, listener.hear)
    _let_go(databases)
    return Outcome(values, meter.cost)


def _idle(databases: Databases, reader: int, pause: Callable[[float], None]) -> Mapping[str, float]:
    """Measure while nothing is written."""
    pause(_SETTLE_S)
    with connect(databases.home) as session:

        def asked() -> float:
            return float(str(session.execute(_ASKED).fetchone()[0]))  # type: ignore[index]  # one row

        before, at_server, at_reader = asked(), cpu_seconds(databases.server), cpu_seconds(reader)
        began = time.perf_counter()
        pause(_IDLE_S)
        seconds = time.perf_counter() - began
        at_reader, at_server = cpu_seconds(reader) - at_reader, cpu_seconds(databases.server) - at_server
        return {
            "idle_cpu": 100 * at_reader / seconds,
            "idle_server_cpu": 100 * at_server / seconds,
            "idle_statements": max(0.0, asked() - before - 1) / seconds,
        }


def _busy(
    databases: Databases,
    reader: int,
    seen: Mapping[int, float],
    read: Callable[[Callable[[], bool]], None],
) -> Mapping[str, float]:
    """Write into the busy databases, and time each row."""
    insert = f"INSERT INTO {TABLE} VALUES (%s)"
    writers = [Writer(at, TABLE, insert, _CHANGES, _EVERY_S) for at in databases.ats[:BUSY]]
    began, at_server, at_reader = time.perf_counter(), cpu_seconds(databases.server), cpu_seconds(reader)
    for writer in writers:
        writer.start()
    most = _CHANGES * len(writers)
    read(lambda: sum(len(one.sent) for one in writers) == most and _all_in(seen, writers))
    seconds = time.perf_counter() - began
    at_reader, at_server = cpu_seconds(reader) - at_reader, cpu_seconds(databases.server) - at_server
    counted = {key: at for one in writers for key, at in sorted(one.sent.items())[_WARM_UP:]}
    cuts = quantiles(waits_ms(counted, seen), n=100)
    return {
        "busy_cpu": 100 * at_reader / seconds,
        "busy_server_cpu": 100 * at_server / seconds,
        "p50_ms": cuts[49],
        "p99_ms": cuts[98],
    }


def _all_in(seen: Mapping[int, float], writers: Sequence[Writer]) -> bool:
    return all(key in seen for one in writers for key in one.sent)


def _followed(databases: Databases, prefix: str) -> int:
    with connect(databases.home) as session:
        ((number,),) = session.execute(_FOLLOWED, [f"%{prefix}%"])
    return int(str(number))


def _let_go(databases: Databases) -> None:
    """Drop the slots, so that the next contender finds the server as this one did."""
    with connect(databases.home) as session:
        for _ in range(100):
            session.execute(_DROP)
            ((left,),) = session.execute("SELECT count(*) FROM pg_replication_slots")
            if not left:
                return
            time.sleep(0.1)
