"""`wrackline run` over a database whose tables come and go: rows in their topics, changes in the server's."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import orjson
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry import SchemaRegistryClient
from psycopg import sql

from tests.fixtures.servers import Database
from tests.integration.running.world import World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A pipeline over every table of a database."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    text = made.file.read_text()
    made.file.write_text(text.replace('"public.orders"', '"public[.](orders|new.*)"'))
    yield made
    made.close()


def changes(world: World) -> list[tuple[str, str, str | None]]:
    """Each record of the schema change topic: kind, table, and the DDL where it is said."""
    found = []
    with SchemaRegistryClient({"url": world.registry.url}) as registry:
        for _, value in world.events(world.prefix):
            assert value is not None
            text = registry.get_schema(int.from_bytes(value[1:5], "big")).schema_str
            assert text is not None
            read: Any = fastavro.schemaless_reader(BytesIO(value[5:]), orjson.loads(text), None)
            (change,) = read["tableChanges"]
            found.append((change["type"], change["id"].rpartition(".")[2].strip('"'), read["ddl"]))
    return found


def test_tables_that_come_and_go_while_it_runs(world: World) -> None:
    running = world.run()
    world.insert(1, 3)
    world.arrived(3)
    world.sql.execute("CREATE TABLE newest (id int PRIMARY KEY)")
    published = "SELECT FROM pg_publication_tables WHERE tablename = 'newest'"
    wait_until(lambda: world.sql.execute(published).rowcount == 1)
    topic = world.topic.replace(".orders", ".{}")
    world.sql.execute("INSERT INTO newest VALUES (1)")
    wait_until(lambda: len(world.events(topic.format("newest"))) == 1)
    world.sql.execute("ALTER TABLE newest RENAME TO newer; INSERT INTO newer VALUES (2)")
    wait_until(lambda: len(world.events(topic.format("newer"))) == 1)
    world.sql.execute("DROP TABLE newer")
    world.insert(4, 5)
    world.arrived(5)
    wait_until(lambda: ("DROP", "newer", None) in changes(world))
    renamed = 'ALTER TABLE "public"."newest" RENAME TO "newer"'
    assert [one for one in changes(world) if one[1] != "orders"] == [
        ("CREATE", "newest", None),
        ("ALTER", "newer", renamed),
        ("DROP", "newer", None),
    ]
    assert running.stop() == Exit.OK
    assert [len(world.events(topic.format(name))) for name in ("newest", "newer")] == [1, 1]


@pytest.mark.deep
def test_a_table_that_wants_anothers_topic_is_set_aside_at_a_restart_and_others_continue(
    world: World,
) -> None:
    world.sql.execute("CREATE TABLE new_a (id int PRIMARY KEY)")
    assert world.run().stop() == Exit.OK
    world.sql.execute('CREATE TABLE "new.a" (id int PRIMARY KEY)')
    running = world.run()
    running.says("new.a is set aside: [topic.collision]")
    topic = world.topic.replace("orders", "new_a")
    world.insert(1, 1)
    world.sql.execute("INSERT INTO new_a VALUES (1)")
    wait_until(lambda: len(world.events(topic)) == 1)
    world.arrived(1)
    assert running.stop() == Exit.OK
    world.sql.execute('DROP TABLE new_a; INSERT INTO "new.a" VALUES (2)')
    running = world.run()
    running.says("new.a is still set aside: [topic.collision]")
    assert world.command("snapshot", "start", "public.new.a").returncode == Exit.OK
    world.sql.execute('INSERT INTO "new.a" VALUES (3)')
    wait_until(lambda: len(world.events(topic)) >= 4)  # behind the first one a truncate and two rows
    assert running.stop() == Exit.OK


def test_tables_whose_non_ascii_names_collide_are_set_aside_and_nothing_is_mixed(
    world: World,
) -> None:
    """T-H05."""
    for name in ("new naïve", "new naève"):
        made = sql.Identifier(name)
        world.sql.execute(sql.SQL("CREATE TABLE {} (id int PRIMARY KEY)").format(made))
    running = world.run()
    for name in ("new naïve", "new naève"):
        running.says(f"public.{name} is set aside: [topic.collision]")
    for number, name in enumerate(("new naïve", "new naève")):
        made = sql.Identifier(name)
        world.sql.execute(sql.SQL("INSERT INTO {} VALUES (%s)").format(made), [number])
    world.insert(1, 1)
    world.arrived(1)
    assert running.stop() == Exit.OK
    assert "table.exclude.list = " in running.output
    made_topics = AdminClient({"bootstrap.servers": world.kafka.bootstrap}).list_topics(timeout=30).topics
    assert world.topic in made_topics
    assert world.topic.replace("orders", "new_na_ve") not in made_topics
    assert 'set topic.naming = "wrackline_unicode"' in running.output
    world.file.write_text(f'topic.naming = "wrackline_unicode"\n{world.file.read_text()}')
    running = world.run()
    for name in ("new naïve", "new naève"):
        running.says(f"public.{name} is still set aside: [topic.collision]")
        assert world.command("snapshot", "start", f"public.{name}").returncode == Exit.OK
    for letter in ("f", "8"):
        topic = world.topic.replace("orders", f"new_u0020na_u00e{letter}ve")
        wait_until(lambda topic=topic: len(world.events(topic)) >= 2)  # type: ignore[misc]  # a truncate, a row
    world.insert(2, 2)
    world.arrived(2)
    assert running.stop() == Exit.OK, "no other topic has another name"


@pytest.mark.deep
def test_a_column_missing_in_the_publication_sets_its_table_aside_until_it_is_repaired(
    world: World,
) -> None:
    world.sql.execute("CREATE TABLE new_a (id int PRIMARY KEY)")
    name = sql.Identifier(world.prefix)
    world.sql.execute(sql.SQL("CREATE PUBLICATION {} FOR TABLE orders, new_a (id)").format(name))
    topic = world.topic.replace("orders", "new_a")
    running = world.run()
    world.sql.execute("INSERT INTO new_a VALUES (1)")
    wait_until(lambda: len(world.events(topic)) == 1)
    world.sql.execute("ALTER TABLE new_a ADD COLUMN b int")
    assert running.stop() == Exit.OK
    world.sql.execute("INSERT INTO new_a VALUES (2)")
    running = world.run()
    running.says("new_a is set aside: [pg.publication_column]")
    world.insert(1, 1)
    world.arrived(1)
    assert len(world.events(topic)) == 1
    assert running.stop() == Exit.OK
    running = world.run()
    running.says("new_a is still set aside: [pg.publication_column]")
    for way in ("DROP", "ADD"):
        world.sql.execute(sql.SQL(f"ALTER PUBLICATION {{}} {way} TABLE new_a").format(name))
    assert world.command("snapshot", "start", "public.new_a").returncode == Exit.OK
    wait_until(lambda: len(world.events(topic)) == 4)  # a truncate and two rows behind it
    assert running.stop() == Exit.OK


def test_a_second_row_of_a_chosen_key_sets_its_table_aside_before_it_replaces_the_first(world: World) -> None:
    world.sql.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    world.sql.execute("CREATE TABLE newer (id int PRIMARY KEY)")
    world.file.write_text('message.key.columns = "public.orders:note"\n' + world.file.read_text())
    running = world.run()
    assert "[snapshot.key_unproven]" in running.output
    world.sql.execute("INSERT INTO orders VALUES (1, 'c4n4ry'), (2, 'other')")
    world.sql.execute("INSERT INTO orders VALUES (3, 'c4n4ry')")
    world.sql.execute("INSERT INTO newer VALUES (1)")
    running.says("[snapshot.key_doubled]")
    wait_until(lambda: len(world.events(f"{world.topic.removesuffix('orders')}newer")) == 1)
    assert len(world.events()) == 2
    assert "c4n4ry" not in running.output
