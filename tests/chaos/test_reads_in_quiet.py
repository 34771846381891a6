"""Rows are read to the end where nothing helps: nobody writes, transactions stay open, the network is slow.

And where a commit is in the log already, but no reader may see it yet.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.chaos.checks import check_all
from tests.chaos.conftest import Opened
from tests.chaos.evidence import Decoder, Reader
from tests.chaos.fold import equal
from tests.chaos.holds import Holds, log_is_sent
from tests.chaos.marks import NOT_OF_ROWS, reading
from tests.chaos.world import World
from tests.fixtures.cut_proxy import CutProxy
from tests.integration.running.world import PATIENCE, wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.producers.snapshot.work_items import SnapshotLimits

pytestmark = pytest.mark.servers

ROWS = 200


@pytest.fixture
def world(read_in_chunks: Opened) -> World:
    """A database with rows that nobody writes any more."""
    made = read_in_chunks(10, {"snapshot.max.threads": "1"})
    made.insert("orders", ROWS)
    return made


def rows_of(world: World, table: str) -> int:
    """How many keys of a table have come, by Kafka alone."""
    records = Reader(world.kafka.bootstrap).read([world.topic(table)])
    return len({record.key for record in records})


def chunks_of(world: World, table: str) -> int:
    """How many chunks a table's rows came in."""
    decoder = Decoder(world.registry.url)
    records = Reader(world.kafka.bootstrap).read([world.topic(table)])
    return len({decoder.decode(record.value)["source"]["chunk"] for record in records if record.value})


def test_rows_are_read_while_the_database_is_idle(world: World) -> None:
    """T-W07."""
    world.look_away()
    running = world.run()
    wait_until(lambda: rows_of(world, "orders") == ROWS)
    assert running.stop() == 0
    world.run()
    world.caught_up()
    check_all(world, but=NOT_OF_ROWS)


def test_transactions_stay_open_until_all_is_read(world: World) -> None:
    """T-W08."""
    holds = Holds(world, ("before_gate",))
    world.run(holds.armed)  # it has its slot: that would wait for the transactions that are open by then
    holds.next()
    with world.session() as writer, world.session() as looker:
        writer.execute("BEGIN")
        writer.execute("UPDATE orders SET n = nextval('writes') WHERE id = (SELECT max(id) FROM orders)")
        writer.execute("DELETE FROM orders WHERE id = (SELECT min(id) FROM orders)")
        writer.execute("INSERT INTO orders (id) VALUES (5)")
        looker.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        looker.execute("SELECT FROM lines")
        holds.all_go()
        wait_until(lambda: rows_of(world, "orders") == ROWS)
        writer.execute("COMMIT")
        world.caught_up()
        looker.execute("COMMIT")
    equal(world, ["orders"])
    check_all(world, but=NOT_OF_ROWS)


@contextmanager
def commits_wait(world: World) -> Iterator[None]:
    """Let commits that want so wait for a standby that never comes: the log has them, nobody sees them."""

    def standby(name: str) -> None:
        world.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        world.sql("SELECT pg_reload_conf()")
        wait_until(lambda: world.sql("SHOW synchronous_standby_names") == [(name,)])

    standby("nobody")
    wait_until(lambda: one_waits(world))  # the setting shows before it is obeyed
    try:
        yield
    finally:
        standby("")


def one_waits(world: World) -> bool:
    """Whether a commit waits, in a database whose log nobody reads; it is let go."""
    with psycopg.connect(world.postgres.dsn, autocommit=True) as session:
        pid = session.info.backend_pid
        speak = "SELECT pg_logical_emit_message(true, 'test', '')"
        trying = threading.Thread(target=session.execute, args=(speak,))
        trying.start()
        wait_until(lambda: waits(world, pid) or not trying.is_alive(), look=0.01)
        held = trying.is_alive()
        world.sql("SELECT pg_cancel_backend(%s)", pid)
        trying.join(PATIENCE)
    return held


def waits(world: World, pid: int) -> bool:
    """Whether a session waits for a standby."""
    return world.sql("SELECT wait_event FROM pg_stat_activity WHERE pid = %s", pid) == [("SyncRep",)]


def test_a_read_waits_for_a_logged_commit_that_is_not_visible_yet(world: World) -> None:
    world.sql(f"ALTER DATABASE {world.database} SET synchronous_commit = 'local'")
    holds = Holds(world)
    world.run(holds.armed)
    place, _ = holds.next()
    while place != "after_close_mark":  # the next read is not handed out yet
        holds.let_go(place)
        place, _ = holds.next()
    with commits_wait(world):
        session = psycopg.connect(world.dsn)
        session.execute("SET synchronous_commit = 'on'")
        session.execute("UPDATE orders SET n = nextval('writes')")
        hidden = threading.Thread(target=session.commit)
        hidden.start()
        wait_until(lambda: waits(world, session.info.backend_pid))
        log_is_sent(world)
        wait_until(lambda: rows_of(world, "orders") >= ROWS)  # the log's word of each row is in the topic
        holds.let_go("after_close_mark")
        place = ""
        while place != "before_gate":
            place, _ = holds.next()
            holds.let_go(place)
        wait_until(lambda: asked_again(world) or holds.comes(0.0))
        assert not holds.comes(0.0), "the gate let a read through"
    hidden.join(PATIENCE)
    session.close()
    holds.all_go()
    equal(world, ["orders"])
    world.caught_up()
    check_all(world, but=NOT_OF_ROWS)


def asked_again(world: World) -> bool:
    """Whether a reader asks again what it may see: two looks find two questions."""
    question = (
        "SELECT max(query_start)::text FROM pg_stat_activity"
        " WHERE query LIKE 'SELECT pg_current_snapshot%' AND datname = current_database()"
    )
    first = world.sql(question)
    return first != [(None,)] and first != world.sql(question)


@pytest.mark.full
def test_a_chunk_ends_early_where_its_rows_come_slowly(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> None:
    rows = 3_000
    with CutProxy(postgres.port) as network:
        settings = {**reading("fence", rows), "snapshot.max.threads": "1"}
        world = World(tmp_path, postgres, kafka, registry, settings, database_port=network.port)
        try:
            world.insert("lines", rows, 2_000)
            holds = Holds(world, ("before_select", "after_select"))
            world.run(holds.armed)
            while (come := holds.next())[1].table != "lines":
                holds.let_go(come[0])
            network.delay(
                SnapshotLimits().chunk_seconds / 40
            )  # for each piece of 64 kB, of which there are more
            holds.let_go("before_select")
            holds.next()
            network.heal()
            holds.all_go()
            wait_until(lambda: rows_of(world, "lines") == rows)
            world.caught_up()
            assert chunks_of(world, "lines") > 1
            check_all(world, but=NOT_OF_ROWS)
        finally:
            world.close()
