"""Two pipelines that name one slot: the second is refused, unless an operator lets it continue there."""

import json
import shlex

import pytest
from confluent_kafka import Producer

from tests.integration.running.world import World
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


def test_a_slot_named_by_hand_is_not_taken_from_the_pipeline_that_reads_it(world: World) -> None:
    producer = Producer({"bootstrap.servers": world.kafka.bootstrap})
    producer.produce(f"{world.prefix}-connect-offsets", b'{"lsn":7}', b'["inventory",{"server":"s"}]')
    assert producer.flush(30) == 0, "what Kafka Connect writes is passed over"
    first, topic = world.file, world.topic
    second = world.folder / "second.toml"
    text = first.read_text()
    for name in ("name", "topic.prefix"):
        text = text.replace(f'\n{name} = "{world.prefix}"', f'\n{name} = "{world.prefix}-two"')
    second.write_text(text)
    running = world.run()
    world.insert(1, 2)
    world.arrived(2)
    for is_running in (True, False):
        if not is_running:
            assert running.stop() == Exit.OK
            world.insert(3, 3)
        world.file = second
        refused = world.command("run")
        assert refused.returncode == Exit.OPERATOR, refused.stdout + refused.stderr
        assert f"[pg.slot_of_another] replication slot {world.slot} is that of pipeline {world.prefix}:" in (
            refused.stdout + refused.stderr
        )
    assert world.offsets("reset", "--force")["offsets"][0]["position"] == {"epoch": 1}
    refused = world.command("run")
    assert refused.returncode == Exit.OPERATOR, "a reset does not make the slot its own"
    assert "[pg.slot_of_another]" in refused.stdout + refused.stderr
    left = world.command("delete", "--dry-run").stdout
    assert "no stored position shows that the pipeline has read from it" in left
    found = json.loads(world.command("check", "--json").stdout)["findings"]
    (said,) = [one for one in found if one["id"] == "pg.slot_of_another"]
    assert said["severity"] == "ERROR"

    world.file = first
    running = world.run()
    world.arrived(3)
    assert running.stop() == Exit.OK, "nothing is lost for the first"
    world.insert(4, 5)
    world.file = second
    found = json.loads(world.command("check", "--json").stdout)["findings"]
    (said,) = [one for one in found if one["id"] == "pg.slot_of_another"]
    hint = said["suggestion"]
    take_over = shlex.split(hint[hint.index("wrackline offsets set") :])
    system = json.loads(take_over[-1])["system"]
    moved = world.command("offsets", "set", take_over[-1])
    assert moved.returncode == Exit.OK, moved.stdout + moved.stderr
    running = world.run()
    world.topic = f"{world.prefix}-two{topic.removeprefix(world.prefix)}"
    assert len(world.arrived(2)) == 2, "it continues where the first ended"
    assert world.offsets("reset", "--force")["offsets"][0]["position"] == {
        "epoch": 2,
        "slot": world.slot,
        "system": system,
    }
    world.insert(6, 6)
    running.process.wait(60)
    again = world.run()
    world.insert(7, 7)
    world.arrived(4)
    assert again.stop() == Exit.OK, "once the slot is its own, it can start over"
