"""The log is ahead of the catalogue: a change is read from it before other sessions can see it."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Fault, Shape, Step
from wrackline.producers.kit.polled_stream import ReadState
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.producers.sources.postgres.stream import PgStream

ALTER = "ALTER TABLE orders ADD COLUMN gift text DEFAULT 'plain'; UPDATE orders SET gift = gift"
COMMITTING = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


CREATE = "CREATE TABLE gifts (id int PRIMARY KEY, gift text); INSERT INTO gifts VALUES (1, 'plain')"


@pytest.mark.parametrize(
    ("statements", "table"), [(ALTER, "orders"), (CREATE, "gifts")], ids=["altered", "created"]
)
def test_what_is_not_visible_yet_is_waited_for(database: Database, statements: str, table: str) -> None:
    source = PgSource(
        settings_of(database.dsn, **{"publication.autocreate.mode": "all_tables"}),
        Surroundings(time.monotonic, lambda: 0, PgRegistry().register),
    )
    with (
        psycopg.connect(database.dsn, autocommit=True) as admin,
        ThreadPoolExecutor(2) as pool,
    ):
        admin.execute("CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1)")
        (partition,) = source.partitions()
        stream = source.stream(partition, source.tables(partition), None)
        try:
            _wait_for_standby(admin, "nobody")  # a commit is written, sent, and stays invisible
            altered = pool.submit(_run, database.dsn, statements)
            _until(lambda: admin.execute(COMMITTING).fetchone() is not None)
            shapes = pool.submit(_until_shape, stream)
            _until(lambda: shapes.done() or stream.state is ReadState.HELD)
            assert not shapes.done(), shapes.result()
            _wait_for_standby(admin, "")
            altered.result(30)
            (shape,) = shapes.result(30)
        finally:
            _wait_for_standby(admin, "")
            stream.close()
            source.close()
    assert isinstance(shape, Shape)
    assert shape.table.id.name == table
    assert [column.name for column in shape.table.columns] == ["id", "gift"]


def _until_shape(stream: PgStream) -> Sequence[Step]:
    """Everything that the stream says of the table's shape, once there is something."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        batch = stream.poll(time.monotonic() + 0.2)
        if found := [step for step in batch.steps if isinstance(step, Shape | Fault)] if batch else []:
            return found
    raise TimeoutError("the change did not come")


def _wait_for_standby(admin: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    admin.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
    admin.execute("SELECT pg_reload_conf()")
    _until(lambda: admin.execute("SHOW synchronous_standby_names").fetchone() == (name,))


def _run(dsn: str, statements: str) -> None:
    with psycopg.connect(dsn) as db:
        db.execute(statements)


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)
