"""What the target keeps about a table may be changed by hand: that table alone stops, with a code."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import PostgresWorld
from wrackline.consumers.contract.plan import Applied
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.target_suite import TABLE, A, change, labels, plan_for, put

CANARY = "c4n4ry-of-a-row"
OTHER = replace(TABLE, id=TableId(TABLE.id.database, TABLE.id.schema, "others"))
BROKEN = [
    f"offsets = '\"{CANARY}\"'",
    "offsets = '5'",
    "offsets = 'null'",
    f'offsets = \'[["t", "{CANARY}", 5]]\'',
    f'offsets = \'[["t", 0, "{CANARY}"]]\'',
    "offsets = '[[\"t\", 0, 9223372036854775808]]'",
    "offsets = '[[\"t\", 0]]'",
    "offsets = '[[\"t\", 0, 5, 7]]'",
    "offsets = (repeat('[', 3000) || repeat(']', 3000))::jsonb",
    f"newest = '\"{CANARY}\"'",
    "newest = '[1, 2, 3]'",
    "newest = '[\"09\", 1]'",
    f'newest = \'["09", 1, "{CANARY}"]\'',
    "newest = '{\"a\": 1}'",
    "source = '5'",
    "source = '[\"d\"]'",
    "shape = '[]'",
    "shape = '{}'",
    f"shape = jsonb_set(shape, '{{mode}}', '\"{CANARY}\"')",
    "shape = jsonb_set(shape, '{key}', '5')",
    "shape = jsonb_set(shape, '{key}', '[\"shop\"]')",
    "shape = jsonb_set(shape, '{ours,seq}', '5')",
    "shape = jsonb_set(shape, '{columns,0,target}', '5')",
    "version = 1, shape = (repeat('[', 3000) || repeat(']', 3000))::jsonb",
    f"shape = jsonb_set(shape, '{{ours}}', '{{\"{CANARY}\": 1}}')",
    f"shape = jsonb_set(shape, '{{columns,0,type}}', '\"{CANARY}\"')",
    f"shape = jsonb_set(shape, '{{columns,0,type,kind}}', '\"{CANARY}\"')",
    f"shape = jsonb_set(shape, '{{columns,0,identity}}', '\"{CANARY}\"')",
]


BOOK = "wrackline._wl_applied"
OF_ORDERS = f"{BOOK} WHERE target_table = 'orders'"


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database.dsn)
    put(world, plan_for(world, 1), change("c", A, 1, "x", "kept"))
    put(world, plan_for(world, 1, table=OTHER), change("c", A, 1, "x", "kept"))
    yield world
    world.target.close()


def test_a_broken_entry_of_the_book_stops_only_its_table(world: PostgresWorld) -> None:
    world.sql(f"CREATE TABLE whole AS SELECT * FROM {BOOK}")
    applied = world.target.applied(TABLE.id)
    for broken in BROKEN:
        world.sql(f"UPDATE {BOOK} SET {broken} WHERE target_table = 'orders'")
        for look in (world.target.applied, world.target.held):
            with pytest.raises(OperatorNeeded) as caught:
                look(TABLE.id)
            error = caught.value
            assert (error.code, '"public"."orders"' in error.sentence) == (
                "pg_target.applied_broken",
                True,
            ), broken
            assert CANARY not in f"{error}{error.__cause__}{error.hint}"
            assert error.__suppress_context__, "no trace shows what was read"
        assert world.target.applied(OTHER.id) == applied, broken
        world.sql(
            f"DELETE FROM {OF_ORDERS}; INSERT INTO {BOOK} SELECT * FROM whole WHERE target_table = 'orders'"
        )
    assert world.target.applied(TABLE.id) == applied


@pytest.mark.parametrize("broken", [BROKEN[0], BROKEN[8], "source = '5'"])
def test_the_table_is_started_over_as_the_hint_says(world: PostgresWorld, broken: str) -> None:
    world.sql(f"UPDATE {BOOK} SET {broken} WHERE target_table = 'orders'")
    with pytest.raises(OperatorNeeded) as caught:
        world.target.applied(TABLE.id)
    look, drop, _ = caught.value.hint.split("; ")
    seen = world.sql(f"SELECT count(*) AS rows FROM ({look.removeprefix('look with: ')}) AS looked")
    assert seen == [{"rows": 2}], "counted, because this test's client can't read what is too deep"
    world.sql(drop.removeprefix("or start the table over: "))
    assert world.target.applied(TABLE.id) == Applied()
    put(world, plan_for(world, 3), change("r", A, 1, "again"))
    assert labels(world) == {A: "again"}
