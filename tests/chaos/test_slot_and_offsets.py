"""The slot or the offsets are lost: the pipeline says so, and never continues as if nothing were missing."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import AdminClient

from tests.chaos.checks import check_all
from tests.chaos.world import World
from tests.integration.running.world import PATIENCE, Running, wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> Iterator[World]:
    """A database that is written to; servers are not hurt here."""
    made = World(tmp_path, postgres, kafka, registry, {"kafka.message.timeout.ms": "2000"})
    yield made
    made.close()


def written(world: World) -> Running:
    """Run, write something, and see that it has come."""
    running = world.run()
    with world.writing() as writers:
        writers.more(15)
    world.caught_up()
    return running


def drop_slot(world: World) -> None:
    """Drop the slot, although it is being read."""

    def dropped() -> bool:
        ours = "FROM pg_replication_slots WHERE slot_name = %s"
        world.sql(f"SELECT pg_terminate_backend(active_pid) {ours} AND active", world.slot)
        try:
            world.sql(f"SELECT pg_drop_replication_slot(slot_name) {ours}", world.slot)
        except psycopg.errors.ObjectInUse:
            return False
        return True

    wait_until(dropped)


def drop_offsets(world: World) -> None:
    """Delete the offsets topic, and see that it has gone."""
    admin = AdminClient({"bootstrap.servers": world.kafka.bootstrap})
    admin.delete_topics([world.offsets])[world.offsets].result(30)
    wait_until(lambda: world.offsets not in admin.list_topics(timeout=30).topics)


def refused(running: Running, code: str, status: Exit = Exit.DEFINITE) -> str:
    """Wait for its end; it must say this, and what to do."""
    assert running.process.wait(PATIENCE) == status, running.output
    said = running.output
    assert f"[{code}]" in said
    assert "hint: " in said
    return said


def test_a_slot_that_is_dropped_while_it_is_read_ends_the_run(world: World) -> None:
    running = written(world)
    drop_slot(world)
    world.sql("INSERT INTO lines (id) VALUES (-100)")
    assert "wrackline offsets reset" in refused(running, "pg.slot_missing")
    before = world.evidence()
    again = world.run()  # it does not heal by itself, and makes no slot that would hide the gap
    refused(again, "pg.slot_missing")
    assert world.confirmed() is None
    assert world.evidence().events == before.events

    assert world.command("offsets", "reset").returncode == Exit.OK
    world.run()
    world.sql("INSERT INTO lines (id) VALUES (-101)")
    world.caught_up()
    after = world.evidence()
    epochs = [event.seq[:4] for event in after.events if event.id in {-100, -101}]
    assert epochs == ["0002"]  # the gap was said, and what follows is newer than all before


@pytest.mark.deep
def test_a_slot_that_is_created_again_while_the_pipeline_is_stopped_is_refused(world: World) -> None:
    assert written(world).stop() == Exit.OK
    drop_slot(world)
    world.sql("INSERT INTO lines (id) VALUES (-100)")
    world.sql("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", world.slot)
    refused(world.run(), "pg.slot_ahead")


def test_offsets_that_are_deleted_are_missed_and_never_gone_on_without(world: World) -> None:
    running = written(world)
    drop_offsets(world)
    before = world.confirmed()
    world.sql("INSERT INTO lines (id) VALUES (-100)")
    running.says("[offsets.gone]")
    assert world.confirmed() == before
    running.stop()
    for _ in range(2):  # a refusal leaves nothing behind that the next start would take for an answer
        assert "wrackline offsets reset" in refused(world.run(), "offsets.lost")

    assert world.command("offsets", "reset").returncode == Exit.OK
    world.run()
    world.sql("INSERT INTO lines (id) VALUES (-101)")
    world.caught_up()
    # the chain of positions starts over, and those that continued it are gone
    seen = check_all(world, but=["CHK-6", "CHK-7"])
    epochs = [event.seq[:4] for event in seen.events if event.id in {-100, -101}]
    assert epochs == ["0002", "0002"]
