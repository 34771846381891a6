"""Histories on a real PostgreSQL: many logs, cut and mixed, against the model; and what a batch touches."""

from collections.abc import Iterator

import pytest

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import LAYOUT, PostgresWorld
from wrackline.consumers.contract.plan import TableMode
from wrackline.testing.targets.modes_suite import follow, planned, tell
from wrackline.testing.targets.target_suite import A, change


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database.dsn)
    yield world
    world.target.close()


@pytest.mark.deep
def test_many_logs_give_the_model_s_history(world: PostgresWorld) -> None:
    for number in range(100, 160):
        follow(world, number, batches=2 + number % 7, every=True)


def test_a_batch_writes_what_it_changes_alone(world: PostgresWorld) -> None:
    """A key's hundredth version moves the end of the one before, and touches no other row."""
    table = LAYOUT.place(planned(world, TableMode.HISTORY, 1).table.id).table.as_string()
    many = [change("u", A, number, f"n{number}") for number in range(1, 100)]
    tell(world, planned(world, TableMode.HISTORY, 1), *many, change("c", ("b", 2), 1, "other"))
    places = f"SELECT ctid::text AS at FROM {table}"
    before = {row["at"] for row in world.sql(places)}
    tell(world, planned(world, TableMode.HISTORY, 2), change("u", A, 200, "n200"))
    after = {row["at"] for row in world.sql(places)}
    assert len(before - after) == 1, "the version that ends now"
    assert len(after - before) == 2, "its new place, and the new event"
