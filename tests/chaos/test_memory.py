"""A task's memory follows neither the load, nor a transaction's size, nor how long Kafka stands still."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.checks import check_all
from tests.chaos.memory import MB, allowed, forget_peak, peak, resident
from tests.chaos.world import World
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.producers.task.task_limits import TaskLimits

pytestmark = pytest.mark.servers

MOST_AHEAD = TaskLimits().most_ahead_bytes
ROW = 8_000


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> Iterator[World]:
    """A pipeline whose server soon gives up a reader that does not answer."""
    made = World(tmp_path, postgres, kafka, registry)
    made.sql(f"ALTER DATABASE {made.database} SET wal_sender_timeout = '2s'")
    yield made
    kafka.process.resume()  # as the test may have left it
    made.close()


def sender(world: World) -> int:
    """The server's process that sends the log."""
    [[pid]] = world.sql("SELECT active_pid FROM pg_replication_slots WHERE slot_name = %s", world.slot)
    assert isinstance(pid, int), "nobody reads the log"
    return pid


def heard_for(world: World, seconds: int) -> None:
    """Wait until the server has heard from its reader so long after the load, and not only been waiting."""
    since = world.sql("SELECT clock_timestamp()::text")[0][0]
    question = (
        "SELECT pid FROM pg_stat_replication WHERE pid = %s"
        " AND reply_time > %s::timestamptz + %s * '1 s'::interval"
    )
    reader = sender(world)
    wait_until(lambda: bool(world.sql(question, reader, since, seconds)))


def load(world: World, megabytes: int) -> None:
    """Write so much, in transactions of 16 MB."""
    for _ in range(megabytes // 16):
        world.insert("lines", 16 * MB // ROW, ROW)


@pytest.mark.full
def test_memory_stays_flat_while_kafka_is_frozen(world: World, kafka: Broker) -> None:
    running = world.run()
    world.insert("lines", 3, ROW)
    world.caught_up()
    reader, before = sender(world), resident(running)
    forget_peak(running)
    kafka.process.pause()
    load(world, 96)
    heard_for(world, 5)
    assert sender(world) == reader
    grown = peak(running) - before
    kafka.process.resume()
    assert grown < 4 * MOST_AHEAD, f"{grown / MB:.0f} MB"
    world.caught_up()
    assert running.process.poll() is None
    check_all(world)
    assert peak(running) < allowed(ROW)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_memory_stays_flat_while_kafka_is_frozen_for_a_minute(world: World, kafka: Broker) -> None:
    running = world.run()
    with world.writing() as writers:
        world.insert("lines", 3, ROW)
        world.caught_up()
        reader = sender(world)
        kafka.process.pause()
        load(world, 96)
        heard_for(world, 15)
        assert sender(world) == reader
        early = peak(running)
        load(world, 192)
        # Kafka's patience with a transaction is over after 45 s: from then on the task begins again and again
        wait_until(lambda: "[kafka." in running.output)
        load(world, 192)
        late = peak(running)
        kafka.process.resume()
        writers.more(50)
    world.caught_up(patience=300)
    assert running.process.poll() is None
    assert late < allowed(ROW), f"{late / MB:.0f} MB"
    assert late - early < 4 * MOST_AHEAD, f"{early / MB:.0f} MB, then {late / MB:.0f} MB"
    check_all(world)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_it_stays_within_its_bound_under_all_at_once(world: World) -> None:
    largest = 50 * MB
    running = world.run()
    with world.writing(), world.session() as session:
        session.execute("INSERT INTO accounts (id, note) VALUES (-1, repeat('y', %s))", [largest])
        with session.transaction():
            session.execute("ALTER TABLE lines DISABLE TRIGGER USER")  # the ledger need not hold these
            session.execute("INSERT INTO lines (id, note) SELECT -g, 'r' FROM generate_series(9, 2000000) g")
            session.execute("ALTER TABLE lines ENABLE TRIGGER USER")
        for _ in range(3):
            session.execute("UPDATE accounts SET n = nextval('writes') WHERE id = -1")
    world.caught_up(patience=600)
    assert running.process.poll() is None
    assert peak(running) < allowed(largest), f"{peak(running) / MB:.0f} MB"
