"""What is logged and not yet visible where the log is begun or gone on with: a commit is held there."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import FLAVOURS, OF_PATH, WITHOUT_GTIDS
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.contract.steps import Progress
from wrackline.producers.reading.readers import Outcome, PlanOutcome, Readers
from wrackline.producers.snapshot.work_items import Plan, Ticket
from wrackline.producers.sources.mysql.events.gtids import MySqlGtids
from wrackline.producers.sources.mysql.log.position import MySqlPosition
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read
from wrackline.testing.sources.source_suite import keys, request

pytestmark = pytest.mark.servers

_MARKS_WAIT = "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'INSERT INTO %signals%'"


@pytest.fixture
def world(request: pytest.FixtureRequest, started: Callable[[str], MysqlServer]) -> Iterator[MySqlWorld]:
    """A server of this name, with marks that it can set."""
    name = request.param
    kind = MarkKind.SIGNAL if name == WITHOUT_GTIDS else MarkKind.FENCE
    with closing(MySqlWorld(started(name), kind)) as made:
        yield made


@pytest.mark.parametrize("world", alternatives([*FLAVOURS, OF_PATH]), indirect=True)
def test_no_row_is_read_before_all_is_visible_that_the_log_begins_behind(world: MySqlWorld) -> None:
    partition = world.source.partitions()[0]
    world.commit(partition, row("a", 1))
    held = world.commit(partition, row("a", 2), hidden=True)
    with closing(open_stream(world, partition)), closing(world.source.reader(partition)) as reader:
        assert reader.marks.unseen(())
        world.show(partition, held)
        assert not reader.marks.unseen(())
        assert keys(world, reader.read(request(world, partition))) == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("world", alternatives([*FLAVOURS, OF_PATH]), indirect=True)
def test_the_log_is_gone_on_with_behind_a_commit_that_is_held(world: MySqlWorld) -> None:
    partition = world.source.partitions()[0]
    with closing(open_stream(world, partition)) as stream:
        held = world.commit(partition, row("a", 1), hidden=True)
        saved = places(read(world, stream, held))[-1].saved()
    with closing(open_stream(world, partition, saved)) as stream:
        world.show(partition, held)
        later = world.commit(partition, row("a", 2))
        steps = read(world, stream, later)
    assert [event.key for event in events(world, steps)] == [("a", 2)]


@pytest.mark.parametrize("world", alternatives([*FLAVOURS, OF_PATH]), indirect=True)
def test_no_row_is_read_until_every_commit_before_the_saved_position_is_visible(world: MySqlWorld) -> None:
    partition = world.source.partitions()[0]
    stream = open_stream(world, partition)
    world.commit(partition, row("a", 1))
    held = world.commit(partition, row("a", 2), hidden=True)
    saved = places(read(world, stream, held))[-1].saved()
    stream.close()
    with (
        closing(open_stream(world, partition, saved)),
        closing(world.source.reader(partition)) as reader,
    ):
        assert reader.marks.unseen(())
        world.show(partition, held)
        assert not reader.marks.unseen(())


@pytest.mark.parametrize("world", ["mysql"], indirect=True)
def test_the_first_position_names_all_that_is_logged_before_it_and_nothing_else(world: MySqlWorld) -> None:
    partition = world.source.partitions()[0]
    world.commit(partition, row("a", 1))
    held = world.commit(partition, row("a", 2), hidden=True)
    with closing(open_stream(world, partition)) as stream:
        world.show(partition, held)
        told = executed(world)
        world.commit(partition, row("a", 3))
        batch = stream.poll(world.now() + 5)
    assert batch is not None
    [first] = [step.position for step in batch.steps if isinstance(step, Progress)][:1]
    assert isinstance(first, MySqlPosition)
    assert first.gtids == told
    assert told.contains(MySqlGtids.parse(held))


@pytest.mark.parametrize("world", [WITHOUT_GTIDS], indirect=True)
def test_a_plan_reaches_the_rows_that_come_to_light_behind_it(world: MySqlWorld) -> None:
    partition = world.source.partitions()[0]
    world.commit(partition, row("a", 1))
    held = world.commit(partition, row("a", 2), hidden=True)
    with closing(open_stream(world, partition)):
        readers = Readers(world.source, partition, 1, time.monotonic)
        found: list[Outcome] = []

        def planned_by_now() -> bool:
            found.extend(readers.outcomes())
            return bool(found)

        try:
            readers.begin(Plan(Ticket("run/1"), world.orders(partition).id, ()))
            wait_until(lambda: planned_by_now() or bool(world.run(_MARKS_WAIT)))
            world.show(partition, held)
            wait_until(planned_by_now)
        finally:
            readers.close()
    [planned] = found
    assert isinstance(planned, PlanOutcome)
    assert planned.spans[-1].upto == ("a", "2")


def executed(world: MySqlWorld) -> MySqlGtids:
    """What the server has by now."""
    [told] = world.run("SELECT @@global.gtid_executed AS has")
    return MySqlGtids.parse(str(told["has"]))
