"""Changes that a table's settings leave out: its copy keeps what it had, and other tables follow."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.servers import Database
from tests.integration.consuming.world import COPY, World
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.spark]
SETTINGS = """
"skipped.operations.public.things" = "d"
"target.schema.change.exclude" = "DROP_COLUMN"
"target.schema.change.exclude.public.things" = "ADD_COLUMN,TRUNCATE_TABLE"
"""


class Excluding(World):
    """A pipeline with a blacklist for all tables, and one for `things`."""

    def write(self) -> None:
        """Put the settings before the first section of both files."""
        super().write()
        for file in (self.file, self.consumer_file):
            file.write_text(SETTINGS + file.read_text())


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    made = Excluding(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


def test_a_copy_does_not_follow_what_its_table_excludes(world: World) -> None:
    for name in ("things", "others"):
        world.sql.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, word text)")
    world.run()
    for name in ("things", "others"):
        world.sql.execute(f"INSERT INTO {name} SELECT i, 'w' FROM generate_series(1, 3) i")
    assert world.once()[0] == Exit.OK
    for name in ("things", "others"):
        world.sql.execute(f"DELETE FROM {name} WHERE id = 1")
        world.sql.execute(f"ALTER TABLE {name} ADD more int; UPDATE {name} SET more = 7 WHERE id = 2")
        world.sql.execute(f"TRUNCATE {name}; ALTER TABLE {name} DROP word; INSERT INTO {name} VALUES (4, 8)")
    assert world.once()[0] == Exit.OK
    assert columns(world, "things") == ["id", "word"]
    assert rows(world, "things") == [(1, "w"), (2, "w"), (3, "w"), (4, None)]
    assert columns(world, "others") == ["id", "word", "more"]
    assert rows(world, "others") == [(4, None, 8)]


def columns(world: World, table: str) -> list[str]:
    cursor = world.sql.execute(f"SELECT * FROM {COPY}.{table} LIMIT 0")
    return [one.name for one in cursor.description or ()]


def rows(world: World, table: str) -> list[tuple[object, ...]]:
    return world.sql.execute(f"SELECT * FROM {COPY}.{table} ORDER BY id").fetchall()
