"""A database of MySQL's family that is written to, a `wrackline run` over it, and what both left behind.

    with world.writing() as writers:        several sessions, every change on record (writers.py)
        running = world.run()
        writers.more(50)                    wait until so many more transactions are committed
        ... hurt something ...
    world.caught_up()                       wait until all that was committed is in the topics
    world.check()                           each write once, no key ever back, topics fold to tables

The server is the test's own, so that it may be killed.  `port` points the pipeline elsewhere, as to a proxy,
and never the test's own eyes.
"""

import itertools
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import orjson
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.chaos.evidence import Reader, marks_of
from tests.chaos.mysql.writers import TABLES, Writers, make_tables
from tests.fixtures.prepared import Forked
from tests.integration.mysql.world import root
from tests.integration.running.world import PATIENCE, Running, committed, environment, wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry

_FILE = """
name = "{prefix}"
topic.prefix = "{prefix}"
metrics.port = 0
errors.max.retries = -1
[source]
connector.class = "{kind}"
database.hostname = "127.0.0.1"
database.port = {port}
database.user = "{user}"
database.ssl.mode = "disabled"
table.include.list = "{tables}"
{more}
[kafka]
bootstrap.servers = "{brokers}"
[schema.registry]
url = "{registry}"
"""
NO_ROWS: Mapping[str, str] = {"snapshot.mode": "no_data"}


class Event(NamedTuple):
    """One row event of a topic."""

    id: int
    op: str
    n: int | None
    seq: str
    row: Mapping[str, object] | None


class World:
    """One database, one pipeline over it; `settings` are the source's."""

    tables: Sequence[str] = TABLES

    def __init__(
        self,
        folder: Path,
        kind: str,
        server: MysqlServer,
        kafka: Broker,
        registry: SchemaRegistry,
        prefix: str,
        settings: Mapping[str, str] = NO_ROWS,
        *,
        port: int | None = None,
    ) -> None:
        self.folder, self.server, self.kafka, self.registry = folder, server, kafka, registry
        self.prefix = self.database = prefix
        self.started: list[Running] = []
        self._sentinels = itertools.count(1)
        self.sql(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4", database=None)
        self.fill()
        self.file = folder / "pipeline.toml"
        self.file.write_text(
            _FILE.format(
                prefix=prefix,
                kind=kind,
                port=port or server.port,
                user=server.user,
                tables=",".join(f"{self.database}.{table}" for table in self.tables),
                more="\n".join(f'{name} = "{value}"' for name, value in settings.items()),
                brokers=kafka.bootstrap,
                registry=registry.url,
            )
        )

    def fill(self) -> None:
        """Make the tables."""
        with root(self.server, database=self.database) as session:
            make_tables(session)

    def sql(self, *statements: str, database: str | None = "") -> list[tuple[Any, ...]]:
        """Run statements as root, on a connection of its own; return the rows of the last."""
        where = self.database if database == "" else database
        with root(self.server, database=where, connect_timeout=5) as session, session.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def run(self, *, wait: bool = True) -> Running:
        """Start `wrackline run`, and wait until it runs."""
        printed = self.folder / f"printed-{len(self.started)}"
        with printed.open("wb") as out:
            command = ["run", "--text", str(self.file)]
            process = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=environment())
        self.started.append(Running(process, printed))
        if wait:
            self.started[-1].says("running\n")
            wait_until(self._begun)
        return self.started[-1]

    def _begun(self) -> bool:
        """Whether a position is kept: before, there is nothing to continue from."""
        offsets = Reader(self.kafka.bootstrap).read([f"wrackline-{self.prefix}-offsets"])
        return any(mark.ends for mark in marks_of(offsets))

    @contextmanager
    def writing(self, seed: int = 1, count: int = 2, pace: float = 0.03) -> Iterator[Writers]:
        """Write until the block is left."""
        with Writers(self.server, self.database, seed, count, pace) as writers:
            yield writers

    def insert(self, rows: int, size: int) -> None:
        """Write one transaction of this many rows, with keys that no writer has."""
        first = -1_000_000 * next(self._sentinels)
        with root(self.server, database=self.database) as session, session.cursor() as cursor:
            session.autocommit(False)
            cursor.execute(f"SET @pad = REPEAT('y', {size})")
            for begin in range(0, rows, 1000):
                keys = range(first - begin, first - min(begin + 1000, rows), -1)
                values = [f"({key}, UUID_SHORT(), @pad)" for key in keys]
                cursor.execute(f"INSERT INTO {TABLES[0]} (id, n, pad) VALUES {', '.join(values)}")
            session.commit()

    def dump(self) -> int | None:
        """The thread that sends our log; None where there is none."""
        rows = self.sql("SHOW PROCESSLIST", database=None)
        return next((int(row[0]) for row in rows if str(row[4]).startswith("Binlog Dump")), None)

    def caught_up(self, patience: float = PATIENCE) -> None:
        """Wait until all that is committed now is in the topics."""
        keys = [-next(self._sentinels) for _ in TABLES]
        for table, key in zip(TABLES, keys, strict=True):
            self.sql(f"INSERT INTO {table} (id, n) VALUES ({key}, UUID_SHORT())")
        deadline = time.monotonic() + patience
        for table, key in zip(TABLES, keys, strict=True):
            while key not in {event.id for event in self.events(table)}:
                running = self.started[-1]
                assert running.process.poll() is None, running.output
                assert time.monotonic() < deadline, f"it never came:\n{running.output}"
                time.sleep(0.2)

    def events(self, table: str) -> Sequence[Event]:
        """A table's events, as a reader of committed records has them."""
        topic = f"{self.prefix}.{self.database}.{self.database}.{table}"
        found, shapes = [], dict[int, Any]()
        with SchemaRegistryClient({"url": self.registry.url}) as registry:
            for key, value in committed(self.kafka.bootstrap, topic):
                if key is None or value is None:
                    continue
                read: list[Any] = []
                for raw in (key, value):
                    number = int.from_bytes(raw[1:5], "big")
                    if number not in shapes:
                        text = registry.get_schema(number).schema_str or ""
                        shapes[number] = fastavro.parse_schema(orjson.loads(text))
                    read.append(fastavro.schemaless_reader(BytesIO(raw[5:]), shapes[number], None))
                after = read[1]["after"]
                n = None if after is None else int(after["n"])
                found.append(Event(read[0]["id"], read[1]["op"], n, read[1]["seq"], after))
        return found

    def check(self, *, all_once: bool = True) -> None:
        """Hold topics against ledger and tables; without `all_once` rows may have been read as well."""
        for table in TABLES:
            events = self.events(table)
            back = _going_back(events)
            assert not back, back[:5]
            if all_once:
                wrote = self.sql(f"SELECT id, op, n FROM ledger WHERE name = '{table}'")
                written = Counter((key, op, None if op == "d" else n) for key, op, n in wrote)
                told = Counter((event.id, event.op, event.n) for event in events)
                assert told == written, f"{table}: {(told - written, written - told)}"[:2000]
            folded = {event.id: event.row for event in events}
            rows = self.sql(f"SELECT id, n, k, c, pad FROM {table}")
            there = {row[0]: dict(zip(("id", "n", "k", "c", "pad"), row, strict=True)) for row in rows}
            assert {key: row for key, row in folded.items() if row is not None} == there, table

    def close(self) -> None:
        """End what was started."""
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()


def _going_back(events: Sequence[Event]) -> list[str]:
    """Events that stand behind a newer one of their key."""
    last: dict[int, Event] = {}
    newest: dict[int, int] = {}
    found = []
    for event in events:
        held = last.get(event.id)
        older = event.n is not None and event.n < newest.get(event.id, 0)
        if older or (held is not None and event.seq < held.seq):
            found.append(f"{event.id}: {event.op} {event.n} {event.seq} after {held}")
        last[event.id] = event
        newest[event.id] = newest.get(event.id, 0) if event.n is None else event.n
    return found
