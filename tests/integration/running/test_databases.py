"""One pipeline over several databases of a server: each has its own log, and its own troubles."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.fixtures.servers import Database, drop_slots
from tests.integration.running.world import PATIENCE, World, wait_until
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

    def drop(self) -> None:
        """Drop the second database with its slot, whoever uses it."""
        self.beside.close()
        drop_slots(self.sql, self.other)
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        self.sql.execute(drop.format(sql.Identifier(self.other)))

    def close(self) -> None:
        """Drop the second database with its slot."""
        for running in self.started:
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        self.drop()
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


@pytest.mark.full  # the test above has a database that fails
@pytest.mark.parametrize("what", ["slot", "database"])
def test_a_slot_or_a_database_that_is_dropped_holds_up_no_other(world: TwoDatabases, what: str) -> None:
    running = world.run()
    world.insert(1, 5)
    world.insert_beside(1, 5)
    assert len(world.arrived(5)) == 5
    wait_until(lambda: len(world.events(world.other_topic)) == 5)
    if what == "database":
        world.drop()
    else:
        drop_slots(world.sql, world.other)
    running.says(f"database {world.other} has failed; the others are read")
    world.insert(6, 10)
    assert len(world.arrived(10)) == 10
    wait_until(lambda: "failed: " in world.command("status").stdout)
    assert running.stop() == Exit.OK
    assert len(world.events()) == 10
    again = world.run(ready=f"database {world.other} has failed; the others are read")
    world.insert(11, 11)
    assert len(world.arrived(11)) == 11
    assert again.stop() == Exit.OK


def set_up(world: TwoDatabases, **settings: str) -> None:
    """Add settings to the pipeline's file, or give others."""
    text = world.file.read_text().replace('snapshot.mode = "no_data"\n', "")
    top, _, rest = text.partition("[source]")
    more = "".join(f"{name} = {value}\n" for name, value in settings.items())
    world.file.write_text(f"{top}[source]\n{more}{rest}")


def test_a_pipeline_that_ends_after_its_rows_reads_those_of_a_database_that_was_closed_next_time(
    world: TwoDatabases,
) -> None:
    set_up(world, **{"snapshot.mode": '"initial_only"'})
    world.insert(1, 5)
    world.insert_beside(1, 5)
    world.let_in(nobody=True)
    running = world.run(ready=f"database {world.other} has failed; the others are read")
    assert running.process.wait(PATIENCE) == Exit.OPERATOR
    assert "not currently accepting connections" in running.output
    assert len(world.arrived(5)) == 5
    world.let_in(nobody=False)
    again = world.run(ready="completed: existing rows are read")
    assert again.process.wait(PATIENCE) == Exit.OK
    assert (len(world.events()), len(world.events(world.other_topic))) == (5, 5)


@pytest.mark.full  # test_resting_channel.py holds it
def test_a_request_reaches_each_database_though_nobody_listens_all_the_time(world: TwoDatabases) -> None:
    running = world.run()
    for number in (1, 2, 3):  # the later ones may come when the readers rest
        world.insert(number, number)
        world.insert_beside(number, number)
        rows = number * (number + 1) // 2 + number  # those that each request has read, and the changes
        asked = world.command("snapshot", "start", "public.orders")
        assert asked.returncode == Exit.OK, asked.stdout + asked.stderr
        for topic in (world.topic, world.other_topic):
            wait_until(lambda of=topic, all_of=rows: len(world.events(of)) == all_of)  # type: ignore[misc]
    assert running.stop() == Exit.OK


def test_a_database_with_too_many_tables_stops_the_pipeline_as_the_setting_says(
    world: TwoDatabases,
) -> None:
    world.beside.execute("CREATE TABLE more (id int PRIMARY KEY)")
    world.file.write_text(world.file.read_text().replace('"public.orders"', '"public.(orders|more)"'))
    limit = {"guardrail.collections.max": "1", "guardrail.collections.limit.action": '"fail"'}
    set_up(world, **limit)
    running = world.run(ready="run.too_many_tables")
    assert running.process.wait(PATIENCE) == Exit.OPERATOR
    assert f"2 tables of database {world.other} pass the filters" in running.output


def test_a_database_that_hangs_is_waited_for_by_no_other(world: TwoDatabases) -> None:
    before = world.run()
    for name in (world.database.name, world.other):  # later, no slot waits for the transaction below
        before.says(f"database {name} is read")
    assert before.stop() == Exit.OK
    world.beside.execute("BEGIN")
    world.beside.execute("LOCK TABLE pg_catalog.pg_class IN ACCESS EXCLUSIVE MODE")
    running = world.run()
    assert f"database {world.other} has not answered yet; the others are read" in running.output
    world.insert(1, 5)
    assert len(world.arrived(5)) == 5
    world.beside.execute("COMMIT")
    running.says(f"database {world.other} is read")
    world.insert_beside(1, 5)
    wait_until(lambda: len(world.events(world.other_topic)) == 5)
    assert running.stop() == Exit.OK


def test_a_database_that_is_not_there_is_corrected_where_it_is_named(world: TwoDatabases) -> None:
    world.file.write_text(world.file.read_text().replace(f'"{world.other}"', f'"{world.other}_x"'))
    checked = world.command("check").stdout
    assert "correct database.names" in checked
    assert "database.dbname" not in checked


def test_a_database_that_was_one_of_several_continues_alone_in_its_slot(world: TwoDatabases) -> None:
    running = world.run()
    world.insert(1, 2)
    assert len(world.arrived(2)) == 2
    assert running.stop() == Exit.OK
    world.insert(3, 4)
    names = f'database.names = ["{world.database.name}", "{world.other}"]'
    alone = f'database.dbname = "{world.database.name}"'
    world.file.write_text(world.file.read_text().replace(names, alone))
    again = world.run()
    world.insert(5, 5)
    assert len(world.arrived(5)) == 5
    assert again.stop() == Exit.OK
    assert len(world.events()) == 5
