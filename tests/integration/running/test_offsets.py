"""`wrackline offsets` on a real pipeline: shown, refused while it runs, set, reset, rewound."""

import json
import re

import pytest
from confluent_kafka import Producer

from tests.integration.running.world import CANARY, World, wait_until
from wrackline.control.runtime.ground.exits import Exit

SEQ = re.compile(rb"([0-9a-f]{4})[0-9a-f]{16}ff[0-9a-f]{8}")  # epoch, place, class, ordinal

pytestmark = pytest.mark.servers


def epochs(world: World) -> list[int]:
    """The epoch of each event, from its seq."""
    found = [SEQ.findall(value or b"") for _, value in world.events()]
    return [int(epoch, 16) for [epoch] in found]


def test_nothing_is_stored_before_the_first_run(world: World) -> None:
    assert world.offsets("show") == {"offsets": []}
    assert world.offsets("history") == {"history": []}


def test_an_edit_is_refused_while_the_task_runs_and_force_ends_the_task(world: World) -> None:
    """T-C03."""
    running = world.run()
    world.insert(1, 3)
    world.arrived(3)
    before = world.position()
    assert not before["edited"]
    for edit in (["reset"], ["set", json.dumps(before["position"])]):
        refused = world.command("offsets", *edit)
        assert refused.returncode == Exit.OPERATOR, refused.stdout
        assert "[offsets.task_runs]" in refused.stderr
        assert CANARY not in refused.stdout + refused.stderr
    assert running.process.poll() is None

    forced = world.offsets("reset", "--force")["offsets"][0]
    assert forced["edited"]
    system = before["position"]["system"]
    assert forced["position"] == {"epoch": 2, "slot": world.slot, "system": system}
    world.insert(4, 5)
    assert running.process.wait(60) == Exit.DEFINITE
    assert "[kafka.superseded]" in running.output
    assert world.position() == forced  # the task wrote nothing over it

    again = world.run()
    assert "the slot's own position (epoch 2)" in again.output
    world.insert(6, 6)
    world.arrived(6)
    assert again.stop() == Exit.OK
    assert epochs(world) == [1] * 3 + [2] * 3


def test_a_broken_record_ends_nothing_for_good(world: World) -> None:
    running = world.run()
    world.insert(1, 1)
    world.arrived(1)
    system = world.position()["position"]["system"]
    assert running.stop() == Exit.OK
    topic = f"{world.group}-offsets"
    key = next(key for key, _ in reversed(world.events(topic)) if key is not None and key.startswith(b"["))
    producer = Producer({"bootstrap.servers": world.kafka.bootstrap})
    producer.produce(topic, b'{"garbage":true}', key, 0)
    producer.produce(topic, b"{}", b"nobody's", 0)
    assert producer.flush(30) == 0
    for refused in (("run",), ("offsets", "show"), ("offsets", "set", '{"epoch": 1}')):
        done = world.command(*refused)
        assert (done.returncode, "[offsets.broken]" in done.stdout + done.stderr) == (Exit.DEFINITE, True)
    found = world.command("delete", "--dry-run")
    assert (found.returncode, f"topic {topic}" in found.stdout) == (Exit.OK, True), found.stderr

    assert world.offsets("reset")["offsets"][0]["position"] == {
        "epoch": 2,
        "slot": world.slot,
        "system": system,
    }  # the history knew of the first
    again = world.run()
    world.insert(2, 2)
    world.arrived(2)
    assert again.stop() == Exit.OK
    assert epochs(world) == [1, 2]


def test_a_rewind_publishes_again_what_came_after_with_the_same_seq(world: World) -> None:
    # a slot hands its log out once: to go back takes another slot, which stayed where it was
    copy = world.slot + "_copy"
    world.sql.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [copy])
    running = world.run()
    wait_until(lambda: len(world.events(f"{world.group}-offset-history")) == 1)
    assert running.stop() == Exit.OK
    (kept,) = world.offsets("history")["history"]
    running = world.run()
    world.insert(1, 3)
    world.arrived(3)
    assert running.stop() == Exit.OK
    last = world.position()

    refused = world.command("offsets", "rewind", "--to", kept["time"])
    assert refused.returncode == Exit.DEFINITE
    assert "[pg.slot_ahead]" in refused.stderr
    early = world.command("offsets", "rewind", "--to", "2020-01-01")
    assert early.returncode == Exit.OPERATOR
    assert "[offsets.not_kept]" in early.stderr
    assert world.position() == last

    world.slot = copy
    world.write()
    (as_new,) = world.offsets("rewind", "--to", kept["time"], "--as-new")["offsets"]
    assert as_new["position"] == {**kept["position"], "epoch": 2}
    (rewound,) = world.offsets("rewind", "--to", kept["time"])["offsets"]
    assert rewound["edited"]
    assert rewound["position"] == kept["position"]
    running = world.run()
    world.arrived(6)
    assert running.stop() == Exit.OK
    events = world.events()
    assert events[:3] == events[3:]  # byte for byte, so a target sees that it has them
    assert epochs(world) == [1] * 6


def test_a_table_set_aside_is_named_at_each_start_kept_by_set_and_forgotten_by_reset(
    world: World,
) -> None:
    def aside() -> list[str]:
        tables = world.position()["tables"].values()
        return [kept["set_aside"]["code"] for kept in tables if "set_aside" in kept]

    world.sql.execute("ALTER TABLE orders ADD price numeric(10, 2)")
    running = world.run()
    world.insert(1, 1)
    world.arrived(1)
    world.sql.execute("INSERT INTO orders VALUES (2, 'n', 'NaN')")
    running.says("orders is set aside: [pg.value_unfit]")
    wait_until(lambda: aside() == ["pg.value_unfit"])
    assert running.stop() == Exit.OK
    assert aside() == ["pg.value_unfit"]
    again = world.run()
    assert "orders is still set aside: [pg.value_unfit]" in again.output
    assert again.stop() == Exit.OK
    table = f"{world.database.name}.public.orders"
    edited = world.command("offsets", "set", json.dumps(world.position()["position"]))
    assert f"{table} is still set aside; to copy it again: wrackline snapshot start" in edited.stdout
    assert aside() == ["pg.value_unfit"]
    world.offsets("reset", "--force")
    assert aside() == []
    assert "set aside" not in world.run().output


@pytest.mark.full
def test_set_takes_only_a_position_of_this_source(world: World) -> None:
    assert world.run().stop() == Exit.OK
    faulty = world.command("offsets", "set", '{"lsn":"0/1"}')
    assert faulty.returncode == Exit.DEFINITE
    assert "[pg.position_unreadable]" in faulty.stderr
    assert world.command("offsets", "set", "nonsense").returncode == Exit.USAGE


@pytest.mark.full
def test_where_the_source_does_not_answer_a_recent_position_is_taken_as_a_sign_of_life(world: World) -> None:
    running = world.run()
    world.insert(1, 1)
    world.arrived(1)
    assert running.stop() == Exit.OK
    before = world.position()
    server = world.database.server.process
    server.stop()
    try:
        refused = world.command("offsets", "reset")
        assert refused.returncode == Exit.TRANSIENT, refused.stdout
        assert "[offsets.task_may_run]" in refused.stderr
        assert world.position() == before
        fresh = {"epoch": 2, "slot": world.slot, "system": before["position"]["system"]}
        assert world.offsets("reset", "--force")["offsets"][0]["position"] == fresh
    finally:
        server.start()
        world.reconnect()
