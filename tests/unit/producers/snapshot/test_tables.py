"""One table under way: what takes its plan and its windows away, and which of its rows go out."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.unit.producers.snapshot.desk import (
    ASK,
    ID,
    REFUSED,
    ROWS,
    Desk,
    delete,
    full,
    partial,
    with_column,
)
from tests.unit.producers.snapshot.history import chunk_of
from tests.unit.producers.snapshot.shop import TABLE, Fence, key_of
from tests.unit.producers.snapshot.test_gap import taken_up, void_of
from tests.unit.producers.snapshot.test_lacking import letters, misfit, whole_read
from tests.unit.producers.snapshot.test_roster import known
from wrackline.producers.contract.row_chunks import ChunkRequest, Slice
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.producers.contract.steps import (
    Fault,
    Found,
    Reshaped,
    RowChange,
    Shape,
    Step,
    Unsent,
    Vanished,
)
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.snapshot_table import SnapshotTable
from wrackline.producers.snapshot.table_state import Job, MissingRow, TableState, TableStatus
from wrackline.producers.snapshot.window import Window, WindowStage
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, SnapshotLimits, Ticket
from wrackline.schemas.kafka.signals import SnapshotKind

WHY = FaultReason("test.why", "it was so", "")
FIRST = SnapshotRequest("first", (ID,), Purpose.INITIAL)
JOB = Job("ask", Purpose.REQUESTED, key=("id",))


def table_of(desk: Desk) -> SnapshotTable:
    return desk.machine._tables[ID]


def missing(desk: Desk) -> dict[bytes, MissingRow]:
    return dict(desk.machine.states[ID].missing)


def created(number: int) -> RowChange:
    """A row that the log sends in part, and that has no older one."""
    return (1, "c", *partial(number, 7)[2:])


def lacking_row(desk: Desk, number: int = 5) -> Read:
    """The log sends a row that it lacks a part of; its read is handed out."""
    desk.transaction(created(number))
    (read,) = [work for work in desk.work() if isinstance(work, Read) and work.request.only]
    return read


def window(job: str | None = "ask", *, stale: bool = False) -> Window:
    request = ChunkRequest(ID, ("id",))
    stage = WindowStage.STALE if stale else WindowStage.READING
    return Window(Read(Ticket("run/1"), request, ()), 1_000, job, stage=stage)


# What the log says of a row.


@pytest.mark.parametrize(
    "said",
    [
        lambda desk: letters(desk, 1),
        lambda desk: desk.transaction(delete(1)),
        lambda desk: desk.transaction((*delete(1)[:4], Unsent(("big",)))),
        lambda desk: desk.transaction(created(1)),
        lambda desk: desk.transaction(full(1, 7)),
    ],
    ids=["a letter", "gone", "gone in part", "made in part", "whole"],
)
def test_a_row_that_the_log_has_newer_does_not_go_out(said: Callable[[Desk], None]) -> None:
    desk = Desk()
    desk.ask()
    desk.arrive(desk.read(), mark=1)
    said(desk)
    assert [row[0] for row in desk.out()] == [2, 3]


def test_a_part_of_a_row_is_read_where_a_change_may_move_it_past_the_cursor() -> None:
    for surrogate, read in (("v", [key_of(1)]), (None, [])):
        desk = Desk()
        desk.ask(replace(ASK, surrogate_key=surrogate))
        desk.transaction(partial(1, 7))
        assert list(missing(desk)) == read


def test_a_row_that_is_missing_is_not_missed_once_more_by_its_next_part() -> None:
    desk = Desk()
    letters(desk, 1)
    desk.transaction(partial(1, 7))
    before = missing(desk)
    desk.transaction(partial(1, 8))
    assert missing(desk) == before


def test_each_event_of_a_missing_row_has_its_own_number_also_after_a_restart() -> None:
    desk = Desk()
    for number in (9, 8):
        desk.transaction(created(number))
    assert [one.number for one in missing(desk).values()] == [1, 2]
    again = desk.again()
    again.transaction(created(7))
    assert [one.number for one in missing(again).values()] == [1, 2, 3]


def test_a_letter_that_a_whole_read_finds_repaired_is_not_read_by_itself() -> None:
    desk = Desk()
    letters(desk, 1)
    whole_read(desk)
    desk.transaction(partial(1, 7))
    assert missing(desk) == {}


def test_a_letter_that_the_log_changed_in_part_before_it_was_read_is_missing() -> None:
    desk = Desk()
    desk.ask()
    read = desk.read()
    desk.transaction(partial(1, 7))
    chunk = chunk_of(read.request, {number: row for number, row in ROWS.items() if number != 1})
    first = replace(chunk.slices[0], misfits=(misfit(1, "r"),))
    desk.machine.chunk(
        read.ticket, replace(chunk, slices=(first, *chunk.slices[1:])), Fence("x", desk.at + 1)
    )
    assert list(missing(desk)) == [key_of(1)]


# What takes a plan and windows away, and what does not.


def counted(desk: Desk) -> None:
    """Something else of the table changes."""
    desk.machine.counted({(ID, "big", True): 1})


def told_again(desk: Desk) -> None:
    desk.step(Found(TABLE, frozenset()))


@pytest.mark.parametrize("happens", [counted, told_again])
def test_what_does_not_concern_a_read_leaves_it(happens: Callable[[Desk], None]) -> None:
    desk = Desk()
    late = lacking_row(desk)
    happens(desk)
    desk.arrive(late)
    assert [row[0] for row in desk.out()] == [5]
    desk = Desk()
    desk.machine.request(ASK)
    (plan,) = desk.work()
    counted(desk)
    desk.machine.planned(plan.ticket, ("id",), [KeySpan(None, ("6",))])
    late = desk.read()
    happens(desk)
    desk.arrive(late)
    desk.transaction()
    assert len(desk.out()) == 3


def test_a_first_shape_leaves_what_is_being_read() -> None:
    desk = Desk()
    desk.machine = Machine({}, SnapshotLimits(readers=4, chunk_rows=3), "run", bound_of=lambda *_: None)
    desk.ask()
    late = desk.read()
    desk.step(Shape(1, TABLE, None))
    desk.arrive(late)
    desk.transaction()
    assert len(desk.out()) == 3


def test_a_table_without_a_known_shape_takes_the_chunk_s() -> None:
    desk = Desk()
    desk.machine = Machine({}, SnapshotLimits(readers=4, chunk_rows=3), "run", bound_of=lambda *_: None)
    desk.ask()
    assert desk.machine.states[ID].shape is None
    desk.arrive(desk.read())
    assert desk.machine.states[ID].shape == TABLE


@pytest.mark.parametrize("step", [Fault(ID, REFUSED()), Vanished(ID)])
def test_a_missing_row_of_a_table_that_goes_does_not_go_out(step: Step) -> None:
    desk = Desk()
    late = lacking_row(desk)
    desk.step(step)
    desk.arrive(late)
    assert desk.out() == []


def test_what_was_read_of_a_request_that_is_stopped_does_not_go_out_for_the_next_one() -> None:
    desk = Desk()
    desk.ask()
    late = desk.read()
    desk.machine.request(FIRST)
    desk.machine.request(StopRequest("s"))
    desk.arrive(late)
    desk.transaction()
    assert desk.out() == []
    assert isinstance(desk.work()[0], Plan)


def test_the_plan_of_a_request_that_is_stopped_is_no_plan_of_the_next_one() -> None:
    desk = Desk()
    desk.machine.request(ASK)
    (late,) = desk.work()
    desk.machine.request(FIRST)
    desk.machine.request(StopRequest("s"))
    desk.machine.planned(late.ticket, ("id",), [])
    (plan,) = desk.work()
    assert isinstance(plan, Plan)
    desk.machine.request(StopRequest("again"))
    assert desk.status() is TableStatus.SNAPSHOTTING
    alone = Desk()
    alone.machine.request(ASK)
    (late,) = alone.work()
    alone.machine.request(StopRequest("s"))
    alone.machine.planned(late.ticket, ("id",), [])
    assert (alone.work(), alone.status()) == ([], TableStatus.STREAMING)


def test_a_plan_of_another_shape_is_made_again() -> None:
    desk = Desk()
    desk.machine.request(ASK)
    (late,) = desk.work()
    desk.transaction(steps=[Shape(2, with_column(nullable=False), TABLE)])
    (plan,) = desk.work()
    assert isinstance(plan, Plan)
    desk.machine.planned(late.ticket, ("id",), [])
    assert desk.status() is TableStatus.SNAPSHOTTING


def test_a_range_that_was_read_to_its_end_is_read_again_where_that_was_in_vain() -> None:
    desk = Desk(limits=SnapshotLimits(readers=4))
    desk.ask()
    desk.arrive(desk.read(), mark=1)
    assert desk.work() == []
    desk.step(Reshaped(ID, refresh=False))
    assert desk.read().request.after is None


def test_what_was_read_before_values_were_rewritten_is_read_again() -> None:
    desk = Desk()
    desk.ask()
    desk.arrive(desk.read(), mark=1)
    desk.step(Reshaped(ID, refresh=True, shape=TABLE))
    desk.transaction()
    assert desk.out() == []


def test_a_missing_row_that_was_read_before_values_were_rewritten_does_not_go_out() -> None:
    desk = Desk()
    late = lacking_row(desk)
    desk.step(Reshaped(ID, refresh=True, shape=TABLE))
    desk.arrive(late)
    assert desk.out() == []


def test_what_was_read_under_the_name_of_a_request_that_is_stopped_is_read_again() -> None:
    desk = taken_up()
    desk.voided(void_of(desk))
    desk.transaction()
    assert desk.release() is not None
    desk.plan()
    late = desk.read()
    desk.machine.request(StopRequest("s"))
    desk.arrive(late)
    desk.transaction()
    assert desk.out() == []
    assert desk.read().request.after is None


def test_rows_that_went_with_a_change_of_shape_are_void() -> None:
    desk = Desk()
    desk.step(Reshaped(ID, refresh=False, shape=with_column(), void=True))
    assert desk.machine.states[ID].gap


@pytest.mark.parametrize(
    ("stale", "left"),
    [
        ({"a": window(stale=True), "b": window(), "c": window(None)}, ["c"]),
        ({"a": window(None, stale=True), "b": window(), "c": window(None)}, ["b", "c"]),
        ({"a": window(None, stale=True), "b": window(stale=True), "c": window()}, []),
    ],
)
def test_stale_windows_are_dropped_and_one_of_a_job_drops_the_whole_job(
    stale: dict[Ticket, Window], left: list[str]
) -> None:
    table = known(TableState(jobs=(JOB,)))
    table.windows = dict(stale)
    table._reach[0] = ("3",)
    table.full(key_of(1))
    assert list(table.windows) == left
    assert table._reach == ({0: ("3",)} if "b" in left else {})


def test_a_chunk_in_another_shape_than_the_log_s_parts_of_its_rows_is_not_used() -> None:
    desk = Desk()
    desk.ask()
    late = desk.read()
    desk.transaction(partial(1, 7))
    desk.machine.chunk(late.ticket, chunk_of(late.request, ROWS, with_column()), Fence("x", 0))
    assert desk.out() == []
    assert (desk.work(), desk.machine.due(0.0)) == ([], 1.0)


def test_a_chunk_whose_shape_needs_a_refresh_is_read_again_a_while_later() -> None:
    desk = Desk()
    desk.transaction()
    desk.ask()
    late = desk.read()
    desk.machine.chunk(late.ticket, chunk_of(late.request, ROWS, with_column(nullable=False)), Fence("x", 0))
    assert desk.machine.states[ID].shape == with_column(nullable=False)
    assert (desk.out(), desk.work(), desk.machine.due(0.0)) == ([], [], 1.0)
    assert isinstance(desk.work(1.0)[0], Plan)


# Tables without a key.


@pytest.mark.parametrize(("key", "keyless"), [((), True), (("id",), False), (None, False)])
def test_a_table_has_no_key_where_its_plan_found_none(key: tuple[str, ...] | None, *, keyless: bool) -> None:
    table = known(TableState(jobs=(replace(JOB, key=key),)))
    assert (table.keyless, table.reads_keyless) == (keyless, False)
    table._reach[0] = ("run/1",)
    assert table.reads_keyless is keyless
    table._reach.clear()
    table.windows = {Ticket("run/1"): window(None)}
    assert not table.reads_keyless
    table.windows = {Ticket("run/1"): window()}
    assert table.reads_keyless is keyless


# What a request is called, and how much it asks for.


@pytest.mark.parametrize(
    ("job", "word"),
    [
        (None, "incremental"),
        (JOB, "incremental"),
        (replace(JOB, purpose=Purpose.REFRESH), "incremental"),
        (replace(JOB, purpose=Purpose.INITIAL), "true"),
        (replace(JOB, kind=SnapshotKind.BLOCKING), "true"),
    ],
)
def test_rows_are_called_what_debezium_calls_them(job: Job | None, word: str) -> None:
    assert known(TableState()).word_of(job) == word


@pytest.mark.parametrize(("size", "rows"), [(5, 121), (0, 601)])
def test_a_chunk_requests_as_many_rows_as_fit_by_the_size_of_the_last_ones(size: int, rows: int) -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, most_bytes=2_400, chunk_rows=10_000))
    desk.ask()
    read = desk.read()
    assert read.request.most_rows == 601
    made = chunk_of(read.request, ROWS)
    (only,) = made.slices
    slices = (Slice(only.rows[:2], ("2",), 2 * size), Slice(only.rows[2:], ("6",), 4 * size))
    desk.machine.chunk(read.ticket, replace(made, slices=slices, complete=False), Fence("x", 0))
    assert desk.read().request.most_rows == rows


def test_one_row_more_is_asked_for_than_is_missing_so_that_the_chunk_is_known_to_be_all() -> None:
    assert lacking_row(Desk()).request.most_rows == 2


# What is held, and what continues.


def test_nothing_is_planned_of_a_table_that_is_held() -> None:
    desk = Desk()
    desk.machine.request(ASK)
    desk.machine.request(PauseRequest("p"))
    assert desk.work() == []
    assert not desk.machine.states[ID].jobs[0].begun
    desk.machine.request(ResumeRequest("r"))
    assert desk.machine.states[ID].jobs[0].begun


def test_a_job_that_failed_is_not_begun_by_a_resume() -> None:
    failed = replace(JOB, failed=WHY)
    table = known(TableState(jobs=(failed, replace(JOB, id="next")), paused=True))
    table.pause(paused=False)
    assert table.state == TableState(jobs=(failed, replace(JOB, id="next", begun=True)))


# What goes out.


def test_chunks_of_a_range_go_out_in_the_order_in_which_they_were_read() -> None:
    desk = Desk()
    desk.transaction()
    desk.ask()
    desk.arrive(desk.read(), mark=1)
    desk.arrive(desk.read())
    assert desk.out() == []
    desk.transaction()
    assert [row[0] for row in desk.out()] == [1, 2, 3, 4, 5, 6]


def test_reads_of_missing_rows_do_not_wait_for_each_other() -> None:
    desk = Desk()
    desk.arrive(lacking_row(desk, 5), mark=9)
    desk.arrive(lacking_row(desk, 6))
    assert [row[0] for row in desk.out()] == [6]


def test_missing_rows_that_a_later_slice_has_are_not_taken_for_lost() -> None:
    desk = Desk()
    desk.transaction(*[created(number) for number in (4, 5, 6)])
    desk.arrive(desk.read())
    assert desk.release() is not None
    assert desk.machine.states[ID].jobs == ()
    assert [row[0] for row in desk.out()] == [6]
    assert desk.machine.states[ID].jobs == ()


def test_missing_rows_that_a_chunk_which_ended_early_lacks_are_asked_for_again() -> None:
    desk = Desk()
    desk.transaction(*[created(number) for number in (4, 5)])
    read = desk.read()
    part = replace(chunk_of(read.request, {4: ROWS[4]}), complete=False)
    desk.machine.chunk(read.ticket, part, Fence("x", 0))
    assert [row[0] for row in desk.out()] == [4]
    assert desk.machine.states[ID].jobs == ()
    assert desk.read().request.only == (("5",),)
