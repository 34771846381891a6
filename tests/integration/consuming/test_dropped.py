"""Tables that are dropped or renamed at the source: what becomes of their copies."""

import pytest

from tests.fixtures.prepared import run_command
from tests.integration.consuming.world import COPY, SPARK_PATIENCE, World
from tests.integration.running.world import environment, wait_until

pytestmark = [pytest.mark.servers, pytest.mark.spark]

RULES = """
drop.behavior = "drop"
"drop.behavior.public.aside" = "rename"
drop.after.ms = 0
"schema.change.exclude.public.last" = "DROP_TABLE"
"""
TABLES = ("orders", "away", "aside", "kept", "last", "old")


def names(world: World) -> set[str]:
    """Return what the copies are called."""
    found = world.sql.execute("SELECT viewname FROM pg_views WHERE schemaname = %s", [COPY])
    return {str(name) for (name,) in found.fetchall()}


def copies(world: World) -> dict[str, object]:
    """Return the copies, and how many rows readers see in each; none goes meanwhile."""
    counts = {name: world.sql.execute(f'SELECT count(*) FROM {COPY}."{name}"') for name in names(world)}
    return {name: found.fetchall()[0][0] for name, found in counts.items()}


def test_drops_and_renames_reach_the_copy_as_the_settings_and_an_operator_say(world: World) -> None:
    for file in (world.file, world.consumer_file):
        file.write_text(file.read_text().replace('"no_data"', '"initial"'))
    text = world.consumer_file.read_text()
    world.consumer_file.write_text(text.replace('schema = "copy"\n', f'schema = "copy"\n{RULES}'))
    for name in TABLES[1:]:
        world.sql.execute(f"CREATE TABLE {name} (id int PRIMARY KEY)")
        world.sql.execute(f"INSERT INTO {name} VALUES (1), (2)")
    world.insert(1, 2)
    world.run()
    consuming = world.consume()
    wait_until(lambda: copies(world) == dict.fromkeys(TABLES, 2), patience=SPARK_PATIENCE)

    command = ["table", "keep", str(world.consumer_file), "public.kept"]
    assert run_command(command, env=environment()).returncode == 0
    world.sql.execute("INSERT INTO away VALUES (3); DROP TABLE away, aside, kept, last")
    world.sql.execute("ALTER TABLE old RENAME TO new; INSERT INTO new VALUES (3)")
    wait_until(lambda: names(world).isdisjoint({"away", "aside", "old"}), patience=SPARK_PATIENCE)
    found = copies(world)
    (aside,) = (name for name in found if name.startswith("aside__dropped_"))
    assert found == {"orders": 2, "kept": 2, "last": 2, "new": 3, aside: 2}
    assert consuming.told("gone", table=f"{world.database.name}.public.kept")["kept"] is True

    def shown() -> str:
        command = ["status", str(world.consumer_file), "--json"]
        return run_command(command, env=environment()).stdout.replace(" ", "")

    wait_until(lambda: '"became":"dropped"' in shown())
    assert '"kept":true' in shown()
    assert consuming.process.poll() is None


@pytest.mark.full
def test_a_copy_that_went_is_not_made_again_until_its_table_is_back(world: World) -> None:
    for file in (world.file, world.consumer_file):
        file.write_text(file.read_text().replace('"no_data"', '"initial"'))
    text = world.consumer_file.read_text()
    world.consumer_file.write_text(text.replace('schema = "copy"\n', f'schema = "copy"\n{RULES}'))
    running = world.run()
    world.sql.execute("CREATE TABLE new (id int PRIMARY KEY)")
    world.sql.execute("INSERT INTO new VALUES (1)")
    consuming = world.consume()
    wait_until(lambda: copies(world) == {"new": 1}, patience=SPARK_PATIENCE)
    world.sql.execute("DROP TABLE new; INSERT INTO orders VALUES (1, 'n')")
    wait_until(lambda: names(world) == {"orders"}, patience=SPARK_PATIENCE)
    assert running.stop() == 0
    world.run()  # it knows its tables later than its board
    world.sql.execute("INSERT INTO orders VALUES (2, 'n')")
    wait_until(lambda: copies(world) == {"orders": 2}, patience=SPARK_PATIENCE)
    assert [one for one in consuming.events if one.get("event") == "back"] == []
    assert consuming.stop() == 0
    assert world.once()[0] == 0
    assert copies(world) == {"orders": 2}
    world.sql.execute("CREATE TABLE new (id int PRIMARY KEY)")
    world.sql.execute("INSERT INTO new VALUES (7)")
    world.consume()
    wait_until(lambda: "new" in copies(world), patience=SPARK_PATIENCE)
