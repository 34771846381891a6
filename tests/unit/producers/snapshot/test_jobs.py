"""A table's jobs by themselves: one state in, the next one out."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.unit.producers.snapshot.shop import TABLE
from wrackline.producers.contract.snapshot_requests import Purpose, RequestJoined
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot import jobs
from wrackline.producers.snapshot.shape_changes import RefreshNeed
from wrackline.producers.snapshot.table_state import (
    Job,
    Outcome,
    PendingRange,
    TableDeparture,
    TableState,
    render_state,
)
from wrackline.producers.snapshot.work_items import KeySpan, SnapshotLimits, Unsaved

WHY = FaultReason("test.why", "it was so", "")
FIRST = Job("first", Purpose.INITIAL)
ASKED = Job("ask", Purpose.REQUESTED)
PART = replace(ASKED, condition="v > 1")
LETTERS = frozenset(str(number).encode() for number in range(jobs.MOST_KEYS))


@pytest.fixture
def new_id() -> jobs.NewId:
    numbers = count(1)
    return lambda: f"own/{next(numbers)}"


def named(state: TableState) -> list[tuple[str, Purpose, bool]]:
    return [(job.id, job.purpose, job.also_refresh) for job in state.jobs]


# What an operator requests.


@pytest.mark.parametrize(
    ("state", "job", "needed"),
    [
        (TableState(), ASKED, False),
        (TableState(gap=True), ASKED, True),
        (TableState(gap=True), PART, False),
        (TableState(jobs=(replace(FIRST, failed=WHY),)), ASKED, True),
        (TableState(jobs=(replace(ASKED, id="before", failed=WHY),)), ASKED, False),
    ],
)
def test_a_request_cannot_be_stopped_where_it_makes_good_what_the_copy_needs(
    state: TableState, job: Job, new_id: jobs.NewId, *, needed: bool
) -> None:
    assert named(jobs.add_request(state, job, new_id)) == [("ask", Purpose.REQUESTED, needed)]


def test_a_first_read_that_failed_is_started_over_beside_a_request_for_a_part(new_id: jobs.NewId) -> None:
    failed = replace(FIRST, failed=WHY, begun=True, key=("id",), rows=7)
    state = jobs.add_request(TableState(jobs=(failed,)), PART, new_id)
    assert state.jobs == (replace(FIRST, id="own/1"), PART)
    assert state.ended == {"first": Outcome.FAILED}


def test_a_table_that_is_taken_up_again_is_read_whole_once(new_id: jobs.NewId) -> None:
    aside = TableState(set_aside=WHY, gap=True)
    assert named(jobs.add_request(aside, ASKED, new_id)) == [("ask", Purpose.REQUESTED, True)]
    assert [job.purpose for job in jobs.add_request(aside, PART, new_id).jobs] == [
        Purpose.REFRESH,
        Purpose.REQUESTED,
    ]
    again = jobs.add_request(replace(aside, jobs=(replace(FIRST, failed=WHY),)), PART, new_id)
    assert [job.purpose for job in again.jobs] == [Purpose.INITIAL, Purpose.REQUESTED]
    assert again.set_aside is None


@pytest.mark.parametrize(
    ("before", "after", "ended"),
    [
        (ASKED, [], {"ask": Outcome.CANCELLED}),
        (
            replace(ASKED, also_refresh=True),
            [("own/1", Purpose.REFRESH, True)],
            {"ask": Outcome.CANCELLED},
        ),
        (FIRST, [("first", Purpose.INITIAL, False)], {}),
        (replace(ASKED, failed=WHY), [("ask", Purpose.REQUESTED, False)], {}),
    ],
)
def test_a_stop_ends_what_was_asked_for_and_is_under_way(
    before: Job, after: Any, ended: dict[str, Outcome], new_id: jobs.NewId
) -> None:
    state = jobs.stop_requests(TableState(jobs=(before,)), new_id)
    assert (named(state), state.ended) == (after, ended)


# What the log asks for.


@pytest.mark.parametrize(
    ("job", "after"),
    [
        (FIRST, [("first", Purpose.INITIAL, True)]),
        (PART, [("ask", Purpose.REQUESTED, False), ("own/1", Purpose.REFRESH, False)]),
        (replace(FIRST, failed=WHY), [("first", Purpose.INITIAL, False), ("own/1", Purpose.REFRESH, False)]),
    ],
)
@pytest.mark.parametrize("need", [RefreshNeed.REFRESH, RefreshNeed.RESTART])
def test_a_new_shape_is_read_by_a_whole_read_under_way_or_by_one_more(
    job: Job, after: Any, need: RefreshNeed, new_id: jobs.NewId
) -> None:
    assert named(jobs.take_shape(TableState(jobs=(job,)), need, new_id)) == after


@pytest.mark.parametrize(
    ("job", "after"),
    [
        (FIRST, [("first", Purpose.INITIAL, False)]),
        (ASKED, [("ask", Purpose.REQUESTED, True)]),
        (PART, [("ask", Purpose.REQUESTED, False), ("own/1", Purpose.REFRESH, False)]),
        (replace(FIRST, begun=True), [("first", Purpose.INITIAL, False), ("own/1", Purpose.REFRESH, False)]),
        (replace(FIRST, failed=WHY), [("first", Purpose.INITIAL, False), ("own/1", Purpose.REFRESH, False)]),
    ],
)
def test_a_row_that_cannot_be_asked_for_is_read_by_a_whole_read_that_begins_later(
    job: Job, after: Any, new_id: jobs.NewId
) -> None:
    assert named(jobs.read_all_again(TableState(jobs=(job,)), new_id)) == after


def test_a_table_that_is_no_more_lacks_nothing() -> None:
    before = TableState(
        jobs=(FIRST, replace(ASKED, failed=WHY)), shape=TABLE, lacking=LETTERS, lacks_more=True
    )
    ended = {"first": Outcome.CANCELLED, "ask": Outcome.FAILED}
    assert jobs.drop_jobs(before, None, TableDeparture(dropped=True)) == TableState(
        ended=ended, gap=True, departure=TableDeparture(dropped=True)
    )


# How a job continues.


@pytest.mark.parametrize(
    ("job", "more", "left"),
    [(FIRST, True, 0), (FIRST, False, jobs.MOST_KEYS), (PART, True, jobs.MOST_KEYS)],
)
def test_letters_are_forgotten_where_a_whole_read_finds_them_and_they_were_too_many(
    job: Job, left: int, *, more: bool
) -> None:
    state = TableState(jobs=(job,), lacking=LETTERS, lacks_more=more)
    assert len(jobs.take_plan(state, job, ("id",), ()).lacking) == left


@pytest.mark.parametrize(("more", "full"), [(True, True), (False, False)])
def test_there_may_be_more_letters_only_where_one_was_not_remembered(*, more: bool, full: bool) -> None:
    assert jobs.is_overfull(TableState(lacking=LETTERS, lacks_more=more)) is full
    assert not jobs.is_overfull(TableState(lacking=frozenset([*LETTERS][1:]), lacks_more=more))


@pytest.mark.parametrize(
    ("job", "needed"),
    [
        (FIRST, False),
        (replace(FIRST, also_refresh=True), True),
        (ASKED, True),
        (replace(ASKED, also_refresh=True), True),
    ],
)
def test_an_emptied_copy_needs_the_job_that_fills_it(job: Job, *, needed: bool) -> None:
    state = jobs.take_void(TableState(jobs=(replace(job, rows=7),), gap=True))
    assert state == TableState(jobs=(replace(job, rows=0, also_refresh=needed),))
    assert jobs.take_void(TableState(gap=True)) == TableState()


def test_a_job_is_over_once_it_was_planned_and_no_range_is_left() -> None:
    planned = replace(FIRST, key=("id",))
    for job in (FIRST, replace(planned, ranges=(PendingRange(0, KeySpan()),)), replace(planned, failed=WHY)):
        state = TableState(jobs=(job,))
        assert jobs.finish_job(state) is state
    assert jobs.finish_job(TableState(jobs=(planned,))).ended == {"first": Outcome.SUCCEEDED}
    keyless = replace(FIRST, key=())
    assert jobs.finish_job(TableState(jobs=(keyless,))).ended == {"first": Outcome.SUCCEEDED}


@pytest.mark.parametrize(
    ("job", "fails"),
    [
        (ASKED, False),
        (PART, False),
        (replace(ASKED, low=("1",)), True),
        (replace(ASKED, high=("1",)), True),
        (replace(ASKED, keys=(("1",),)), True),
    ],
)
def test_a_request_that_names_keys_fails_with_the_table_s_name_where_the_key_changes(
    job: Job, *, fails: bool
) -> None:
    (after,) = jobs.drop_plans(TableState(shape=TABLE, jobs=(replace(job, key=("id",)),))).jobs
    assert after.key is None
    assert (after.failed is not None) is fails
    if after.failed is not None:
        assert str(TABLE.id) in after.failed.sentence
        (nameless,) = jobs.drop_plans(TableState(jobs=(job,))).jobs
        assert nameless.failed is not None
        assert "this table" in nameless.failed.sentence


# What stands beside.


def test_a_reader_s_chunk_takes_a_quarter_of_its_part_of_the_room() -> None:
    assert SnapshotLimits(readers=2, most_bytes=800).share == 100


def test_there_is_something_to_save_where_a_state_or_a_receipt_changed() -> None:
    assert not Unsaved()
    assert Unsaved({TABLE.id: render_state(TableState())})
    assert Unsaved(receipts=[RequestJoined("ask", (TABLE.id,))])
