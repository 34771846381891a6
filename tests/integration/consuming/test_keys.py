"""What distinguishes rows: nothing, another column than before, or a key that moves from row to row."""

import pytest

from tests.integration.consuming.world import World
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.spark]


@pytest.mark.full
def test_rows_are_distinguished_as_in_their_source(world: World) -> None:
    world.sql.execute(
        "CREATE TABLE bags (id int, weight float8, note text);"
        "ALTER TABLE bags REPLICA IDENTITY FULL;"
        "CREATE TABLE things (id int PRIMARY KEY, code int NOT NULL UNIQUE, n int)"
    )
    world.run()
    world.sql.execute(
        "INSERT INTO bags SELECT i % 5, '-0', CASE WHEN i % 2 = 0 THEN 'x' END FROM generate_series(1, 40) i;"
        "INSERT INTO bags VALUES (1, 'NaN', NULL), (1, 'NaN', NULL), (NULL, NULL, NULL), (NULL, NULL, NULL)"
    )
    world.sql.execute("INSERT INTO things SELECT i, 100 - i, 0 FROM generate_series(1, 20) i")
    consuming = world.consume()
    world.arrives("bags")
    world.arrives("things")

    world.sql.execute("DELETE FROM bags WHERE ctid IN (SELECT min(ctid) FROM bags GROUP BY id, weight)")
    world.sql.execute("UPDATE bags SET id = id + 1, weight = 0 WHERE id < 3")
    # two rows exchange keys, a third goes round in one transaction, a fourth goes and comes
    world.sql.execute(
        "BEGIN; UPDATE things SET id = 99 WHERE id = 1; UPDATE things SET id = 1 WHERE id = 2;"
        "UPDATE things SET id = 2 WHERE id = 99; UPDATE things SET id = -3 WHERE id = 3;"
        "UPDATE things SET id = -4 WHERE id = -3; DELETE FROM things WHERE id = 5;"
        "INSERT INTO things VALUES (5, 5, 1); DELETE FROM things WHERE id = 5;"
        "INSERT INTO things VALUES (5, 6, 2); COMMIT"
    )
    world.arrives("bags")
    world.arrives("things")

    world.sql.execute("ALTER TABLE things DROP CONSTRAINT things_pkey, ADD PRIMARY KEY (code)")
    world.sql.execute("UPDATE things SET id = 7, n = n + 1 WHERE code > 90")
    world.sql.execute("INSERT INTO things VALUES (7, 1000, 1); DELETE FROM things WHERE code = 89")
    assert world.command("snapshot", "start", "public.bags").returncode == Exit.OK
    world.sql.execute("INSERT INTO bags SELECT * FROM bags")
    world.arrives("bags")
    world.arrives("things")
    assert consuming.stop() == Exit.OK
    assert not [one for one in consuming.events if one["event"] == "stopped" and "table" in one]
