"""`snapshot.mode` of a running pipeline: one that ends by itself, one that makes a lost log good."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.running.copies import copied, operations, told
from tests.integration.running.world import World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with rows."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.insert(1, 30)
    yield made
    made.close()


def have(world: World, mode: str, *more: str) -> None:
    """Let the pipeline's file name this mode."""
    world.write()
    lines = "\n".join((f'snapshot.mode = "{mode}"', *more))
    world.file.write_text(world.file.read_text().replace('snapshot.mode = "no_data"', lines))


def ended(world: World) -> tuple[int, str]:
    """Start the pipeline and wait until it ends by itself."""
    running = world.run(ready="owner: generation")
    return running.process.wait(60), running.output


def drop_slot(world: World) -> None:
    """Have the log lost."""
    world.sql.execute("SELECT pg_drop_replication_slot(%s)", [world.slot])


def lose_slot(world: World) -> None:
    """Have the log lost while it is read: its readers are ended until the slot can be dropped."""

    def dropped() -> bool:
        end = "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = %s"
        world.sql.execute(end, [world.slot])
        try:
            drop_slot(world)
        except psycopg.errors.ObjectInUse:
            return False
        return True

    wait_until(dropped)


def test_initial_only_ends_by_itself_and_reads_nothing_twice(world: World) -> None:
    have(world, "initial_only")
    code, said = ended(world)
    assert code == Exit.OK, said
    assert "completed: existing rows are read" in said
    assert f"SELECT pg_drop_replication_slot('{world.slot}')" in said
    assert operations(world) == "r" * 30
    drop_slot(world)  # as it says: nobody needs it any more
    world.insert(31, 31)
    worker = world.command("worker", "--json")  # begins nothing again that is done, and ends
    assert worker.returncode == Exit.OK, worker.stdout
    assert '"COMPLETED"' in worker.stdout
    assert "RESTARTING" not in worker.stdout
    assert len(world.events()) == 30
    kept = world.sql.execute("SELECT FROM pg_replication_slots WHERE slot_name = %s", [world.slot])
    assert kept.rowcount == 0


@pytest.mark.full
def test_initial_only_ends_with_an_error_until_all_rows_can_be_read(
    world: World,
) -> None:
    have(
        world,
        "initial_only",
        'snapshot.select.statement.overrides = "public.orders"',
        '"snapshot.select.statement.overrides.public.orders" = "SELECT * FROM orders WHERE nothing = 1"',
    )
    for _ in range(2):
        code, said = ended(world)
        assert code == Exit.OPERATOR, said
        assert "[snapshot.unread]" in said
        assert "[pg.condition_column]" in said
    assert world.events() == []
    assert world.command("snapshot", "start", "public.orders").returncode == Exit.OK
    code, said = ended(world)
    assert code == Exit.OK, said
    assert len(world.events()) == 30


@pytest.mark.full
def test_a_statement_of_ones_own_says_which_rows_a_copy_begins_with(world: World) -> None:
    have(
        world,
        "initial",
        'snapshot.select.statement.overrides = "public.orders,public.typo"',
        '"snapshot.select.statement.overrides.public.orders" = "SELECT * FROM orders WHERE id < 6"',
        '"snapshot.select.statement.overrides.public.typo" = "SELECT * FROM typo"',
    )
    running = world.run()
    running.says("[snapshot.override_unused]")
    world.arrived(5)
    world.insert(31, 31)
    assert [key for _, key, _ in told(world)[:5]] == [1, 2, 3, 4, 5]
    world.arrived(6)
    assert world.command("snapshot", "start", "public.orders", "--id", "all").returncode == Exit.OK
    assert len(world.arrived(6 + 31)) == 6 + 31
    assert running.stop() == Exit.OK


def test_when_needed_reads_all_again_where_the_log_was_lost_and_a_copy_ends_equal(world: World) -> None:
    """T-W30."""
    have(world, "when_needed")
    running = world.run()
    world.arrived(30)
    assert running.stop() == Exit.OK
    epoch = world.position()["position"]["epoch"]
    drop_slot(world)
    world.sql.execute("DELETE FROM orders WHERE id <= 10; UPDATE orders SET note = 'x' WHERE id = 11")
    world.insert(31, 33)
    running = world.run()
    running.says("[snapshot.read_anew]")
    assert "[pg.slot_missing]" in running.output
    wait_until(lambda: copied(world) == set(range(11, 34)))
    assert operations(world) == "r" * 30 + "t" + "r" * 23
    world.insert(34, 34)
    wait_until(lambda: copied(world) == set(range(11, 35)))
    assert running.stop() == Exit.OK
    assert world.position()["position"]["epoch"] > epoch
    world.sql.execute("DELETE FROM orders WHERE id <= 30")
    world.offsets("reset")  # the same by hand
    running = world.run()
    wait_until(lambda: copied(world) == {31, 32, 33, 34})
    assert running.stop() == Exit.OK


@pytest.mark.deep
def test_when_needed_continues_also_if_the_log_is_lost_while_it_runs_but_not_forever(world: World) -> None:
    have(world, "when_needed")
    running = world.run()
    world.arrived(30)
    lose_slot(world)
    world.sql.execute("DELETE FROM orders WHERE id <= 10")
    running.says("[snapshot.read_anew]")
    wait_until(lambda: copied(world) == set(range(11, 31)))
    assert world.command("snapshot", "pause").returncode == Exit.OK
    wait_until(lambda: '"pause"' in world.command("snapshot", "status", "--json").stdout)
    lose_slot(world)
    wait_until(lambda: '"paused"' in world.command("snapshot", "status", "--json").stdout)
    lose_slot(world)
    assert running.process.wait(60) == Exit.DEFINITE, "the last loss was not made good"
    assert "[pg.slot_missing]" in running.output.rpartition("[snapshot.read_anew]")[2]
