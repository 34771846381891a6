"""A table without a key: each row once behind the newest truncate, whatever happens meanwhile."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.running.copies import operations, told
from tests.integration.running.world import World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with a bag of rows, of which some are the same."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.sql.execute("CREATE TABLE bags (id int, note text)")
    made.sql.execute("ALTER TABLE bags REPLICA IDENTITY FULL")
    made.sql.execute("INSERT INTO bags SELECT n / 2, 'before' FROM generate_series(1, 400) n")
    text = made.file.read_text().replace("no_data", "initial").replace("public.orders", "public.bags")
    made.file.write_text(text.replace("[source]", "[source]\nincremental.snapshot.chunk.size = 30", 1))
    yield made
    made.close()


@pytest.fixture
def writer(database: Database, world: World) -> Iterator[Thread]:
    """A writer that inserts and deletes rows all the time, each in a transaction of its own."""
    del world
    stopping = Event()

    def write() -> None:
        with psycopg.connect(database.dsn, autocommit=True) as sql:
            for number in range(100_000):
                sql.execute("INSERT INTO bags VALUES (%s, 'meanwhile')", [1_000 + number])
                if number % 3 == 0:
                    sql.execute("DELETE FROM bags WHERE id = %s", [number // 3])
                if stopping.wait(0.01):
                    return

    thread = Thread(target=write)
    thread.stop = stopping.set  # type: ignore[attr-defined]  # so that a test can end it
    thread.start()
    yield thread
    stopping.set()
    thread.join()


def bag(world: World, topic: str) -> Counter[int | None]:
    """The copy: what is not older than the newest truncate, each event once."""
    events = told(world, topic)
    floor = max((seq for op, _, seq in events if op == "t"), default="")
    newer = [(op, row, seq) for op, row, seq in events if op != "t" and seq >= floor]
    assert len({seq for _, _, seq in newer}) == len(newer), "each row has its own number"
    found = Counter(row for op, row, _ in newer if op != "d")
    found.subtract(Counter(row for op, row, _ in newer if op == "d"))
    return +found


def test_a_table_without_a_key_comes_whole_over_a_kill_and_once_more_when_it_is_asked_for(
    world: World, writer: Thread, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = f"{world.prefix}.{world.database.name}.public.bags"

    def whole() -> bool:
        rows = Counter(row for (row,) in world.sql.execute("SELECT id FROM bags").fetchall())
        return bag(world, topic) == rows

    with monkeypatch.context() as armed:
        armed.setenv(failpoints.VARIABLE, "after_commit=kill@4")
        assert world.run().process.wait(60) < 0
    running = world.run()
    wait_until(lambda: "streaming" in world.command("snapshot", "status").stdout)
    writer.stop()  # type: ignore[attr-defined]  # the fixture gave it
    writer.join()
    wait_until(whole)
    voided = operations(world, topic).count("t")
    done = world.command("snapshot", "start", "public.bags")
    assert done.returncode == 0, done.stdout + done.stderr
    wait_until(lambda: operations(world, topic).count("t") > voided and whole())
    assert running.stop() == Exit.OK
    slots = world.sql.execute("SELECT count(*) FROM pg_replication_slots WHERE temporary").fetchone()
    assert slots == (0,)
