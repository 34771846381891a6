"""Any batches in any order leave the merge model's rows, in each form of the statements (one in the gate)."""

import itertools
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fakes.duck_service import DIALECT, IN_PARTS
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.tiers import alternatives
from wrackline.consumers.contract.plan import Deletes, KeyColumnRange
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.keyless_suite import BAG, NAMES, row, tell
from wrackline.testing.targets.merge_model import (
    NONE,
    Change,
    Event,
    Key,
    Latest,
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
_EACH = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
Told = list[tuple[list[Change], int | None]]


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    """Write changes with distinct seqs; which columns are sent is anything, as partial rows may be."""
    made = []
    for number in range(1, draw(st.integers(2, 12)) + 1):
        shop, of = key = draw(st.sampled_from(KEYS))
        op = draw(st.sampled_from("cuuudr"))
        unsent = draw(st.frozensets(st.sampled_from(CARRIED))) if op in "cu" else NONE
        sent = {name: f"{name}{number}" for name in CARRIED if name not in unsent and op != "d"}
        values = {"shop": shop, "number": of, "label": None, "big": None, **sent}
        made.append(Change(key, seq(number * 2), op, values, unsent, number * 1000))
    return made


@st.composite
def batches(draw: st.DrawFn) -> Told:
    """Cut them, and send some batches of older ones again, in any order; some know a truncate."""
    log = draw(changes())
    cuts = sorted(draw(st.sets(st.integers(0, len(log)), max_size=4)) | {0, len(log)})
    parts = [log[start:end] for start, end in itertools.pairwise(cuts)]
    told = draw(st.permutations([*parts, *draw(st.lists(st.sampled_from(parts), max_size=3))]))
    floors = st.none() | st.none() | st.integers(1, len(log)).map(lambda number: number * 2 + 1)
    return [(part, draw(floors)) for part in told]


@pytest.fixture(params=alternatives([DIALECT, IN_PARTS]), ids=["merge", "parts"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
    return DuckWorld(tmp_path, request.param)


def newer_only(rows: dict[Key, Stored], batch: dict[Key, Latest]) -> dict[Key, Stored]:
    """Deletes that are hard: what is newer goes, and what is not there stays away."""
    return {key: stored for key, stored in merge(rows, batch).items() if not stored.deleted}


_PARTIAL = Change(
    KEYS[0], seq(4), "u", {"shop": "a", "number": 1, "label": None, "big": None}, frozenset(CARRIED)
)
_WHOLE = replace(_PARTIAL, op="c", values={**_PARTIAL.values, "label": "y", "big": "x"}, unsent=NONE)


@settings(_EACH, max_examples=10)
@given(told=batches(), ranged=st.booleans())
@example(  # what is stored is kept, but nothing of a row that was deleted, not even where nobody sees it
    told=[
        ([replace(_WHOLE, seq=seq(2))], None),
        ([_PARTIAL], None),
        ([replace(_PARTIAL, seq=seq(6), op="d", unsent=NONE)], None),
        ([replace(_PARTIAL, seq=seq(8))], None),
    ],
    ranged=True,
)
def test_the_table_is_the_models(world: DuckWorld, told: Told, *, ranged: bool) -> None:
    one_after_another(world, told, ranged=ranged)


@pytest.mark.deep
@settings(_EACH, max_examples=600)
@given(told=batches(), ranged=st.booleans())
def test_the_table_is_the_models_in_many_logs(world: DuckWorld, told: Told, *, ranged: bool) -> None:
    one_after_another(world, told, ranged=ranged)


def one_after_another(world: DuckWorld, told: Told, *, ranged: bool) -> None:
    """Merge into a table of the example's own, and compare after each batch."""
    table = replace(TABLE, id=TableId("db", "public", f"orders{next(_NUMBERS)}"))
    rows: dict[Key, Stored] = {}
    for part, floor in told:
        plan = plan_for(world, 1, floor, table)
        numbers = [int(str(one.values["number"])) for one in part]
        if ranged and numbers:
            plan = replace(plan, within={"number": KeyColumnRange(min(numbers), max(numbers))})
        put(world, plan, *part)
        rows = merge(rows, latest(part, plan.floor), world.target.applied(table.id).floor)
        assert world.stored(table.id) == rows
    assert world.visible(table.id) == visible(rows)


@settings(_EACH, max_examples=6)
@given(log=changes(), cut=st.integers(0, 12))
def test_hard_deletes_leave_the_models_rows(world: DuckWorld, log: list[Change], cut: int) -> None:
    table = replace(TABLE, id=TableId("db", "public", f"orders{next(_NUMBERS)}"))
    rows: dict[Key, Stored] = {}
    for part in (log[:cut], log[cut:]):
        plan = replace(plan_for(world, 1, table=table), deletes=Deletes.HARD)
        put(world, plan, *part)
        rows = newer_only(rows, latest(part))
        assert world.stored(table.id) == rows


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


@settings(_EACH, max_examples=6)
@given(told=events(), horizon=st.integers(0, 11), cut=st.integers(0, 10))
def test_a_table_without_a_key_is_the_models(
    world: DuckWorld, told: list[Event], horizon: int, cut: int
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
