"""Capture instances that come and go while SQL Server's source reads: nothing is lost silently.

Each change of the catalogue comes at a moment that others of our tests leave out: between a page and its
proof, while a range rests, or while the pipeline was stopped.  The server is the stand-in.
"""

from collections.abc import Collection, Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from tests.property.test_sqlserver_source_faults import first, steps_until
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.producers.contract.optional_parts import LogEnding, Proving, Surveying
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.contract.steps import Fault, Step
from wrackline.producers.sources.sqlserver.log.lsn import HIGHEST, ZERO
from wrackline.producers.sources.sqlserver.log.range_audit import CountedRange, RangeAudit
from wrackline.schemas.errors import OperatorNeeded
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read, read_batches
from wrackline.testing.sources.source_suite import reached


@pytest.fixture
def world() -> Iterator[SqlServerWorld]:
    made = SqlServerWorld(1, MarkKind.SIGNAL)
    yield made
    made.close()


@pytest.fixture
def database(world: SqlServerWorld) -> ModelDatabase:
    return world.database(first(world))


def steps_until_now(world: SqlServerWorld, stream: LogStream) -> list[Step]:
    assert isinstance(world.source, LogEnding)
    end = world.source.log_end(first(world))
    batches = read_batches(world, stream, lambda steps: bool(reached(end, steps)))
    return [step for batch in batches for step in batch.steps]


def faults(steps: list[Step]) -> list[tuple[str, str]]:
    return [(step.table.name, step.error.code) for step in steps if isinstance(step, Fault)]


def test_an_instance_that_is_dropped_before_its_page_is_read_is_a_loss(
    world: SqlServerWorld, database: ModelDatabase
) -> None:
    """powersync#730: the page's error 208 says no more than that a table is missing."""
    stream = open_stream(world, first(world))
    place = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    world.commit(first(world), row("a", 2))
    database.enable_table("public.orders", "orders_2")
    world.commit(first(world), row("a", 3))
    world.model.plan("[public_orders_CT]", act=lambda: database.disable_table("public_orders"))
    again = open_stream(world, first(world), place.saved())
    steps = steps_until_now(world, again)
    assert faults(steps) == [("orders", "sqlserver.instance_gone")]
    assert events(world, steps) == []


def test_a_table_with_a_fault_hands_out_nothing_more(world: SqlServerWorld, database: ModelDatabase) -> None:
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    database.disable_table("public_orders")
    steps_until(world, stream, Fault)
    database.enable_table("public.orders")
    database.scan()
    world.commit(first(world), row("a", 2))
    assert events(world, steps_until_now(world, stream)) == []


def test_an_instance_that_was_seen_at_the_start_is_known_when_the_older_one_goes(
    world: SqlServerWorld, database: ModelDatabase
) -> None:
    stream = open_stream(world, first(world))
    place = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    database.enable_table("public.orders", "orders_2")
    database.scan()
    again = open_stream(world, first(world), place.saved())
    steps = read(world, again, world.commit(first(world), row("a", 2)))
    database.disable_table("public_orders")
    steps += read(world, again, world.commit(first(world), row("a", 3)))
    assert faults(steps) == []
    assert [event.key for event in events(world, steps)] == [("a", 2), ("a", 3)]


def test_a_range_of_an_instance_that_is_gone_is_not_counted(
    world: SqlServerWorld, database: ModelDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = CountedRange(database.job().instances["public_orders"].object_id, ZERO, HIGHEST, 9)
    stream = open_stream(world, first(world))
    database.disable_table("public_orders")
    steps_until(world, stream, Fault)
    due = RangeAudit.due

    def with_orders(audit: RangeAudit, now: float, tables: Collection[int]) -> Sequence[CountedRange]:
        audit._due.append(orders)
        return due(audit, now, tables)

    monkeypatch.setattr(RangeAudit, "due", with_orders)
    steps_until_now(world, stream)


def test_a_database_of_which_nothing_is_captured_any_more_is_named_as_that(
    world: SqlServerWorld, database: ModelDatabase
) -> None:
    """The catalogue's own error says no more than that a table of cdc is missing."""
    tables = world.source.tables(first(world))
    assert isinstance(world.source, Surveying)
    database.disable_cdc()
    for ask in (
        lambda: world.source.tables(first(world)),
        lambda: world.source.described(first(world), tables),
        lambda: world.source.describe(first(world), tables[0]),
        lambda: world.source.stream(first(world), tables, None),
    ):
        with pytest.raises(OperatorNeeded, match="change data capture is disabled in shop0"):
            ask()


def test_what_is_known_of_a_database_is_not_asked_for_again(
    world: SqlServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hundred databases start at a time, and a server knows many more."""
    asked: list[str] = []
    run = SqlSession.run

    def seen(session: SqlSession, sql: str, *args: object) -> object:
        asked.append(sql)
        return run(session, sql, *args)  # type: ignore[arg-type]

    tables = world.source.tables(first(world))
    monkeypatch.setattr(SqlSession, "run", seen)
    assert world.source.tables(first(world)) == tables
    assert len(asked) == 1
    assert isinstance(world.source, Surveying)
    world.source.described(first(world), tables)
    assert len(asked) == 2
    assert isinstance(world.source, Proving)
    assert not world.source.unproven(first(world), tables)
    assert len(asked) == 2
