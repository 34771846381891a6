"""What is taken away while SQL Server's source reads: it says what is gone, and reads all once it is back."""

import json
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import USER, SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.contract.steps import Fault, Saved, Step
from wrackline.producers.sources.sqlserver.log import page_merger
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import committed, events, open_stream, places, read, read_batches

Make = Callable[..., SqlServerWorld]
MANY_POLLS = 60
EVERYTHING = frozenset({"dbo", "cdc", "public"})
MEMBER = Grant(schemas=EVERYTHING, roles=frozenset({"readers"}))


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[SqlServerWorld] = []

    def made(partitions: int = 1, **more: str) -> SqlServerWorld:
        worlds.append(SqlServerWorld(partitions, MarkKind.SIGNAL, **more))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


def first(world: SqlServerWorld) -> SourcePartition:
    return world.source.partitions()[0]


def saved(steps: Sequence[Step]) -> Saved:
    found: Saved = json.loads(json.dumps(places(steps)[-1].saved()))
    return found


def read_to_its_error(
    world: SqlServerWorld, stream: LogStream, *transactions: str
) -> tuple[list[Step], WracklineError]:
    """Read until an error comes, which has to come before these transactions are handed out."""
    steps: list[Step] = []
    try:
        for _ in range(MANY_POLLS):
            batch = stream.poll(world.now() + 0.2)
            steps += () if batch is None else batch.steps
            if committed(*transactions)(steps):
                break
    except WracklineError as error:
        return steps, error
    raise AssertionError(f"no error came, or not before {transactions}; seen were {steps}")


def opening_error(world: SqlServerWorld, partition: SourcePartition, place: Saved) -> WracklineError:
    with pytest.raises(WracklineError) as caught:
        open_stream(world, partition, place)
    return caught.value


def gated(world: SqlServerWorld) -> None:
    """Let the table's capture instance have a role, and our login be no owner."""
    database = world.database(first(world))
    database.disable_table("public_orders")
    database.enable_table("public.orders", role="readers")
    database.scan()
    world.model.administrators.clear()


@pytest.mark.parametrize("back", [MEMBER, Grant(owner=True)], ids=["member", "owner"])
def test_a_role_that_is_taken_away_is_an_error_and_loses_no_row(make: Make, back: Grant) -> None:
    """T-Q04, DBZ-4346: without it the change table looks empty, and no error of the server says so."""
    world = make()
    gated(world)
    world.model.grant(USER, "shop0", MEMBER)
    stream = open_stream(world, first(world))
    before = read(world, stream, world.commit(first(world), row("a", 1)))
    world.model.grant(USER, "shop0", Grant(schemas=EVERYTHING))
    lost = world.commit(first(world), row("a", 2))
    steps, error = read_to_its_error(world, stream, lost)
    assert isinstance(error, OperatorNeeded)
    assert error.code == "sqlserver.right_missing"
    assert "as db_owner: USE [shop0]; ALTER ROLE [readers] ADD MEMBER [reader];" in error.sentence
    assert events(world, steps) == []
    with pytest.raises(OperatorNeeded) as caught:
        open_stream(world, first(world), saved([*before, *steps]))
    assert caught.value.code == "sqlserver.right_missing"
    world.model.grant(USER, "shop0", back)
    again = open_stream(world, first(world), saved([*before, *steps]))
    assert [one.key for one in events(world, read(world, again, lost))] == [("a", 2)]


def test_a_role_that_is_taken_away_between_two_pages_of_a_commit_loses_no_row(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 2)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 2)
    world = make()
    gated(world)
    world.model.grant(USER, "shop0", MEMBER)
    stream = open_stream(world, first(world))
    before = read(world, stream, world.commit(first(world), row("a", 0)))
    page = "FROM cdc.[public_orders_CT]"

    def take_away() -> None:
        world.model.grant(USER, "shop0", Grant(schemas=EVERYTHING))

    world.model.plan(page, act=lambda: world.model.plan(page, act=take_away))
    lost = world.commit(first(world), *(row("a", number) for number in range(1, 8)))
    steps, error = read_to_its_error(world, stream, lost)
    assert error.code == "sqlserver.right_missing"
    seen = [one.key for one in events(world, steps)]
    assert len(seen) < 7
    world.model.grant(USER, "shop0", MEMBER)
    again = open_stream(world, first(world), saved([*before, *steps]))
    seen += [one.key for one in events(world, read(world, again, lost))]
    assert seen == [("a", number) for number in range(1, 8)]


def test_a_role_of_a_table_that_is_not_copied_is_not_needed(make: Make) -> None:
    world = make()
    database = world.database(first(world))
    world.model.administrators.clear()
    world.model.grant(USER, "shop0", Grant(schemas=EVERYTHING))
    stream = open_stream(world, first(world))
    database.enable_table("public.elsewhere", role="others")
    database.scan()
    last = world.commit(first(world), row("a", 1))
    assert [one.key for one in events(world, read(world, stream, last))] == [("a", 1)]
    assert world.model.databases["shop0"].job().instances["public_elsewhere"].role == "others"


def test_change_data_capture_that_is_disabled_is_named_with_its_statement(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    world.database(first(world)).disable_cdc()
    _, error = read_to_its_error(world, stream, "none")
    assert isinstance(error, OperatorNeeded)
    assert error.code == "sqlserver.not_enabled"
    assert "USE [shop0]; EXEC sys.sp_cdc_enable_db;" in error.hint


def test_a_catalogue_of_which_a_part_is_missing_is_not_taken_for_a_disabled_one(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    for text in ("cdc.ddl_history", "cdc.captured_columns"):
        world.model.plan(text, ServerError(208, "Invalid object name 'cdc.captured_columns'."))
    _, error = read_to_its_error(world, stream, "none")
    assert error.code == "sqlserver.object_missing"


def take_offline(world: SqlServerWorld) -> None:
    world.model.databases["shop0"].state = "OFFLINE"


def restore(world: SqlServerWorld) -> None:
    world.model.databases["shop0"].state = "RESTORING"


def drop(world: SqlServerWorld) -> None:
    world.model.drop_database("shop0")


@pytest.mark.parametrize(
    ("leave", "code", "word"),
    [
        (take_offline, "sqlserver.database_unready", "OFFLINE"),
        (restore, "sqlserver.database_unready", "RESTORING"),
        (drop, "sqlserver.database_missing", "shop0"),
    ],
)
def test_a_database_that_goes_under_an_open_log_says_so_and_no_other_does(
    make: Make, leave: Callable[[SqlServerWorld], None], code: str, word: str
) -> None:
    """A server ends the sessions of a database that it drops or takes away; a new one is refused."""
    world = make(2)
    gone, other = world.source.partitions()
    streams = {one: open_stream(world, one) for one in (gone, other)}
    before = {one: read(world, streams[one], world.commit(one, row("a", 1))) for one in (gone, other)}
    leave(world)
    _, error = read_to_its_error(world, streams[gone], "none")
    assert isinstance(error, Transient), "so it is opened again, which says what is the matter"
    assert error.code == "sqlserver.server_lost"
    refused = [opening_error(world, gone, saved(before[gone])) for _ in range(3)]
    assert [one.code for one in refused] == ["sqlserver.server_lost", code, code], "the catalogue's session"
    assert word in refused[-1].sentence
    last = world.commit(other, row("a", 2))
    assert [one.key for one in events(world, read(world, streams[other], last))] == [("a", 2)]


def test_change_data_capture_that_was_off_for_a_while_sets_the_table_aside(make: Make) -> None:
    """Nobody captured what was written meanwhile, so the rows are to be read again."""
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    database = world.database(first(world))
    with database.lock:
        database.disable_cdc()
        database.enable_cdc()
        for table in ("public.orders", "public.signals"):
            database.enable_table(table)
        database.scan()
    batches = read_batches(world, stream, lambda steps: any(isinstance(step, Fault) for step in steps))
    faults = [step for batch in batches for step in batch.steps if isinstance(step, Fault)]
    assert ("orders", "sqlserver.instance_gone") in [(one.table.name, one.error.code) for one in faults]
