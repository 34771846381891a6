"""A database that is written to, a `wrackline run` over it as a process, and what both left behind.

    with world.writing() as writers:        several sessions, every change on record (writers.py)
        running = world.run()               or world.run(armed="before_commit=kill@3")
        writers.more(50)                    wait until so many more transactions are committed
        ... hurt something ...
    world.caught_up()                       wait until all that was committed is in the topics
    check_all(world)                        checks.py: all that must hold

Servers are given; a test that kills one gives its own.  `bootstrap` and `database_port` point the pipeline
(never the test's own eyes) elsewhere, as to a proxy.
"""

import itertools
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from zlib import crc32

import psycopg
from psycopg import sql

from tests.chaos import evidence as ev
from tests.chaos.writers import TABLES, WHOLE, Session, Writers, fill_counters, make_tables
from tests.fixtures.prepared import run_command
from tests.fixtures.servers import drop_slots
from tests.integration.running import armed as armed_run
from tests.integration.running.world import PATIENCE, Running, wait_until
from wrackline.control.local.stack.servers import Broker, Cluster, PostgresServer, SchemaRegistry
from wrackline.producers.sources.postgres.log.position import lsn_number

NOTHING: Mapping[str, str] = MappingProxyType({})
_LOOK = 0.02  # seconds between two looks at the slot
_SIGNALS = "CREATE TABLE {} (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))"
_SENTINEL = "orders"  # whose rows with negative keys end what is to be waited for


class World:
    """One database, one pipeline over it; `settings` are the pipeline's by their full names."""

    def __init__(
        self,
        folder: Path,
        postgres: PostgresServer,
        kafka: Broker | Cluster,
        registry: SchemaRegistry,
        settings: Mapping[str, str] = NOTHING,
        *,
        bootstrap: str | None = None,
        database_port: int | None = None,
    ) -> None:
        self.folder, self.postgres, self.kafka, self.registry = folder, postgres, kafka, registry
        self.prefix = f"c{uuid.uuid4().hex[:10]}"
        self.database, self.slot = self.prefix, f"slot_{self.prefix}"
        self.group = f"wrackline-{self.prefix}"
        self.offsets = f"{self.group}-offsets"
        self.settings = {
            "database.port": str(database_port or postgres.port),
            "kafka.bootstrap.servers": bootstrap or kafka.bootstrap,
            "topic.creation.default.partitions": "2",
            "snapshot.mode": "no_data",
            "table.include.list": ",".join(f"public.{table}" for table in TABLES),
            **settings,
        }
        self.started: list[Running] = []
        self._decoder = ev.Decoder(registry.url)
        self._follower = ev.Reader(kafka.bootstrap)
        self._seen: set[int] = set()
        self._sentinels = itertools.count(1)
        self._told: list[ev.Told] = []
        self.held = folder / "held"  # places where a process waits (holds.py)
        self.held.mkdir(parents=True, exist_ok=True)
        with psycopg.connect(postgres.dsn, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.database)))
        with self.session() as session:
            make_tables(session)
            if "signal.data.collection" in self.settings:
                session.execute(_SIGNALS.format(self.settings["signal.data.collection"]).encode())
        self._watching = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    @property
    def dsn(self) -> str:
        """The database, for the test itself."""
        return self.postgres.database_dsn(self.database)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Connect to the database; each statement is a transaction of its own."""
        with psycopg.connect(self.dsn, autocommit=True) as session:
            yield session

    def sql(self, statement: str, *arguments: object) -> list[tuple[object, ...]]:
        """Run one statement on a connection of its own."""
        with self.session() as session:
            cursor = session.execute(statement.encode(), arguments or None)
            return cursor.fetchall() if cursor.description else []

    def run(self, armed: str = "", *, wait: bool = True) -> Running:
        """Start `wrackline run`, with failpoints armed; wait until it runs, is held or has ended."""
        file = self.folder / f"pipeline-{len(self.started)}.toml"
        file.write_text(self._pipeline())
        printed = self.folder / f"printed-{len(self.started)}"
        running = armed_run.started(file, printed, armed, self.held)
        self.started.append(running)
        if wait:
            armed_run.wait_until_there(running, self.held)
        return running

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another `wrackline` command on the pipeline's file: `world.command("offsets", "show")`."""
        file = self.folder / "pipeline.toml"
        file.write_text(self._pipeline())
        command = [*arguments[:2], str(file), *arguments[2:]]
        return run_command(command)

    @contextmanager
    def writing(self, seed: int = 1, count: int = 3, pace: float = 0.03) -> Iterator[Writers]:
        """Write until the block is left."""
        with self.session() as session:
            if session.execute("SELECT FROM counters").fetchone() is None:
                fill_counters(session)
        with Writers(self.dsn, seed, count, pace) as writers:
            yield writers

    def insert(self, table: str, rows: int, note_bytes: int = 10) -> None:
        """Write one transaction of so many new rows, with keys that no writer has."""
        self.sql(
            f"INSERT INTO {table} (id, note) SELECT -1000000000 - nextval('writes'), repeat('y', %s)"
            " FROM generate_series(1, %s)",
            note_bytes,
            rows,
        )

    def caught_up(self, patience: float = PATIENCE) -> None:
        """Wait until all that is committed now is in the topics, for every reader to see."""
        sentinel = -next(self._sentinels)
        self.sql(f"INSERT INTO {_SENTINEL} (id) VALUES (%s)", sentinel)
        deadline = time.monotonic() + patience
        while not self._has_come(sentinel):
            assert self.alive(), f"nobody runs:\n{self.started[-1].output}"
            assert time.monotonic() < deadline, f"it never came:\n{self.started[-1].output}"
            time.sleep(0.05)
        wait_until(lambda: ev.settled(self.kafka.bootstrap, [*self.topics(), self.offsets]))

    def alive(self) -> bool:
        """Whether any of the processes that were started is there."""
        return any(running.process.poll() is None for running in self.started)

    def topics(self) -> list[str]:
        """All topics that the pipeline publishes to: its server's, and the receipts."""
        return [*ev.topics_of(self.kafka.bootstrap, self.prefix), f"{self.group}-requests"]

    def topic(self, table: str) -> str:
        """One table's topic."""
        return f"{self.prefix}.{self.database}.public.{table}"

    def confirmed(self) -> int | None:
        """How far the slot is confirmed; None where there is no slot."""
        rows = self.sql(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s", self.slot
        )
        return lsn_number(str(rows[0][0])) if rows and rows[0][0] is not None else None

    def stored(self) -> int | None:
        """Where Kafka says to resume; None where it says nothing."""
        ends = [mark.resume for mark in self.marks() if mark.ends]
        return ends[-1] if ends else None

    def marks(self) -> list[ev.Mark]:
        """The committed records of the offsets partition."""
        return ev.marks_of(ev.Reader(self.kafka.bootstrap).read([self.offsets]))

    def evidence(self) -> ev.Evidence:
        """Read everything that the run left behind."""
        told = list(self._told)  # before the positions are read, that all of it is in them
        topics, marks, committed = self._committed()
        attempted = ev.Reader(self.kafka.bootstrap, "read_uncommitted").read(topics)
        events, tombstones = ev.events_of(committed, self._decoder)
        shown = {(record.topic, record.partition, record.offset) for record in committed}
        aborted, _ = ev.events_of(
            (record for record in attempted if (record.topic, record.partition, record.offset) not in shown),
            self._decoder,
        )
        with self.session() as session, session.transaction():
            session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            ledger = session.execute("SELECT name, id, op, n, xid FROM ledger ORDER BY at").fetchall()
            rows = {
                (table, _number(key)): _number(n)
                for table in TABLES
                for key, n in session.execute(f"SELECT id, n FROM {table}".encode())
            }
        return ev.Evidence(
            events=events,
            tombstones=tombstones,
            attempts=[*events, *aborted],
            writes=[
                ev.Write(str(name), _number(key), str(op), _number(n), _number(xid) & 0xFFFF_FFFF)
                for name, key, op, n, xid in ledger
            ],
            rows=rows,
            numbered=ev.numbered_of(committed, self._decoder),
            told=told,
            marks=marks,
            records=len(committed),
            checksum=sum(crc32(record.value) for record in committed if record.value is not None),
            whole=frozenset({WHOLE}),
        )

    def look_away(self) -> None:
        """Look at the slot no more: nobody but the pipeline is connected."""
        self._watching.set()
        self._watch.join(PATIENCE)

    def close(self) -> None:
        """End what was started, and drop the database where its server still answers."""
        self.look_away()
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(self.postgres.dsn, autocommit=True, connect_timeout=5) as admin,
        ):
            drop_slots(admin, self.database)
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            admin.execute(drop.format(sql.Identifier(self.database)))

    def _committed(self) -> tuple[list[str], list[ev.Mark], list[ev.Record]]:
        """Read topics and offsets of one moment: nothing was published meanwhile."""
        while True:
            before, topics = self.marks(), self.topics()
            committed = ev.Reader(self.kafka.bootstrap).read(topics)
            marks = self.marks()
            if sum(mark.events for mark in before) == sum(mark.events for mark in marks):
                return topics, marks, committed

    def _has_come(self, sentinel: int) -> bool:
        topic = self.topic(_SENTINEL)
        records = self._follower.read([topic])
        events, _ = ev.events_of(records, self._decoder)
        self._seen |= {event.id for event in events if event.id < 0}
        return sentinel in self._seen

    def _pipeline(self) -> str:
        lines = {
            "": [f'name = "{self.prefix}"', f'topic.prefix = "{self.prefix}"'],
            "source": [
                'connector.class = "postgres"',
                'database.hostname = "127.0.0.1"',
                'database.user = "postgres"',
                f'database.dbname = "{self.database}"',
                'database.sslmode = "disable"',
                f'slot.name = "{self.slot}"',
                f'publication.name = "{self.prefix}"',
                'status.update.interval.ms = "1000"',
            ],
            "kafka": [],
            "schema.registry": [f'url = "{self.registry.url}"'],
        }
        for name, value in self.settings.items():
            section, _, rest = name.partition(".")
            if section == "kafka":
                lines["kafka"].append(f'{rest} = "{value}"')
            else:
                lines["" if section in {"topic", "errors", "max", "metrics"} else "source"].append(
                    f'{name} = "{value}"'
                )
        return "\n".join(
            line for section, own in lines.items() for line in ([f"[{section}]"] if section else []) + own
        )

    def _look(self) -> None:
        """Look at the slot all the time; a server that is away is asked again."""
        question = b"SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s"
        while not self._watching.is_set():
            with (
                suppress(psycopg.OperationalError),
                psycopg.connect(self.postgres.dsn, autocommit=True, connect_timeout=2) as eye,
            ):
                while not self._watching.wait(_LOOK):
                    row = eye.execute(question, [self.slot]).fetchone()
                    if row is not None and row[0] is not None:
                        now = time.time_ns() // 1_000_000
                        self._told.append(ev.Told(now, lsn_number(str(row[0]))))
            self._watching.wait(_LOOK)


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
