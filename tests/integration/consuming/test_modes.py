"""`wrackline consume` with target.mode: a history and an append table of a real source, as it changes."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.consuming.world import SPARK_PATIENCE, TARGET, World
from wrackline.consumers.contract.modes import OTHER_MODE
from wrackline.consumers.contract.plan import HISTORY_OF_NO_KEY
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.spark]

Rows = Sequence[tuple[object, ...]]
HISTORY = """
SELECT id, price, big IS NULL, length(big), "__END_AT" IS NULL FROM copy.items ORDER BY id, "__START_AT" """
LATER = """
SELECT id, cost, note, more, length(big), "__END_AT" IS NULL FROM copy.items ORDER BY id, "__START_AT" """
EVENTS = "SELECT id, _wl_op, price, length(big), _wl_missing FROM copy.items ORDER BY _wl_seq, id"


class Kept(World):
    """The same, with another mode."""

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        try:
            return self.sql.execute(statement.encode()).fetchall()
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
            return []

    def shows(self, statement: str, wanted: Rows) -> None:
        """Wait until a reader finds these rows."""
        deadline = time.monotonic() + SPARK_PATIENCE
        while self.rows(statement) != wanted and time.monotonic() < deadline:
            time.sleep(0.2)
        assert self.rows(statement) == wanted, [one.output for one in self.started[1:]]


@contextmanager
def kept(
    mode: str, tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[Kept]:
    class InMode(Kept):
        target = TARGET.replace('schema = "copy"\n', f'schema = "copy"\nmode = "{mode}"\n')

    made = InMode(tmp_path, database, kafka, registry, topic_prefix, 0)
    made.sql.execute(
        "CREATE TABLE items (id int PRIMARY KEY, price numeric(10,2), note text, big text, doc jsonb);"
        "ALTER TABLE items ALTER big SET STORAGE EXTERNAL, ALTER doc SET STORAGE EXTERNAL"
    )
    try:
        yield made
    finally:
        made.close()


def change(world: Kept) -> None:
    world.sql.execute(
        "INSERT INTO items SELECT i, i, 'n', repeat('b', 5000), to_jsonb(repeat('j', 5000))"
        " FROM generate_series(1, 3) i"
    )
    world.sql.execute("UPDATE items SET price = 10 WHERE id = 1")  # neither big nor doc is sent
    world.sql.execute(
        "UPDATE items SET big = repeat('c', 6000), doc = '1' WHERE id = 1; DELETE FROM items WHERE id = 2"
    )
    world.sql.execute("UPDATE items SET id = 4, big = repeat('d', 5000), doc = '2' WHERE id = 3")


@pytest.mark.full
def test_a_history_follows_its_source(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> None:
    with kept("history", tmp_path, database, kafka, registry, topic_prefix) as world:
        world.sql.execute("CREATE TABLE bags (n int); ALTER TABLE bags REPLICA IDENTITY FULL")
        world.run()
        change(world)
        world.sql.execute("INSERT INTO bags VALUES (1)")
        consuming = world.consume()
        consuming.told("stopped", code=HISTORY_OF_NO_KEY.code)
        first = [(1, 1, False, 5000, False), (1, 10, False, 5000, False), (1, 10, False, 6000, True)]
        moved = [(2, 2, False, 5000, False), (3, 3, False, 5000, False), (4, 3, False, 5000, True)]
        world.shows(HISTORY, first + moved)

        world.sql.execute("ALTER TABLE items RENAME price TO cost; ALTER TABLE items ADD more int")
        world.sql.execute("UPDATE items SET more = 7 WHERE id = 4")
        world.sql.execute("ALTER TABLE items DROP note; TRUNCATE items; INSERT INTO items VALUES (4, 5)")
        wanted: list[tuple[object, ...]] = [
            (1, cost, "n", None, length, False) for cost, length in ((1, 5000), (10, 5000), (10, 6000))
        ]
        wanted += [(key, key, "n", None, 5000, False) for key in (2, 3)]
        wanted += [
            (4, 3, "n", None, 5000, False),
            (4, 3, "n", 7, 5000, False),
            (4, 5, None, None, None, True),
        ]
        world.shows(LATER, wanted)
        assert consuming.stop() == Exit.OK

        world.consumer_file.write_text(world.consumer_file.read_text().replace('mode = "history"\n', ""))
        world.sql.execute("INSERT INTO items VALUES (9, 9)")
        code, said = world.once()
        assert code == Exit.OPERATOR
        assert OTHER_MODE.code in {one["error"]["code"] for one in said if "error" in one}
        assert world.rows(LATER) == wanted


@pytest.mark.full  # the contract's promises of such tables are in the gate
def test_an_append_table_has_every_event(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> None:
    with kept("append", tmp_path, database, kafka, registry, topic_prefix) as world:
        world.run()
        change(world)
        world.sql.execute("TRUNCATE items")
        consuming = world.consume()
        inserted: list[tuple[object, ...]] = [(key, "c", key, 5000, None) for key in (1, 2, 3)]
        wanted: list[tuple[object, ...]] = [
            *inserted,
            (1, "u", 10, None, ["big", "doc"]),
            (1, "u", 10, 6000, None),
            (2, "d", None, None, None),
        ]
        wanted += [(3, "d", None, None, None), (4, "c", 3, 5000, None), (None, "t", None, None, None)]
        world.shows(EVENTS, wanted)
        assert consuming.stop() == Exit.OK
