"""What a pipeline does not read again, or take for another table, when it starts again or looks again."""

import json

import pytest
from confluent_kafka.admin import AdminClient

from tests.integration.running.copies import events, operations
from tests.integration.running.world import World, wait_until
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


def capture(world: World, mode: str, tables: str = "") -> None:
    """Let the pipeline capture these tables, or all."""
    world.write()
    text = world.file.read_text().replace('"no_data"', f'"{mode}"')
    before = 'table.include.list = "public.orders"\n'
    world.file.write_text(text.replace(before, before.replace("public.orders", tables) if tables else ""))


def looked(world: World, number: int) -> None:
    """Wait until the catalogue was looked at: a new table is in the publication, and its row has come."""
    name = f"public.look_{number}"
    world.sql.execute(f"CREATE TABLE {name} (id int PRIMARY KEY)".encode())
    published = "SELECT FROM pg_publication_tables WHERE tablename = %s"
    wait_until(lambda: world.sql.execute(published, [f"look_{number}"]).rowcount == 1)
    world.sql.execute(f"INSERT INTO {name} VALUES (1)".encode())
    wait_until(lambda: len(world.events(f"{world.prefix}.{world.database.name}.{name}")) > 0)


def test_a_table_with_a_generated_column_is_read_once_however_often_the_pipeline_starts(
    world: World,
) -> None:
    capture(world, "initial", "public.made")
    world.sql.execute(
        "CREATE TABLE made (id int PRIMARY KEY, n int, twice int GENERATED ALWAYS AS (n * 2) STORED)"
    )
    world.sql.execute("INSERT INTO made SELECT i, i FROM generate_series(1, 20) i")
    topic = f"{world.prefix}.{world.database.name}.public.made"
    expected = "r" * 20
    for _ in range(3):
        running = world.run()
        wait_until(lambda: operations(world, topic) == expected)  # noqa: B023 - at once
        for row in (1, 2):
            world.sql.execute("UPDATE made SET n = n + 1 WHERE id = %s", [row])
        expected += "uu"
        wait_until(lambda: len(world.events(topic)) >= len(expected))  # noqa: B023 - at once
        assert operations(world, topic) == expected
        assert running.stop() == Exit.OK
    schemas = {(value or b"")[1:5] for _, value in world.events(topic)}
    assert len(schemas) == 1, "a target would lose a column with the first event, or get one with a row"

    world.sql.execute("ALTER TABLE made ALTER twice DROP EXPRESSION")  # its rows hold what no event has
    world.run()
    expected += "r" * 20
    wait_until(lambda: operations(world, topic) == expected)
    rows = [event["after"] for event in events(world, topic)[-20:]]
    assert [row["twice"] for row in rows] == [2 * row["n"] for row in rows]


@pytest.mark.full
def test_partitions_are_no_tables_of_their_own_after_the_next_look_at_the_catalogue(world: World) -> None:
    """T-P24."""
    capture(world, "no_data")
    world.sql.execute(
        "CREATE TABLE parts (id int, r text, v int, PRIMARY KEY (id, r)) PARTITION BY LIST (r);"
        "CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a');"
        "CREATE TABLE parts_b PARTITION OF parts DEFAULT;"
        "INSERT INTO parts VALUES (1, 'a', 1), (2, 'b', 1)"
    )
    running = world.run()
    looked(world, 1)
    world.sql.execute("UPDATE parts SET v = 2")
    looked(world, 2)
    assert operations(world, f"{world.prefix}.{world.database.name}.public.parts") == "uu"
    topics = AdminClient({"bootstrap.servers": world.kafka.bootstrap}).list_topics(timeout=30).topics
    assert not [topic for topic in topics if topic.startswith(world.prefix) and "parts_" in topic]
    shown = json.loads(world.command("snapshot", "status", "--json").stdout)["tables"]
    tables = ("orders", "parts", "look_1", "look_2")
    assert set(shown) <= {f"{world.database.name}.public.{name}" for name in tables}
    assert "gone" not in {one["state"] for one in shown.values()}
    assert running.stop() == Exit.OK
