"""Any events in any order leave the model's history, in each form of the statements."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from tests.fakes.duck_service import DIALECT, IN_PARTS, DuckService, DuckSession
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.deliveries import (
    AT_ONE_PLACE,
    CARRIED,
    LATE_TRUNCATE,
    MADE_AGAIN,
    SEQUENCES,
    Delivery,
    carries_null,
    compares_exactly,
    deliveries,
    one_after_another,
)
from tests.fixtures.tiers import alternatives
from wrackline.consumers.contract.plan import END, START, KeyColumnRange, TableMode
from wrackline.consumers.contract.sequences import FeedSequence
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.service import StagedSession
from wrackline.schemas.errors import Definite
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.histories import NAMES
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.modes_suite import follow, planned, spans, tell
from wrackline.testing.targets.target_suite import TABLE, A, change, partial, seq

FORMS = [DIALECT, IN_PARTS]
_EACH = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


@pytest.fixture(params=FORMS, ids=["merge", "parts"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
    return DuckWorld(tmp_path, request.param)


@settings(_EACH, max_examples=8)
@given(sent=deliveries())
@example(LATE_TRUNCATE)
@example(AT_ONE_PLACE)
@example(MADE_AGAIN)
def test_the_history_is_the_models(world: DuckWorld, sent: Delivery) -> None:
    one_after_another(world, sent)


@pytest.mark.deep
@settings(_EACH, max_examples=500)
@given(sent=deliveries())
def test_the_history_is_the_models_in_many_logs(world: DuckWorld, sent: Delivery) -> None:
    one_after_another(world, sent)


@pytest.mark.deep
def test_many_legal_logs_give_the_models_history(world: DuckWorld) -> None:
    for number in range(100, 140):
        follow(world, number, batches=2 + number % 7, every=True)


@pytest.fixture(params=alternatives(FORMS), ids=["merge", "parts"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
    return DuckWorld(tmp_path, request.param)


def test_values_are_compared_exactly(either: DuckWorld) -> None:
    """A version begins where a value becomes another one, which -0.0, NaN and null are."""
    compares_exactly(either)


def test_what_nobody_has_said_is_null_where_the_plan_says_so(either: DuckWorld) -> None:
    carries_null(either)


@pytest.mark.parametrize("dialect", alternatives(FORMS), ids=["merge", "parts"])
@pytest.mark.parametrize(
    ("part", "other", "doing"),
    [
        ("'d' THEN 0 ELSE 1 END. AS nth", "'d' THEN 1 ELSE 0 END) AS nth", AT_ONE_PLACE),
        ("IN .'c', 'r', 'd'. THEN 1", "IN ('d') THEN 1", MADE_AGAIN),
        ("k, epoch, block", "k, block", LATE_TRUNCATE),
        ("SELECT seq, 1 FROM", "SELECT seq, 0 FROM", carries_null),
        (r"CAST\(([vw]5) AS VARCHAR\)", r"ABS(\1)", compares_exactly),
    ],
)
def test_a_wrong_text_is_seen(
    dialect: StagedDialect,
    part: str,
    other: str,
    doing: Delivery | Callable[[DuckWorld], None],
    tmp_path: Path,
) -> None:
    world = DuckWorld(tmp_path, dialect)
    world.service.reach = lambda text: re.sub(part, other, world.trap.reach(text))
    with pytest.raises(AssertionError):
        one_after_another(world, doing) if isinstance(doing, Delivery) else doing(world)


class CountingSession(DuckSession):
    """Says how many rows a statement has written."""

    written: list[int]

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        found = super().rows(text)
        if re.match(r'(MERGE INTO|UPDATE|INSERT INTO) "wrackline"."public__', text):
            self.written.append(found[0][0])
        return found


class CountingService(DuckService):
    """Opens such sessions."""

    def __init__(self, dialect: StagedDialect) -> None:
        super().__init__(dialect)
        self.written: list[int] = []

    def session(self) -> StagedSession:
        made = CountingSession(self.connect(), self._pass_on)
        made.written = self.written
        return made


@pytest.mark.parametrize("dialect", alternatives(FORMS), ids=["merge", "parts"])
def test_a_batch_writes_what_it_changes_alone(dialect: StagedDialect, tmp_path: Path) -> None:
    """A key's next version moves the end of the one before, and a repeat touches no row."""
    world = DuckWorld(tmp_path, dialect, CountingService)
    many = [partial("u", A, number, f"n{number}") for number in range(2, 40)]
    first = [change("c", A, 1, "x", "old"), *many, change("c", ("b", 2), 1, "other")]

    def wrote(*events: Change) -> int:
        assert isinstance(world.service, CountingService)
        world.service.written.clear()
        tell(world, planned(world, TableMode.HISTORY, 1), *events)
        return sum(world.service.written)

    assert wrote(*first) == len(first)
    assert wrote(change("u", A, 50, "n50", "new")) == 2, "the version that ends now, and the new one"
    assert wrote(partial("u", A, 60, "n60")) == 2
    assert wrote(*first[5:9], change("u", A, 50, "n50", "new")) == 0, "it was there"
    late = replace(change("u", A, 30, "late", "late"), seq=f"{seq(30)}5")
    assert wrote(late) == 11, "what is carried from it, and the version before it"
    stored = world.sql('FROM "wrackline"."public__orders" ORDER BY "_wl_seq" DESC LIMIT 13')
    assert [row["big"] for row in stored] == ["new", "new", *["late"] * 10, "old"]


def test_only_what_some_event_did_not_send_is_carried(either: DuckWorld) -> None:
    def merges(*events: Change) -> str:
        either.trap.texts.clear()
        tell(either, planned(either, TableMode.HISTORY, 1), *events)
        return "\n".join(text for text in either.trap.texts if "nth" in text)

    whole = [change("c", A, 1, "x", "big"), change("u", A, 2, "y", "big")]
    assert "FIRST_VALUE" not in merges(*whole)
    assert carried(merges(partial("u", A, 3, "z"))) == ["v4"]
    assert carried(merges(change("u", A, 4, "w", "big"))) == ["v4"], "an event of its key did not send it"
    assert carried(merges(change("c", ("b", 2), 5, "w", "big"))) == []
    assert spans(either)[-1] == (2, "w", 5, None)
    neither = replace(change("u", ("b", 2), 6), unsent=frozenset(CARRIED))
    assert carried(merges(neither)) == ["v3", "v4"]


def carried(text: str) -> Sequence[str]:
    """Name the values that are carried forward in a statement, each once."""
    return sorted({part[:2] for part in text.split("FIRST_VALUE(")[1:]})


def test_the_events_of_a_first_load_are_only_inserted(either: DuckWorld) -> None:
    def load(offset: int, *numbers: int) -> list[str]:
        either.trap.texts.clear()
        within = {"number": KeyColumnRange(min(numbers), max(numbers))}
        plan = replace(planned(either, TableMode.HISTORY, offset), loads=True, within=within)
        tell(
            either, replace(plan, truncated=False), *(change("r", ("a", one), offset, "x") for one in numbers)
        )
        return [text.split()[0] for text in either.trap.texts if "nth" in text]

    assert load(1, 1, 2) == ["INSERT"]
    assert load(2, 3, 9) == ["INSERT"]
    assert load(3, 8, 9, 10) == (
        ["MERGE"] if either.service.dialect.conditional_merge else ["UPDATE", "INSERT"]
    ), "9 is there already"
    assert [key for key, *_ in spans(either)] == [1, 10, 2, 3, 8, 9]


@pytest.mark.parametrize("its_type", SEQUENCES)
def test_the_versions_of_a_feed_show_its_sequence(either: DuckWorld, its_type: str) -> None:
    of, text, value = SEQUENCES[its_type]
    plan = planned(either, TableMode.HISTORY, 1)
    plan = replace(plan, ours=plan.ours.of_feed("_wl_", FeedSequence((("", of),))))
    begins, ends = replace(change("c", A, 1, "x"), seq=text), replace(change("u", A, 2, "y"), seq=text + "f")
    tell(either, plan, begins, ends)
    first, second = sorted(either.seen(TABLE.id), key=lambda row: str(row["label"]))
    assert [first[START], first[END], second[START], second[END]] == [value, value, value, None]
    assert {name for name in first if name.startswith("_")} == {START, END, "_wl_commit_ts"}


def test_a_sequence_of_several_fields_is_refused(either: DuckWorld) -> None:
    plan = planned(either, TableMode.HISTORY, 1)
    fields = (("a", ColumnType(Kind.INT64, "feed")), ("b", ColumnType(Kind.STRING, "feed")))
    plan = replace(plan, ours=plan.ours.of_feed("_wl_", FeedSequence(fields)))
    with pytest.raises(Definite, match=r"staged\.sequence_of_fields.*\"public\"\.\"orders\""):
        either.target.ensure_table(plan)
    assert either.target.held(TABLE.id) is None


def test_versions_that_lack_a_value_are_counted(either: DuckWorld) -> None:
    tell(either, planned(either, TableMode.HISTORY, 1), partial("u", A, 2, "x"), change("d", A, 3))
    tell(either, planned(either, TableMode.HISTORY, 2), change("c", A, 4, "y", "big"))
    assert either.target.upkeep(TABLE.id, forget_before_ms=9000).incomplete == 1
    assert spans(either) == [(1, "y", 4, None)]
    assert set(NAMES) < set(either.seen(TABLE.id)[0])
