"""A pipeline from when slots had another default name: it continues from its own, and check looks there."""

import json
from typing import Any

import pytest

from tests.fixtures.prepared import run_command
from tests.integration.running.world import World, environment
from wrackline.producers.sources.postgres.connect.quoting import own_slot

pytestmark = pytest.mark.servers


def checked(world: World) -> dict[str, Any]:
    """The findings of a check by their ids."""
    command = ["check", "--json", str(world.file)]
    told = run_command(command, env=environment(), timeout=60)
    return {one["id"]: one for one in json.loads(told.stdout)["findings"]}


def slots(world: World) -> list[str]:
    found = world.sql.execute(
        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND NOT temporary"
    )
    return [str(name) for (name,) in found]


def test_a_pipeline_that_began_with_another_slot_continues_with_it_and_check_looks_there(
    world: World,
) -> None:
    world.insert(1, 3)
    running = world.run()
    world.insert(4, 6)
    world.arrived(3)
    running.stop()
    text = world.file.read_text()
    world.file.write_text(text.replace(f'slot.name = "{world.slot}"\n', ""))
    own = own_slot(world.prefix)
    assert own != world.slot
    found = checked(world)
    assert world.slot in found["pg.slot_keep_unlimited"]["description"]
    assert own not in json.dumps(found)
    assert "pg.slot_missing" not in found
    running = world.run()
    world.insert(7, 9)
    assert len(world.arrived(6)) == 6
    assert slots(world) == [world.slot], "no other is made"
    assert "pg.slot_missing" not in checked(world), "while it runs"
    running.stop()
    world.sql.execute("SELECT pg_drop_replication_slot(%s)", [world.slot])
    lost = checked(world)["pg.slot_missing"]
    assert (lost["severity"], world.slot in lost["description"]) == ("ERROR", True)
    assert "wrackline offsets reset" in lost["suggestion"]
    world.file.write_text(world.file.read_text().replace('mode = "no_data"', 'mode = "when_needed"'))
    lost = checked(world)["pg.slot_missing"]
    assert (lost["severity"], "reads all tables again" in lost["impact"]) == ("WARNING", True)
