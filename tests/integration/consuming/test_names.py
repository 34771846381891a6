"""A database whose names are beyond ASCII reaches a lake: nothing is mixed, and columns keep their names."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import sql

from tests.fixtures.servers import Database
from tests.integration.consuming.world import ICEBERG, World
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

parquet = pytest.importorskip("pyarrow.parquet", reason="the extra iceberg is not installed")
pytestmark = [pytest.mark.servers, pytest.mark.spark]

COLUMNS = ("id", "价格", "数量", "a-b", "a_b")  # two pairs that would each have one name in Avro
ORDERS, GOODS = "_u0437_u0430_u043a_u0430_u0437_u044b", "_u0442_u043e_u0432_u0430_u0440_u044b"


class Odd(World):
    """A new pipeline, as `wrackline init` writes it, into Iceberg."""

    target = ICEBERG

    def write(self) -> None:
        """Escape names in topics, and read existing rows."""
        super().write()
        for file in (self.file, self.consumer_file):
            text = file.read_text().replace('"no_data"', '"initial"')
            file.write_text(f'topic.naming = "wrackline_unicode"\n{text}')


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    made = Odd(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


def copy_of(world: World, table: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns of a table in the lake, and its newest file's rows, without our own."""
    (folder,) = (world.folder / "warehouse").rglob(table)
    newest = max(folder.glob("metadata/*.metadata.json"), key=lambda one: one.stat().st_mtime_ns)
    shape = json.loads(newest.read_text())
    (fields,) = (one["fields"] for one in shape["schemas"] if one["schema-id"] == shape["current-schema-id"])
    ours = {one["name"]: one["id"] for one in fields if not one["name"].startswith("_wl_")}
    data = max(folder.glob("data/**/*.parquet"), key=lambda one: one.stat().st_mtime_ns)
    held = parquet.read_table(data)  # its names are Iceberg's own: `a-b` is a_x2Db there
    in_file = {int(one.metadata[b"PARQUET:field_id"]): one.name for one in held.schema}
    rows = [tuple(row[in_file[number]] for number in ours.values()) for row in held.to_pylist()]
    return [*ours], sorted(rows)


def test_tables_and_columns_beyond_ascii_are_copied_and_columns_keep_their_names(world: World) -> None:
    for number, name in enumerate(("заказы", "товары")):
        columns = sql.SQL(", ").join(sql.SQL("{} int").format(sql.Identifier(one)) for one in COLUMNS)
        made = sql.Identifier(name)
        world.sql.execute(sql.SQL("CREATE TABLE {} ({}, PRIMARY KEY (id))").format(made, columns))
        world.sql.execute(sql.SQL("INSERT INTO {} VALUES (%s, 2, 3, 4, 5)").format(made), [number])
    running = world.run()
    topics = [f"{world.prefix}.{world.database.name}.public.{name}" for name in (ORDERS, GOODS)]
    for topic in topics:
        world.topic = topic
        world.arrived(1)
    assert world.once()[0] == Exit.OK
    for number, copy in enumerate((ORDERS, GOODS)):
        assert copy_of(world, copy) == ([*COLUMNS], [(number, 2, 3, 4, 5)])
    world.sql.execute('UPDATE "заказы" SET "价格" = 7, "a-b" = 8')
    world.topic = topics[0]
    world.arrived(2)
    assert world.once()[0] == Exit.OK
    assert copy_of(world, ORDERS) == ([*COLUMNS], [(0, 7, 3, 8, 5)])
    assert copy_of(world, GOODS) == ([*COLUMNS], [(1, 2, 3, 4, 5)])
    assert running.stop() == Exit.OK
