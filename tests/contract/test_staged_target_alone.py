"""What a staged target promises beside the contract: few statements, one winner, and no half-done table."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.duck_service import DIALECT, IN_PARTS, DuckService
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.starting_over import run_hint, starts_over
from tests.fixtures.tiers import alternatives
from wrackline.consumers.contract.plan import Applied, KeyColumnRange, MergePlan
from wrackline.consumers.contract.target import Target, UpkeepRemoval
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.letters import PIECE
from wrackline.consumers.staged.service import CarriedFiles, StageTable
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient
from wrackline.schemas.tables.evolution import ChangeType
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    TEXT,
    A,
    B,
    alter,
    change,
    labels,
    letter,
    partial,
    plan_for,
    put,
    seq,
)

STATE = '"wrackline"."_wl_state__public__orders"'
STORAGE = '"wrackline"."public__orders"'


@pytest.fixture(params=alternatives([DIALECT, IN_PARTS]), ids=["merge", "parts"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
    return DuckWorld(tmp_path, request.param)


def words(texts: Sequence[str]) -> list[str]:
    """Shorten texts to what they do."""
    return [" ".join(re.sub(r'".*', "", text, flags=re.DOTALL).split()[:3]) for text in texts]


def look(world: DuckWorld, plan: MergePlan) -> None:
    """Ask what the driver asks before a batch."""
    world.target.applied(plan.table.id)
    world.target.held(plan.table.id)
    world.target.ensure_table(plan)


def test_a_batch_asks_for_nothing_that_is_known(world: DuckWorld) -> None:
    """airbyte#37311."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.trap.texts.clear()
    plan = plan_for(world, 2)
    look(world, plan)
    put(world, plan, change("u", A, 2, "y"))
    merge = ["MERGE INTO"] if world.service.dialect.conditional_merge else ["UPDATE", "INSERT INTO"]
    load = ["CREATE TABLE", "INSERT INTO"]
    drop = ["DROP TABLE IF"]
    assert words(world.trap.texts) == [*load, "UPDATE", *merge, "COMMIT", "COMMITTED", *drop]


def test_without_news_nothing_is_sent(world: DuckWorld) -> None:
    """airbyte#17444."""
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    world.trap.texts.clear()
    look(world, plan)
    put(world, plan)
    assert world.trap.texts == []
    put(world, plan_for(world, 2))
    assert words(world.trap.texts) == ["UPDATE", "COMMIT", "COMMITTED"], "only offsets have moved"


def test_rows_of_a_first_load_are_only_inserted(world: DuckWorld) -> None:

    def load(offset: int, *numbers: int) -> list[str]:
        world.trap.texts.clear()
        within = {"number": KeyColumnRange(min(numbers), max(numbers))}
        plan = replace(plan_for(world, offset), loads=True, within=within)
        put(world, plan, *(change("r", ("a", number), number, "read") for number in numbers))
        return [text for text in world.trap.texts if STORAGE in text]

    load(1, 1, 2)
    assert ["BETWEEN 3 AND 9" in text for text in load(2, 3, 9)] == [True, False]
    assert all("BETWEEN 8 AND 10" in text for text in load(3, 8, 9, 10)), "9 is there already"
    assert len(labels(world)) == 6


def test_one_of_two_consumers_wins(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    first = world.target
    second: Target[Any, Any] = world.open()
    plan = replace(plan_for(world, 2), since=second.applied(TABLE.id))
    staged = second.stage(world.frame([change("u", A, 2, "second")], plan), plan)
    put(world, plan_for(world, 2), change("u", A, 2, "first"))
    with pytest.raises(Transient, match=r"staged\.moved"):
        second.apply(staged, plan)
    assert labels(world) == {A: "first"}
    assert second.applied(TABLE.id) == first.applied(TABLE.id) == plan.upto, "it has asked again"


@pytest.mark.parametrize("before", [f"CREATE TABLE IF NOT EXISTS {STATE}", "SELECT table_oid"])
def test_a_table_that_another_consumer_makes_at_the_same_time_is_not_begun_again(
    tmp_path: Path, before: str
) -> None:
    """Nor is it taken for somebody else's, where it was made behind the look at its state."""
    world = DuckWorld(tmp_path)
    second: Target[Any, Any] = world.open()

    def reach(text: str) -> str:
        if text.startswith(before) and "'_wl_state" not in text:
            world.service.reach = world.trap.reach
            put(world, plan_for(world, 1), change("c", A, 1, "x"))
        return text

    world.service.reach = reach
    with pytest.raises(Transient, match=r"staged\.moved"):
        second.ensure_table(plan_for(world, 1))
    world.restart()
    assert world.target.applied(TABLE.id) == plan_for(world, 1).upto


def test_a_number_counts_only_for_the_table_that_it_was_read_of(world: DuckWorld) -> None:
    """A table that was made again has come to the same number by then."""
    put(world, plan_for(world, 5), change("c", A, 5, "x"))
    sleeper = world.target
    late = replace(plan_for(world, 9), since=sleeper.applied(TABLE.id))
    world.restart()
    assert world.open().drop(TABLE.id)
    put(world, plan_for(world, 1), change("c", B, 1, "y"))
    staged = sleeper.stage(world.frame([change("u", A, 9, "z")], late), late)
    with pytest.raises(Transient, match=r"staged\.moved"):
        sleeper.apply(staged, late)
    world.restart()
    assert world.target.applied(TABLE.id) == plan_for(world, 1).upto
    assert labels(world) == {B: "y"}


def test_what_is_remembered_is_not_trusted_for_ever(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    trusts: Target[Any, Any] = world.open()
    asks: Target[Any, Any] = world.open(trust_s=0)
    before = [one.applied(TABLE.id).offsets for one in (trusts, asks)]
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    after = [one.applied(TABLE.id).offsets for one in (trusts, asks)]
    assert after == [before[0], plan_for(world, 2).upto.offsets]


def test_a_reshape_of_another_consumer_is_seen(world: DuckWorld) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    second: Target[Any, Any] = world.open()
    assert second.held(TABLE.id) == plan.columns
    wider = replace(TABLE, columns=(*COLUMNS, Column("extra", 5, TEXT)))
    alter(world, plan_for(world, 2, table=wider), TABLE)
    late = replace(plan_for(world, 3), since=second.applied(TABLE.id))
    with pytest.raises(Transient, match=r"staged\.moved"):
        second.apply(second.stage(world.frame([change("u", A, 3, "y")], late), late), late)
    narrow = plan_for(world, 4, table=replace(TABLE, columns=COLUMNS[:3]))
    alter(world, narrow, wider)
    with pytest.raises(Transient, match=r"staged\.shape_moved"):
        put(world, late, change("u", A, 3, "y"))


def test_what_is_there_and_is_not_ours_stays(world: DuckWorld) -> None:
    world.sql("CREATE SCHEMA public")
    world.sql("CREATE TABLE public.orders (label VARCHAR)")
    with pytest.raises(OperatorNeeded, match=r"staged\.name_taken.*\"public\".\"orders\""):
        world.target.ensure_table(plan_for(world, 1))
    world.sql("CREATE SCHEMA IF NOT EXISTS wrackline")
    world.sql("CREATE TABLE wrackline.public__more (label VARCHAR)")
    more = replace(TABLE, id=TABLE.id._replace(name="more"))
    with pytest.raises(OperatorNeeded, match=r"staged\.name_taken.*public__more"):
        world.target.ensure_table(plan_for(world, 1, table=more))


def test_two_tables_of_one_place_are_refused(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    other = TABLE.id._replace(database="another")
    with pytest.raises(OperatorNeeded, match=r"staged\.place_taken.*db\.public\.orders.*another"):
        world.target.ensure_table(plan_for(world, 1, table=replace(TABLE, id=other)))
    one, other = (TABLE.id._replace(schema="a__b", name="c"), TABLE.id._replace(schema="a", name="b__c"))
    world.target.ensure_table(plan_for(world, 1, table=replace(TABLE, id=one)))
    with pytest.raises(OperatorNeeded, match=r'place_taken. "wrackline"\."a__b__c" .*db\.a__b\.c'):
        world.target.ensure_table(plan_for(world, 1, table=replace(TABLE, id=other)))


def test_a_table_that_was_dropped_by_hand_starts_over(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.sql(f"DROP VIEW public.orders; DROP TABLE {STORAGE}")
    world.restart()
    assert world.target.held(TABLE.id) is None
    assert world.target.applied(TABLE.id) == Applied()
    with pytest.raises(Transient, match=r"staged\.table_gone"):
        alter(world, plan_for(world, 2, table=replace(TABLE, columns=COLUMNS[:3])), TABLE)
    put(world, plan_for(world, 1), change("c", B, 1, "y"))
    assert labels(world) == {B: "y"}


def test_what_a_hint_says_to_run_starts_a_table_over(world: DuckWorld) -> None:
    starts_over(world, world.sql, f"UPDATE {STATE} SET shape = 'x'")


def test_a_table_that_was_replaced_by_hand_is_not_taken_for_ours(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.sql(f"DROP VIEW public.orders; CREATE TABLE kept AS FROM {STORAGE}; DROP TABLE {STORAGE}")
    world.sql(f"CREATE TABLE {STORAGE} AS FROM kept")
    world.restart()
    with pytest.raises(OperatorNeeded, match=r"staged\.replaced") as refused:
        world.target.applied(TABLE.id)
    run_hint(refused.value, world.sql)
    put(world, plan_for(world, 1), change("c", B, 1, "y"))
    assert labels(world) == {B: "y"}


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("shape = 'x'", OperatorNeeded),
        ("source = NULL", OperatorNeeded),
        ("number = -1", OperatorNeeded),
        ("applied = '{'", OperatorNeeded),
        ("version = 9", Definite),
    ],
)
def test_a_state_that_was_changed_by_hand_is_refused(
    world: DuckWorld, written: str, error: type[Exception]
) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.sql(f"UPDATE {STATE} SET {written}")
    world.restart()
    with pytest.raises(error, match=r"state_|progress_"):
        world.target.applied(TABLE.id)


def test_a_state_of_two_rows_is_refused(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.sql(f"INSERT INTO {STATE} FROM {STATE}")
    world.restart()
    with pytest.raises(OperatorNeeded, match=r"staged\.state_broken"):
        world.target.applied(TABLE.id)


def test_a_user_s_own_column_stays(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.sql(f"ALTER TABLE {STORAGE} ADD COLUMN note VARCHAR; UPDATE {STORAGE} SET note = 'mine'")
    put(world, plan_for(world, 2), change("u", A, 2, "y"))
    assert [row["note"] for row in world.sql(f"SELECT note FROM {STORAGE}")] == ["mine"]


def test_a_stage_that_nobody_merged_goes(world: DuckWorld) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))

    here = "database_name = current_database() AND starts_with(table_name, '_wl_stage')"

    def stages() -> int:
        return len(world.sql(f"FROM duckdb_tables() WHERE {here}"))

    for number in range(3):
        world.target.stage(world.frame([change("u", A, 2 + number)], plan), plan)
    assert stages() == 1, "with the table's next stage"
    world.target.close()
    assert stages() == 0, "when the target is closed"
    world.restart()
    world.target.stage(world.frame([change("u", A, 2)], plan), plan)
    world.restart()
    world.sql('CREATE TABLE wrackline."_wl_stage__public__orders__of_mine" (a INTEGER)')
    assert world.target.upkeep(TABLE.id, forget_before_ms=0).removed[UpkeepRemoval.FILES] == 0
    world.service.a_day_later = True
    assert world.target.upkeep(TABLE.id, forget_before_ms=0).removed[UpkeepRemoval.FILES] == 1
    assert stages() == 1, "what is no stage of this table stays"


@pytest.mark.parametrize("dialect", [DIALECT, IN_PARTS], ids=["merge", "parts"])
def test_a_column_that_cannot_be_dropped_is_emptied(tmp_path: Path, dialect: StagedDialect) -> None:
    class Service(DuckService):
        def kept_columns(self, *_: object) -> frozenset[str]:
            return frozenset({"label", "other"})

    world = DuckWorld(tmp_path, dialect, service=Service)
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    without = replace(TABLE, columns=COLUMNS[:2])
    alter(world, plan_for(world, 2, table=without), TABLE)
    assert world.sql(f"SELECT label FROM {STORAGE}") == [{"label": None}]
    again = replace(without, columns=(*COLUMNS[:2], Column("label", 9, ColumnType(Kind.INT64, "bigint"))))
    world.trap.texts.clear()
    alter(world, plan_for(world, 3, table=again), without)
    assert not [text for text in world.trap.texts if "NOT NULL" in text], "it is empty already"
    row = {**dict(zip(TABLE.key, A, strict=True)), "label": 7}
    put(world, plan_for(world, 4, table=again), Change(A, seq(4), "u", row))
    assert labels(world) == {A: 7}
    (row,) = world.sql(f"SELECT COLUMNS('label.*') FROM {STORAGE}")
    assert sorted(row.values(), key=str) == [7, None]


def test_a_schema_that_is_there_is_not_made(world: DuckWorld) -> None:
    world.sql("CREATE SCHEMA wrackline")
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    world.target.letters.keep(TABLE.id, [letter(1)])
    made = [text for text in world.trap.texts if text.startswith("CREATE SCHEMA")]
    assert made == ['CREATE SCHEMA IF NOT EXISTS "public"']


def test_a_load_that_lost_rows_is_not_merged(tmp_path: Path) -> None:
    class Service(DuckService):
        def session(self) -> Any:
            made = super().session()
            load = made.load

            def short(stage: StageTable, files: CarriedFiles, name: str) -> int:
                return load(stage, files, name) - 1

            made.load = short  # type: ignore[method-assign]
            return made

    world = DuckWorld(tmp_path, service=Service)
    with pytest.raises(Transient, match=r"staged\.load_short.*2 rows.*loaded 1"):
        put(world, plan_for(world, 1), change("c", A, 1, "x"), change("c", B, 2, "y"))
    assert labels(world) == {}
    with pytest.raises(Transient, match=r"staged\.load_short"):
        world.target.letters.keep(TABLE.id, [letter(1)])
    assert list(world.target.letters.kept(TABLE.id)) == []


def test_sessions_end_even_if_a_stage_cannot_be_dropped(world: DuckWorld) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    world.target.stage(world.frame([change("u", A, 2)], plan), plan)
    ended: list[str] = []
    sessions = world.target._sessions  # type: ignore[attr-defined]
    sessions.close = lambda: ended.append("all")
    world.service.reach = lambda text: text.replace("DROP TABLE", "DROP NOTHING")
    with pytest.raises(OperatorNeeded, match=r"test\.duck_refused"):
        world.target.close()
    assert ended == ["all"]


def test_no_file_is_left_of_what_could_not_be_loaded(world: DuckWorld, tmp_path: Path) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))

    def refuse(text: str) -> str:
        return text.replace("read_parquet", "read_nothing")

    world.service.reach = refuse
    with pytest.raises(OperatorNeeded, match=r"test\.duck_refused"):
        world.target.stage(world.frame([change("u", A, 2)], plan), plan)
    with pytest.raises(OperatorNeeded, match=r"test\.duck_refused"):
        world.target.letters.keep(TABLE.id, [letter(1)])
    assert list(tmp_path.glob("*.parquet")) == []


def test_a_type_that_values_do_not_fit_is_refused(world: DuckWorld) -> None:
    plan = plan_for(world, 1)
    put(world, plan, change("c", A, 1, "x"))
    to = ColumnType(Kind.INT32, "integer")
    with pytest.raises(OperatorNeeded, match=r"staged\.type_changed.*'label'"):
        world.target.alter(plan, [ChangeType(3, "label", TEXT, to)])


def test_letters_of_any_size_are_kept_whole(world: DuckWorld) -> None:
    sizes = (0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE)
    many = [
        letter(at, key=b"k" * size, value=bytes(range(256)) * (size // 64)) for at, size in enumerate(sizes)
    ]
    many += [letter(100 + at, 1, kept_ms=at) for at in range(250)]
    world.target.letters.keep(TABLE.id, many)
    assert list(world.target.letters.kept(TABLE.id)) == many
    longest = world.sql('SELECT max(strlen(value_part)) AS n FROM wrackline."_wl_dead_letters"')
    assert longest == [{"n": 60_000}]


def test_very_many_letters_are_removed_in_parts(world: DuckWorld) -> None:
    """A statement has a longest text, and a list in it a greatest length."""
    kept = [letter(at) for at in (0, 24_999, 25_000)]
    world.target.letters.keep(TABLE.id, kept)
    world.trap.texts.clear()
    world.target.letters.remove(TABLE.id, [letter(at).spot for at in range(25_000)])
    assert list(world.target.letters.kept(TABLE.id)) == kept[2:]
    assert max(map(len, world.trap.texts)) < 100_000


def test_a_letter_that_two_kept_at_once_is_read_once(world: DuckWorld) -> None:
    many = [letter(at, value=b"v" * (PIECE + 1)) for at in range(80)]
    world.target.letters.keep(TABLE.id, many)
    world.sql('INSERT INTO wrackline."_wl_dead_letters" FROM wrackline."_wl_dead_letters"')
    assert list(world.target.letters.kept(TABLE.id)) == many


def test_what_was_known_late_changes_nothing(world: DuckWorld) -> None:
    """`told_late`: an older change of the batch has no part in what was written after it."""
    plan = replace(plan_for(world, 1), told_late=True, lacking_is_null=True)
    put(world, plan, change("c", A, 5, "x", "stored"))
    for known, label, expected in ((3, "y", "stored"), (7, "z", "sent")):
        one = replace(change("u", A, 4 + known, label, "sent"), unsent=frozenset())
        world.carrier.known_at = {"big": seq(known)}
        batch = replace(plan, lacking=frozenset({"big"}), since=world.target.applied(TABLE.id))
        world.target.apply(world.target.stage(world.frame([one], batch), batch), batch)
        assert [(row["label"], row["big"]) for row in world.seen(TABLE.id)] == [(label, expected)]


def test_a_batch_of_no_lack_names_no_stored_value(world: DuckWorld) -> None:
    put(world, plan_for(world, 1), partial("c", A, 1, "x"))
    world.trap.texts.clear()
    put(world, plan_for(world, 2), change("u", A, 2, "y", "big"))
    assert not any("unsent" in text for text in world.trap.texts if STORAGE in text)
    assert labels(world) == {A: "y"}


KEYED_BY_DAY = TableSchema(
    TableId("db", "public", "days"),
    (Column("day", 1, ColumnType(Kind.DATE, "date"), nullable=False), COLUMNS[2]),
    key=("day",),
    key_kind=KeyKind.PRIMARY,
)


def test_the_batch_s_days_stand_in_the_merge(world: DuckWorld) -> None:
    """dbt-bigquery#1053."""
    for number, label in ((1, "x"), (2, "y")):
        day = date(2026, 2, 28)
        one = Change((day,), seq(number), "u", {"day": day, "label": label})
        plan = replace(plan_for(world, number, table=KEYED_BY_DAY), within={"day": KeyColumnRange(day, day)})
        put(world, plan, one)
    assert [row["label"] for row in world.seen(KEYED_BY_DAY.id)] == ["y"]
    assert any("BETWEEN DATE '2026-02-28' AND DATE '2026-02-28'" in text for text in world.trap.texts)
