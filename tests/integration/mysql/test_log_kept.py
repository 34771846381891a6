"""How long the server keeps what we need: bytes behind our place, and when its file is old enough to go."""

import itertools
import time
from collections.abc import Iterator

import pytest

from tests.integration.mysql.test_xa import XaWorld
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.optional_parts import Attended, LogState
from wrackline.producers.contract.steps import Position
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import open_stream, places, read

pytestmark = pytest.mark.servers
KEPT = 86_400
OLD = 2  # seconds
PATIENCE = 100  # commits


@pytest.fixture
def world(server: MysqlServer) -> Iterator[XaWorld]:
    """A source over a server that drops its log by age."""
    made = XaWorld(server)
    [before] = made.run("SELECT @@global.binlog_expire_logs_seconds AS seconds")
    made.run(f"SET GLOBAL binlog_expire_logs_seconds = {KEPT}")
    yield made
    made.run(f"SET GLOBAL binlog_expire_logs_seconds = {before['seconds']}")
    made.leave()
    made.close()


def now(world: XaWorld) -> int:
    """The server's clock."""
    [clock] = world.run("SELECT UNIX_TIMESTAMP() AS now")
    return int(clock["now"])


def looked(world: XaWorld, confirmed: Position) -> LogState:
    assert isinstance(world.source, Attended)
    found = world.source.log_state(world.partition, confirmed)
    assert found is not None
    return found


def test_the_gauge_says_what_is_behind_and_when_it_goes(world: XaWorld) -> None:
    stream = open_stream(world, world.partition)
    numbers = itertools.count(1)

    def caught_up() -> Position:
        """Read up to the log's end, where MariaDB writes a checkpoint of its own when it likes."""
        while next(numbers) < PATIENCE:
            place = places(read(world, stream, world.commit(world.partition, row("a", next(numbers)))))[-1]
            if looked(world, place).behind == 0:
                return place
        pytest.fail("something is behind each place")

    first = caught_up()
    before = looked(world, first)
    assert (before.behind, before.expires_s, before.kept_s) == (0, None, KEPT)

    world.commit(world.partition, row("a", next(numbers)))
    time.sleep(OLD)
    written = now(world)
    world.run("FLUSH BINARY LOGS")
    world.commit(world.partition, row("a", next(numbers)))
    behind = looked(world, first)
    assert behind.behind == behind.end - before.end > 0
    assert behind.expires_s is not None
    assert KEPT - (now(world) - written) <= behind.expires_s <= KEPT, "its age counts from its end"

    after = looked(world, caught_up())
    assert (after.behind, after.expires_s) == (0, None)
    assert after.end > behind.end


def test_the_file_of_what_is_prepared_is_needed_until_that_has_ended(world: XaWorld) -> None:
    stream = open_stream(world, world.partition)
    world.prepare("x", 1)
    world.run("FLUSH BINARY LOGS")
    place = places(read(world, stream, world.commit(world.partition, row("a", 1))))[-1]
    prepared = looked(world, place)
    assert prepared.behind == 0
    assert prepared.expires_s is not None
    world.end("x")
    place = places(read(world, stream, world.commit(world.partition, row("a", 2))))[-1]
    assert looked(world, place).expires_s is None


def test_a_look_ends_no_reader_of_ours(world: XaWorld) -> None:
    """The one that asks when a file was begun has a number of its own."""
    stream = open_stream(world, world.partition)
    first = places(read(world, stream, world.commit(world.partition, row("a", 1))))[-1]
    world.run("FLUSH BINARY LOGS")
    assert looked(world, first).expires_s is not None
    read(world, stream, world.commit(world.partition, row("a", 2)))
