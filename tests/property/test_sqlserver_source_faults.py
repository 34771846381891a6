"""Faults of other readers of change tables, each as a small test of SQL Server's source over the stand-in.

Which fault is meant is in each test: the issue or pull request of the project that had it.
"""

import datetime as dt
import gc
import json
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.database import Grant, ModelDatabase
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.optional_parts import Beating, LogEnding, NoServerPosition, Removable
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.contract.steps import Appeared, Fault, Reshaped, Rows, Step, Vanished
from wrackline.producers.sources.sqlserver.log import page_merger
from wrackline.producers.sources.sqlserver.log.lsn import lsn_text
from wrackline.producers.sources.sqlserver.log.page_merger import CommitPart, PageMerger, PageRequest
from wrackline.producers.sources.sqlserver.log.position import position_of
from wrackline.producers.sources.sqlserver.poll.round_reader import ReadPage, RoundReader
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import (
    events,
    open_stream,
    places,
    read,
    read_batches,
    row_changes,
)
from wrackline.testing.sources.source_suite import reached
from wrackline.testing.sources.source_world import KEY, Delete, Insert, Update

Make = Callable[..., SqlServerWorld]


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[SqlServerWorld] = []

    def made(partitions: int = 1, kind: MarkKind = MarkKind.SIGNAL, **more: str) -> SqlServerWorld:
        worlds.append(SqlServerWorld(partitions, kind, **more))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


def test_a_database_that_is_named_twice_in_other_letters_is_read_once(make: Make) -> None:
    """A server tells names apart as its collation does; most do not look at the case of letters."""
    world = make(**{"database.names": "SHOP0,shop0"})
    twin, real = world.source.partitions()
    stream = open_stream(world, real)
    assert [one.key for one in events(world, read(world, stream, world.commit(real, row("a", 1))))] == [
        ("a", 1)
    ]
    with pytest.raises(OperatorNeeded, match=r"SHOP0 .* shop0") as caught:
        open_stream(world, twin)
    assert caught.value.code == "sqlserver.database_twice"
    found = {one: [finding.id for finding in world.source.check(one, ())] for one in (twin, real)}
    assert ["sqlserver.database_twice" in ids for ids in found.values()] == [True, False]
    alone = make(**{"database.names": "SHOP0"})
    assert open_stream(alone, alone.source.partitions()[0]), "it has one name, however that is written"


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 3)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 4)


def first(world: SqlServerWorld) -> SourcePartition:
    return world.source.partitions()[0]


def steps_until(world: SqlServerWorld, stream: LogStream, kind: type[Step]) -> list[Step]:
    batches = read_batches(world, stream, lambda steps: any(isinstance(step, kind) for step in steps))
    return [step for batch in batches for step in batch.steps]


def move_all(world: SqlServerWorld, count: int) -> str:
    """Let a statement change all keys, and another one key: of the first come all deletes, then all inserts.

    The two rows of the second have one seqval.
    """
    world.commit(first(world), *(row("a", number) for number in range(count)))
    world.run(
        first(world),
        "BEGIN TRANSACTION; UPDATE [public].orders SET number = number + 1;"
        f" UPDATE [public].orders SET number = 0 WHERE number = {count}; COMMIT TRANSACTION;",
    )
    database = world.database(first(world))
    database.scan()
    return lsn_text(database.job().mapping[-1].start_lsn)


@pytest.mark.usefixtures("small_pages")
def test_a_statement_that_moves_all_keys_loses_none(make: Make) -> None:
    """T-Q03, DBZ-8858, debezium#7728: deferred bulk updates were lost, or sorted in memory."""
    world = make()
    stream = open_stream(world, first(world))
    moved = move_all(world, 30)
    seen = [(e.op, e.key) for e in events(world, read(world, stream, moved))][30:]
    assert seen == [
        *(("d", ("a", number)) for number in range(30)),
        *(("c", ("a", number)) for number in range(1, 31)),
        ("d", ("a", 30)),
        ("c", ("a", 0)),
    ]


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("counted", ["false", "true"])
def test_a_resume_behind_any_row_of_a_statement_has_the_rest_byte_for_byte(
    make: Make, monkeypatch: pytest.MonkeyPatch, counted: str
) -> None:
    """The tail was lost, or came twice.

    DBZ-1090, DBZ-1128, DBZ-1152, DBZ-1483, redpanda#4677, seatunnel#11410.
    """
    monkeypatch.setattr(SqlServerWorld, "most_batch_bytes", 1)  # each change ends a batch
    world = make(**{"provide.transaction.metadata": counted})
    stream = open_stream(world, first(world))
    start = places(read_batches(world, stream, lambda steps: bool(places(steps)))[0].steps)[-1]
    moved = move_all(world, 4)
    whole = [step for step in read(world, stream, moved) if isinstance(step, Rows)]
    assert [len(step.rows) for step in whole] == [1] * 14
    stream.close()
    for place in (start, *(step.upto for step in whole)):
        again = open_stream(world, first(world), json.loads(json.dumps(place.saved())))
        rest = [step for step in whole if place < step.upto]
        assert row_changes(read(world, again, moved)) == row_changes(rest)
        again.close()


def test_rows_of_a_quiet_log_move_the_place_and_hide_nothing(make: Make) -> None:
    """DBZ-2582, DBZ-3486, flink-cdc#2853: dummy rows were taken for the end of what is to be read."""
    world = make()
    stream, database = open_stream(world, first(world)), world.database(first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    world.run(first(world), "INSERT INTO [public].orders (shop, number) VALUES (N'a', 2);")
    database.write_dummy()  # does nothing, because a transaction waits in the log
    database.scan()
    database.write_dummy()
    last = world.commit(first(world), row("a", 3))
    assert [e.key for e in events(world, read(world, stream, last))] == [("a", 2), ("a", 3)]


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        (MarkKind.SIGNAL, {}),
        (MarkKind.FENCE, {"heartbeat.action.query": "INSERT INTO [public].elsewhere (note) VALUES (1);"}),
    ],
)
def test_a_heartbeat_ends_the_wait_for_a_place_of_a_quiet_log(
    make: Make, monkeypatch: pytest.MonkeyPatch, kind: MarkKind, query: dict[str, str]
) -> None:
    """Nothing is known of a quiet log for minutes, because the capture job has nothing to report."""
    monkeypatch.setattr(ModelDatabase, "write_dummy", lambda _: None)
    world = make(1, kind, **{"heartbeat.interval.ms": "1000"}, **query)
    world.database(first(world)).enable_table("public.elsewhere")
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    assert isinstance(world.source, LogEnding)
    assert isinstance(world.source, Beating)
    end = world.source.log_end(first(world))
    for _ in range(5):
        stream.ask()
        batch = stream.poll(world.now() + 0.1)
        assert batch is None or not reached(end, batch.steps)
    world.source.beat(first(world))
    steps = [
        step
        for batch in read_batches(world, stream, lambda more: bool(reached(end, more)))
        for step in batch.steps
    ]
    assert not row_changes(steps)


def test_a_pipeline_that_marks_nothing_in_a_quiet_log_is_named_by_the_check(make: Make) -> None:
    def late(*args: MarkKind, **more: str) -> list[str]:
        world = make(1, *args, **more)
        found = world.source.check(first(world), world.source.tables(first(world)))
        return [one.id for one in found if one.id == "sqlserver.places_late"]

    assert late(MarkKind.SIGNAL) == []
    assert late(MarkKind.FENCE) == ["sqlserver.places_late"]
    beats = {"heartbeat.interval.ms": "1000", "heartbeat.action.query": "SELECT 1;"}
    assert late(MarkKind.FENCE, **beats) == []


def test_two_instances_with_equal_starts_lose_no_column(make: Make) -> None:
    """T-Q02, DBZ-3992, DBZ-4273, powersync#730: the older was read, and a rotation lost columns."""
    world = make()
    database = world.database(first(world))
    database.add_column("public.orders", "extra", "nvarchar(max) null")
    newer = database.enable_table("public.orders", "orders_2")
    database.scan()
    older = database.job().instances["public_orders"]
    older.start_lsn = newer.start_lsn
    stream = open_stream(world, first(world))
    last = world.commit(first(world), Insert({"shop": "a", "number": 1, "extra": "e"}))
    (event,) = events(world, read(world, stream, last))
    assert event.after is not None
    assert event.after["extra"] == "e"


def test_a_login_without_the_role_is_refused_instead_of_reading_nothing(make: Make) -> None:
    """T-Q04, DBZ-4346."""
    world = make()
    database = world.database(first(world))
    database.disable_table("public_orders")
    database.enable_table("public.orders", role="readers")
    database.scan()
    world.model.administrators.clear()
    everything = frozenset({"dbo", "cdc", "public"})
    world.model.grant("reader", database.name, Grant(schemas=everything))
    with pytest.raises(OperatorNeeded) as caught:
        open_stream(world, first(world))
    assert caught.value.code == "sqlserver.right_missing"
    assert "ALTER ROLE [readers] ADD MEMBER [reader];" in str(caught.value)
    world.model.grant("reader", database.name, Grant(schemas=everything, roles=frozenset({"readers"})))
    stream = open_stream(world, first(world))
    assert events(world, read(world, stream, world.commit(first(world), row("a", 1))))


def test_a_cleanup_that_overtook_the_reader_is_loud(make: Make) -> None:
    """Error 313, T-Q01, pathway#218: a direct SELECT silently returns less."""
    world = make()
    stream, database = open_stream(world, first(world)), world.database(first(world))
    place = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    for number in (2, 3):
        world.commit(first(world), row("a", number))
        world.model.advance(minutes=60)
    world.commit(first(world), row("a", 4))
    database.clean_up(dt.timedelta(minutes=30))
    with pytest.raises(Definite) as caught:
        open_stream(world, first(world), place.saved())
    assert caught.value.code == "sqlserver.cleaned_away"
    assert world.source.lost(first(world), caught.value)  # type: ignore[attr-defined]


def test_a_cleanup_between_the_pages_and_their_proof_is_loud(make: Make) -> None:
    world = make(**{"poll.interval.ms": "60000"})
    stream, database = open_stream(world, first(world)), world.database(first(world))
    name = world.commit(first(world), row("a", 1))
    stream.ask()
    read(world, stream, name)
    for number in (2, 3, 4):
        world.commit(first(world), row("a", number))
        world.model.advance(minutes=60)
    world.commit(first(world), row("a", 5))

    def clean_up() -> None:
        database.clean_up(dt.timedelta(minutes=30))

    world.model.plan("public_orders_CT", act=clean_up)
    stream.ask()
    with pytest.raises(Definite) as caught:
        read_batches(world, stream, lambda steps: len(row_changes(steps)) >= 4)
    assert caught.value.code == "sqlserver.cleaned_away"


def test_ddl_of_a_dropped_instance_rotates_nothing(make: Make) -> None:
    """estuary#5127: orphaned rows of the history rotated instances for ever."""
    world = make(**{"capture.instance.rotate": "true"})
    database = world.database(first(world))
    database.add_column("public.orders", "extra", "nvarchar(max) null")
    database.scan()
    database.disable_table("public_orders")
    database.enable_table("public.orders", "again")
    database.scan()
    assert database.job().ddl
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    assert [name for name in database.job().instances if "signals" not in name] == ["again"]


def test_a_new_column_comes_with_an_instance_of_our_own_and_the_old_one_goes_when_kafka_has_it(
    make: Make,
) -> None:
    world = make(**{"capture.instance.rotate": "true"})
    database = world.database(first(world))
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    database.add_column("public.orders", "extra", "nvarchar(max) null")
    steps = steps_until(world, stream, Reshaped)
    assert [step.refresh for step in steps if isinstance(step, Reshaped)] == [True]
    instances = database.job().instances
    assert "public_orders" in instances, "Kafka does not have its changes yet"
    last = world.commit(first(world), Insert({"shop": "a", "number": 2, "extra": "e"}))
    steps = read(world, stream, last)
    (event,) = events(world, steps)
    assert event.after is not None
    assert event.after["extra"] == "e"
    stream.confirm(places(steps)[-1])
    read_batches(world, stream, lambda _: "public_orders" not in instances)
    assert [name for name in instances if name.startswith("wrackline_")]


def test_a_copy_with_another_history_is_refused(make: Make) -> None:
    """T-Q06, airbyte#73706: a copy of the database has other LSNs."""
    world = make()
    stream, database = open_stream(world, first(world)), world.database(first(world))
    place = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    database.restore()
    with pytest.raises(Definite) as caught:
        open_stream(world, first(world), place.saved())
    assert caught.value.code == "sqlserver.history_forked"
    renewed = world.source.renewed(first(world), place.saved(), caught.value)  # type: ignore[attr-defined]
    again = open_stream(world, first(world), renewed)
    steps = read(world, again, world.commit(first(world), row("a", 2)))
    assert position_of(places(steps)[-1].saved()).epoch == 2


@pytest.mark.usefixtures("small_pages")
def test_both_rows_of_an_update_are_one_event_wherever_pages_end(make: Make) -> None:
    """T-Q07, ravendb#4708, ravendb#22601."""
    world = make()
    stream = open_stream(world, first(world))
    world.commit(first(world), *(row("a", number) for number in range(9)))
    last = world.commit(first(world), *(Update(("a", number), {"label": "y"}) for number in range(9)))
    seen = [e for e in events(world, read(world, stream, last)) if e.op == "u"]
    assert [e.key for e in seen] == [("a", number) for number in range(9)]


def test_a_page_of_wide_rows_ends_where_it_has_its_bytes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first page of a table has 200 rows, and nobody knows how wide they are."""
    sizes: list[int] = []
    merged = RoundReader._merged

    def seen(
        reader: RoundReader,
        merger: PageMerger,
        wanted: Sequence[PageRequest],
        pages: Sequence[ReadPage],
        *,
        only_open: bool,
    ) -> Sequence[CommitPart]:
        sizes.extend(sum(len(image) for _, _, image in page.rows) for page in pages)
        return merged(reader, merger, wanted, pages, only_open=only_open)

    monkeypatch.setattr(page_merger, "_TABLE_BYTES", 50_000)
    monkeypatch.setattr(RoundReader, "_merged", seen)
    world = make()
    stream = open_stream(world, first(world))
    last = world.commit(first(world), *(row("a", number, "x", "y" * 20_000) for number in range(40)))
    assert [e.key for e in events(world, read(world, stream, last))] == [("a", one) for one in range(40)]
    assert max(sizes) < 400_000


def test_what_waits_of_many_databases_shares_a_task_s_memory(make: Make) -> None:
    def bounds(world: SqlServerWorld) -> list[int]:
        return [one.most_ahead for one in world.source._databases.values()]  # type: ignore[attr-defined]

    assert bounds(make(1)) == [8 << 20]
    assert sum(bounds(make(100))) <= 64 << 20


def test_an_unchanged_long_value_is_in_the_image_before(make: Make) -> None:
    """A change table has NULL there."""
    world = make()
    stream = open_stream(world, first(world))
    world.commit(first(world), row("a", 1, "x", "a long text"))
    last = world.commit(first(world), Update(("a", 1), {"label": "y"}), Delete(("a", 1)))
    steps = read(world, stream, last)
    before = [world.value(change[3])["before"] for change in row_changes(steps)[1:]]
    assert before == [
        {"shop": "a", "number": 1, "label": "x", "big": "a long text"},
        {"shop": "a", "number": 1, "label": "y", "big": "a long text"},
    ]


def test_events_say_where_they_come_from_as_debezium_does(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    world.commit(first(world), row("a", 1))
    name = world.commit(first(world), Update(("a", 1), {"label": "y"}), row("a", 2))
    sources = [world.value(change[3])["source"] for change in row_changes(read(world, stream, name))[1:]]
    assert [one["event_serial_no"] for one in sources] == [2, 1]  # type: ignore[index]
    for one in sources:
        assert isinstance(one, dict)
        known = (one["connector"], one["name"], one["db"], one["schema"], one["table"], one["snapshot"])
        assert known == ("sqlserver", "server", "shop0", "public", "orders", "false")
        assert one["commit_lsn"] == name
        assert one["change_lsn"] < name
    assert len({one["change_lsn"] for one in sources if isinstance(one, dict)}) == 2


def test_tables_come_and_go(make: Make) -> None:
    world = make(**{"table.include.list": r"public\.(orders|elsewhere)"})
    database = world.database(first(world))
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    database.enable_table("public.elsewhere")
    database.scan()
    (came,) = [step for step in steps_until(world, stream, Appeared) if isinstance(step, Appeared)]
    assert (came.table.name, came.complete) == ("elsewhere", False)
    database.disable_table("public_elsewhere")
    (ended,) = [step for step in steps_until(world, stream, Fault) if isinstance(step, Fault)]
    assert (ended.table.name, ended.error.code) == ("elsewhere", "sqlserver.capture_ended")
    database.drop_table("public.orders")
    (gone,) = [step for step in steps_until(world, stream, Vanished) if isinstance(step, Vanished)]
    assert (gone.table.name, gone.dropped) == ("orders", True)


def test_a_database_that_can_t_be_read_holds_up_no_other(make: Make) -> None:
    world = make(2)
    down, up = world.source.partitions()
    stream, reader = open_stream(world, up), world.source.reader(up)
    world.database(down).state = "RESTORING"
    with pytest.raises(Transient) as caught:
        world.source.tables(down)
    assert caught.value.code == "sqlserver.database_unready"
    assert events(world, read(world, stream, world.commit(up, row("a", 1))))
    assert reader.read(ChunkRequest(world.orders(up).id, KEY)).slices


def test_a_lock_on_change_tables_is_waited_for(make: Make) -> None:
    """The capture job holds its locks as long as it writes, and a reader loses a deadlock with it."""
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    world.model.plan("cdc.lsn_time_mapping", ServerError(1222, "Lock request time out period exceeded."))
    world.model.plan("[public_orders_CT]", ServerError(1205, "Transaction was deadlocked."))
    last = world.commit(first(world), row("a", 2))
    assert [e.key for e in events(world, read(world, stream, last))] == [("a", 2)]
    assert {notice.code for notice in world.notices} == {"sqlserver.log_locked"}
    assert not world.model.faults


def test_a_rotation_that_finds_its_table_locked_stops_no_log(make: Make) -> None:
    world = make(**{"capture.instance.rotate": "true"})
    world.model.plan("sp_cdc_enable_table", ServerError(1222, "Lock request time out period exceeded."))
    stream = open_stream(world, first(world))
    world.database(first(world)).add_column("public.orders", "extra", "nvarchar(max) null")
    read_batches(world, stream, lambda _: bool(world.notices))
    assert [notice.code for notice in world.notices] == ["sqlserver.not_rotated"]
    last = world.commit(first(world), row("a", 1))
    assert [e.key for e in events(world, read(world, stream, last))] == [("a", 1)]


def test_a_delete_finds_the_signal_table_and_that_readers_are_not_shown(make: Make) -> None:
    world = make()
    source = world.source
    assert isinstance(source, Removable)
    assert isinstance(source, NoServerPosition)
    (table,) = source.kept(first(world), None)
    assert (table.drop, table.left) == (
        "DROP TABLE [shop0].[public].[signals];",
        "other pipelines may use it",
    )
    with pytest.raises(OperatorNeeded, match="does not show who reads"):
        source.log_reader(first(world))


def test_a_signal_table_that_is_not_captured_is_refused_instead_of_waiting_for_its_marks(make: Make) -> None:
    world = make()
    world.database(first(world)).disable_table("public_signals")
    with pytest.raises(OperatorNeeded) as caught:
        open_stream(world, first(world))
    assert caught.value.code == "sqlserver.not_captured"
    assert "@source_name = N'signals'" in caught.value.hint


@pytest.mark.parametrize("change", ["disabled", "renamed", "dropped"])
def test_a_signal_table_that_is_not_captured_any_more_is_refused_too(make: Make, change: str) -> None:
    """A chunk would wait for its mark without an end, and nothing would say so."""
    world = make()
    database = world.database(first(world))
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    if change == "disabled":
        database.disable_table("public_signals")
    elif change == "renamed":
        database.rename_table("public.signals", "old_signals")
    else:
        database.drop_table("public.signals")
    world.commit(first(world), row("a", 2))
    with pytest.raises(Transient) as caught:  # it may be made again in this moment; the next stream is strict
        read_batches(world, stream, lambda _: False)
    assert caught.value.code == "sqlserver.marks_uncaptured"
    assert "@source_name = N'signals'" in caught.value.hint


def test_a_stream_that_is_dropped_ends_its_thread(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    (thread,) = [one for one in threading.enumerate() if one.name == "change tables"]
    del stream
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
