"""Rows are read from one server and the log from another, as behind a proxy: GTIDs say what places can't."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.replicas import replicated
from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import FLAVOURS, run, settings_of
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.row_chunks import Chunk
from wrackline.producers.contract.source_plugin import ChunkReader, Edge, Source
from wrackline.producers.contract.steps import Commit
from wrackline.producers.sources.mysql.connect.connect import MySqlServer
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import committed, events, open_stream, read
from wrackline.testing.sources.source_suite import keys, reached, request

pytestmark = [pytest.mark.servers, pytest.mark.full]


class Pair(NamedTuple):
    """A world on a primary, and a source that asks the replica."""

    world: MySqlWorld
    elsewhere: Source
    flavour: str
    replica: MysqlServer


@pytest.fixture(params=alternatives(FLAVOURS))
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """A primary with its replica."""
    with replicated(request.param, tmp_path) as (primary, replica):
        run(primary, "FLUSH BINARY LOGS", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")  # places differ
        world = MySqlWorld(primary)
        settings = settings_of(replica, **{"table.include.list": f"{world.database}.orders"})
        with closing(PLUGIN.open(settings, world.around)) as elsewhere:
            partition = world.source.partitions()[0]
            wait_until(lambda: world.orders(partition).id in elsewhere.tables(partition))
            yield Pair(world, elsewhere, request.param, replica)
        world.close()


def test_a_fence_of_the_primary_is_passed_in_the_replicas_log_behind_what_was_seen(pair: Pair) -> None:
    world = pair.world
    partition = world.source.partitions()[0]
    reader = world.source.reader(partition)
    stream = pair.elsewhere.stream(partition, [world.orders(partition).id], None)
    for number in range(5):
        seen = world.commit(partition, row("a", number))
        chunk = reader.read(request(world, partition))
        mark = chunk.mark or reader.marks.set("w", Edge.CLOSE)
        steps = read(world, stream, seen, world.commit(partition, row("b", number)))
        place = steps.index(reached(mark, steps)[0])
        assert committed(seen)(steps[: place + 1])
    stream.close()


def test_the_gate_of_a_replica_names_what_it_has_not_applied(pair: Pair) -> None:
    world, partition = pair.world, pair.world.source.partitions()[0]
    reader = pair.elsewhere.reader(partition)
    stream = open_stream(world, partition)
    first = world.commit(partition, row("a", 1))
    word = "REPLICA" if pair.flavour == "mysql" else "SLAVE"
    steps = read(world, stream, first)
    wait_until(lambda: len(_keys(pair, reader)) == 1)
    run(pair.replica, f"STOP {word} SQL_THREAD")
    second = world.commit(partition, row("a", 2))
    steps += read(world, stream, second)
    ends = [step for step in steps if isinstance(step, Commit) and step.transaction in {first, second}]
    assert [commit.transaction for commit in reader.marks.unseen(ends)] == [second]
    run(pair.replica, f"START {word} SQL_THREAD")
    wait_until(lambda: not reader.marks.unseen(ends))
    assert _keys(pair, reader) == [("a", 1), ("a", 2)]
    assert len(events(world, steps)) == 2


def test_the_gate_of_a_replica_names_what_the_stream_began_behind_and_it_has_not_applied(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, partition = pair.world, pair.world.source.partitions()[0]
    word = "REPLICA" if pair.flavour == "mysql" else "SLAVE"
    run(pair.replica, f"STOP {word} SQL_THREAD")
    world.commit(partition, row("a", 1))
    with closing(open_stream(world, partition)):
        monkeypatch.setattr(
            world.source, "_server", MySqlServer(settings_of(pair.replica))
        )  # the proxy's choice
        with closing(world.source.reader(partition)) as reader:
            assert reader.marks.unseen(())
            run(pair.replica, f"START {word} SQL_THREAD")
            wait_until(lambda: not reader.marks.unseen(()))
            assert _keys(pair, reader) == [("a", 1)]


def _keys(pair: Pair, reader: ChunkReader) -> list[tuple[object, ...]]:
    chunk: Chunk = reader.read(request(pair.world, pair.world.source.partitions()[0]))
    return keys(pair.world, chunk)
