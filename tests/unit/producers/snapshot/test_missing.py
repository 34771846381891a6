"""Rows whose whole is missing, and letters: one state in, the next one out."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import pytest

from tests.unit.producers.snapshot.desk import ROWS
from tests.unit.producers.snapshot.history import chunk_of
from tests.unit.producers.snapshot.shop import TABLE, Fence, key_of
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.snapshot_requests import Purpose
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot import incomplete_rows
from wrackline.producers.snapshot.jobs import MOST_KEYS
from wrackline.producers.snapshot.table_state import Job, MissingRow, TableState
from wrackline.producers.snapshot.window import Window
from wrackline.producers.snapshot.work_items import Read, Ticket

WHY = FaultReason("test.why", "it was so", "")
FIRST = Job("first", Purpose.INITIAL)
KEYS = [str(number).encode() for number in range(MOST_KEYS)]


def of(*numbers: int) -> dict[bytes, MissingRow]:
    return {key_of(number): MissingRow((str(number),), number) for number in numbers}


def window(
    asked: Mapping[bytes, MissingRow] = {}, job: str | None = None, *, arrived: bool = False
) -> Window:
    request = ChunkRequest(TABLE.id, ("id",), only=tuple(one.bound for one in asked.values()))
    made = Window(Read(Ticket("run/1"), request, ()), 1_000, job, missing=asked)
    if arrived:
        made.arrive(chunk_of(request, ROWS), Fence("run/1", 9), passed=False)
    return made


@pytest.mark.parametrize(("before", "whole"), [(MOST_KEYS - 1, False), (MOST_KEYS, True)])
def test_as_many_are_remembered_as_one_read_takes(before: int, *, whole: bool) -> None:
    state = TableState(missing={key: MissingRow((key.decode(),), 1) for key in KEYS[:before]})
    after = incomplete_rows.remember_row(state, b"new", ("new",), 2, lambda: "own")
    assert len(after.missing) == (0 if whole else MOST_KEYS)
    assert [job.purpose for job in after.jobs] == ([Purpose.REFRESH] if whole else [])


@pytest.mark.parametrize(
    ("job", "all_of_them"),
    [
        (FIRST, True),
        (replace(FIRST, condition="v > 1"), False),
        (replace(FIRST, purpose=Purpose.REQUESTED), False),
        (replace(FIRST, purpose=Purpose.REQUESTED, also_refresh=True), True),
        (replace(FIRST, begun=True), False),
        (replace(FIRST, failed=WHY), False),
    ],
)
def test_a_whole_read_that_is_sure_to_come_is_of_the_missing_rows_too(job: Job, *, all_of_them: bool) -> None:
    assert incomplete_rows.reads_everything(TableState(jobs=(job,))) is all_of_them
    assert incomplete_rows.reads_everything(TableState(jobs=(job, FIRST)))


def test_letters_are_too_many_only_where_one_has_no_room() -> None:
    state = incomplete_rows.remember_letters(TableState(), KEYS)
    assert (len(state.lacking), state.lacks_more) == (MOST_KEYS, False)
    assert not incomplete_rows.lacks(incomplete_rows.forget_letters(state, [KEYS[0]]), KEYS[0])
    state = incomplete_rows.remember_letters(state, [b"more"])
    assert (len(state.lacking), state.lacks_more) == (MOST_KEYS, True)


def test_an_unchanged_state_is_not_built_again() -> None:
    state = TableState(missing=of(1), lacking=frozenset({key_of(2)}))
    assert incomplete_rows.complete_row(state, key_of(3)) is state
    assert incomplete_rows.not_found(state, of(2), lambda: "own") is state


def test_missing_rows_are_asked_for_while_the_table_is_right() -> None:
    state = TableState(missing=of(1, 2))
    assert incomplete_rows.rows_to_read(state, []) == of(1, 2)
    assert incomplete_rows.rows_to_read(replace(state, jobs=(replace(FIRST, failed=WHY),)), []) == {}
    assert incomplete_rows.rows_to_read(replace(state, set_aside=WHY), []) == {}
    assert incomplete_rows.rows_to_read(TableState(), []) == {}


def test_one_read_of_missing_rows_is_under_way_at_a_time() -> None:
    state = TableState(missing=of(1, 2))
    assert incomplete_rows.rows_to_read(state, [window(of(1))]) == {}
    assert incomplete_rows.rows_to_read(
        state, [window(job="first"), window(job="first", arrived=True)]
    ) == of(1, 2)
    assert incomplete_rows.rows_to_read(state, [window(job="first"), window(of(1), arrived=True)]) == of(2)


def test_a_row_that_a_window_will_bring_is_not_asked_for_again() -> None:
    state = TableState(missing=of(1, 2))
    here = window(of(1), arrived=True)
    assert incomplete_rows.rows_to_read(state, [here]) == of(2)
    newer = {key_of(1): MissingRow(("1",), 7)}
    assert (
        incomplete_rows.rows_to_read(TableState(missing=newer), [here]) == newer
    )  # it went missing again since
    other = window(job="first", arrived=True)
    other.truncate()
    other.settle(key_of(5))
    assert incomplete_rows.rows_to_read(state, [other]) == of(1, 2)


def test_a_row_that_a_job_has_moved_to_its_key_is_not_asked_for() -> None:
    made = window(job="first", arrived=True)
    made.move(key_of(1), key_of(9), {}, TABLE)
    assert incomplete_rows.rows_to_read(TableState(missing=of(9, 12)), [made]) == of(12)


def test_as_many_missing_rows_are_asked_for_as_one_read_takes() -> None:
    numbers = count()
    many = {key: MissingRow((key.decode(),), next(numbers)) for key in [*KEYS, b"more"]}
    assert list(incomplete_rows.rows_to_read(TableState(missing=many), [])) == KEYS


def test_a_missing_row_that_is_not_found_has_all_read_if_it_is_missing_still() -> None:
    asked = of(1, 2)
    newer = {**of(1), key_of(2): MissingRow(("2",), 7)}
    after = incomplete_rows.not_found(TableState(missing=newer), asked, lambda: "own")
    assert set(after.missing) == {key_of(2)}
    assert [(job.id, job.purpose) for job in after.jobs] == [("own", Purpose.REFRESH)]
    assert (
        incomplete_rows.not_found(
            TableState(missing={key_of(2): newer[key_of(2)]}), asked, lambda: "own"
        ).jobs
        == ()
    )


def test_a_row_that_the_log_has_whole_is_neither_missing_nor_lacking() -> None:
    state = TableState(missing=of(1), lacking=frozenset({key_of(1)}))
    assert incomplete_rows.complete_row(state, key_of(1)) == TableState()
