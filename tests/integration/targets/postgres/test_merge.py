"""Any log, cut into any batches, some sent twice and out of order: the table is the model's."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from math import nan

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fixtures.servers import Database
from tests.integration.targets.postgres.world import PostgresWorld
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.keyless_suite import BAG, NAMES, row, tell
from wrackline.testing.targets.merge_model import (
    NONE,
    Change,
    Event,
    Key,
    Stored,
    copies,
    halves,
    latest,
    merge,
    settle,
    visible,
)
from wrackline.testing.targets.target_suite import TABLE, plan_for, put, seq

KEYS = [("a", 1), ("a", 2), ("b", 1)]
CARRIED = ("label", "big")
CONTENTS = (row("x", weight=0.0), row("x", weight=-0.0), row(None, None), row("x", label="'\\", weight=nan))
_NUMBERS = itertools.count()


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    """Write changes with distinct seqs; which columns are sent is anything, as partial rows may be."""
    made = []
    for number in range(1, draw(st.integers(2, 12)) + 1):
        shop, of = key = draw(st.sampled_from(KEYS))
        op = draw(st.sampled_from("cuuudr"))
        unsent = draw(st.frozensets(st.sampled_from(CARRIED))) if op in "cu" else frozenset[str]()
        sent = {name: f"{name}{number}" for name in CARRIED if name not in unsent and op != "d"}
        values = {"shop": shop, "number": of, "label": None, "big": None, **sent}
        made.append(Change(key, seq(number * 2), op, values, unsent, number * 1000))
    return made


@st.composite
def batches(draw: st.DrawFn) -> list[tuple[list[Change], int | None]]:
    """Cut them, and send some batches of older ones again; some know a truncate."""
    log = draw(changes())
    cuts = sorted(draw(st.sets(st.integers(0, len(log)), max_size=4)) | {0, len(log)})
    parts = [log[start:end] for start, end in itertools.pairwise(cuts)]
    told = [*parts, *draw(st.lists(st.sampled_from(parts), max_size=3))] if parts else []
    told = draw(st.permutations(told))
    floors = st.none() | st.none() | st.integers(1, len(log)).map(lambda number: number * 2 + 1)
    return [(part, draw(floors)) for part in told]


@pytest.fixture
def world(database: Database) -> Iterator[PostgresWorld]:
    world = PostgresWorld(database.dsn)
    yield world
    world.target.close()


def one_after_another(world: PostgresWorld, told: list[tuple[list[Change], int | None]]) -> None:
    """Merge into a table of the example's own, and compare after each batch."""
    table = replace(TABLE, id=TableId("db", "public", f"orders{next(_NUMBERS)}"))
    rows: dict[Key, Stored] = {}
    for part, floor in told:
        plan = plan_for(world, 1, floor, table)
        put(world, plan, *part)
        after = world.target.applied(table.id).floor
        rows = merge(rows, latest(part, plan.floor), after)
        assert world.stored(table.id) == rows
    assert world.visible(table.id) == visible(rows)


_EACH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


_PARTIAL = Change(
    KEYS[0], seq(9), "u", {"shop": "a", "number": 1, "label": None, "big": None}, frozenset(CARRIED)
)


@settings(_EACH, max_examples=20)
@given(told=batches())
@example(  # a row that came again has nothing of the one that was deleted, not even where nobody sees it
    told=[
        (
            [
                replace(
                    _PARTIAL,
                    seq=seq(2),
                    op="c",
                    values={**_PARTIAL.values, "label": "y", "big": "x"},
                    unsent=NONE,
                )
            ],
            None,
        ),
        ([replace(_PARTIAL, seq=seq(4), op="d", unsent=NONE)], None),
        ([_PARTIAL], None),
    ]
)
def test_the_table_is_the_models(world: PostgresWorld, told: list[tuple[list[Change], int | None]]) -> None:
    one_after_another(world, told)


@pytest.mark.deep
@settings(_EACH, max_examples=600)
@given(told=batches())
def test_the_table_is_the_models_in_many_logs(
    world: PostgresWorld, told: list[tuple[list[Change], int | None]]
) -> None:
    one_after_another(world, told)


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    """Write what came and went of a table without a key, in any order; what went may never have come."""
    made = []
    for number in range(1, draw(st.integers(1, 10)) + 1):
        op = draw(st.sampled_from("ccudr"))
        before = draw(st.sampled_from(CONTENTS)) if op in "ud" else None
        after = draw(st.sampled_from(CONTENTS)) if op in "cur" else None
        made.append(Event(seq(number), op, before, after, number * 1000))
    return draw(st.permutations(made))


@settings(_EACH, max_examples=15)
@given(told=events(), horizon=st.integers(0, 11), cut=st.integers(0, 10))
def test_a_table_without_a_key_is_the_models(
    world: PostgresWorld, told: list[Event], horizon: int, cut: int
) -> None:
    table = replace(BAG, id=TableId("db", "public", f"bags{next(_NUMBERS)}"))
    plan = plan_for(world, 1, table=table)
    rows: dict[Key, Stored] = {}
    for part in (told[:cut], told[cut:], told):
        tell(world, plan, *part)
        rows = merge(rows, latest(halves(part, plan.ours.row)))
        assert world.copies(table.id, NAMES) == copies(rows, NAMES)
    world.target.upkeep(table.id, forget_before_ms=horizon * 1000)
    settled = settle(rows, horizon * 1000, NAMES)
    assert world.copies(table.id, NAMES) == copies(settled, NAMES) == copies(rows, NAMES)
    assert set(world.stored(table.id)) == set(settled)
