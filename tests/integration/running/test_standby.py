"""A standby is copied as its primary is, and nothing is written anywhere: rows from before, and changes."""

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.chaos.checks import check_all
from tests.chaos.marks import NOT_OF_ROWS
from tests.chaos.test_existing_rows import all_read
from tests.chaos.world import World
from tests.chaos.writers import TABLES
from tests.fixtures.standbys import standby_of
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.postgres import postgres as make_server
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry

pytestmark = pytest.mark.servers

SETTINGS = {"read.only": "true", "snapshot.mode": "initial", "incremental.snapshot.chunk.size": "50"}


@pytest.fixture(
    params=[16, pytest.param(17, marks=pytest.mark.deep), pytest.param(18, marks=pytest.mark.deep)]
)
def servers(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """A primary and its standby; decoding on a standby is there from 16 on."""
    primary = make_server(tmp_path / "primary", request.param)
    primary.process.start()
    standby = None
    try:
        standby = standby_of(primary, tmp_path, {"hot_standby_feedback": "on"})
        yield primary, standby
    finally:
        if standby is not None:
            standby.process.stop()
        primary.process.stop()


def test_a_standby_is_read_beside_its_log(
    servers: tuple[PostgresServer, PostgresServer], tmp_path: Path, kafka: Broker, registry: SchemaRegistry
) -> None:
    """T-P16, T-W09."""
    primary, standby = servers
    world = World(tmp_path / "world", primary, kafka, registry, SETTINGS, database_port=standby.port)
    try:
        world.sql(f"CREATE PUBLICATION {world.prefix} FOR TABLE {', '.join(TABLES)}")
        world.insert("orders", 150)
        with world.writing(count=2) as writers:
            writers.more(30)
            running = world.run(wait=False)
            deadline = time.monotonic() + 60
            while "running\n" not in running.output:
                assert running.process.poll() is None, running.output
                assert time.monotonic() < deadline, running.output
                world.sql("SELECT pg_log_standby_snapshot()")  # what a slot on a standby waits for
                time.sleep(0.2)
            writers.more(60)
        world.caught_up()
        wait_until(lambda: all_read(world))
        seen = check_all(world, but=NOT_OF_ROWS)
        assert sum(event.op == "r" for event in seen.events) > 150
        with psycopg.connect(primary.dsn) as admin:
            assert admin.execute("SELECT FROM pg_replication_slots").rowcount == 0
    finally:
        world.close()
