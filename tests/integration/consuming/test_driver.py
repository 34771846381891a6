"""`wrackline consume` as a process, over a real source: it copies, a table fails alone, an outage passes.

One process serves most of these, for its Java takes long to start.
"""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.cut_proxy import CutProxy
from tests.fixtures.servers import Database
from tests.integration.consuming.world import COPY, SPARK_PATIENCE, Consuming, World
from tests.integration.running.world import CANARY, wait_until
from wrackline.control.local.stack.servers import HOST, Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.spark]

ORDERS = "INSERT INTO orders SELECT i, 'n' || i FROM generate_series({}, {}) i"


@pytest.fixture
def ways(kafka: Broker, registry: SchemaRegistry) -> Iterator[tuple[CutProxy, CutProxy]]:
    """The consumer's ways to Kafka and to the registry."""
    with CutProxy(kafka.proxied_port, kafka.proxy_port) as brokers, CutProxy(registry.port) as schemas:
        yield brokers, schemas


@pytest.fixture
def world(
    tmp_path: Path,
    database: Database,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
    ways: tuple[CutProxy, CutProxy],
) -> Iterator[World]:
    """A database with a table, and a pipeline over it."""
    proxied, schemas = ways

    class Proxied(World):
        brokers = f"{HOST}:{proxied.port}"
        url = registry.url.replace(str(registry.port), str(schemas.port))

    made = Proxied(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


def test_tables_are_copied_fail_by_themselves_and_continue(
    world: World, ways: tuple[CutProxy, CutProxy]
) -> None:
    world.sql.execute(
        "CREATE TABLE odd (id int PRIMARY KEY, _wl_seq text);"
        "CREATE TABLE items (id int PRIMARY KEY, price numeric(10,2), big text);"
        "ALTER TABLE items ALTER big SET STORAGE EXTERNAL"
    )
    world.run()
    world.sql.execute(ORDERS.format(1, 50))
    world.sql.execute("INSERT INTO odd VALUES (1, 'secret value')")
    world.sql.execute("INSERT INTO items SELECT i, i / 7.0, repeat('ü', 5000) FROM generate_series(1, 9) i")
    consuming = world.consume()
    reserved = consuming.told("stopped", table=f"{world.database.name}.public.odd")
    assert reserved["error"]["code"] == "target.name_reserved"
    world.sql.execute("UPDATE items SET price = -price WHERE id < 5")  # big is not sent
    world.sql.execute("UPDATE items SET id = 100 WHERE id = 9; DELETE FROM items WHERE id = 1")
    world.sql.execute("ALTER TABLE items ADD more int; UPDATE items SET more = id")
    world.arrives("orders")
    world.arrives("items")
    _a_table_without_a_place(world, consuming)
    _forgotten_deletes(world, consuming)
    _outages(world, consuming, *ways)
    assert consuming.stop() == Exit.OK
    assert consuming.events[-1]["event"] == "stopped", consuming.events[-1]["line"]
    assert (
        len([one for one in consuming.events if one.get("table", "").endswith("odd")]) == 2
    )  # and after SIGHUP
    for said in ("secret value", "Traceback", CANARY, "ERROR", "WARN"):
        assert said not in consuming.output


def _a_table_without_a_place(world: World, consuming: Consuming) -> None:
    """Its target takes no row; the other continues; SIGHUP has it tried again once it is repaired."""
    world.sql.execute(f'ALTER TABLE wrackline."{COPY}.items" ADD CONSTRAINT no CHECK (id <> 7777)')
    world.sql.execute("INSERT INTO items VALUES (7777, 1, 'b')")
    world.sql.execute(ORDERS.format(51, 60))
    world.arrives("orders")
    table = f"{world.database.name}.public.items"
    consuming.told("stopped", table=table)
    world.sql.execute(f'ALTER TABLE wrackline."{COPY}.items" DROP CONSTRAINT no')
    consuming.process.send_signal(signal.SIGHUP)
    world.arrives("items")
    consuming.told("continues", table=table)


def _forgotten_deletes(world: World, consuming: Consuming) -> None:
    """Upkeep comes with a later batch, and takes what deletes left."""
    world.sql.execute("DELETE FROM items WHERE id = 2")
    world.arrives("items")
    count = f'SELECT count(*) FROM wrackline."{COPY}.items" WHERE _wl_deleted'

    def forgotten() -> bool:
        world.sql.execute("UPDATE items SET price = price + 1 WHERE id = 3")
        return world.sql.execute(count).fetchone() == (0,)

    wait_until(forgotten, look=1.0, patience=SPARK_PATIENCE)
    world.arrives("items")
    consuming.told("upkeep", table=f"{world.database.name}.public.items")


def _outages(world: World, consuming: Consuming, brokers: CutProxy, schemas: CutProxy) -> None:
    schemas.refuse()
    schemas.cut()
    world.sql.execute("ALTER TABLE orders ADD later int")
    world.sql.execute("INSERT INTO orders VALUES (61, 'n', 1)")
    consuming.told("waits", code="registry.unreachable")
    schemas.heal()
    world.arrives("orders")
    brokers.refuse()
    brokers.cut()
    world.sql.execute("INSERT INTO orders VALUES (62, 'n', 1)")
    consuming.told("waits", code="consume.kafka_unreachable")
    brokers.heal()
    world.arrives("orders")
