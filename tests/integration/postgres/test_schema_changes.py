"""Changes of a table's shape, met in the log long after they were made: every row keeps its columns."""

import time
from collections.abc import Iterator, Sequence

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Commit, Fault, Shape, Step
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import Transient
from wrackline.schemas.tables.table import TableId, TableSchema
from wrackline.testing.sources.reading import row_changes


class Shop:
    """A database with one table, and a source whose slot already stands."""

    def __init__(self, database: Database) -> None:
        self.sql = psycopg.connect(database.dsn, autocommit=True)
        self.registry = PgRegistry()
        around = Surroundings(time.monotonic, lambda: 0, self.registry.register, 1 << 20)
        self.source = PgSource(settings_of(database.dsn, **{"table.include.list": "public.t"}), around)

    def open(self) -> None:
        """Make slot and publication, and read nothing yet."""
        (partition,) = self.source.partitions()
        self.source.stream(partition, self.source.tables(partition), None).close()

    def read(self, tables: Sequence[TableId] | None = None) -> list[Step]:
        """Read the log of these tables, or of t, from the slot's place to its end."""
        (partition,) = self.source.partitions()
        ((xid,),) = self.sql.execute("INSERT INTO t DEFAULT VALUES RETURNING pg_current_xact_id()::text")
        wanted = self.source.tables(partition) if tables is None else tables
        stream = self.source.stream(partition, wanted, None)
        steps: list[Step] = []
        end = time.monotonic() + 30
        while not any(isinstance(step, Commit) and step.transaction == xid for step in steps):
            assert time.monotonic() < end
            batch = stream.poll(time.monotonic() + 0.5)
            steps += batch.steps if batch else ()
        stream.close()
        return steps

    def rows(self, steps: list[Step]) -> list[dict[str, object]]:
        """What each event's row says, decoded by its own schema."""
        found = []
        for change in row_changes(steps):
            after = self.registry.decode(change[3])["after"]
            assert isinstance(after, dict)
            found.append({name: value for name, value in after.items() if value is not None})
        return found


@pytest.fixture
def shop(database: Database) -> Iterator[Shop]:
    made = Shop(database)
    made.sql.execute("CREATE TABLE t (id bigserial PRIMARY KEY, a text, b text, c integer)")
    made.open()
    yield made
    made.source.close()
    made.sql.close()


def numbers(shape: TableSchema) -> dict[str, int]:
    return {column.name: column.identity for column in shape.columns}


def test_columns_renamed_dropped_and_added_since_keep_their_numbers(shop: Shop) -> None:
    shop.sql.execute("INSERT INTO t (a, b, c) VALUES ('1', 'one', 1)")
    shop.sql.execute("ALTER TABLE t RENAME a TO aa")
    shop.sql.execute("INSERT INTO t (aa, b, c) VALUES ('2', 'two', 2)")
    shop.sql.execute("ALTER TABLE t DROP b")
    shop.sql.execute("ALTER TABLE t ADD d text DEFAULT 'new'")
    shop.sql.execute("INSERT INTO t (aa, c) VALUES ('3', 3)")
    steps = shop.read()
    shapes = [numbers(step.table) for step in steps if isinstance(step, Shape)]
    assert shapes == [
        {"id": 1, "a": 2, "b": 3, "c": 4},
        {"id": 1, "aa": 2, "b": 3, "c": 4},
        {"id": 1, "aa": 2, "c": 4, "d": 5},
    ]
    assert shop.rows(steps)[:3] == [
        {"id": 1, "a": "1", "b": "one", "c": 1},
        {"id": 2, "aa": "2", "b": "two", "c": 2},
        {"id": 3, "aa": "3", "c": 3, "d": "new"},
    ]


def test_a_changed_type_is_another_shape_with_the_same_number(shop: Shop) -> None:
    shop.sql.execute("INSERT INTO t (c) VALUES (1)")
    shop.sql.execute("ALTER TABLE t ALTER c TYPE numeric(10,2) USING c / 2.0")
    shop.sql.execute("INSERT INTO t (c) VALUES (2)")
    steps = shop.read()
    before, after = [step.table for step in steps if isinstance(step, Shape)]
    assert (before.column("c").identity, after.column("c").identity) == (4, 4)
    assert (before.column("c").type.source, after.column("c").type.source) == ("integer", "numeric(10,2)")
    assert [str(row["c"]) for row in shop.rows(steps)[:2]] == ["1", "2.00"]


def test_a_table_that_was_renamed_since_is_found_by_its_number(shop: Shop) -> None:
    shop.sql.execute("INSERT INTO t (a) VALUES ('before')")
    shop.sql.execute("ALTER TABLE t RENAME TO moved")
    shop.sql.execute("ALTER TABLE moved RENAME TO t")
    assert shop.rows(shop.read())[0]["a"] == "before"


def test_columns_that_swapped_names_are_distinguished_by_their_order(shop: Shop) -> None:
    shop.sql.execute("INSERT INTO t (a, b) VALUES ('a', 'b')")
    shop.sql.execute("ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a; ALTER TABLE t RENAME x TO b")
    steps = shop.read()
    shape = next(step.table for step in steps if isinstance(step, Shape))
    assert numbers(shape) == {"id": 1, "a": 2, "b": 3, "c": 4}


def test_a_key_that_cannot_be_identified_is_the_tables_fault_and_is_not_guessed(shop: Shop) -> None:
    shop.sql.execute("INSERT INTO t (a, b) VALUES ('a', 'b')")
    shop.sql.execute(
        "ALTER TABLE t RENAME id TO x; ALTER TABLE t RENAME a TO id; ALTER TABLE t RENAME x TO a"
    )
    faults = [step for step in shop.read() if isinstance(step, Fault)]
    assert [fault.error.code for fault in faults] == ["pg.columns_unknown"]
    assert "wrackline snapshot start" in faults[0].error.hint


def test_a_schema_that_is_gone_is_the_tables_fault_and_stops_nobody(shop: Shop) -> None:
    shop.sql.execute("CREATE SCHEMA gone; CREATE TABLE gone.t (id bigint PRIMARY KEY)")
    shop.sql.execute("ALTER PUBLICATION wrackline ADD TABLE gone.t; INSERT INTO gone.t VALUES (1)")
    tables = (*shop.source.tables(shop.source.partitions()[0]), TableId(shop.sql.info.dbname, "gone", "t"))
    shop.sql.execute("DROP SCHEMA gone CASCADE")
    faults = [step for step in shop.read(tables) if isinstance(step, Fault)]
    assert [fault.error.code for fault in faults] == ["pg.table_missing"]


def test_a_type_that_is_gone_is_the_tables_fault(shop: Shop) -> None:
    shop.sql.execute("CREATE TYPE mood AS ENUM ('good')")
    shop.sql.execute("ALTER TABLE t ADD d mood")
    shop.sql.execute("INSERT INTO t (d) VALUES ('good')")
    shop.sql.execute("ALTER TABLE t DROP d")
    shop.sql.execute("DROP TYPE mood")
    faults = [step for step in shop.read() if isinstance(step, Fault)]
    assert [fault.error.code for fault in faults] == ["pg.type_gone"]


def test_a_key_that_the_replica_identity_leaves_out_is_refused(shop: Shop) -> None:
    shop.sql.execute(
        "ALTER TABLE t ADD e text NOT NULL DEFAULT gen_random_uuid(), ADD CONSTRAINT e UNIQUE (e)"
    )
    shop.sql.execute("ALTER TABLE t REPLICA IDENTITY USING INDEX e")
    shop.sql.execute("INSERT INTO t (a) VALUES ('1'); DELETE FROM t")
    faults = [step for step in shop.read() if isinstance(step, Fault)]
    assert [fault.error.code for fault in faults] == ["pg.key_not_logged"]


def test_a_lost_catalogue_connection_is_tried_again(shop: Shop) -> None:
    shop.sql.execute("INSERT INTO t (a) VALUES ('1')")
    shop.sql.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    with pytest.raises(Transient):
        shop.read()
    assert shop.rows(shop.read())[0]["a"] == "1"
