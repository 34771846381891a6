"""Heartbeats on real servers: an idle database holds no log of a busy neighbour, and says that it lives."""

import io
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import fastavro
import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.running.world import World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers

SLOT = "SELECT confirmed_flush_lsn - '0/0', pg_current_wal_lsn() - restart_lsn FROM pg_replication_slots"
PATH = "/apis/ccompat/v7/subjects/{}/versions/latest"
QUERY = "UPDATE beats SET times = times + 1; SELECT 1"


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with a table, a pipeline over it, and a table that the heartbeats write to."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.sql.execute("CREATE TABLE beats (times int)")
    made.sql.execute("INSERT INTO beats VALUES (0)")
    yield made
    made.close()


def beat_every(world: World, ms: int, *more: str) -> None:
    lines = [f"heartbeat.interval.ms = {ms}", *more]
    world.file.write_text("\n".join(lines) + world.file.read_text())


def beaten(world: World) -> int:
    ((times,),) = world.sql.execute("SELECT times FROM beats").fetchall()
    assert isinstance(times, int)
    return times


def decoded(world: World, subject: str, raw: bytes | None) -> dict[str, object]:
    assert raw is not None
    with urlopen(f"http://127.0.0.1:{world.registry.port}{PATH.format(subject)}", timeout=10) as answer:
        latest = json.load(answer)
    record = fastavro.schemaless_reader(io.BytesIO(raw[5:]), json.loads(latest["schema"]), None)
    assert isinstance(record, dict)
    return record


def test_an_idle_database_lets_a_busy_neighbours_log_go(world: World) -> None:
    """T-P12."""
    beat_every(world, 500, f'heartbeat.action.query = "{QUERY}"')
    running = world.run()
    world.insert(1, 1)
    world.arrived(1)

    def slot() -> tuple[int, int]:
        (row,) = world.sql.execute(f"{SLOT} WHERE slot_name = %s", [world.slot]).fetchall()
        return int(str(row[0])), int(str(row[1]))

    begun, _ = slot()
    with psycopg.connect(world.database.server.dsn, autocommit=True) as neighbour:
        neighbour.execute(
            "CREATE TABLE busy AS SELECT repeat('x', 900) AS filling FROM generate_series(1, 9000)"
        )
        ((written,),) = neighbour.execute("SELECT pg_current_wal_lsn() - '0/0'").fetchall()
        most = slot()[1]
        neighbour.execute("CHECKPOINT")  # says which transactions run: from there the log is needed
        neighbour.execute("DROP TABLE busy")
    assert most > 8_000_000
    wait_until(lambda: slot()[0] > int(str(written)))
    wait_until(lambda: slot()[1] < most // 2)
    assert begun < int(str(written))
    times = beaten(world)
    wait_until(lambda: beaten(world) >= times + 2)

    topic = f"__debezium-heartbeat.{world.prefix}"
    wait_until(lambda: len(world.events(topic)) >= 3)
    key, value = world.events(topic)[-1]
    assert decoded(world, f"{topic}-key", key) == {"serverName": world.prefix}
    assert decoded(world, f"{topic}-value", value).keys() == {"ts_ms"}
    assert world.events(f"{world.prefix}.message") == []
    assert len(world.events()) == 1
    assert running.stop() == Exit.OK
    assert "continues without:" not in running.output


def test_a_busy_database_needs_none(world: World) -> None:
    beat_every(world, 60_000, f'heartbeat.action.query = "{QUERY}"')
    running = world.run()
    world.insert(1, 20)
    world.arrived(20)
    assert running.stop() == Exit.OK
    assert beaten(world) == 0
    assert world.events(f"__debezium-heartbeat.{world.prefix}") == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('heartbeat.action.query = "UPDATE nothing SET a = 1"', "pg.heartbeat_query"),
        ("read.only = true", "pg.no_heartbeat"),
    ],
)
def test_what_cannot_be_written_is_said_once_and_stops_nothing(world: World, line: str, code: str) -> None:
    beat_every(world, 700, line)
    name = tomllib.loads(world.file.read_text())["source"]["publication"]["name"]
    world.sql.execute(f"CREATE PUBLICATION {name} FOR TABLE orders".encode())  # read.only makes none
    running = world.run()
    running.says(f"[{code}]")
    topic = f"__debezium-heartbeat.{world.prefix}"
    if code == "pg.heartbeat_query":
        wait_until(lambda: len(world.events(topic)) >= 2)
    world.insert(1, 3)
    world.arrived(3)
    assert running.stop() == Exit.OK
    assert running.output.count("continues without:") == 1
