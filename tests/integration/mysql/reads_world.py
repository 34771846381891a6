"""A table of one server whose rows are read by `wrackline run` while they change, and what Kafka has of it.

    world = ReadsWorld(…, kind, settings)   a table, its changes on the test's own session
    running = world.run("after_select=kill@2")
    world.change("move", key)               one kind of change; `n` counts all that were ever made
    world.equal()                           wait until the topic folds to the table, value for value

`reader` is the server that is read; changes are made on `server`, of which it may be a replica.
"""

import itertools
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

import orjson
import pymysql

from tests.chaos.evidence import Reader
from tests.chaos.fold import Fold
from tests.fixtures.prepared import run_command
from tests.integration.mysql.log_files import ask
from tests.integration.mysql.log_proxy import LogProxy
from tests.integration.mysql.world import root
from tests.integration.running import armed as armed_run
from tests.integration.running.world import Running, wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.producers.sources.mysql.connect.connect import is_mariadb
from wrackline.producers.sources.mysql.discover.shapes import identities

NOTHING: Mapping[str, str] = MappingProxyType({})
COLUMNS = ("id", "n", "note", "price", "at", "raw", "mood")
TABLE = """
CREATE TABLE {}.orders (id bigint PRIMARY KEY, n bigint NOT NULL DEFAULT 0, note longtext,
 price decimal(12,2) NOT NULL DEFAULT 0, at datetime(6) NOT NULL DEFAULT '2026-01-01', raw varbinary(20),
 mood enum('good','bad') NOT NULL DEFAULT 'bad')"""
SIGNALS = "CREATE TABLE {}.signals (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))"
APART = 1_000  # between two keys, so that there is room for those that come

# What is done to the row of a key; `to` is a key behind it that nobody had.
CHANGES = {
    "insert": "INSERT INTO orders (id, n, note) VALUES (%(to)s, %(n)s, repeat('i', 2500))",
    "update": "UPDATE orders SET n = %(n)s, price = price + 0.01, raw = x'00ff', mood = 'good'"
    " WHERE id = %(id)s",
    "twice": "update; update",
    "delete": "DELETE FROM orders WHERE id = %(id)s",
    "again": "delete; INSERT INTO orders (id, n, note) VALUES (%(id)s, %(n)s, 'again')",
    "replace": "REPLACE INTO orders (id, n, note) VALUES (%(id)s, %(n)s, 'replaced')",
    "move": "UPDATE orders SET id = %(to)s, n = %(n)s, at = '2026-10-25 02:30:00.000001' WHERE id = %(id)s",
    "away_and_back": "move; UPDATE orders SET id = %(id)s, n = %(n)s WHERE id = %(to)s",
    "moved_and_used_again": "move; INSERT INTO orders (id, n, note) VALUES (%(id)s, %(n)s, 'another')",
    "far_ahead": "UPDATE orders SET id = %(to)s + 500000, n = %(n)s WHERE id = %(id)s",
    "from_far_ahead": "UPDATE orders SET id = %(to)s, n = %(n)s ORDER BY id DESC LIMIT 1",
    "from_behind": "UPDATE orders SET id = %(to)s, n = %(n)s WHERE id > 0 ORDER BY id LIMIT 1",
}


class ReadsWorld:
    """One table, one pipeline over it."""

    def __init__(
        self,
        folder: Path,
        server: MysqlServer,
        kafka: Broker,
        registry: SchemaRegistry,
        settings: Mapping[str, str] = NOTHING,
        *,
        reader: MysqlServer | None = None,
    ) -> None:
        self.folder, self.server, self.kafka, self.registry = folder, server, kafka, registry
        self.prefix = f"m{uuid.uuid4().hex[:10]}"
        self.sql = root(server)
        self.mariadb = is_mariadb(self.sql)
        for statement in (f"CREATE DATABASE {self.prefix} CHARACTER SET utf8mb4", TABLE, SIGNALS):
            ask(self.sql, statement.format(self.prefix))
        ask(self.sql, f"USE {self.prefix}")
        ask(self.sql, "SET time_zone = '+00:00'")
        self.columns = list(COLUMNS)  # that the topic is to have, when all is said
        self.first_names: dict[str, str] = {}  # of renamed columns
        self.started: list[Running] = []
        self.held = folder / "held"  # places where a process waits (tests/chaos/holds.py)
        self.held.mkdir(parents=True)
        self.log = LogProxy((reader or server).port)
        self.log.__enter__()
        self._writes, self._new = itertools.count(1), itertools.count(1)
        self.settings = {
            "connector.class": "mariadb" if self.mariadb else "mysql",
            "database.hostname": "127.0.0.1",
            "database.port": str(self.log.port),
            "database.user": "root",
            "database.ssl.mode": "disabled",
            "table.include.list": f"{self.prefix}.orders",
            "snapshot.mode": "initial",
            **settings,
        }
        if settings.get("incremental.snapshot.watermarking.strategy") == "insert_insert":
            self.settings["signal.data.collection"] = f"{self.prefix}.signals"

    def fill(self, rows: int, note_bytes: int = 10) -> None:
        """Insert rows, far enough apart, a hundred a transaction."""
        for first in range(1, rows + 1, 100):
            values = [
                f"({key * APART}, repeat('x', {note_bytes}))"
                for key in range(first, min(first + 100, rows + 1))
            ]
            ask(self.sql, f"INSERT INTO orders (id, note) VALUES {', '.join(values)}")

    def fill_many(self, rows: int) -> None:
        """Insert so many rows at once, side by side."""
        limit = "max_recursive_iterations" if self.mariadb else "cte_max_recursion_depth"
        numbers = f"WITH RECURSIVE s (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM s WHERE k < {rows})"
        ask(self.sql, f"SET SESSION {limit} = {rows}")
        ask(self.sql, f"INSERT INTO orders (id) {numbers} SELECT k FROM s")
        ask(self.sql, "ANALYZE TABLE orders")

    def change(self, kind: str, key: int, chance: random.Random) -> None:
        """Make one kind of change, in a transaction or in one for each statement; or try to and undo it."""
        to = key - key % APART + 1 + next(self._new) % (APART - 1)
        whole = chance.random() < 0.5
        if whole:
            self.sql.begin()
        for statement in _statements(kind):
            given = {"id": key, "to": to, "n": next(self._writes)}
            with self.sql.cursor() as cursor, suppress(pymysql.err.IntegrityError):  # the key exists
                cursor.execute(statement, given)
        if whole and chance.random() < 0.1:
            self.sql.rollback()
        elif whole:
            self.sql.commit()

    def keys(self, after: int, count: int) -> list[int]:
        """The keys that a chunk of now has."""
        found = ask(self.sql, f"SELECT id FROM orders WHERE id > {after} ORDER BY id LIMIT {count}")
        return [int(key) for (key,) in found]

    def run(self, armed: str = "", *, wait: bool = True) -> Running:
        """Start `wrackline run`, with failpoints armed; wait until it runs, is held or has ended."""
        file, printed = (self.folder / f"{name}-{len(self.started)}" for name in ("pipeline.toml", "printed"))
        file.write_text(self._pipeline())
        running = armed_run.started(file, printed, armed, self.held)
        self.started.append(running)
        if wait:
            armed_run.wait_until_there(running, self.held)
        return running

    def alive(self) -> bool:
        """Whether any of the processes that were started is there."""
        return any(running.process.poll() is None for running in self.started)

    def topic(self, table: str) -> str:
        """One table's topic."""
        return f"{self.prefix}.{self.prefix}.{self.prefix}.{table}"

    def came(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Wait until the log has been read up to now: what is written last is in the topic."""
        key = -next(self._new)
        ask(self.sql, f"INSERT INTO orders (id) VALUES ({key})")
        number = identities(COLUMNS)["id"]
        fold = Fold(self)

        def there() -> bool:
            meanwhile()
            return any(row[number] == key for row in fold.folded("orders").rows.values())

        wait_until(there)
        ask(self.sql, f"DELETE FROM orders WHERE id = {key}")

    def read_so_far(self) -> Counter[bytes]:
        """How often each key was read, as far as Kafka has it; of a table that nobody writes."""
        records = Reader(self.kafka.bootstrap).read([self.topic("orders")])
        return Counter(record.key or b"" for record in records)

    def spans(self) -> int:
        """In how many parts the table was read, by what was saved."""
        most = 0
        for record in Reader(self.kafka.bootstrap).read([f"wrackline-{self.prefix}-offsets"]):
            key = orjson.loads(record.key or b"[]")
            if isinstance(key, list) and "table" in key[1] and record.value is not None:
                jobs = orjson.loads(record.value).get("snapshot", {}).get("jobs", [])
                most = max([most, *(len(job.get("ranges") or ()) for job in jobs)])
        return most

    def read_anew(self) -> None:
        """Ask for all rows again, and wait until the topic has them."""
        file = self.folder / f"pipeline.toml-{len(self.started) - 1}"
        asked = ["snapshot", "start", str(file), f"{self.prefix}.{self.prefix}.orders"]
        run_command(asked).check_returncode()
        fold = Fold(self)
        wait_until(lambda: len(fold.folded("orders").read) >= len(self._there()))

    def equal(self, patience: float = 60.0) -> Mapping[bytes, int]:
        """Wait until the topic folds to the table, and no key went back; return how often each was read."""
        deadline = time.monotonic() + patience
        fold = Fold(self)
        while True:
            folded = fold.folded("orders")
            assert not folded.back, folded.back[:5]
            if sorted(map(_printed, folded.rows.values())) == sorted(map(_printed, self._there())):
                return folded.read
            assert self.alive(), self.started[-1].output
            assert time.monotonic() < deadline, self.started[-1].output
            time.sleep(0.2)

    def close(self) -> None:
        """End what was started."""
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        self.log.__exit__(None, None, None)
        ask(self.sql, f"DROP DATABASE {self.prefix}")
        self.sql.close()

    def _there(self) -> Sequence[dict[int, object]]:
        numbers = [identities(self.columns, self.first_names)[name] for name in self.columns]
        rows = ask(self.sql, f"SELECT {', '.join(self.columns)} FROM orders")
        return [dict(zip(numbers, row, strict=True)) for row in rows]

    def _pipeline(self) -> str:
        lines = [f'name = "{self.prefix}"', f'topic.prefix = "{self.prefix}"', "metrics.port = 0", "[source]"]
        lines += [f'{name} = "{value}"' for name, value in self.settings.items()]
        lines += ["[kafka]", f'bootstrap.servers = "{self.kafka.bootstrap}"']
        lines += ["[schema.registry]", f'url = "{self.registry.url}"']
        return "\n".join(lines)


def _statements(kind: str) -> list[str]:
    """A change's statements, each by itself."""
    found = []
    for one in CHANGES[kind].split(";"):
        found += _statements(one.strip()) if one.strip() in CHANGES else [one.strip()]
    return found


def _printed(row: Mapping[int, object]) -> str:
    return repr(sorted(row.items()))
