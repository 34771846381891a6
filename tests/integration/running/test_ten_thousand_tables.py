"""Ten thousand captured tables of which twenty change: these arrive once, and nothing is made of the rest."""

import signal
from pathlib import Path

import orjson
import pytest
from confluent_kafka.admin import AdminClient

from tests.integration.running.world import Running, World, wait_until
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.deep]

TABLES, CHANGING, AT_ONCE = 10_000, 20, 250
MOST_MB = 1000
MAKE = """
DO $$ BEGIN FOR i IN {first}..{last} LOOP
  EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, note text)', i);
END LOOP; END $$"""
CHANGED = [f"t{number * TABLES // CHANGING}" for number in range(CHANGING)]


def insert(world: World, first: int, last: int) -> None:
    for number in range(first, last + 1):
        for table in CHANGED:
            world.sql.execute(f"INSERT INTO {table} VALUES ({number}, 'n')".encode())


def keys(world: World, table: str) -> list[int]:
    """The ids of a table's events, in their order: a key is Confluent's five bytes and one zigzag varint."""
    found = world.events(f"{world.prefix}.{world.database.name}.public.{table}")
    return [(key or b"")[5] // 2 for key, _ in found]


def peak_mb(running: Running) -> float:
    status = Path(f"/proc/{running.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def test_twenty_of_ten_thousand_tables_arrive_once_also_after_a_kill(world: World) -> None:
    for begin in range(0, TABLES, AT_ONCE):
        world.sql.execute(MAKE.format(first=begin, last=begin + AT_ONCE - 1).encode())
    text = world.file.read_text().replace('"public.orders"', r'"public\\.t\\d+"')
    world.file.write_text(text)
    first = world.run()
    assert f"tables: {TABLES} (" in first.output
    insert(world, 1, 10)
    wait_until(lambda: all(len(keys(world, table)) == 10 for table in CHANGED))
    assert peak_mb(first) < MOST_MB
    first.stop(signal.SIGKILL)

    insert(world, 11, 20)  # while nobody reads
    second = world.run()
    insert(world, 21, 30)
    wait_until(lambda: all(len(keys(world, table)) >= 30 for table in CHANGED))
    assert peak_mb(second) < MOST_MB
    states = orjson.loads(world.command("snapshot", "status", "--json").stdout)["tables"]
    assert second.stop() == Exit.OK
    for table in CHANGED:
        assert keys(world, table) == list(range(1, 31)), table
    assert {one["state"] for one in states.values()} <= {"streaming"}
    known = AdminClient({"bootstrap.servers": world.kafka.bootstrap}).list_topics(timeout=30).topics
    made = {topic for topic in known if topic.startswith(f"{world.prefix}.{world.database.name}.")}
    assert len(made) == CHANGING, "a topic is made at a table's first event"
