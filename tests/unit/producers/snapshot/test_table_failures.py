"""Plans and reads of one table that fail: what goes with them, how long it waits, when it is given up."""

from dataclasses import replace

from tests.unit.producers.snapshot.desk import (
    ASK,
    ID,
    LOST,
    REFUSED,
    ROWS,
    Desk,
    full,
    partial,
    with_column,
)
from tests.unit.producers.snapshot.history import chunk_of
from tests.unit.producers.snapshot.shop import TABLE, Fence
from tests.unit.producers.snapshot.test_gap import taken_up, void_of
from tests.unit.producers.snapshot.test_tables import lacking_row, table_of
from wrackline.producers.contract.row_chunks import KEY_GONE
from wrackline.producers.contract.snapshot_requests import Purpose, SnapshotRequest
from wrackline.producers.contract.steps import Shape
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, SnapshotLimits

FIRST = SnapshotRequest("first", (ID,), Purpose.INITIAL)
HALVES = (KeySpan(None, ("3",)), KeySpan(("3",), ("6",)))


def test_a_read_that_fails_leaves_the_others() -> None:
    desk = Desk()
    desk.ask(ASK, *HALVES)
    first, second = desk.work()
    assert isinstance(second, Read)
    desk.machine.failed(first.ticket, LOST(), 0.0)
    desk.arrive(second)
    desk.transaction()
    assert [row[0] for row in desk.out()] == [4, 5, 6]


def test_a_missing_row_that_cannot_be_read_by_its_key_leaves_the_plan_of_a_job() -> None:
    desk = Desk()
    desk.ask()
    late = desk.read()
    row = lacking_row(desk, 9)
    desk.machine.failed(row.ticket, KEY_GONE(table=ID, column="id"), 0.0)
    desk.arrive(late)
    assert len(desk.out()) == 3


def test_a_key_that_is_gone_takes_the_reads_of_missing_rows_with_it() -> None:
    desk = Desk()
    desk.ask()
    late = desk.read()
    lacking_row(desk, 9)
    desk.machine.failed(late.ticket, KEY_GONE(table=ID, column="id"), 0.0)
    assert table_of(desk).windows == {}


def test_what_came_counts_failures_again() -> None:
    desk = Desk()
    desk.ask(ASK)
    for now in (0.0, 1.0):
        desk.machine.failed(desk.read(now).ticket, LOST(), now)
    desk.arrive(desk.read(3.0))
    desk.machine.failed(desk.read(3.0).ticket, LOST(), 3.0)
    assert desk.machine.due(3.0) == 4.0


def test_a_new_shape_counts_failures_again_and_ends_the_wait() -> None:
    desk = Desk()
    desk.ask(FIRST)
    for now in (0.0, 1.0):
        desk.machine.failed(desk.read(now).ticket, LOST(), now)
    desk.transaction(steps=[Shape(2, with_column(), TABLE)])
    desk.machine.failed(desk.read(1.0).ticket, LOST(), 1.0)
    assert desk.machine.due(1.0) == 2.0


def test_a_new_shape_counts_reads_in_vain_again() -> None:
    desk = Desk()
    desk.ask(FIRST)
    for steps in ((), (Shape(2, with_column(), TABLE),)):
        desk.transaction(steps=steps)
        read = desk.read()
        desk.machine.chunk(read.ticket, chunk_of(read.request, ROWS, with_column()), Fence("x", 99))
        desk.transaction(partial(1, 7))  # of the shape before
        assert (desk.work(), desk.machine.due(0.0)) == ([], 1.0)


def test_a_request_that_is_given_up_leaves_the_next_one_all_its_tries() -> None:
    desk = Desk()
    desk.ask()
    desk.machine.request(replace(ASK, id="next"))
    for now in (0.0, 1.0, 3.0):
        desk.machine.failed(desk.read(now).ticket, LOST(), now)
    for now, due in ((3.0, 4.0), (4.0, 6.0)):
        (plan,) = desk.work(now)
        assert isinstance(plan, Plan)
        desk.machine.failed(plan.ticket, LOST(), now)
        assert desk.machine.due(now) == due
    assert [job.failed is None for job in desk.machine.states[ID].jobs] == [False, True]


def test_missing_rows_that_cannot_be_read_fail_the_table_once() -> None:
    desk = Desk()
    desk.machine.failed(lacking_row(desk).ticket, REFUSED(), 0.0)
    assert desk.status() is TableStatus.FAILED
    desk = Desk()
    desk.ask(FIRST)
    late = desk.read()
    row = lacking_row(desk, 9)
    desk.machine.failed(late.ticket, REFUSED(), 0.0)
    desk.machine.failed(row.ticket, REFUSED(), 0.0)
    assert [job.id for job in desk.machine.states[ID].jobs] == ["first"]


def test_each_job_that_fails_says_so() -> None:
    desk = Desk()
    desk.ask(FIRST)
    desk.machine.request(ASK)
    desk.machine.failed(desk.read().ticket, REFUSED(), 0.0)
    desk.plan()
    desk.machine.failed(desk.read().ticket, REFUSED(), 0.0)
    assert [job.failed is not None for job in desk.machine.states[ID].jobs] == [True, True]


def test_a_read_that_the_log_outran_waits_as_long_as_a_first_one_once_rows_went_out() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, most_bytes=4_000, chunk_rows=3, slice_rows=2))
    desk.ask()
    late, now = desk.read(), 0.0
    for expected in (1.0, 2.0):
        desk.transaction(*[full(number, desk.at) for number in range(1, 13)])
        desk.arrive(late)
        assert desk.work(now) == []
        assert desk.machine.due(now) - now == expected
        now += expected
        late = desk.read(now)
    desk.arrive(late)
    assert desk.release() is not None
    late = desk.read(now)
    desk.transaction(*[full(number, desk.at) for number in range(1, 13)])
    desk.arrive(late)
    assert desk.work(now) == []
    assert desk.machine.due(now) - now == 1.0


def test_a_void_that_went_out_counts_failures_again() -> None:
    desk = taken_up()
    desk.machine.failed(void_of(desk).ticket, LOST(), 0.0)
    (work,) = desk.work(1.0)
    desk.voided(work)
    assert desk.release() is not None
    (plan,) = desk.work(1.0)
    desk.machine.failed(plan.ticket, LOST(), 1.0)
    assert desk.machine.due(1.0) == 2.0


def test_a_plan_that_was_made_counts_failures_again() -> None:
    desk = Desk()
    desk.machine.request(ASK)
    (plan,) = desk.work()
    desk.machine.failed(plan.ticket, LOST(), 0.0)
    desk.plan(now=1.0)
    desk.machine.failed(desk.read(1.0).ticket, LOST(), 1.0)
    assert desk.machine.due(1.0) == 2.0
