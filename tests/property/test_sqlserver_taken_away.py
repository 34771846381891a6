"""What is taken away while SQL Server's source reads: it says what is gone, and reads all once it is back."""

import json
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.fixtures.sqlserver_world import USER, SqlServerWorld
from wrackline.control.local.sqlserver_standin.model.database import Grant
from wrackline.producers.contract.source_plugin import LogStream, MarkKind
from wrackline.producers.contract.steps import Saved, Step
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import committed, events, open_stream, places, read

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


def gated(world: SqlServerWorld) -> None:
    """Let the table's capture instance have a role, and our login be no owner."""
    database = world.database(first(world))
    database.disable_table("public_orders")
    database.enable_table("public.orders", role="readers")
    database.scan()
    world.model.administrators.clear()


@pytest.mark.parametrize("back", [MEMBER, Grant(owner=True)], ids=["member", "owner"])
def test_a_role_that_is_taken_away_is_an_error_and_loses_no_row(make: Make, back: Grant) -> None:
    """Without it the change table looks empty, and no error of the server says so."""
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
    assert "ALTER ROLE [readers] ADD MEMBER [reader];" in error.sentence
    assert events(world, steps) == []
    with pytest.raises(OperatorNeeded) as caught:
        open_stream(world, first(world), saved([*before, *steps]))
    assert caught.value.code == "sqlserver.right_missing"
    world.model.grant(USER, "shop0", back)
    again = open_stream(world, first(world), saved([*before, *steps]))
    assert [one.key for one in events(world, read(world, again, lost))] == [("a", 2)]


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
