"""Generated columns: the log, the rows that are read and the catalogue show one shape at every start."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.majors import MAJORS, server_of
from tests.integration.postgres.test_tables_come_and_go import Shop
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.steps import Found, Reshaped, Shape
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.snapshot.shape_changes import RefreshNeed, needs_refresh
from wrackline.producers.sources.postgres import source
from wrackline.producers.sources.postgres.discover import ddl_messages
from wrackline.schemas.tables.table import TableSchema

TABLE = (
    "CREATE TABLE g (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, n int,"
    " thrice int GENERATED ALWAYS AS (id * 3) STORED); INSERT INTO g VALUES (1)"
)
PLAIN, WHOLE = ["id", "n"], ["id", "twice", "n", "thrice"]


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def shop(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """A pipeline over all tables, with a catalogue that is looked at twice a second."""
    monkeypatch.setattr(source, "CataloguePoller", partial(CataloguePoller, every=0.5))
    with closing(Shop(database)) as made:
        yield made


def seen(shop: Shop) -> TableSchema:
    """Start again, change a row, and return the one shape that everybody shows."""
    shop.go_on()
    steps = shop.read_until(
        lambda came: any(isinstance(one, Found) and one.table.id.name == "g" for one in came)
    )
    shop.sql.execute("UPDATE g SET n = coalesce(n, 0) + 1")
    steps += shop.read()
    assert not [step for step in steps if isinstance(step, Reshaped)]
    (found,) = [step for step in steps if isinstance(step, Found) and step.table.id.name == "g"]
    (logged,) = [step for step in steps if isinstance(step, Shape) and step.table.id.name == "g"]
    partition = shop.source.partitions()[0]
    described = shop.source.describe(partition, found.table.id)
    with closing(shop.source.reader(partition)) as reader:
        read = reader.read(ChunkRequest(found.table.id, ("id",))).shape
    assert found.table == logged.table == described == read
    assert needs_refresh(logged.table, found.table, found.filled) is RefreshNeed.NOTHING
    return found.table


def test_a_column_that_the_log_does_not_carry_is_in_no_shape(shop: Shop) -> None:
    shop.sql.execute(TABLE.encode())
    shapes = [seen(shop) for _ in range(3)]
    assert [[column.name for column in shape.columns] for shape in shapes] == [PLAIN] * 3
    shop.sql.execute(
        "ALTER TABLE g ADD later int GENERATED ALWAYS AS (id * 4) STORED; INSERT INTO g VALUES (2)"
    )
    shop.sql.execute("ALTER TABLE g ALTER thrice DROP EXPRESSION")
    (joined,) = [step for step in shop.until(Reshaped) if isinstance(step, Reshaped)]
    assert joined.refresh, "rows hold values that no event contains"
    assert joined.shape is not None
    assert [column.name for column in joined.shape.columns] == [*PLAIN, "thrice"]


def test_a_column_that_the_publication_carries_is_like_any_other(shop: Shop) -> None:
    if shop.sql.info.server_version < 180_000:
        pytest.skip("PostgreSQL 18 is the first to publish generated columns")
    shop.sql.execute(TABLE.encode())
    assert [column.name for column in seen(shop).columns] == PLAIN
    shop.sql.execute(ddl_messages.install_sql("postgres").encode())
    shop.sql.execute("ALTER PUBLICATION wrackline SET (publish_generated_columns = stored)")
    assert [[column.name for column in seen(shop).columns] for _ in range(2)] == [WHOLE] * 2
    shop.sql.execute("ALTER TABLE g ADD later int GENERATED ALWAYS AS (id * 4) STORED")
    (joined,) = [step for step in shop.until(Reshaped) if isinstance(step, Reshaped)]
    assert joined.refresh
    assert [column.name for column in seen(shop).columns] == [*WHOLE, "later"]


@pytest.mark.parametrize(
    "change", ["SET (publish_generated_columns = stored)", "SET TABLE a, g (id, twice, n, thrice)"]
)
def test_a_publication_that_carries_more_is_noticed_while_it_runs(shop: Shop, change: str) -> None:
    if shop.sql.info.server_version < 180_000:
        pytest.skip("PostgreSQL 18 is the first to publish generated columns")
    shop.sql.execute(TABLE.encode())
    assert [column.name for column in seen(shop).columns] == PLAIN
    shop.sql.execute(f"ALTER PUBLICATION wrackline {change}".encode())
    (joined,) = [step for step in shop.until(Reshaped) if isinstance(step, Reshaped)]
    assert joined.refresh, "rows hold values that no event contains"
    assert joined.shape is not None
    assert [column.name for column in joined.shape.columns] == WHOLE


def test_a_log_that_carries_what_the_publication_no_longer_does_is_read(shop: Shop) -> None:
    if shop.sql.info.server_version < 180_000:
        pytest.skip("PostgreSQL 18 is the first to publish generated columns")
    shop.sql.execute(TABLE.encode())
    seen(shop)
    shop.sql.execute("ALTER PUBLICATION wrackline SET (publish_generated_columns = stored)")
    assert [column.name for column in seen(shop).columns] == WHOLE
    shop.stop()
    shop.sql.execute("INSERT INTO g VALUES (7)")
    shop.sql.execute("ALTER PUBLICATION wrackline SET (publish_generated_columns = none)")
    shop.sql.execute("INSERT INTO g VALUES (8)")
    shop.source, shop.stream = shop.start()
    steps = shop.read()
    assert shop.rows(steps) == [("g", {"id": 7, "twice": 14, "thrice": 21}), ("g", {"id": 8})]
    shapes = [step.table for step in steps if isinstance(step, Shape) and step.table.id.name == "g"]
    assert [[column.name for column in shape.columns] for shape in shapes] == [WHOLE, PLAIN]
