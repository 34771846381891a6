"""What was rolled back appears nowhere: transactions, savepoints, prepared ones, those too large to hold."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.chaos.checks import check_all
from tests.chaos.world import World
from tests.chaos.writers import Session
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.producers.sources.postgres.log.position import lsn_number

pytestmark = pytest.mark.servers

HELD_SUBTRANSACTIONS = 64  # a backend's own list holds so many, more are looked up elsewhere


CAUGHT = b"""
DO $$ BEGIN
    FOR number IN 1..20 LOOP
        BEGIN
            INSERT INTO lines (id) VALUES (-50000 - number);
            IF number % 2 = 0 THEN RAISE division_by_zero; END IF;
        EXCEPTION WHEN division_by_zero THEN
            INSERT INTO lines (id) VALUES (-60000 - number);
        END;
    END LOOP;
END $$"""


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> Iterator[World]:
    """A pipeline whose server holds next to nothing of a transaction in memory, and writes it to files."""
    made = World(tmp_path, postgres, kafka, registry)
    made.sql(f"ALTER DATABASE {made.database} SET logical_decoding_work_mem = '64kB'")
    yield made
    for (name,) in made.sql("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
        made.sql(f"ROLLBACK PREPARED '{name}'")
    made.close()


class Rows:
    """Inserts rows with keys that nobody else has, and changes the newest."""

    def __init__(self) -> None:
        self._keys = itertools.count(-100_000, -1)

    def change(self, session: Session, rows: int = 1) -> None:
        """Insert some; change one of them and delete another."""
        keys = list(itertools.islice(self._keys, rows))
        session.execute("INSERT INTO lines (id, note) SELECT unnest(%s::bigint[]), repeat('z', 200)", [keys])
        session.execute("UPDATE lines SET n = nextval('writes') WHERE id = %s", [keys[0]])
        if rows > 1:
            session.execute("DELETE FROM lines WHERE id = %s", [keys[1]])


def undo(session: Session, rows: Rows, count: int) -> None:
    """Change rows inside a savepoint, some of them in another that is kept, and go back to before it."""
    with session.transaction():
        rows.change(session, count)
        with session.transaction():
            rows.change(session, count)
        raise psycopg.Rollback


def log_end(world: World) -> int:
    """Where the server writes now."""
    return lsn_number(str(world.sql("SELECT pg_current_wal_insert_lsn()::text")[0][0]))


def spilled(world: World) -> int:
    """How many transactions the server wrote to files for this slot."""
    [[count]] = world.sql("SELECT spill_txns FROM pg_stat_replication_slots WHERE slot_name = %s", world.slot)
    assert isinstance(count, int)
    return count


def test_nothing_that_was_undone_appears(world: World) -> None:
    """T-P19, T-S3."""
    rows = Rows()
    running = world.run()
    with world.writing(pace=0.05), world.session() as session:
        undo(session, rows, 1_000)
        with session.transaction():
            rows.change(session, 500)
            undo(session, rows, 1_000)
            rows.change(session, 500)
        with session.transaction():
            undo(session, rows, 1_000)
        with session.transaction():
            for number in range(2 * HELD_SUBTRANSACTIONS):
                with session.transaction():
                    rows.change(session)
                    if number % 3:
                        raise psycopg.Rollback
        session.execute(CAUGHT)
        running.process.kill()
        world.run()
    world.caught_up()
    check_all(world)
    wait_until(lambda: spilled(world) > 0)


def test_a_prepared_transaction_comes_when_it_is_committed_and_never_if_it_is_not(world: World) -> None:
    """T-P20."""
    rows = Rows()
    running = world.run()
    names = [f"{kind}_{world.prefix}" for kind in ("kept", "undone")]
    with world.writing(pace=0.05) as writers, world.session() as session:
        for name in names:
            session.execute("BEGIN")
            rows.change(session, 500)
            undo(session, rows, 20)
            session.execute(f"PREPARE TRANSACTION '{name}'".encode())
        prepared = log_end(world)
        wait_until(lambda: (world.confirmed() or 0) >= prepared)  # it holds up nobody else's
        running.process.kill()
        running.process.wait()
        world.run()
        writers.more(20)
        session.execute(f"COMMIT PREPARED '{names[0]}'".encode())
        session.execute(f"ROLLBACK PREPARED '{names[1]}'".encode())
        writers.more(20)
    world.caught_up()
    check_all(world)


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_large_undone_ones_among_others_while_the_task_is_killed(world: World) -> None:
    rows = Rows()
    running = world.run()
    with world.writing() as writers, world.session() as session:
        for turn in range(12):
            undo(session, rows, 2_000)
            with session.transaction():
                rows.change(session, 2_000)
                undo(session, rows, 5_000)
            if turn % 4 == 1:
                running.process.kill()
                running.process.wait()
                running = world.run()
            writers.more(10)
    world.caught_up(patience=180)
    check_all(world)
