"""How tables are kept: what is refused, what a history watches, how a batch of each mode is planned."""

from dataclasses import replace

import pytest

from tests.fakes.target import FakeTarget
from tests.unit.consumers.test_evolve import CAN, COUNT, ID, NOTE
from wrackline.consumers.batch.planning import BatchRules, BatchSurvey, plan_batch
from wrackline.consumers.contract.batch_scope import BatchRange, Outline, SchemaPair
from wrackline.consumers.contract.modes import KEY_CHANGED, NO_SUCH_DELETES, NO_SUCH_MODE, ModeSettings
from wrackline.consumers.contract.plan import (
    HISTORY_NAME,
    HISTORY_OF_NO_KEY,
    ROW,
    Applied,
    Deletes,
    MergePlan,
    NewestChange,
    PlannedColumn,
    TableMode,
    plan_merge,
)
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.envelope import dump, key_schema, value_schema
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TOPIC = "server.db.public.orders"
ORDERS = TableSchema(TableId("db", "public", "orders"), (ID, COUNT, NOTE), ("id",), KeyKind.PRIMARY)
BY_COUNT = replace(ORDERS, columns=(ID, replace(COUNT, nullable=False), NOTE), key=("count",))
PLAIN: dict[str, Value] = {"target.mode": "upsert", "target.deletes": "soft"}


def schema_text(number: int) -> str:
    """Return what the registry has: 1 the key `id`, 2 its value, 3 the key `count`, 4 its value."""
    keys = {1: ORDERS, 3: BY_COUNT}
    if number in keys:
        made = key_schema(keys[number], topic=TOPIC)
        assert made is not None
        return dump(made)
    table = BY_COUNT if number == 4 else ORDERS
    return dump(value_schema(table, topic=TOPIC, connector="test", source_fields=[]))


CHANGES = Outline(SchemaPair(1, 2), "07", None, 3)
TRUNCATES = Outline(SchemaPair(None, 2), "", "05", 0)
OTHER_KEY = Outline(SchemaPair(3, 4), "09", None, 1)


def plan_of(
    mode: TableMode, *outlines: Outline, before: Applied | None = None
) -> tuple[MergePlan, set[SchemaPair]]:
    rules = BatchRules({}, schema_text, keeping=ModeSettings(mode))
    wanted = BatchRange(TOPIC, {0: 0}, {0: 9})
    made = plan_batch(BatchSurvey(list(outlines)), wanted, before or Applied(), CAN.identifiers, rules)
    assert made is not None
    return made.plan, set(made.writers)


def test_a_target_is_asked_for_what_it_can_alone() -> None:
    ModeSettings.of(PLAIN | {"target.mode": "history", "target.deletes": "hard"}).check(FakeTarget.can)
    with pytest.raises(OperatorNeeded) as refused:
        ModeSettings.of(PLAIN | {"target.mode": "append"}).check(CAN)
    assert refused.value.code == NO_SUCH_MODE.code
    with pytest.raises(OperatorNeeded) as refused:
        ModeSettings(deletes=Deletes.HARD).check(replace(CAN, deletes=frozenset({Deletes.SOFT})))
    assert refused.value.code == NO_SUCH_DELETES.code


@pytest.mark.parametrize(
    ("setting", "pattern", "watched"),
    [
        ("target.history.columns", r"public\.orders\.(count|gone)", {"count", "gone"}),
        ("target.history.except", r"public\.orders\.note", {"id", "count", "gone", "_wl_row"}),
    ],
)
def test_a_history_watches_what_the_patterns_say(setting: str, pattern: str, watched: set[str]) -> None:
    keeping = ModeSettings.of(PLAIN | {"target.mode": "history", setting: (pattern,)})
    plan = plan_merge(ORDERS, CAN.identifiers, Applied(), mode=TableMode.HISTORY)
    dropped = PlannedColumn(9, "gone", "gone", NOTE.type)
    assert keeping.watching(plan, (*plan.columns, dropped)).tracked == frozenset(watched)
    assert ModeSettings(TableMode.HISTORY).watching(plan, plan.columns).tracked is None


def test_a_history_needs_a_key_and_its_names() -> None:
    with pytest.raises(OperatorNeeded) as refused:
        plan_merge(replace(ORDERS, key=()), CAN.identifiers, Applied(), mode=TableMode.HISTORY)
    assert refused.value.code == HISTORY_OF_NO_KEY.code
    named = replace(ORDERS, columns=(*ORDERS.columns, Column("__end_at", 4, ColumnType(Kind.STRING, "text"))))
    with pytest.raises(OperatorNeeded) as refused:
        plan_merge(named, CAN.identifiers, Applied(), mode=TableMode.HISTORY)
    assert refused.value.code == HISTORY_NAME.code
    assert plan_merge(named, CAN.identifiers, Applied()).key == ("id",)


def test_an_event_has_a_row_beside_the_key_or_in_its_place() -> None:
    history, append = (
        plan_merge(ORDERS, CAN.identifiers, Applied(), mode=mode, deletes=Deletes.HARD)
        for mode in (TableMode.HISTORY, TableMode.APPEND)
    )
    assert (history.key, append.key) == (("id", "_wl_row"), ("_wl_row",))
    for plan in (history, append):
        assert plan.columns[0].identity == ROW
        assert plan.table.column("id").nullable, "a truncate has no key"
        assert plan.deletes is Deletes.SOFT, "a delete is an event too"
        assert not plan.keyless


def test_a_truncate_is_a_floor_or_an_event() -> None:
    upsert, writers = plan_of(TableMode.UPSERT, CHANGES, TRUNCATES)
    assert (upsert.floor, writers) == ("05", {CHANGES.pair})
    for mode in (TableMode.HISTORY, TableMode.APPEND):
        plan, writers = plan_of(mode, CHANGES, TRUNCATES)
        assert (plan.floor, plan.truncated) == (None, True)
        assert writers == {CHANGES.pair, TRUNCATES.pair}
        assert not plan_of(mode, CHANGES)[0].truncated


def test_another_key_stops_a_history_that_has_something_to_lose() -> None:
    plan, writers = plan_of(TableMode.HISTORY, CHANGES, OTHER_KEY)
    assert (plan.floor, writers) == ("070", {OTHER_KEY.pair}), "it begins with the new key"
    stands = Applied(newest=NewestChange("03", 1, 2))
    with pytest.raises(OperatorNeeded) as refused:
        plan_of(TableMode.HISTORY, OTHER_KEY, before=stands)
    assert refused.value.code == KEY_CHANGED.code
    later = Applied(newest=NewestChange("09", 3, 4))
    plan, writers = plan_of(TableMode.HISTORY, CHANGES, before=later)
    assert (plan.floor, OTHER_KEY.pair in writers) == ("070", True), "what comes late is void"
    plan, writers = plan_of(TableMode.APPEND, CHANGES, OTHER_KEY, before=stands)
    assert (plan.floor, writers) == (None, {CHANGES.pair, OTHER_KEY.pair})
