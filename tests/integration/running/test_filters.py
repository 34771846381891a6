"""Tables that come and go with their rows, while the others continue: by the filters, and in the database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.servers import Database
from tests.integration.running.copies import copied, operations
from tests.integration.running.world import Running, World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with rows in two tables."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.sql.execute("CREATE TABLE gifts (id int PRIMARY KEY, note text)")
    made.sql.execute("INSERT INTO gifts SELECT i, 'n' FROM generate_series(1, 10) AS i")
    made.insert(1, 3)
    yield made
    made.close()


def run(world: World, tables: str) -> Running:
    """Start it again with these tables."""
    if world.started:
        assert world.started[-1].stop() == Exit.OK
    world.write()
    text = world.file.read_text().replace("no_data", "initial").replace("public.orders", f"public.({tables})")
    world.file.write_text(text)
    return world.run()


def test_a_table_that_the_filters_include_then_leave_out_and_include_again(world: World) -> None:
    gifts = world.topic.replace(".orders", ".gifts")
    run(world, "orders")
    world.arrived(3)
    run(world, "orders|gifts")
    wait_until(lambda: copied(world, gifts) == set(range(1, 11)))
    world.sql.execute("INSERT INTO gifts VALUES (11, 'n')")
    wait_until(lambda: 11 in copied(world, gifts))
    assert operations(world, gifts) == "r" * 10 + "c", "read once, as one that was never met"
    run(world, "orders")
    world.sql.execute("DELETE FROM gifts WHERE id <= 8; INSERT INTO gifts VALUES (12, 'n')")
    world.insert(4, 4)
    world.arrived(4)
    run(world, "orders|gifts")
    wait_until(lambda: copied(world, gifts) == {9, 10, 11, 12})
    assert operations(world, gifts) == "r" * 10 + "c" + "t" + "r" * 4, "what was deleted meanwhile is void"
    world.insert(5, 5)
    world.arrived(5)
    assert operations(world) == "rrrcc", "nobody else is disturbed"


@pytest.mark.full
def test_a_table_that_is_made_while_it_runs_comes_with_its_rows_and_may_go_again(world: World) -> None:
    newest = world.topic.replace(".orders", ".newest")
    running = run(world, "orders|newest")
    world.arrived(3)
    world.sql.execute(
        "BEGIN; CREATE TABLE newest (id int PRIMARY KEY, note text);"
        " INSERT INTO newest SELECT i, 'n' FROM generate_series(1, 5) AS i; COMMIT"
    )
    wait_until(lambda: copied(world, newest) == {1, 2, 3, 4, 5})
    world.sql.execute("INSERT INTO newest VALUES (6, 'n')")
    wait_until(lambda: 6 in copied(world, newest))
    assert operations(world, newest) == "r" * 5 + "c"
    world.sql.execute("DROP TABLE newest")
    world.insert(4, 4)
    world.arrived(4)
    assert running.stop() == Exit.OK
    world.sql.execute(
        "CREATE TABLE newest (id int PRIMARY KEY, note text); INSERT INTO newest VALUES (7, 'n')"
    )
    run(world, "orders|newest")
    wait_until(lambda: copied(world, newest) == {7})
    assert operations(world) == "rrrc"
