"""Faults that other readers had with capture instances that were changed while nobody read.

Each is named by its issue.  The server is the stand-in.
"""

from collections.abc import Iterator

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from tests.property.test_sqlserver_source_faults import first, steps_until
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.contract.steps import Fault, Saved
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read
from wrackline.testing.sources.source_world import Insert


@pytest.fixture
def world() -> Iterator[SqlServerWorld]:
    made = SqlServerWorld(1, MarkKind.SIGNAL)
    yield made
    made.close()


@pytest.fixture
def database(world: SqlServerWorld) -> ModelDatabase:
    return world.database(first(world))


def stopped_before_a_row(world: SqlServerWorld) -> Saved:
    """Read one row, stop, and write another."""
    stream = open_stream(world, first(world))
    place = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    world.commit(first(world), row("a", 2))
    return place.saved()


def test_each_commit_is_read_from_the_instance_that_has_its_columns(
    world: SqlServerWorld, database: ModelDatabase
) -> None:
    """olake#789: the wrong one of two instances was read, so commits or columns were missing."""
    saved = stopped_before_a_row(world)
    database.add_column("public.orders", "extra", "nvarchar(max) null")
    database.enable_table("public.orders", "orders_2")
    database.scan()
    last = world.commit(first(world), Insert({"shop": "a", "number": 3, "extra": "e"}))
    seen = events(world, read(world, open_stream(world, first(world), saved), last))
    assert [(one.key, (one.after or {}).get("extra")) for one in seen] == [(("a", 2), None), (("a", 3), "e")]


def test_an_instance_that_a_deployment_made_again_is_a_loss_and_not_silence(
    world: SqlServerWorld, database: ModelDatabase
) -> None:
    """SchemaSmith#398: a column was added between a disable and an enable, and unread rows were gone."""
    saved = stopped_before_a_row(world)
    database.disable_table("public_orders")
    database.add_column("public.orders", "extra", "nvarchar(max) null")
    database.enable_table("public.orders")
    database.scan()
    world.commit(first(world), Insert({"shop": "a", "number": 3, "extra": "e"}))
    steps = steps_until(world, open_stream(world, first(world), saved), Fault)
    assert [step.error.code for step in steps if isinstance(step, Fault)] == ["sqlserver.instance_gone"]
    assert events(world, steps) == []
