"""Rows as mutations: any batches in any order leave what the merge model leaves, and only that is written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.duck_world import ModelCarrier
from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, plan_merge
from wrackline.consumers.staged.merge import StageColumn, staged_columns
from wrackline.consumers.staged.service import CarriedFiles
from wrackline.consumers.staged.shape import first_shape
from wrackline.consumers.targets.spanner.chunks import MOST_MUTATIONS, ChunkLimits, cut
from wrackline.consumers.targets.spanner.rows import RowMerge, WrittenRow, read_list, read_rows
from wrackline.consumers.targets.spanner.types import DIALECT, IDENTIFIERS
from wrackline.testing.targets.merge_model import Change, Rows, latest, merge
from wrackline.testing.targets.target_suite import BIG, COLUMNS, TABLE, A, B, change, partial, seq

Store = dict[str, dict[str, Any]]
IDENTITIES = {column.name: column.identity for column in COLUMNS}


class RowCarrier(ModelCarrier):
    """Keeps the rows of a frame instead of writing them."""

    def carry_rows(self, rows: Sequence[Sequence[object]], columns: Sequence[StageColumn]) -> CarriedFiles:
        self.rows = [{one.name: value for one, value in zip(columns, row, strict=True)} for row in rows]
        return CarriedFiles((), len(rows))


def plan_of(changes: Sequence[Change], **other: Any) -> MergePlan:
    lacking = frozenset[str]().union(*(one.unsent for one in changes))
    return replace(plan_merge(TABLE, IDENTIFIERS, Applied()), lacking=lacking, **other)


def staged(changes: Sequence[Change], plan: MergePlan, **known: str) -> list[Mapping[str, Any]]:
    carrier = RowCarrier(Path())
    carrier.known_at = known
    carrier.carry(latest(changes, plan.floor), plan, staged_columns(plan, DIALECT))
    return list(carrier.rows)


def apply(store: Store, changes: Sequence[Change], plan: MergePlan, **known: str) -> list[WrittenRow]:
    """Do what Spanner does with the mutations."""
    rules = RowMerge(plan, first_shape(plan, DIALECT))
    rows = list(read_rows(staged(changes, plan, **known), plan, plan.floor))
    stored = [tuple(store[row.key][name] for name in rules.reads) for row in rows if row.key in store]
    written = list(rules.writes(rows, stored))
    for one in written:
        if one.columns:
            store.setdefault(one.key, {}).update(zip(one.columns, one.values, strict=True))
        else:
            del store[one.key]
    return written


def facts(store: Store) -> dict[tuple[object, ...], tuple[object, ...]]:
    names = {identity: name for name, identity in IDENTITIES.items()}
    return {
        (row["shop"], row["number"]): (
            row["wl_seq"],
            row["wl_op"],
            row["wl_deleted"],
            frozenset(names[one] for one in read_list(row["wl_missing"])),
            row.get("label"),
            row.get("big"),
        )
        for row in store.values()
    }


def wanted(rows: Rows) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {
        key: (one.seq, one.op, one.deleted, one.missing, one.values["label"], one.values["big"])
        for key, one in rows.items()
    }


def a_change(key: tuple[str, int], number: int, op: str, value: str, *, whole: bool) -> Change:
    if op == "d":
        return change("d", key, number)
    return change(op, key, number, value, value) if whole else partial(op, key, number, value)


CHANGES = st.lists(
    st.builds(
        a_change,
        st.sampled_from([A, B]),
        st.integers(1, 6),
        st.sampled_from("cudr"),
        st.sampled_from("xyz"),
        whole=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda one: (one.key, one.seq),
)


@given(st.lists(CHANGES, max_size=4))
def test_rows_are_those_of_the_model(batches: list[list[Change]]) -> None:
    store: Store = {}
    rows: Rows = {}
    for changes in batches:
        apply(store, changes, plan_of(changes))
        rows = merge(rows, latest(changes))
        assert facts(store) == wanted(rows)


@given(CHANGES)
def test_a_repeated_batch_writes_nothing(changes: list[Change]) -> None:
    store: Store = {}
    apply(store, changes, plan_of(changes))
    assert apply(store, changes, plan_of(changes)) == []


def test_a_value_that_was_not_sent_is_no_part_of_the_mutation() -> None:
    store: Store = {}
    apply(store, [change("c", A, 1, "x", "kept")], plan_of([]))
    update = [partial("u", A, 2, "y")]
    (written,) = apply(store, update, plan_of(update))
    assert "big" not in written.columns
    assert written.columns[:6] == ("wl_key", "wl_seq", "wl_op", "wl_deleted", "wl_missing", "wl_commit_ts")


def test_a_hard_delete_is_a_delete_of_a_row_that_is_there() -> None:
    store: Store = {}
    apply(store, [change("c", A, 1, "x")], plan_of([]))
    gone = [change("d", A, 2), change("d", B, 2)]
    (written,) = apply(store, gone, plan_of([], deletes=Deletes.HARD))
    assert (written.columns, store) == ((), {})


def test_a_value_known_before_the_stored_row_changes_nothing() -> None:
    late = [replace(change("u", A, 9, "new", "late"))]
    plan = replace(plan_of([]), lacking=BIG, told_late=True)
    for stored, left in (("c", "kept"), ("d", None)):
        store: Store = {}
        apply(store, [change(stored, A, 5, "x", "kept")], plan_of([]))
        apply(store, late, plan, big=seq(3))
        (row,) = store.values()
        assert (row["label"], row["big"]) == ("new", left)
        again: Store = {}
        apply(again, [change(stored, A, 5, "x", "kept")], plan_of([]))
        apply(again, late, plan, big=seq(7))
        assert [one["big"] for one in again.values()] == ["late"]


def test_chunks_fit_into_a_commit() -> None:
    changes = [change("c", ("a", number), number, "x" * 100) for number in range(1, 51)]
    plan = plan_of([])
    rules = RowMerge(plan, first_shape(plan, DIALECT))
    rows = list(read_rows(staged(changes, plan), plan, None))
    assert rules.mutations == len(COLUMNS) + 6

    def sizes(limits: ChunkLimits) -> list[tuple[int, bool]]:
        return [(len(chunk), last) for chunk, last in cut(rows, rules.mutations, limits)]

    assert sizes(ChunkLimits()) == [(50, True)]
    assert sizes(ChunkLimits(mutations=20 * rules.mutations + 1)) == [(20, False), (20, False), (10, True)]
    by_bytes = sizes(ChunkLimits(bytes=1000))
    assert sum(count for count, _ in by_bytes) == 50
    assert max(count for count, _ in by_bytes) == 1000 // rows[0].bytes
    assert sizes(ChunkLimits(bytes=1)) == [(1, number == 49) for number in range(50)]
    assert list(cut([], rules.mutations, ChunkLimits())) == [([], True)]


@pytest.mark.parametrize("columns", [1, 20, 1000])
def test_no_commit_has_more_mutations_than_spanner_takes(columns: int) -> None:
    limits, of_a_row = ChunkLimits(), columns + 6
    state = 7
    assert limits.rows(of_a_row) * of_a_row + limits.deletes + state <= MOST_MUTATIONS
    assert limits.voids + state <= MOST_MUTATIONS
