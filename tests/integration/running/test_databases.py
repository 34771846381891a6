"""One pipeline over several databases of a server: each has its own log, and its own troubles."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.fixtures.servers import Database, drop_slots
from tests.integration.running.world import World, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


class TwoDatabases(World):
    """The pipeline of a `World` over a second database too."""

    def __post_init__(self) -> None:
        """Make the second one, with the same table."""
        super().__post_init__()
        self.other = f"{self.database.name}_b"
        self.sql.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.other)))
        self.beside = psycopg.connect(self.database.server.database_dsn(self.other), autocommit=True)
        self.beside.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        text = self.file.read_text().replace(
            f'database.dbname = "{self.database.name}"',
            f'database.names = ["{self.database.name}", "{self.other}"]',
        )
        self.file.write_text(f"retriable.restart.connector.wait.ms = 500\n{text}")
        self.other_topic = f"{self.prefix}.{self.other}.public.orders"

    def insert_beside(self, first: int, last: int) -> None:
        """Insert orders into the second database."""
        for number in range(first, last + 1):
            self.beside.execute("INSERT INTO orders VALUES (%s, 'beside')", [number])

    def let_in(self, *, nobody: bool) -> None:
        """Close the second database to all, or open it again."""
        allowed = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        self.sql.execute(allowed.format(sql.Identifier(self.other), sql.Literal(not nobody)))
        if nobody:
            self.beside.close()
            self.sql.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [self.other]
            )
        else:
            self.beside = psycopg.connect(self.database.server.database_dsn(self.other), autocommit=True)

    def close(self) -> None:
        """Drop the second database with its slot."""
        self.beside.close()
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        drop_slots(self.sql, self.other)
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
        self.sql.execute(drop.format(sql.Identifier(self.other)))
        super().close()


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[TwoDatabases]:
    """Two databases with a table each, and one pipeline over both."""
    made = TwoDatabases(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


def test_databases_are_read_beside_each_other_and_one_that_is_closed_holds_up_no_other(
    world: TwoDatabases,
) -> None:
    running = world.run()
    world.insert(1, 5)
    world.insert_beside(1, 5)
    assert len(world.arrived(5)) == 5
    wait_until(lambda: len(world.events(world.other_topic)) == 5)
    shown = {one["database"]: one for one in world.offsets("show")["offsets"]}
    assert shown.keys() == {world.database.name, world.other}

    world.let_in(nobody=True)
    running.says(f"database {world.other} has failed; the others are read")
    world.insert(6, 10)
    assert len(world.arrived(10)) == 10
    wait_until(lambda: "failed: " in world.command("status").stdout)
    checked = world.command("check").stdout
    assert "not currently accepting connections" in checked
    world.let_in(nobody=False)
    world.insert_beside(6, 10)
    wait_until(lambda: len(world.events(world.other_topic)) == 10)
    assert running.stop() == Exit.OK
    assert (len(world.events()), len(world.events(world.other_topic))) == (10, 10)

    again = world.run()
    world.insert_beside(11, 11)
    wait_until(lambda: len(world.events(world.other_topic)) == 11)
    assert f"{world.other}: begins at " in again.output
    assert again.stop() == Exit.OK
