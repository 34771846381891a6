"""Values that do not fit, from PostgreSQL: letters and nulls of chunk and log, each once through kills."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running.letters import letters, number_of
from tests.integration.running.world import World, free_port, wait_until
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers

SETTINGS = """[source]
value.unfit = "letter"
column.unfit.null = ["public.orders.rate"]
"""


def numbers(world: World) -> list[int]:
    return sorted(number_of(key) for key, value in world.events() if value is not None)


def told(world: World) -> list[int]:
    return sorted(number_of(letter["key"]) for letter in letters(world.kafka, world.registry, world.prefix))


def state(world: World) -> Any:
    done = world.command("snapshot", "status", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["tables"][f"{world.database.name}.public.orders"]


@pytest.mark.full
def test_letters_and_nulls_of_chunk_and_log_are_there_once_though_the_task_is_killed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-T08."""
    world.port = free_port()
    world.write()
    world.file.write_text(Path(world.file).read_text().replace("[source]\n", SETTINGS, 1))
    world.sql.execute(
        "ALTER TABLE orders ADD price numeric(10, 2), ADD rate numeric(10, 2) NOT NULL DEFAULT 0,"
        " ADD counts int[]"
    )
    insert, square = "INSERT INTO orders VALUES (%s, 'n', %s, %s, %s)", "{{1,2},{3,4}}"
    for row in (
        (1, "1.5", "1", None),
        (2, "NaN", "1", square),
        (3, "1.5", "NaN", "{1}"),
        (4, "1.5", "1", None),
    ):
        world.sql.execute(insert, row)

    monkeypatch.setenv(failpoints.VARIABLE, "before_commit=kill@3")  # behind the claim and the first position
    running = world.run()
    assert world.command("snapshot", "start", "public.orders", "--id", "one").returncode == 0
    assert running.process.wait(60) < 0
    assert told(world) == []
    monkeypatch.delenv(failpoints.VARIABLE)
    running = world.run()
    world.arrived(3)
    wait_until(lambda: state(world)["state"] == "streaming")
    assert (numbers(world), told(world)) == ([1, 3, 4], [2])
    assert running.stop(signal.SIGKILL) < 0

    with world.sql.transaction():
        for row in ((5, "1.5", "1", square), (6, "1.5", "NaN", "{}"), (7, "2.5", "1", None)):
            world.sql.execute(insert, row)
    monkeypatch.setenv(failpoints.VARIABLE, "before_confirm=kill@2")  # Kafka has it, and it is not confirmed
    running = world.run()
    assert running.process.wait(60) < 0
    monkeypatch.delenv(failpoints.VARIABLE)
    world.run()
    with world.sql.transaction():
        world.sql.execute(insert, (8, "NaN", "NaN", None))
        world.sql.execute("UPDATE orders SET price = 3.5, counts = '{1}' WHERE id = 2")
        world.sql.execute("UPDATE orders SET id = 9, price = 'NaN' WHERE id = 1")
    world.arrived(7)
    wait_until(lambda: len(told(world)) == 4)
    assert told(world) == [2, 5, 8, 9]
    records = world.events()
    assert [number_of(key) for key, value in records if value is None] == [1], "its tombstone alone"
    assert sorted(number_of(key) for key, value in records if value is not None) == [1, 1, 2, 3, 4, 6, 7]
    kept = state(world)
    assert kept["letters"] == {"price": 3, "counts": 2, "rate": 1}
    assert kept["nulls"] == {"rate": 2}
    assert kept["reason"] is None
    wait_until(lambda: world.metric('wrackline_unfit_values_total column="price" policy="letter"') == 2)
    letters_say_where_and_never_what(world, square)


def letters_say_where_and_never_what(world: World, square: str) -> None:
    by_key = {number_of(one["key"]): one for one in letters(world.kafka, world.registry, world.prefix)}
    assert (by_key[2]["op"], by_key[2]["seq"]) == ("r", None)
    assert by_key[2]["chunk"] is not None
    assert (by_key[8]["op"], by_key[8]["topic"]) == ("c", world.topic)
    assert {number: [column["name"] for column in one["columns"]] for number, one in by_key.items()} == {
        2: ["price", "counts"],
        5: ["counts"],
        8: ["price", "rate"],
        9: ["price"],
    }
    assert by_key[5]["seq"] < by_key[8]["seq"]
    assert "NaN" not in repr(by_key)
    assert square not in repr(by_key)


def test_without_a_setting_the_table_stops_and_all_its_columns_are_named(world: World) -> None:
    """T-T08."""
    world.sql.execute("ALTER TABLE orders ADD price numeric(10, 2), ADD rates int[]")
    running = world.run()
    world.sql.execute("INSERT INTO orders VALUES (1, 'n', 'NaN', '{{1},{2}}')")
    running.says("column.as.text = 'public.orders.price,public.orders.rates'")
