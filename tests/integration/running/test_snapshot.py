"""`wrackline snapshot`: rows are read on request, once a request, and a table is taken up again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.servers import Database
from tests.integration.running.world import World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with rows that the pipeline does not read by itself."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.insert(1, 30)
    yield made
    made.close()


def state(world: World) -> Any:
    """What is known of the table."""
    done = world.command("snapshot", "status", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["tables"].get(f"{world.database.name}.public.orders")


def asked(world: World, *arguments: str) -> None:
    """Run `wrackline snapshot …`, which must succeed."""
    done = world.command("snapshot", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_request_is_obeyed_once_and_its_end_can_be_seen(world: World) -> None:
    asked(world, "start", "public.orders", "--id", "early")  # nobody runs yet: it waits
    running = world.run()
    world.arrived(30)
    asked(world, "start", "public.orders", "--id", "early")
    asked(world, "start", "public.ord.*", "--id", "second")
    world.arrived(60)
    world.insert(31, 31)
    assert len(world.arrived(61)) == 61
    wait_until(lambda: state(world)["state"] == "streaming")
    assert running.stop() == Exit.OK
    again = world.run()
    world.insert(32, 32)
    assert len(world.arrived(62)) == 62, "a request is not obeyed again after a restart"
    asked(world, "start", "public.nobody.*", "--id", "third")
    again.says("[signal.no_table]")
    left_out = world.command("snapshot", "start", "public.nobody")
    assert left_out.returncode == Exit.OPERATOR
    assert "[snapshot.not_captured]" in left_out.stdout + left_out.stderr
    asked(world, "start", "public.orders", "--where", "ID between 3 and 5 or id = 30", "--id", "some")
    assert len(world.arrived(66)) == 66
    refused = world.command("snapshot", "start", "public.orders", "--where", "pg_sleep(9) = 1")
    assert refused.returncode != 0
    assert "character 9" in refused.stdout + refused.stderr
    asked(world, "start", "public.orders", "--where", "nothing = 1", "--id", "wrong")
    again.says("[pg.condition_column]")


@pytest.mark.parametrize("place", ["before_commit", pytest.param("after_commit", marks=pytest.mark.deep)])
def test_a_request_is_obeyed_once_also_where_the_task_is_killed_over_it(
    world: World, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """T-W19."""
    monkeypatch.setenv(failpoints.VARIABLE, f"{place}=kill@3")  # behind the claim and the first position
    running = world.run()
    asked(world, "start", "public.orders", "--id", "one")
    assert running.process.wait(60) < 0
    assert world.events() == []
    monkeypatch.delenv(failpoints.VARIABLE)
    world.run()
    world.arrived(30)
    wait_until(lambda: state(world)["state"] == "streaming")
    world.insert(31, 31)
    assert len(world.arrived(31)) == 31


def test_a_row_of_the_signal_table_is_a_request(world: World) -> None:
    world.sql.execute(
        "CREATE TABLE signals (id varchar(80) PRIMARY KEY, type varchar(32), data varchar(2048))"
    )
    text = world.file.read_text()
    world.file.write_text(text.replace("[source]", '[source]\nsignal.data.collection = "public.signals"', 1))
    running = world.run()
    data = '{"type":"incremental","data-collections":["public.orders"]}'
    world.sql.execute("INSERT INTO signals VALUES ('one', 'execute-snapshot', %s)", [data])
    world.arrived(30)
    world.sql.execute("INSERT INTO signals VALUES ('two', 'execute-snapshot', 'nonsense')")
    running.says("[signal.rejected]")


@pytest.mark.full
def test_a_table_that_was_set_aside_is_taken_up_with_all_its_rows(world: World) -> None:
    world.sql.execute("ALTER TABLE orders ADD price numeric(10, 2)")
    running = world.run()
    world.sql.execute("INSERT INTO orders VALUES (101, 'n', 'NaN')")
    running.says("orders is set aside: [pg.value_unfit]")
    world.sql.execute("INSERT INTO orders VALUES (102, 'n', 1.5)")  # not handed out
    wait_until(lambda: state(world) is not None and state(world)["state"] == "failed")
    assert state(world)["reason"]["code"] == "pg.value_unfit"
    world.sql.execute("UPDATE orders SET price = 2.5 WHERE id = 101")
    world.sql.execute("DELETE FROM orders WHERE id = 5")  # a read can't show it
    asked(world, "start", "public.orders")
    world.arrived(32)
    world.sql.execute("INSERT INTO orders VALUES (103, 'n', 3.5)")
    records = world.arrived(33)
    assert records[0][0] is None, "a truncate goes before the rows: what was there is void"
    assert ids_in(world, world.topic) == {*range(1, 31), 101, 102, 103} - {5}
    assert len(records) == 33
    assert state(world)["reason"] is None


def ids_in(world: World, topic: str) -> set[int]:
    """The keys of a topic's rows since its last truncate: an int is a zigzag varint behind five bytes."""
    found: set[int] = set()
    for key, _ in world.events(topic):
        if key is None:
            found.clear()
        else:
            found.add(_number(key))
    return found


def _number(key: bytes) -> int:
    """A number up to 8191."""
    number = key[5] if key[5] < 128 else (key[5] & 127) + (key[6] << 7)
    return number // 2
