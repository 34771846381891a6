"""Histories over the emulator: any events, each kind of value, and more versions than a commit takes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud.spanner_v1.client import Client
from google.cloud.spanner_v1.transaction import Transaction
from hypothesis import HealthCheck, example, given, settings

from tests.fakes.spanner_world import AFTER, SpannerWorld
from tests.fixtures.deliveries import (
    AT_ONE_PLACE,
    LATE_TRUNCATE,
    MADE_AGAIN,
    SEQUENCES,
    Delivery,
    carries_null,
    compares_exactly,
    deliveries,
    one_after_another,
)
from tests.integration.targets.spanner.test_spanner_alone import KINDS, kinds
from wrackline.consumers.contract.plan import END, START, TableMode
from wrackline.consumers.contract.sequences import FeedSequence
from wrackline.consumers.targets.spanner.chunks import ChunkLimits
from wrackline.schemas.errors import Definite, OperatorNeeded
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.modes_suite import HistoryPromises, emptied, planned, spans, tell
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    HERE,
    TABLE,
    TEXT,
    A,
    B,
    Crash,
    change,
    partial,
    seq,
)

SMALL = ChunkLimits(mutations=40, voids=2)  # two events of a commit, or keys that a truncate ends
_EACH = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


@pytest.fixture
def parted(client: Client, tmp_path: Path) -> Iterator[SpannerWorld]:
    world = SpannerWorld(client, tmp_path, SMALL)
    yield world
    world.target.close()


class TestShortly:
    """The promises that depend most on what Spanner answers; all of them are in test_suite.py."""

    test_unsent = HistoryPromises.test_what_was_not_sent_comes_from_the_event_before
    test_truncates = HistoryPromises.test_a_truncate_ends_what_lived


@pytest.mark.full
@settings(_EACH, max_examples=8)
@given(sent=deliveries())
@example(LATE_TRUNCATE)
@example(AT_ONE_PLACE)
@example(MADE_AGAIN)
def test_the_history_is_the_models(parted: SpannerWorld, sent: Delivery) -> None:
    one_after_another(parted, sent)


@pytest.mark.deep
@settings(_EACH, max_examples=200)
@given(sent=deliveries())
def test_the_history_is_the_models_in_many_logs(parted: SpannerWorld, sent: Delivery) -> None:
    one_after_another(parted, sent)


@pytest.mark.full
def test_values_are_compared_exactly(world: SpannerWorld) -> None:
    compares_exactly(world)


@pytest.mark.full
def test_what_nobody_has_said_is_null_where_the_plan_says_so(world: SpannerWorld) -> None:
    carries_null(world)


def test_each_kind_is_carried_as_it_was_and_begins_no_version(world: SpannerWorld) -> None:
    table = kinds(*KINDS)
    values = {name: value for name, (_, value, _) in KINDS.items()}
    plan = planned(world, TableMode.HISTORY, 1, table)
    tell(world, plan, change("c", A, 1, "x", "big", **values))
    tell(world, plan, change("u", A, 5, "x", "big", **values))
    assert spans(world) == [(1, "x", 1, None)], "it is the same"
    nothing = dict.fromkeys(KINDS)
    later = replace(change("u", A, 7, "y", **nothing), unsent=frozenset({"big", *KINDS}))
    tell(world, plan, later)
    assert spans(world) == [(1, "x", 1, 7), (1, "y", 7, None)]
    (row,) = (row for row in world.seen(TABLE.id) if row[END] is None)
    seen = {name: str(row[name]) if name == "moment" else row[name] for name in KINDS}
    assert repr(seen) == repr({name: wanted for name, (_, _, wanted) in KINDS.items()})


def test_a_truncate_of_more_keys_than_a_commit_takes_ends_each(
    parted: SpannerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are looked for outside a transaction, which would lock the table."""
    asked: list[str] = []
    monkeypatch.setattr(Transaction, "execute_sql", lambda *_, **__: asked.append("scan"))
    plan = planned(parted, TableMode.HISTORY, 1)
    tell(parted, plan, *(change("c", ("a", key), key, "x", "old") for key in range(1, 6)))
    tell(parted, plan, partial("u", ("a", 1), 8, "y"), partial("u", ("a", 1), 9, "z"))
    begun = parted.watch.works
    tell(parted, planned(parted, TableMode.HISTORY, 2), emptied(7))
    assert parted.watch.works - begun == 3
    assert asked == []
    assert spans(parted) == [(key, "x", key, 7) for key in range(1, 6)], "what came later lacks a value"
    assert parted.target.applied(TABLE.id).offsets == {HERE: 2}


@pytest.mark.full
def test_parts_of_a_history_that_a_crash_left_are_completed(parted: SpannerWorld) -> None:
    plan = planned(parted, TableMode.HISTORY, 1)
    many = [partial("u", A, at, f"n{at}") for at in range(2, 9)]
    tell(parted, plan, change("c", A, 1, "x", "old"), *many)
    late = replace(change("u", A, 1, "late", "late"), seq=f"{seq(1)}5")
    then = replace(planned(parted, TableMode.HISTORY, 2), since=parted.target.applied(TABLE.id))
    parted.crash_next_apply(AFTER)
    with pytest.raises(Crash):
        tell(parted, then, late)
    parted.restart()
    assert parted.target.applied(TABLE.id).offsets == {HERE: 1}, "offsets come with the last part"
    tell(parted, then, late)
    seen = {row[START]: row["big"] for row in parted.seen(TABLE.id)}
    assert seen == {seq(1): "old", late.seq: "late", **{seq(at): "late" for at in range(2, 9)}}
    assert parted.target.applied(TABLE.id).offsets == {HERE: 2}


@pytest.mark.full
def test_a_commit_of_a_history_that_is_too_large_goes_by_halves(world: SpannerWorld) -> None:
    def refuse(transaction: Transaction) -> None:
        rows = sum(len(one.insert_or_update.values) for one in transaction._mutations)
        if rows > 2:
            raise InvalidArgument("too many mutations")  # type: ignore[no-untyped-call]

    plan = planned(world, TableMode.HISTORY, 1)
    tell(world, plan, change("c", B, 1, "there"))
    world.watch.meets = refuse
    tell(world, planned(world, TableMode.HISTORY, 9), *(change("u", B, at, f"n{at}") for at in range(2, 9)))
    assert {start for _, _, start, _ in spans(world)} == set(range(1, 9))
    assert world.target.applied(TABLE.id).offsets == {HERE: 9}


@pytest.mark.full
@pytest.mark.parametrize("its_type", SEQUENCES)
def test_the_versions_of_a_feed_show_its_sequence(world: SpannerWorld, its_type: str) -> None:
    of, text, value = SEQUENCES[its_type]
    plan = planned(world, TableMode.HISTORY, 1)
    plan = replace(plan, ours=plan.ours.of_feed("_wl_", FeedSequence((("", of),))))
    begins, ends = replace(change("c", A, 1, "x"), seq=text), replace(change("u", A, 2, "y"), seq=text + "f")
    tell(world, plan, begins, ends)
    first, second = sorted(world.seen(TABLE.id), key=lambda row: str(row["label"]))
    found = [first[START], first[END], second[START], second[END]]
    wanted = [value, value, value, None]
    if its_type == "moment":
        found, wanted = [str(one).removesuffix("+00:00") for one in found], [str(one) for one in wanted]
    assert found == wanted
    assert {name for name in first if name.startswith("_")} == {START, END, "_wl_commit_ts"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ((("a", ColumnType(Kind.INT64, "f")), ("b", TEXT)), r"staged\.sequence_of_fields"),
        ((("", ColumnType(Kind.DECIMAL, "f", 29, 0)),), r"spanner\.sequence_refused.*decimal\(29, 0\)"),
        ((("", ColumnType(Kind.DECIMAL, "f", 20, 10)),), r"spanner\.sequence_refused"),
    ],
)
def test_a_sequence_that_no_view_can_show_is_refused(
    world: SpannerWorld, fields: tuple[tuple[str, ColumnType], ...], code: str
) -> None:
    plan = planned(world, TableMode.HISTORY, 1)
    plan = replace(plan, ours=plan.ours.of_feed("_wl_", FeedSequence(fields)))
    with pytest.raises(Definite, match=code):
        world.target.ensure_table(plan)
    assert world.target.held(TABLE.id) is None


@pytest.mark.full
def test_versions_that_lack_a_value_are_counted(world: SpannerWorld) -> None:
    tell(world, planned(world, TableMode.HISTORY, 1), partial("u", A, 2, "x"), change("d", A, 3))
    tell(world, planned(world, TableMode.HISTORY, 2), change("c", A, 4, "y", "big"))
    done = world.target.upkeep(TABLE.id, forget_before_ms=9000)
    assert (done.incomplete, dict(done.removed)) == (1, {})


@pytest.mark.full
def test_what_lies_below_a_floor_is_no_part_of_a_history(world: SpannerWorld) -> None:
    tell(world, planned(world, TableMode.HISTORY, 1), change("c", A, 1, "x"), change("u", A, 3, "x"))
    plan = planned(world, TableMode.HISTORY, 2)
    plan = replace(plan, upto=replace(plan.upto, floor=seq(2)))
    tell(world, plan, change("u", A, 4, "z"), change("c", B, 5, "w"))
    assert spans(world) == [(1, "x", 3, 4), (1, "z", 4, None), (2, "w", 5, None)]


@pytest.mark.full
def test_a_column_that_has_the_name_of_a_version_s_end_is_refused(world: SpannerWorld) -> None:
    for name in ("wl_end", "WL_END_AT", "wl_row"):
        table = replace(TABLE, columns=(*COLUMNS, Column(name, 10, TEXT)))
        with pytest.raises(OperatorNeeded, match=r"target\.name_reserved"):
            world.target.ensure_table(planned(world, TableMode.HISTORY, 1, table))
