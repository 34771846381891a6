"""Rows that come late stop SQL Server's source over the stand-in, on a quiet log and on one that never rests.

The assumption that carries the source, that a listed commit has all of its rows, is broken here on purpose.
"""

from bisect import insort
from collections.abc import Iterator
from itertools import count
from math import inf

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.capture import CapturedRow
from wrackline.control.local.sqlserver_standin.tsql.session import SqlSession
from wrackline.control.runtime.running.run import _measures
from wrackline.producers.contract.optional_parts import LogRecount, Recounting, Renewing
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.sources.sqlserver import PLUGIN
from wrackline.producers.sources.sqlserver.log import range_audit
from wrackline.producers.sources.sqlserver.log.position import position_of
from wrackline.schemas.errors import Definite
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read, read_batches

POLL = "cdc.ddl_history"  # what only a poll of the log has
TABLE = "public_orders"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlServerWorld]:
    monkeypatch.setattr(range_audit, "REST_S", inf)
    made = SqlServerWorld(1, MarkKind.SIGNAL, **{"log.audit.interval.ms": "1"})
    yield made
    made.close()


@pytest.fixture
def busy(world: SqlServerWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """From the first use on, each poll finds a commit more than the last one."""
    (partition,) = world.source.partitions()
    database, run, numbers = world.database(partition), SqlSession.run, count(1000)

    def fed(session: SqlSession, sql: str, *args: object) -> object:
        if POLL in sql and "TOP" in sql:
            with database.lock:
                key = f"N'b', {next(numbers)}"
                world.run(partition, f"INSERT INTO [public].orders (shop, number) VALUES ({key});")
                database.scan()
        return run(session, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlSession, "run", fed)
    return numbers


def read_without_its_rows(world: SqlServerWorld, stream: LogStream) -> list[CapturedRow]:
    """Let a commit be listed and passed, and return its rows, which the change table lacks."""
    (partition,) = world.source.partitions()
    database = world.database(partition)
    held = database.job().instances[TABLE].held_back
    with database.lock:
        world.run(partition, "INSERT INTO [public].orders (shop, number) VALUES (N'a', 2);")
        database.scan(late=[TABLE])
        rows = list(held)
        held.clear()
        last = database.job().mapping[-1].start_lsn
    read_batches(
        world, stream, lambda steps: any(position_of(at.saved()).lsn >= last for at in places(steps))
    )
    return [one for one in rows if one.cells[0] == "a"]


def come_late(world: SqlServerWorld, rows: list[CapturedRow]) -> None:
    """Write them, and let what was read be counted from now on."""
    (partition,) = world.source.partitions()
    database = world.database(partition)
    with database.lock:
        for one in rows:
            insort(database.job().instances[TABLE].rows, one)
    range_audit.REST_S = 0.0  # type: ignore[misc]


def late_rows(world: SqlServerWorld, stream: LogStream) -> None:
    rows = read_without_its_rows(world, stream)
    assert len(rows) == 1
    come_late(world, rows)
    with pytest.raises(Definite) as caught:
        read_batches(world, stream, lambda _: False)
    assert caught.value.code == "sqlserver.late_rows"
    assert isinstance(world.source, Renewing)
    (partition,) = world.source.partitions()
    assert world.source.lost(partition, caught.value), "so snapshot.mode = when_needed reads the tables again"


def test_rows_that_come_late_on_a_quiet_log_stop_it(world: SqlServerWorld) -> None:
    (partition,) = world.source.partitions()
    stream = open_stream(world, partition)
    read(world, stream, world.commit(partition, row("a", 1)))
    late_rows(world, stream)


@pytest.mark.usefixtures("busy")
def test_rows_that_come_late_on_a_log_that_never_rests_stop_it(world: SqlServerWorld) -> None:
    (partition,) = world.source.partitions()
    late_rows(world, open_stream(world, partition))


@pytest.mark.usefixtures("busy")
def test_a_busy_log_whose_rows_are_in_time_is_read(
    world: SqlServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_audit, "REST_S", 0.0)
    (partition,) = world.source.partitions()
    stream = open_stream(world, partition)
    batches = read_batches(world, stream, lambda steps: len(places(steps)) > 40)
    seen = [one.key for batch in batches for one in events(world, batch.steps)]
    assert seen == [("b", 1000 + number) for number in range(len(seen))]


def counted(world: SqlServerWorld) -> LogRecount | None:
    assert isinstance(world.source, Recounting)
    (partition,) = world.source.partitions()
    return world.source.recount(partition)


@pytest.mark.usefixtures("busy")
def test_what_was_counted_again_is_a_metric_of_the_database(
    world: SqlServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    (partition,) = world.source.partitions()
    assert counted(world) == LogRecount(0, None)
    monkeypatch.setattr(range_audit, "REST_S", 0.0)
    before = 0
    for _ in range(2):  # another opening of the log counts on
        stream = open_stream(world, partition)
        read_batches(world, stream, lambda steps: len(places(steps)) > 10)
        stream.close()
        now = counted(world)
        assert now is not None
        assert now.ago_s is not None
        assert (now.ranges > before, 0 <= now.ago_s < 60) == (True, True)
        before = now.ranges
    served = {
        family.name: [(dict(one.labels), one.value) for one in family.samples]
        for family in _measures(PLUGIN, world.source, 0).families()
    }
    labels = {"server": partition.server, "task": "0", "database": partition.database}
    assert served["wrackline_recounted_ranges_total"] == [(labels, before)]
    ((of, age),) = served["wrackline_recount_age_seconds"]
    assert (of, age < 60) == (labels, True)


def test_where_nothing_is_counted_nothing_is_served() -> None:
    world = SqlServerWorld(1, MarkKind.SIGNAL, **{"log.audit.interval.ms": "0"})
    assert counted(world) is None
    world.close()
