"""The steps of a decoder until they are handed out: places, shapes, news of tables, and batches."""

import pytest

from tests.fakes.place import Place
from wrackline.producers.contract.steps import (
    Batch,
    Commit,
    Fault,
    Progress,
    Renamed,
    RowChange,
    Rows,
    Shape,
    Truncate,
    Vanished,
)
from wrackline.producers.kit.step_log import AT_ONCE, AnnouncedShape, StepLog
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.tables.seq import ORDINAL_MAX
from wrackline.schemas.tables.table import TableId, TableSchema

BROKEN = define("test.table_broken", OperatorNeeded, "it can not be read", hint="repair it")
A, B = TableId("d", "s", "a"), TableId("d", "s", "b")
SHAPE, OTHER = TableSchema(A, ()), TableSchema(A, (), ("id",))
ROWS: list[RowChange] = [(1, "c", None, b"v", None)]


def log(aside: set[TableId] | None = None) -> StepLog[Place]:
    return StepLog(Place(0, 1), set() if aside is None else aside)


def test_rows_and_truncates_move_the_place_behind_them() -> None:
    made = log()
    assert made.at == Place(0, 1), "where the stream starts"
    made.end_rows(ROWS, 0, Place(0, 2))
    assert made.at == Place(0, 2)
    made.truncate(1, b"t", Place(0, 3))
    assert made.at == Place(0, 3)
    assert made.steps == [Rows(ROWS, Place(0, 2)), Truncate(1, b"t", Place(0, 3))]


def test_an_ordinal_that_does_not_fit_into_seq_ends_the_stream() -> None:
    made = log()
    made.end_rows(ROWS, ORDINAL_MAX, Place(0, 2))
    with pytest.raises(Definite):
        made.end_rows(ROWS, ORDINAL_MAX + 1, Place(0, 3))
    assert made.at == Place(0, 2), "the place is not behind rows that are not handed out"


def test_of_places_in_a_row_only_the_newest_is_handed_out() -> None:
    made = log()
    made.progress(Place(0, 2))
    made.progress(Place(0, 3))
    assert (made.at, made.steps) == (Place(0, 3), [Progress(Place(0, 3))])
    made.steps.append(Commit("1", Place(0, 4), 0))
    made.progress(Place(0, 5))
    assert [type(step) for step in made.steps] == [Progress, Commit, Progress]


def test_a_place_that_was_handed_out_is_followed_by_another() -> None:
    made = log()
    made.progress(Place(0, 2))
    made.end_batch(0)
    made.progress(Place(0, 3))
    made.end_batch(0)
    assert made.take() == Batch((Progress(Place(0, 2)),), 0)
    assert made.take() == Batch((Progress(Place(0, 3)),), 0)


def test_a_shape_is_announced_where_it_changes() -> None:
    made = log()
    first = made.announce(A, SHAPE, 7, frozenset({2}))
    assert first == AnnouncedShape(SHAPE, 1, 7)
    assert made.announce(A, TableSchema(A, ()), 7) is first
    assert made.announce(A, OTHER, 8).ref == 2
    assert made.announce(B, TableSchema(B, ()), 9).ref == 3, "a ref is used once"
    assert made.steps == [
        Shape(1, SHAPE, None, frozenset({2})),
        Shape(2, OTHER, SHAPE),
        Shape(3, TableSchema(B, ()), None),
    ]


@pytest.mark.parametrize("gone", [Vanished(A), Renamed(A, B)])
def test_the_next_table_with_a_name_is_another_table(gone: Vanished | Renamed) -> None:
    made = log()
    made.announce(A, SHAPE, 7)
    made.report(gone)
    assert made.announce(A, SHAPE, 7).ref == 2
    assert made.steps[1:] == [gone, Shape(2, SHAPE, None)]


def test_a_table_at_fault_is_set_aside_and_the_others_go_on() -> None:
    aside: set[TableId] = set()
    made, fault = log(aside), Fault(A, BROKEN())
    made.report(Vanished(B), fault)
    assert aside == {A}
    assert made.steps == [Vanished(B), fault]


def test_a_batch_ends_with_its_steps_and_the_next_begins_empty() -> None:
    made = log()
    assert made.take() is None
    made.progress(Place(0, 2))
    assert made.take() is None, "its batch has not ended"
    full = [made.full]
    made.end_batch(5)
    full.append(made.full)
    assert full == [False, True]
    made.truncate(1, b"t", Place(0, 3))
    assert made.take() == Batch((Progress(Place(0, 2)),), 5)
    assert made.take() is None
    assert made.steps == [Truncate(1, b"t", Place(0, 3))]


def test_many_steps_are_handed_out_in_parts_and_their_size_bounds_each() -> None:
    made = log()
    made.report(*(Vanished(A) for _ in range(AT_ONCE)))
    full = [made.full]
    made.report(Vanished(B))
    full.append(made.full)
    made.end_batch(9)
    assert made.take() == Batch((Vanished(A),) * AT_ONCE, 9)
    assert made.take() == Batch((Vanished(B),), 9)
    full.append(made.full)
    assert full == [False, True, False], "the caller takes them before it reads on"
