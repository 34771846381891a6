"""Histories as mutations: any events in any order, in commits of any size, leave the model's history."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fixtures.deliveries import (
    AT_ONE_PLACE,
    CARRIED,
    LATE_TRUNCATE,
    MADE_AGAIN,
    Delivery,
    deliveries,
)
from tests.unit.consumers.spanner.test_spanner_rows import staged
from wrackline.consumers.contract.plan import END, START, Applied, MergePlan, TableMode, plan_merge
from wrackline.consumers.staged.shape import first_shape
from wrackline.consumers.targets.spanner.chunks import ChunkLimits, cut, fit
from wrackline.consumers.targets.spanner.rows import StoredCells, WrittenRow, read_rows
from wrackline.consumers.targets.spanner.types import DIALECT, IDENTIFIERS, carried_back, cell, image
from wrackline.consumers.targets.spanner.versions import TRUNCATES, VersionMerge
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.histories import KEY, NAMES
from wrackline.testing.targets.history_model import in_order, reader, told, versions
from wrackline.testing.targets.merge_model import Change, Key, Stored, latest, merge
from wrackline.testing.targets.modes_suite import emptied
from wrackline.testing.targets.target_suite import TABLE, A, B, change, partial, seq

PLAN = plan_merge(TABLE, IDENTIFIERS, Applied(), mode=TableMode.HISTORY)


class EventStore:
    """A table as Spanner keeps it, and as it answers."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.commits: list[list[WrittenRow]] = []

    def across(self, truncates: Iterable[str], most: int) -> tuple[list[str], bool]:
        found = {
            key
            for (key, _), row in self.rows.items()
            for place in truncates
            if row["wl_start"] is not None
            and row["wl_start"] < place
            and (row["wl_end"] is None or row["wl_end"] > place)
        }
        return sorted(found)[:most], len(found) < most

    def read(self, names: Sequence[str], keys: Sequence[str]) -> list[StoredCells]:
        at = sorted(one for one in self.rows if one[0] in keys)
        return [tuple(self.rows[one].get(name) for name in names) for one in at]

    def write(self, written: Iterable[WrittenRow]) -> None:
        self.commits.append(list(written))
        for row in self.commits[-1]:
            values = dict(zip(row.columns, row.values, strict=True))
            self.rows.setdefault((values["wl_key"], values["wl_row"]), {}).update(values)

    def seen(self) -> list[dict[str, object]]:
        """What the view shows."""
        return [
            {**{name: row[name] for name in NAMES}, START: row["wl_start"], END: row["wl_end"]}
            for row in self.rows.values()
            if row["wl_start"] is not None and row["wl_missing"] is None
        ]


def tell(
    store: EventStore,
    changes: Sequence[Change],
    plan: MergePlan = PLAN,
    most: int = 72_000,
    voids: int = 99,
    commits: int | None = None,
) -> list[WrittenRow]:
    """Do what commits.py does with a batch, or the first of its commits; return what it wrote."""
    merges, before = VersionMerge(plan, first_shape(plan, DIALECT)), len(store.commits)
    rows = read_rows(staged(told(changes, plan.ours.row, by_key=True), plan), plan, None)
    for chunk, _ in cut(rows, merges.mutations, ChunkLimits(mutations=most)):
        is_done = not chunk
        while not is_done:
            if len(store.commits) - before == commits:
                break
            keys, is_all = store.across(merges.truncates(chunk), voids)
            ranges = [one.start_closed[0] for one in merges.keys(chunk, keys).ranges]
            stored = store.read(merges.reads, ranges)
            written, fits = fit(merges.writes(chunk, stored), most, 1 << 20)
            is_done = is_all and fits
            assert written or is_done, "it would never end"
            store.write(written)
    return [row for commit in store.commits[before:] for row in commit]


@given(sent=deliveries(), most=st.sampled_from([1, 40, 72_000]), voids=st.sampled_from([1, 99]))
@example(LATE_TRUNCATE, 1, 1)
@example(AT_ONE_PLACE, 72_000, 99)
@example(MADE_AGAIN, 72_000, 99)
def test_the_history_is_the_models(sent: Delivery, most: int, voids: int) -> None:
    store, model = EventStore(), dict[Key, Stored]()
    plan = replace(PLAN, tracked=sent.tracked)
    for part in sent.batches:
        tell(store, part, plan, most, voids)
        model = merge(model, latest(told(part, plan.ours.row, by_key=True)))
        assert in_order(store.seen()) == in_order(reader(versions(model, NAMES, KEY, sent.tracked)))
        assert tell(store, part, plan) == [], "it is there"


@given(sent=deliveries(), commits=st.integers(0, 5), voids=st.sampled_from([1, 99]))
@example(LATE_TRUNCATE, 1, 1)
@example(LATE_TRUNCATE, 2, 1)
def test_what_a_crash_left_is_completed_by_other_batches_of_the_same_events(
    sent: Delivery, commits: int, voids: int
) -> None:
    store, events = EventStore(), list[Change]()
    plan = replace(PLAN, tracked=sent.tracked)
    for part in sent.batches:
        tell(store, part, plan, 1, voids, commits)
        tell(store, part[::2], plan, 1, voids)
        tell(store, part[1::2], plan, 1, voids)
        events += told(part, plan.ours.row, by_key=True)
        model = merge({}, latest(events))
        assert in_order(store.seen()) == in_order(reader(versions(model, NAMES, KEY, sent.tracked)))


def test_a_batch_writes_what_it_changes_alone() -> None:
    """A key's next version moves the end of the one before, and a repeat touches no row."""
    store = EventStore()
    many = [partial("u", A, number, f"n{number}") for number in range(2, 40)]
    first = [change("c", A, 1, "x", "old"), *many, change("c", ("b", 2), 1, "other")]
    assert len(tell(store, first)) == len(first)
    assert len(store.commits) == 1
    stored, new = tell(store, [change("u", A, 50, "n50", "new")])
    assert stored.columns == ("wl_key", "wl_row", "wl_start", "wl_end", "wl_missing")
    assert stored.values[2:4] == (seq(39), seq(50))
    assert len(new.columns) == 14
    assert len(tell(store, [partial("u", A, 60, "n60")])) == 2
    assert tell(store, [*first[5:9], change("u", A, 50, "n50", "new")]) == []
    late = replace(change("u", A, 30, "late", "late"), seq=f"{seq(30)}5")
    columns = [row.columns[5:] for row in tell(store, [late])]
    assert columns == [(), new.columns[5:], *[("big",)] * 9], "what is carried from it, and the one before it"


def test_a_key_has_more_versions_than_a_commit_takes() -> None:
    store = EventStore()
    tell(store, [change("c", A, 1, "x", "old"), *(partial("u", A, at, f"n{at}") for at in range(2, 40))])
    store.commits.clear()
    tell(store, [replace(change("u", A, 1, "late", "late"), seq=f"{seq(1)}5")], most=25)
    assert {sum(len(row.columns) for row in commit) > 25 for commit in store.commits} == {False}
    assert len(store.commits) > 5
    assert [row["big"] for row in sorted(store.seen(), key=lambda row: str(row[START]))] == [
        "old",
        *["late"] * 39,
    ]


def test_a_truncate_has_a_key_of_its_own() -> None:
    store = EventStore()
    tell(store, [change("c", A, 1, "x", "big"), change("c", B, 2, "y", "big"), emptied(3)])
    assert [key for key, _ in store.rows].count(TRUNCATES) == 1
    assert {row[END] for row in store.seen()} == {seq(3)}
    assert tell(store, [emptied(3)]) == []
    assert len(tell(store, [emptied(2)])) == 2, "A ends earlier, B began behind it; and its own row"


def test_what_nobody_has_said_is_null_where_the_plan_says_so() -> None:
    store, plan = EventStore(), replace(PLAN, lacking_is_null=True)
    neither = replace(change("u", A, 5), unsent=frozenset(CARRIED))
    tell(store, [neither], plan)
    assert [(row["label"], row["big"]) for row in store.seen()] == [(None, None)]
    tell(store, [change("c", A, 1, "x", "old")], plan)
    (row,) = store.seen()
    assert (row["label"], row["big"], row[START]) == ("x", "old", seq(1))


@pytest.mark.parametrize(
    ("of", "sent", "read"),
    [
        (ColumnType(Kind.BYTES, "bytea"), b"\0\xff", b"AP8="),
        (ColumnType(Kind.DATE, "date"), -719_162, date(1, 1, 1)),
        (ColumnType(Kind.DECIMAL, "numeric", 12, 2), "1.50", Decimal("1.5")),
        (ColumnType(Kind.DECIMAL, "numeric", 38, 10), "1.5000000000", "1.5000000000"),
        (ColumnType(Kind.FLOAT64, "float8"), -0.0, -0.0),
        (ColumnType(Kind.FLOAT64, "float8"), float("nan"), float("nan")),
        (ColumnType(Kind.INT64, "bigint"), 7, 7),
        (ColumnType(Kind.BOOLEAN, "boolean"), False, False),
        (ColumnType(Kind.TIME_MICROS, "time"), 1, "00:00:00.000001"),
        (
            ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
            -62_135_596_800_000_000,
            datetime(1, 1, 1, tzinfo=UTC),
        ),
        (
            ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
            500_000,
            datetime(1970, 1, 1, 0, 0, 0, 500_000, UTC),
        ),
        (ColumnType(Kind.STRING, "text"), None, None),
    ],
)
def test_a_value_that_was_read_is_the_one_that_was_sent(of: ColumnType, sent: object, read: object) -> None:
    made = cell(sent, of)
    back = carried_back(read, of)
    assert type(back) is type(made)
    assert image(back, of) == image(made, of)


def test_two_zeros_are_two_values() -> None:
    double = ColumnType(Kind.FLOAT64, "float8")
    assert image(0.0, double) != image(-0.0, double)
    assert image(float("nan"), double) == image(float("nan"), double)
