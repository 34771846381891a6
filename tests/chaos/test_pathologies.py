"""Odd but lawful workloads: long, interleaved, empty and very wide transactions, and DDL inside them."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.chaos import evidence as ev
from tests.chaos.checks import check_all
from tests.chaos.world import World
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.producers.sources.postgres.log.position import lsn_number

pytestmark = pytest.mark.servers

MANY = b"INSERT INTO lines (id, note) SELECT %s - g, repeat('w', 500) FROM generate_series(1, 600) g"
MOST_COLUMNS = 1_600  # that PostgreSQL gives a table


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> Iterator[World]:
    """A database that is written to."""
    made = World(tmp_path, postgres, kafka, registry)
    yield made
    made.close()


def log_end(world: World) -> int:
    """Where the server writes now."""
    return lsn_number(str(world.sql("SELECT pg_current_wal_insert_lsn()::text")[0][0]))


def confirms(world: World, place: int) -> None:
    """Wait until the server may forget what lies before this place."""
    wait_until(lambda: (world.confirmed() or 0) >= place)


@pytest.mark.deep
def test_a_transaction_stays_open_while_others_commit_and_the_task_dies(world: World) -> None:
    """T-P04."""
    running = world.run()
    with world.session() as session, world.writing() as writers:
        session.execute("BEGIN")
        session.execute("INSERT INTO lines (id) SELECT -5000 - g FROM generate_series(1, 500) g")
        opened = log_end(world)
        writers.more(20)
        confirms(world, opened)  # it holds up nobody else's
        running.process.kill()
        running.process.wait()
        world.run()
        writers.more(20)
        session.execute("INSERT INTO lines (id) SELECT -6000 - g FROM generate_series(1, 500) g")
        session.execute("UPDATE lines SET n = nextval('writes') WHERE id < -5000")
        session.execute("COMMIT")
    world.caught_up()
    check_all(world)


@pytest.mark.deep
def test_large_and_small_ones_are_interleaved(world: World) -> None:
    world.run()
    with ExitStack() as opened, world.writing() as writers:
        sessions = [opened.enter_context(world.session()) for _ in range(3)]
        for session in sessions:
            session.execute("BEGIN")
        for turn in range(10):
            for number, session in enumerate(sessions):
                first = -10_000 * (number + 1) - 600 * turn
                session.execute(MANY, [first])
            writers.more(3)
        for session in reversed(sessions):
            session.execute("COMMIT")
    world.caught_up()
    seen = check_all(world)
    assert len([event for event in seen.events if event.table == "lines" and event.id < -10_000]) == 18_000


def test_a_table_changes_its_shape_inside_a_transaction(world: World) -> None:
    world.run()
    with world.session() as session:
        session.execute("INSERT INTO lines (id) VALUES (-1)")
        with session.transaction():
            session.execute("INSERT INTO lines (id) VALUES (-2)")
            session.execute("ALTER TABLE lines ADD COLUMN extra int")
            session.execute("INSERT INTO lines (id, extra) VALUES (-3, 33)")
            session.execute("UPDATE lines SET extra = 11, n = nextval('writes') WHERE id = -1")
            session.execute("ALTER TABLE lines ADD COLUMN more text")
            session.execute("INSERT INTO lines (id, extra, more) VALUES (-4, 44, 'm')")
        session.execute("BEGIN")
        session.execute("ALTER TABLE lines ADD COLUMN never int")
        session.execute("INSERT INTO lines (id, never) VALUES (-5, 55)")
        session.execute("ROLLBACK")
        session.execute("INSERT INTO lines (id, extra) VALUES (-6, 66)")
    world.caught_up()
    check_all(world)
    told = {key: row for key, row in rows_of(world, "lines") if row is not None}
    assert {key: row.get("extra") for key, row in told.items()} == {-1: 11, -2: None, -3: 33, -4: 44, -6: 66}
    assert told[-4]["more"] == "m"
    assert "never" not in told[-6]


def rows_of(world: World, table: str) -> list[tuple[int, dict[str, object] | None]]:
    """Each event's key, and the row after it; the greatest key first, for they come of several partitions."""
    decoder = ev.Decoder(world.registry.url)
    records = ev.Reader(world.kafka.bootstrap).read([world.topic(table)])
    told = [
        (decoder.decode(record.key)["id"], decoder.decode(record.value)["after"])
        for record in records
        if record.key is not None and record.value is not None
    ]
    return sorted(told, key=lambda one: -one[0])


@pytest.mark.deep
def test_a_table_has_as_many_columns_as_can_be(world: World) -> None:
    names = [f"c{number}" for number in range(MOST_COLUMNS - 3)]
    world.sql(f"ALTER TABLE lines {', '.join(f'ADD COLUMN {name} int' for name in names)}")
    world.run()
    filled = ", ".join(str(number) for number in range(len(names)))
    world.sql(f"INSERT INTO lines (id, {', '.join(names)}) VALUES (-1, {filled})")
    world.sql("UPDATE lines SET c7 = -7, n = nextval('writes') WHERE id = -1")
    world.sql("INSERT INTO lines (id) VALUES (-2)")
    world.caught_up()
    check_all(world)
    told = rows_of(world, "lines")
    full = {name: number for number, name in enumerate(names)}
    for (_, row), wanted in zip(told, (full, full | {"c7": -7}, dict.fromkeys(names)), strict=True):
        assert row is not None
        assert {name: row[name] for name in names} == wanted


@pytest.mark.full
def test_ten_thousand_transactions_of_others_move_an_idle_slot_on(world: World) -> None:
    """T-P12."""
    world.sql("CREATE TABLE elsewhere (id bigint)")
    world.run()
    world.insert("lines", 1)
    world.caught_up()
    world.sql(
        "DO $$ BEGIN FOR number IN 1..10000 LOOP INSERT INTO elsewhere VALUES (number); COMMIT; END LOOP;"
        " END $$"
    )
    confirms(world, log_end(world))
    seen = check_all(world)
    assert seen.records == len(seen.events), "something was published of them"
