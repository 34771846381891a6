"""Faults of other readers about clocks and about statements with many rows, of SQL Server's source.

Which fault is meant is in each test, as in `test_sqlserver_source_faults.py`.
"""

import datetime as dt
from collections.abc import Iterator
from zoneinfo import ZoneInfo

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.contract.steps import Commit, Step
from wrackline.producers.sources.sqlserver.log import page_merger
from wrackline.producers.sources.sqlserver.log.lsn import lsn_text
from wrackline.producers.sources.sqlserver.log.page_merger import PageRequest
from wrackline.producers.sources.sqlserver.poll.round_reader import ReadPage, RoundReader
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import committed, events, open_stream, read


@pytest.fixture
def world() -> Iterator[SqlServerWorld]:
    made = SqlServerWorld(1, MarkKind.SIGNAL)
    yield made
    made.close()


def first(world: SqlServerWorld) -> SourcePartition:
    return world.source.partitions()[0]


@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_a_commit_has_its_moment_in_any_zone(world: SqlServerWorld, hours: int) -> None:
    """DBZ-6388: `ts_ms` was off by the server's offset."""
    world.model.zone = dt.timezone(dt.timedelta(hours=hours))
    world.model.zone_name = "UTC"
    stream = open_stream(world, first(world))
    name, moment = world.commit(first(world), row("a", 1)), world.model.now
    (commit,) = [s for s in read(world, stream, name) if isinstance(s, Commit) and s.transaction == name]
    assert commit.committed_ms == int(moment.timestamp() * 1000)


def test_commits_in_the_hour_that_a_clock_repeats_are_read_once_and_in_order(
    world: SqlServerWorld,
) -> None:
    """DBZ-6388: a server has local times, of which 02:30 comes twice; it means the first of the two."""
    world.model.zone, world.model.zone_name = ZoneInfo("Europe/Berlin"), "W. Europe Standard Time"
    stream = open_stream(world, first(world))
    change = dt.datetime(2026, 10, 25, 1, 0, tzinfo=dt.UTC)
    minutes = (-90, -30, 30, 90)
    names = []
    with world.model.lock:
        for number, minute in enumerate(minutes):
            world.model.set_time(change + dt.timedelta(minutes=minute))
            names.append(world.commit(first(world), row("a", number)))
    steps = read(world, stream, *names)
    assert [one.key for one in events(world, steps)] == [("a", number) for number in range(4)]
    seen = {s.transaction: s.committed_ms for s in steps if isinstance(s, Commit)}
    assert [(seen[name] / 1000 - change.timestamp()) / 60 for name in names] == [-90, -30, -30, 90]


@pytest.mark.full
def test_a_statement_that_moves_ten_thousand_keys_is_read_in_pages_of_a_hundred(
    world: SqlServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same as it was reported, DBZ-8858: all deletes of a table come before the first insert."""
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 100)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 100)
    pages: list[int] = []
    fill = RoundReader._fill

    def seen(reader: RoundReader, into: list[ReadPage], request: PageRequest, batch: TdsBatch) -> None:
        fill(reader, into, request, batch)
        pages.append(len(into[-1].rows))

    monkeypatch.setattr(RoundReader, "_fill", seen)
    count = 10_000
    database = world.database(first(world))
    stream = open_stream(world, first(world))
    with database.transaction() as one:
        for number in range(count):
            one.insert("public.orders", {"shop": "a", "number": number})
    database.scan()
    world.run(first(world), "UPDATE [public].orders SET number = number + 1;")
    database.scan()
    moved = lsn_text(database.job().mapping[-1].start_lsn)
    steps: list[Step] = []
    while not committed(moved)(steps):  # however long it takes on a busy machine
        batch = stream.poll(world.around.monotonic() + 0.2)
        steps += () if batch is None else batch.steps
    seen_events = [(one.op, (one.key or ())[1]) for one in events(world, steps)][count:]
    assert seen_events == [
        *(("d", number) for number in range(count)),
        *(("c", number) for number in range(1, count + 1)),
    ]
    assert max(pages) == 100
