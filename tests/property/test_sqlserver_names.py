"""Tables of SQL Server that take other names while they are read, and tables that somebody locks."""

import json
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import TYPES, SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.server import ModelServer
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.contract.steps import (
    Appeared,
    Commit,
    Fault,
    Progress,
    Renamed,
    Saved,
    Step,
    Vanished,
)
from wrackline.producers.sources.sqlserver.log import page_merger
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.poll import round_reader
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import open_stream, places, read, read_batches, row_changes
from wrackline.testing.sources.source_world import KEY

Make = Callable[..., SqlServerWorld]
COLUMNS = {name: f"{of}{'' if name in KEY else ' null'}" for name, of in TYPES.items()}
LOCKED = ServerError(1222, "Lock request time out period exceeded.")


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[SqlServerWorld] = []

    def made(kind: MarkKind = MarkKind.SIGNAL, **more: str) -> SqlServerWorld:
        world = SqlServerWorld(1, kind, **{"table.include.list": r"public\.(orders|staging)"} | more)
        worlds.append(world)
        base = database(world)
        base.create_table("public.staging", COLUMNS, KEY)
        base.enable_table("public.staging")
        base.scan()
        return world

    yield made
    for world in worlds:
        world.close()


def first(world: SqlServerWorld) -> SourcePartition:
    return world.source.partitions()[0]


def database(world: SqlServerWorld) -> ModelDatabase:
    return world.database(first(world))


def exchange(world: SqlServerWorld) -> None:
    base = database(world)
    base.rename_table("public.orders", "aside")
    base.rename_table("public.staging", "orders")
    base.rename_table("public.aside", "staging")


def insert(world: SqlServerWorld, table: str, number: int) -> None:
    world.run(first(world), f"INSERT INTO [public].{table} (shop, number) VALUES (N'{table}', {number});")
    database(world).scan()


def topics(world: SqlServerWorld, steps: Sequence[Step]) -> list[tuple[object, object, object]]:
    """Say of each event which table it names, and which row it has."""
    found = []
    for change in row_changes(steps):
        value = world.value(change[3])
        source, after = value["source"], value["after"]
        assert isinstance(source, dict)
        assert isinstance(after, dict)
        found.append((source["table"], after["shop"], after["number"]))
    return found


def news(steps: Sequence[Step]) -> list[str]:
    made = []
    for step in steps:
        match step:
            case Appeared(table) | Vanished(table) | Fault(table):
                made.append(f"{type(step).__name__} {table.name}")
            case Renamed(old, new):
                made.append(f"Renamed {old.name} {new.name}")
            case _:
                pass
    return made


def until(world: SqlServerWorld, stream: LogStream, done: Callable[[list[Step]], bool]) -> list[Step]:
    seen: list[Step] = []

    def enough(steps: Sequence[Step]) -> bool:
        return done([*seen, *steps])

    for batch in read_batches(world, stream, enough):
        seen += batch.steps
    return seen


def test_rows_behind_an_exchange_of_names_are_of_the_table_that_has_the_name(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    exchange(world)
    insert(world, "orders", 7)
    insert(world, "staging", 8)
    steps = until(world, stream, lambda steps: len(row_changes(steps)) >= 2)
    assert topics(world, steps) == [("orders", "orders", 7), ("staging", "staging", 8)]
    assert news(steps) == ["Vanished orders", "Renamed staging orders", "Appeared staging"]


def test_the_names_of_a_quiet_log_are_looked_at_too(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_reader, "_NAMES_S", 0.05)
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    exchange(world)
    steps = until(world, stream, lambda steps: len(news(steps)) >= 3)
    assert news(steps) == ["Vanished orders", "Renamed staging orders", "Appeared staging"]


def test_a_table_that_leaves_the_filters_by_its_name_has_vanished(make: Make) -> None:
    """The old table is captured on, under a name that nobody asked for: nothing is wrong with it."""
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    base = database(world)
    base.rename_table("public.orders", "old_orders")
    base.rename_table("public.staging", "orders")
    insert(world, "old_orders", 7)
    insert(world, "orders", 8)
    steps = until(world, stream, lambda steps: bool(row_changes(steps)))
    assert topics(world, steps) == [("orders", "orders", 8)]
    assert news(steps) == ["Vanished orders", "Renamed staging orders"]


@pytest.mark.parametrize("looks", [False, True])
def test_a_commit_keeps_the_names_that_it_began_with(
    make: Make, monkeypatch: pytest.MonkeyPatch, *, looks: bool
) -> None:
    """Also where another change of the catalogue makes us look at it within the commit."""
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 3)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 4)
    world = make()
    stream = open_stream(world, first(world))

    def act() -> None:
        exchange(world)
        if looks:
            database(world).enable_table("public.elsewhere")

    world.model.plan("[public_orders_CT]")
    world.model.plan("[public_orders_CT]", act=act)
    world.commit(first(world), *(row("orders", number) for number in range(20)))
    world.run(first(world), "INSERT INTO [public].staging (shop, number) VALUES (N'a', 1);")
    database(world).scan()
    steps = until(world, stream, lambda steps: len(row_changes(steps)) >= 21)
    found = topics(world, steps)
    assert found[:20] == [("orders", "orders", number) for number in range(20)]
    assert found[20][0] in {"staging", "orders"}
    assert news(steps) == ["Vanished orders", "Renamed staging orders", "Appeared staging"]


def test_a_new_table_takes_no_name_of_a_commit_that_has_begun(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a place inside the commit would have two tables of one name, and a new stream one of the two."""
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 3)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 4)
    world = make()
    stream = open_stream(world, first(world))

    def act() -> None:
        base = database(world)
        base.rename_table("public.orders", "old_orders")
        base.create_table("public.orders", COLUMNS, KEY)
        base.enable_table("public.orders", "orders_anew")

    world.model.plan("[public_orders_CT]")
    world.model.plan("[public_orders_CT]", act=act)
    world.commit(first(world), *(row("orders", number) for number in range(20)))
    steps = until(world, stream, lambda steps: len(news(steps)) >= 2)
    insert(world, "orders", 99)
    steps += until(world, stream, lambda steps: bool(row_changes(steps)))
    assert topics(world, steps) == [("orders", "orders", number) for number in (*range(20), 99)]
    assert news(steps) == ["Vanished orders", "Appeared orders"]
    for place in places(steps):
        assert isinstance(place, SqlServerPosition)
        named = [(one.source, one.table) for one in place.instances.values()]
        assert len({table for _, table in named}) == len(named)


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ends of statements that find a lock of a session that changes some table."""
    ends: list[str] = []
    meet = ModelServer.meet

    def met(self: ModelServer, statement: str) -> None:
        if statement.endswith(tuple(ends)):
            raise LOCKED
        meet(self, statement)

    monkeypatch.setattr(ModelServer, "meet", met)
    return ends


def test_a_lock_on_names_holds_up_no_rows(make: Make, locked: list[str]) -> None:
    """A session that changes a table locks its entry in the catalogue until it commits."""
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    number = database(world).table("public.orders").object_id
    locked += ["is_ms_shipped = 0", f"object_id = {number}"]
    last = world.commit(first(world), row("a", 2))
    assert topics(world, read(world, stream, last)) == [("orders", "a", 2)]
    assert not world.notices


def test_a_lock_on_a_name_hides_no_other_name(make: Make, locked: list[str]) -> None:
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    number = database(world).table("public.orders").object_id
    locked += ["is_ms_shipped = 0", f"object_id = {number}"]
    exchange(world)
    insert(world, "orders", 7)
    steps = until(world, stream, lambda steps: bool(row_changes(steps)))
    assert topics(world, steps) == [("orders", "orders", 7)]


def test_a_catalogue_that_is_locked_is_waited_for(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    world.model.plan("cdc.captured_columns", LOCKED)
    database(world).add_column("public.orders", "extra", "nvarchar(max) null")
    last = world.commit(first(world), row("a", 2))
    assert [number for _, _, number in topics(world, read(world, stream, last))] == [2]
    assert {notice.code for notice in world.notices} == {"sqlserver.log_locked"}
    assert not world.model.faults


def stop(world: SqlServerWorld) -> Saved:
    """Read a row of each table, and end the stream; return its last place."""
    stream = open_stream(world, first(world))
    world.commit(first(world), row("a", 1))
    insert(world, "staging", 1)
    steps = until(world, stream, lambda steps: sum(isinstance(step, Commit) for step in steps) == 2)
    stream.close()
    place: Saved = json.loads(json.dumps(places(steps)[-1].saved()))
    return place


def listed(world: SqlServerWorld) -> list[TableId]:
    return [TableId(first(world).database, "public", name) for name in ("orders", "staging")]


def test_names_that_were_exchanged_while_nobody_read_are_seen_at_the_start(make: Make) -> None:
    world = make()
    place = stop(world)
    exchange(world)
    insert(world, "orders", 7)
    stream = world.source.stream(first(world), listed(world), place)
    steps = until(world, stream, lambda steps: bool(row_changes(steps)))
    assert topics(world, steps) == [("orders", "orders", 7)]
    assert news(steps) == ["Vanished orders", "Renamed staging orders", "Appeared staging"]


def test_news_of_a_quiet_log_are_not_reported_again_by_the_next_stream(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each report would let the tables be read again."""
    monkeypatch.setattr(round_reader, "_NAMES_S", 0.05)
    monkeypatch.setattr(ModelDatabase, "write_dummy", lambda _: None)
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    exchange(world)
    steps = until(world, stream, lambda steps: len(news(steps)) >= 3 and isinstance(steps[-1], Progress))
    place: Saved = json.loads(json.dumps(places(steps)[-1].saved()))
    stream.close()
    insert(world, "orders", 7)
    stream = world.source.stream(first(world), listed(world), place)
    steps = until(world, stream, lambda steps: bool(row_changes(steps)))
    assert topics(world, steps) == [("orders", "orders", 7)]
    assert not news(steps)


@pytest.mark.parametrize("counted", ["false", "true"])
@pytest.mark.parametrize("change", ["dropped", "renamed", "come"])
def test_a_commit_whose_tables_are_others_for_the_next_stream_continues_behind_its_place(
    make: Make, monkeypatch: pytest.MonkeyPatch, counted: str, change: str
) -> None:
    """With transaction metadata it is read again from its beginning, and has more or fewer changes then."""
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 3)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 4)
    filters = {"table.include.list": r"public\.(orders|staging|extra)"}
    world = make(**{"provide.transaction.metadata": counted} | filters)
    base = database(world)
    base.create_table("public.other", COLUMNS, KEY)
    base.enable_table("public.other")
    base.scan()
    stream = open_stream(world, first(world))
    rows = [
        f"INSERT INTO [public].{table} (shop, number) VALUES (N'{table}', {number});"
        for table in ("other", "orders", "staging")
        for number in range(6)
    ]
    world.run(first(world), f"BEGIN TRANSACTION; {' '.join(rows)} COMMIT TRANSACTION;")
    base.scan()
    steps = until(world, stream, lambda steps: len(row_changes(steps)) >= 12)
    cut = max(place for place in places(steps) if isinstance(place, SqlServerPosition) and place.done <= 6)
    stream.close()
    assert cut.done == 6
    if change == "dropped":
        base.drop_table("public.orders")
        base.scan()
        base.disable_table("public_orders")
    elif change == "renamed":
        base.rename_table("public.orders", "old_orders")
    else:
        base.rename_table("public.other", "extra")
    stream = world.source.stream(first(world), listed(world), json.loads(json.dumps(cut.saved())))
    steps = until(world, stream, lambda steps: any(isinstance(step, Commit) for step in steps))
    assert topics(world, steps) == [("staging", "staging", number) for number in range(6)]
    done = [place.done for place in places(steps) if isinstance(place, SqlServerPosition) and place.cut]
    assert done == sorted(done), "a place never goes back"


def test_a_table_that_was_made_anew_while_nobody_read_is_another_table(make: Make) -> None:
    world = make()
    place = stop(world)
    base = database(world)
    base.drop_table("public.staging")
    base.scan()
    base.disable_table("public_staging")
    base.create_table("public.staging", COLUMNS, KEY)
    base.enable_table("public.staging")
    insert(world, "staging", 7)
    stream = world.source.stream(first(world), listed(world), place)
    steps = until(world, stream, lambda steps: bool(row_changes(steps)))
    assert news(steps) == ["Vanished staging", "Appeared staging"]


def test_the_only_table_that_was_dropped_while_nobody_read_ends_no_task(make: Make) -> None:
    """Its capture instance goes with it, nothing else is captured, and the last commit was cleaned away."""
    world = make(kind=MarkKind.FENCE)
    place = stop(world)
    base = database(world)
    for name in ("orders", "staging", "signals"):
        base.drop_table(f"public.{name}")
    base.scan()
    for name in list(base.job().instances):
        base.disable_table(name)
    base.job().mapping.clear()
    world.model.advance(minutes=6)
    base.write_dummy()
    stream = world.source.stream(first(world), listed(world), place)
    steps = until(world, stream, lambda steps: len(news(steps)) >= 2)
    assert sorted(news(steps)) == ["Vanished orders", "Vanished staging"]
