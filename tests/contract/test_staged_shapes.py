"""A change of shape that ends anywhere, or is made by two at once, leaves one shape and no other column."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.fakes.duck_service import DIALECT, IN_PARTS
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.tiers import alternatives
from wrackline.schemas.errors import Transient
from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    TEXT,
    A,
    B,
    Crash,
    alter,
    change,
    labels,
    plan_for,
    put,
)

STORAGE = '"wrackline"."public__orders"'


@pytest.fixture(params=alternatives([DIALECT, IN_PARTS]), ids=["merge", "parts"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
    return DuckWorld(tmp_path, request.param)


@pytest.mark.parametrize("part", ["CREATE TABLE", "CREATE OR", "DROP VIEW", "UPDATE", "COMMITTED"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_creation_that_ended_anywhere_is_finished(world: DuckWorld, part: str, times: int) -> None:
    end_before(world, part, times, lambda: world.target.ensure_table(plan_for(world, 1)))
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    assert labels(world) == {A: "x"}


@pytest.mark.parametrize("part", ["ALTER TABLE", "UPDATE", "CREATE OR", "DROP VIEW", "COMMIT", "COMMITTED"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_change_of_shape_that_ended_anywhere_is_finished(world: DuckWorld, part: str, times: int) -> None:
    """A column is added, one is dropped, one is renamed, and one gets another type."""
    table = replace(TABLE, columns=(*COLUMNS, Column("price", 5, ColumnType(Kind.INT32, "integer"))))
    put(world, plan_for(world, 1, table=table), change("c", A, 1, "x", price=7))
    wide = Column("price", 5, ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2))
    renamed = replace(COLUMNS[2], name="title")
    after = replace(TABLE, columns=(*COLUMNS[:2], renamed, wide, Column("new", 6, TEXT)))
    plan = plan_for(world, 2, table=after)
    end_before(world, part, times, lambda: alter(world, plan, table))
    held = world.target.held(TABLE.id)
    if held != plan.columns:
        alter(world, plan, table)
    world.target.ensure_table(plan)
    (seen,) = world.seen(TABLE.id)
    assert seen == {"shop": "a", "number": 1, "title": "x", "price": Decimal("7.00"), "new": None}
    columns = world.sql(f"SELECT * FROM {STORAGE}")[0]
    shape = world.shape(TABLE.id)
    assert shape is not None
    of_source = {name for name in columns if not name.startswith("_wl_")}
    assert of_source == {one.place for one in shape.columns}, "what nobody has any more takes no place"


PRICES = {of.kind: Column("price", at, of) for at, of in ((5, ColumnType(Kind.INT64, "bigint")), (6, TEXT))}


def with_price(kind: Kind) -> TableSchema:
    return replace(TABLE, columns=(*COLUMNS, PRICES[kind]))


def priced(world: DuckWorld, offset: int, price: str) -> dict[str, object]:
    """Merge a row whose price is a text, and return what readers see of all."""
    put(world, plan_for(world, offset, table=with_price(Kind.STRING)), change("u", B, offset, price=price))
    return {str(row["shop"]): row["price"] for row in world.seen(TABLE.id)}


@pytest.mark.parametrize("then", ["finished", "altered at once"])
def test_a_column_that_a_crash_left_takes_no_values(world: DuckWorld, then: str) -> None:
    """Its name comes again with another type: it was dropped and added again at the source meanwhile."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    plan = plan_for(world, 2, table=with_price(Kind.INT64))
    end_behind_additions(world, lambda: alter(world, plan, TABLE))
    if then == "finished":
        world.target.ensure_table(plan_for(world, 2))
    if world.target.held(TABLE.id) == plan_for(world, 2).columns:
        alter(world, plan_for(world, 3, table=with_price(Kind.STRING)), TABLE)
    else:  # all of it was one transaction, and is kept
        alter(world, plan_for(world, 3, table=with_price(Kind.STRING)), with_price(Kind.INT64))
    assert priced(world, 3, "007") == {"a": None, "b": "007"}
    assert priced(world, 4, "nine") == {"a": None, "b": "nine"}
    shape = world.shape(TABLE.id)
    assert shape is not None
    columns = {name for name in world.sql(f"SELECT * FROM {STORAGE}")[0] if not name.startswith("_wl_")}
    assert columns == {one.place for one in shape.columns}, "what a crash left is dropped"


def end_behind_additions(world: DuckWorld, doing: Callable[[], None]) -> None:
    """End the process before the first statement behind those that add columns."""
    added = False

    def reach(text: str) -> str:
        nonlocal added
        if added and not text.startswith("ALTER TABLE"):
            raise Crash
        added = added or " ADD COLUMN " in text
        return text

    world.service.reach = reach
    with pytest.raises(Crash):
        doing()
    world.service.reach = world.trap.reach
    world.restart()


WIDER = replace(TABLE, columns=(*COLUMNS, Column("one", 5, TEXT)))
WIDEST = replace(TABLE, columns=(*WIDER.columns, Column("two", 6, TEXT)))


def test_an_older_view_does_not_stay(tmp_path: Path) -> None:
    """A slow consumer shows its shape after a quick one has shown the next."""
    world = DuckWorld(tmp_path, DIALECT)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    slow, quick = world.target, world.open()
    done: list[str] = []

    def reach(text: str) -> str:
        view = text.startswith("CREATE") and " VIEW " in text
        if view and not done:
            done.append(text)
            quick.ensure_table(plan_for(world, 2, table=WIDER))
            world.target = quick
            alter(world, plan_for(world, 3, table=WIDEST), WIDER)
            world.target = slow
        return text

    world.service.reach = reach
    with pytest.raises(Transient, match=r"staged\.moved"):
        alter(world, plan_for(world, 2, table=WIDER), TABLE)
    world.service.reach = world.trap.reach
    world.restart()
    world.target.ensure_table(plan_for(world, 4, table=WIDEST))
    assert [set(row) - {"shop", "number", "label", "big"} for row in world.seen(TABLE.id)] == [{"one", "two"}]


def test_a_column_that_another_session_drops_is_not_kept(tmp_path: Path) -> None:
    """A consumer finishes what another one has only begun, and ends before it says so."""
    world = DuckWorld(tmp_path, DIALECT)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    other, done = world.open(), list[str]()

    def reach(text: str) -> str:
        if done[-1:] == ["dropped"]:
            done.append("ended")
            raise Crash
        if text.startswith("UPDATE") and done == ["added"]:
            done.append("finished")
            with suppress(Crash):
                other.ensure_table(plan_for(world, 2))
        elif " ADD COLUMN " in text:
            done.append("added")
        elif " DROP COLUMN " in text and done == ["added", "finished"]:
            done.append("dropped")
        return text

    world.service.reach = reach
    with pytest.raises(Transient, match=r"staged\.moved"):
        alter(world, plan_for(world, 2, table=WIDER), TABLE)
    world.service.reach = world.trap.reach
    world.restart()
    alter(world, plan_for(world, 3, table=WIDER), TABLE)
    put(world, plan_for(world, 4, table=WIDER), change("u", A, 4, "y", one="1"))
    assert [(row["label"], row["one"]) for row in world.seen(TABLE.id)] == [("y", "1")]


def test_a_name_is_no_place_twice(world: DuckWorld) -> None:
    """What a slow session still drops or adds, or a service keeps the name of, is not used again."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    places, held = set[str](), TABLE
    for number in range(2, 6):
        wanted = with_price(Kind.STRING) if number % 2 == 0 else TABLE
        alter(world, plan_for(world, number, table=wanted), held)
        shape, held = world.shape(TABLE.id), wanted
        assert shape is not None
        places |= {one.place for one in shape.columns if one.column.target == "price"}
    assert len(places) == 2


def end_before(world: DuckWorld, part: str, times: int, doing: Callable[[], None]) -> None:
    """End the process before the first, or the second, text that begins so, if there is one."""
    passed = 0

    def reach(text: str) -> str:
        nonlocal passed
        passed += text.startswith(part)
        if passed == times:
            raise Crash
        return text

    world.service.reach = reach
    with suppress(Crash):
        doing()
    world.service.reach = world.trap.reach
    world.restart()
