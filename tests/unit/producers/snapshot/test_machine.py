"""The machine against the twelve rules of the design's snapshot engine, each in its smallest case."""

import math
from dataclasses import replace

import pytest

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import (
    ASK,
    ID,
    LOST,
    OTHER,
    REFUSED,
    ROWS,
    Desk,
    full,
    moved,
    with_column,
)
from tests.unit.producers.snapshot.shop import TABLE, TAIL, Fence, Said
from wrackline.producers.contract.row_chunks import KEY_GONE, Chunk, Slice
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.producers.contract.steps import (
    Begin,
    Commit,
    Fault,
    Found,
    Message,
    Progress,
    Reshaped,
    Shape,
    Signal,
)
from wrackline.producers.cutting import table_fault
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, SnapshotLimits, Ticket
from wrackline.schemas.kafka.offsets_records import canonical_json
from wrackline.schemas.kafka.receipts import RequestState, ScanStatus
from wrackline.schemas.tables.table import TableSchema

WHOLE = [(number, number, f"b{number}") for number in range(1, 7)]


def test_all_rows_go_out_once_and_the_request_succeeds() -> None:
    desk = Desk()
    desk.ask()
    assert desk.status() is TableStatus.SNAPSHOTTING
    assert desk.finish() == WHOLE
    assert desk.status() is TableStatus.STREAMING
    receipt = desk.receipts["ask"]
    assert (receipt.state, receipt.tables[0].rows, receipt.tables[0].scan) == (
        RequestState.SUCCEEDED,
        6,
        ScanStatus.SUCCEEDED,
    )


def test_an_empty_table_is_done_at_its_plan() -> None:
    desk = Desk()
    desk.machine.request(ASK)
    (plan,) = desk.work()
    desk.machine.planned(plan.ticket, ("id",), [])
    desk.save(desk.machine.unsaved())
    assert desk.status() is TableStatus.STREAMING
    assert desk.receipts["ask"].tables[0].scan is ScanStatus.EMPTY


def test_rule_6_a_new_shape_drops_what_was_read_and_reads_it_again() -> None:
    desk = Desk()
    desk.ask(ASK)
    late, desk.at = desk.read(), 5
    desk.transaction(steps=[Shape(2, with_column(), TABLE)])
    desk.arrive(late)
    again = desk.read()
    assert (again.request.after, desk.out()) == (None, [])
    assert desk.status() is TableStatus.SNAPSHOTTING


@pytest.mark.parametrize(
    ("shape", "filled"),
    [
        (with_column(), frozenset({4})),
        (with_column(nullable=False), frozenset()),
        (with_column(generated=True), frozenset()),
        (
            replace(
                TABLE, columns=(*TABLE.columns[:2], replace(TABLE.columns[2], type=TABLE.columns[1].type))
            ),
            frozenset(),
        ),
    ],
)
def test_rule_6_a_shape_that_alters_stored_values_refreshes_the_table(
    shape: TableSchema, filled: frozenset[int]
) -> None:
    desk = Desk()
    desk.transaction(steps=[Shape(2, shape, TABLE, filled)])
    (plan,) = desk.work()
    assert isinstance(plan, Plan)
    assert desk.status() is TableStatus.REFRESHING
    assert [receipt.state for receipt in desk.receipts.values()] == [RequestState.RUNNING]


def test_rule_6_a_nullable_column_without_a_default_needs_nothing() -> None:
    desk = Desk()
    desk.transaction(steps=[Shape(2, with_column(), TABLE)])
    assert (desk.status(), desk.work()) == (TableStatus.STREAMING, [])


def test_rule_6_a_shape_that_changed_while_the_task_was_down_is_seen() -> None:
    desk = Desk().again()
    desk.step(Found(TABLE, frozenset()))
    assert desk.status() is TableStatus.STREAMING
    desk.step(Found(with_column(), frozenset({4})))
    assert desk.status() is TableStatus.QUEUED


def test_rule_6_a_column_that_was_withheld_is_read_once_it_is_shown() -> None:
    """A generated column, which the log does not carry, became an ordinary one while the task was down."""
    desk = Desk().again()
    desk.step(Found(TABLE, frozenset({4})))
    desk.transaction()
    desk = desk.again()
    assert desk.status() is TableStatus.STREAMING
    desk.step(Found(with_column(), frozenset()))
    assert desk.status() is TableStatus.QUEUED
    assert desk.machine.states[ID].withheld == frozenset()


def test_rule_6_a_refresh_reads_only_once_the_log_is_past_the_change() -> None:
    desk = Desk()
    desk.step(Reshaped(ID, True))  # seen in the catalogue; the log may be hours behind
    (plan,) = desk.work()
    assert isinstance(plan, Plan)
    assert plan.marked
    desk.machine.planned(plan.ticket, ("id",), [KeySpan(None, ("6",))], Fence("x", desk.at + 1))
    desk.save(desk.machine.unsaved())
    assert (desk.work(), desk.machine.waiting) == ([], True)
    assert isinstance(desk.again().work()[0], Plan)  # a plan that waits is not saved
    desk.transaction(full(1, 10))  # from before the change: its value is the old one
    desk.arrive(desk.read(), {1: (1, 10, "rewritten")})
    desk.transaction()
    assert desk.out() == [(1, 10, "rewritten")]


def test_rule_6_what_was_read_before_an_alteration_without_a_shape_is_read_again() -> None:
    desk = Desk()
    desk.ask()
    desk.arrive(desk.read(), mark=1)
    desk.step(Reshaped(ID, refresh=False))  # the read may have had a renamed column for a new one
    desk.transaction()
    assert desk.out() == []
    assert len(desk.finish()) == 6


def test_rule_6_a_changed_key_restarts_the_table() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.arrive(desk.read())
    desk.transaction()
    assert desk.release() is not None
    desk.transaction(*moved(1, 5, 10), steps=[Shape(2, replace(TABLE, key=("v",)), TABLE)])
    works = desk.work()
    assert Plan in map(type, works)


def test_rule_6_a_key_that_readers_find_changed_before_the_log_says_so_is_planned_again() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.arrive(desk.read())
    desk.transaction()
    assert desk.release() is not None
    desk.machine.failed(desk.read().ticket, KEY_GONE(table=ID, column="id"), 0.0)
    assert desk.work(0.5) == []
    (plan,) = desk.work(1.0)
    assert isinstance(plan, Plan)
    desk.machine.planned(plan.ticket, ("nr",), [KeySpan(None, ("6",))])
    assert desk.read(1.0).request.key == ("nr",)


def test_rule_6_keys_that_were_asked_for_are_not_read_by_another_key() -> None:
    desk = Desk()
    desk.ask(SnapshotRequest("few", (ID,), keys=(("1",),)))
    desk.machine.failed(desk.read().ticket, KEY_GONE(table=ID, column="id"), 0.0)
    desk.save(desk.machine.unsaved())
    assert [line.code for line in desk.receipts["few"].tables] == ["snapshot.key_changed"]


def test_rule_6_what_failed_before_the_key_changed_counts_no_more() -> None:
    desk = Desk()
    desk.ask(SnapshotRequest("few", (ID,), keys=(("1",),)))
    desk.machine.request(ASK)
    for now in (0.0, 1.0):
        desk.machine.failed(desk.read(now).ticket, LOST(), now)
    desk.machine.failed(desk.read(3.0).ticket, KEY_GONE(table=ID, column="id"), 3.0)
    desk.save(desk.machine.unsaved())
    assert (desk.state_of("few"), desk.state_of("ask")) == (RequestState.FAILED, RequestState.ACCEPTED)
    desk.plan(now=4.0)
    for now in (4.0, 5.0):
        desk.machine.failed(desk.read(now).ticket, LOST(), now)
    desk.machine.failed(desk.read(7.0).ticket, KEY_GONE(table=ID, column="id"), 7.0)
    desk.plan(now=8.0)
    assert (desk.read(8.0).request.after, desk.state_of("ask")) == (None, RequestState.RUNNING)


def test_rule_7_the_cursor_moves_with_the_slice_that_goes_out() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.arrive(desk.read())
    desk.transaction()
    assert desk.release() is not None  # two of three rows
    assert desk.again().read().request.after == ("2",)
    assert desk.release() is not None
    assert desk.again().read().request.after == ("3",)


def test_rule_7_a_range_ends_with_its_last_chunk_however_early_that_was_read() -> None:
    desk = Desk(limits=SnapshotLimits(readers=4, chunk_rows=4, slice_rows=4))
    desk.ask()
    desk.arrive(desk.read())
    desk.arrive(desk.read())  # the last one is here before the first went out
    desk.transaction()
    assert desk.release() is not None
    assert desk.again().read().request.after == ("4",)
    assert [row[0] for row in desk.out()] == [5, 6]
    assert desk.status() is TableStatus.STREAMING


def test_rule_7_a_part_not_yet_released_continues_losing_keys() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.arrive(desk.read())
    desk.transaction()
    assert desk.release() is not None
    desk.transaction(full(1, 20), full(3, 21))
    assert desk.out() == []


def test_rule_7_pause_and_stop_are_saved_and_obeyed() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.arrive(desk.read(), mark=1)
    desk.machine.request(PauseRequest("p"))
    desk.save(desk.machine.unsaved())
    desk = desk.again()
    desk.transaction()
    assert (desk.status(), desk.work(), desk.out()) == (TableStatus.PAUSED, [], [])
    assert desk.state_of("ask") is RequestState.PAUSED
    desk.machine.request(ResumeRequest("r"))
    assert desk.read().request.after is None
    assert desk.state_of("ask") is RequestState.RUNNING
    desk.machine.request(StopRequest("s"))
    desk.save(desk.machine.unsaved())
    assert desk.state_of("ask") is RequestState.CANCELLED
    assert (desk.again().status(), desk.again().work()) == (TableStatus.STREAMING, [])


def test_rule_7_a_stop_leaves_what_the_worker_itself_needs() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.transaction(steps=[Shape(2, with_column(), TABLE, frozenset({4}))])
    desk.machine.request(StopRequest("s"))
    desk.save(desk.machine.unsaved())
    assert desk.status() is TableStatus.REFRESHING
    assert desk.state_of("ask") is RequestState.CANCELLED


def test_rule_7_a_ticket_or_mark_of_another_run_means_nothing() -> None:
    """T-W10."""
    desk = Desk()
    desk.ask(ASK)
    old = desk.read()
    desk = desk.again("second")
    desk.arrive(old)
    desk.machine.planned(Ticket("run/9"), ("id",), [])
    desk.machine.failed(Ticket("run/9"), LOST(), 0.0)
    read = desk.read()
    desk.step(Message("mark", old.ticket.encode(), Place(0, 0)))
    desk.machine.chunk(read.ticket, Chunk(TABLE, (), True, lambda *_, **__: TAIL), Said(read.ticket))
    assert desk.out() == []
    assert desk.status() is TableStatus.SNAPSHOTTING


def test_rule_7_the_same_id_twice_is_one_request() -> None:
    desk = Desk()
    desk.ask()
    assert len(desk.finish()) == 6
    desk = desk.again()
    desk.machine.request(ASK)
    assert (desk.work(), desk.status()) == ([], TableStatus.STREAMING)


def test_rule_7_the_first_read_of_a_start_is_also_asked_of_a_table_that_came_since() -> None:
    desk = Desk()
    desk.ask(SnapshotRequest("start", (ID,), Purpose.INITIAL))
    assert desk.finish() == WHOLE
    desk = desk.again()
    both = (ID, OTHER.id)
    desk.machine.request(SnapshotRequest("start", both))
    assert desk.work() == []  # a person's request is one, whatever tables it names
    desk.machine.request(SnapshotRequest("start", both, Purpose.INITIAL))
    assert [plan.table for plan in desk.machine.work(0.0) if isinstance(plan, Plan)] == [OTHER.id]


def test_rule_8_a_window_says_that_it_waits_and_closes_by_the_logs_place() -> None:
    desk = Desk()
    desk.ask()
    desk.arrive(desk.read(), mark=5)
    assert desk.machine.waiting
    assert desk.out() == []

    class Anywhere(Fence):
        def passed(self, step: object) -> bool:
            return isinstance(step, Progress)

    read = desk.read()
    desk.machine.chunk(read.ticket, Chunk(TABLE, (), True, lambda *_, **__: TAIL), Anywhere("x", 0))
    desk.at = 5
    desk.transaction()
    desk.step(Progress(Place(0, 7)))
    assert len(desk.out()) == 3
    assert not desk.machine.waiting


def test_rule_8_a_mark_that_comes_back_before_its_reader_does_is_not_missed() -> None:
    desk = Desk()
    desk.ask()
    read = desk.read()
    desk.step(Begin("m", 0))
    desk.step(Message("mark", read.ticket.encode(), Place(0, 0)))
    desk.step(Commit("m", Place(0, 1), 0))
    desk.transaction()
    desk.machine.chunk(read.ticket, Chunk(TABLE, (), True, lambda *_, **__: TAIL), Said(read.ticket))
    assert desk.release() is not None


@pytest.mark.parametrize("fails", [False, True])
def test_rule_8_what_names_a_reader_is_remembered_until_it_is_back(*, fails: bool) -> None:
    desk = Desk()
    desk.ask(ASK, KeySpan(None, ("3",)), KeySpan(("3",), ("6",)))
    gate, (first, other) = desk.machine._gate, desk.work()
    for work in (first, other):  # which is out all the time
        desk.step(Message("mark", work.ticket.encode(), Place(0, 0)))
        desk.step(Signal(f"{work.ticket}-close", "snapshot-window-close", "{}", Place(0, 0)))
    desk.transaction()
    assert gate.passed(Said(first.ticket))
    if fails:
        desk.machine.failed(first.ticket, LOST(), 0.0)
    else:
        desk.machine.chunk(first.ticket, Chunk(TABLE, (), True, lambda *_, **__: TAIL), Fence("x", 99))
    desk.step(Message("mark", first.ticket.encode(), Place(0, 0)))
    desk.transaction()
    assert not gate.passed(Said(first.ticket))
    assert gate.passed(Said(other.ticket))


def test_rule_9_a_failed_read_waits_longer_each_time_and_then_its_request_fails() -> None:
    desk = Desk()
    desk.machine.request(SnapshotRequest("ask", (ID, OTHER.id)))
    plan, _ = desk.work()  # the other's is under way all the time
    desk.machine.planned(plan.ticket, ("id",), [KeySpan(None, ("6",))])
    desk.machine.failed(desk.read().ticket, LOST(), 0.0)
    assert desk.work(0.5) == []
    assert desk.machine.due(0.5) == 1.0
    for now in (1.0, 3.0):
        assert desk.work(now - 0.1) == []
        (again,) = desk.work(now)
        desk.machine.failed(again.ticket, LOST(), now)
    desk.save(desk.machine.unsaved())
    # the copy lacks nothing for it: the receipt alone says so
    assert (desk.status(), desk.machine.due(9.0)) == (TableStatus.STREAMING, math.inf)
    assert [(line.scan, line.code) for line in desk.receipts["ask"].tables] == [
        (ScanStatus.SQL_EXCEPTION, "test.desk_lost"),
        (None, None),
    ]
    desk = desk.again()
    assert desk.status() is TableStatus.STREAMING
    assert {work.table for work in desk.work(99.0) if isinstance(work, Plan)} == {OTHER.id}
    desk.machine.request(SnapshotRequest("second", (ID,)))
    assert desk.status() is TableStatus.QUEUED


def test_rule_9_what_no_wait_repairs_fails_at_once_and_is_tried_again_when_asked() -> None:
    """T-W13."""
    desk = Desk()
    desk.ask(SnapshotRequest("first", (ID,), Purpose.INITIAL))
    desk.machine.failed(desk.read().ticket, REFUSED(), 0.0)
    desk.save(desk.machine.unsaved())
    assert desk.status() is TableStatus.FAILED
    receipt = desk.receipts["first"]
    assert (receipt.state, receipt.code) == (RequestState.FAILED, "test.desk_refused")
    desk.machine.request(SnapshotRequest("less", (ID,), keys=(("1",),)))
    desk.save(desk.machine.unsaved())
    assert sorted(desk.receipts) == ["first", "less", "run/own/3"]  # the first read is not lost
    desk.finish()
    assert {name: one.state for name, one in desk.receipts.items()}["run/own/3"] is RequestState.SUCCEEDED


def test_rule_9_a_table_at_fault_stays_so_until_its_rows_are_asked_for() -> None:
    desk = Desk()
    desk.ask()
    late = desk.read()
    desk.step(Fault(ID, REFUSED()))
    desk.arrive(late)
    assert (desk.status(), desk.work(), desk.out()) == (TableStatus.FAILED, [], [])
    kept = canonical_json({"set_aside": {"code": "c", "sentence": "s", "hint": "h"}})
    assert table_fault.reason_in(kept, ID) is not None
    for here in (desk.again(), desk):
        assert here.status() is TableStatus.FAILED
        here.machine.request(SnapshotRequest("mended", (ID,)))
        assert here.work() == []
    assert (list(desk.machine.unstreamed), desk.work()) == ([ID], [])  # the stream is to be opened again
    desk.save(desk.machine.unsaved())
    desk = desk.again("third")
    assert list(desk.machine.unstreamed) == []
    assert len(desk.finish()) == 6


def test_rule_12_readers_and_bytes_are_bounded_and_tables_share_them() -> None:
    limits = SnapshotLimits(readers=2, most_bytes=100, chunk_rows=3, slice_rows=2)
    desk = Desk(limits=limits)
    desk.machine.request(SnapshotRequest("ask", (ID, OTHER.id)))
    plans = desk.work()
    assert [plan.table for plan in plans if isinstance(plan, Plan)] == [ID, OTHER.id]
    assert desk.work() == []
    for plan in plans:
        desk.machine.planned(plan.ticket, ("id",), [KeySpan(None, ("3",)), KeySpan(("3",), ("6",))])
    first, second = desk.work()
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    assert (first.request.after, second.request.after, first.request.table) == (None, ("3",), ID)
    huge = Chunk(TABLE, (Slice([], ("1",), 90),), True, lambda *_, **__: TAIL)
    desk.machine.chunk(first.ticket, huge, Fence("x", 99))
    assert desk.work() == []  # 90 bytes are held and 12 may come


def test_a_late_ticket_frees_its_reader() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, chunk_rows=3))
    desk.ask()
    late = desk.read()
    desk.step(Shape(2, with_column(), TABLE))
    assert desk.work() == []
    desk.arrive(late)
    assert len(desk.work()) == 1


def test_a_table_that_grows_faster_than_it_is_read_is_read_to_its_planned_end() -> None:
    """T-W24."""
    desk, rows, out = Desk(), dict(ROWS), []
    desk.ask(ASK)
    for _ in range(10):
        for work in desk.work():
            assert isinstance(work, Read)
            rows |= {number: (number, number, "later") for number in range(len(rows) + 1, len(rows) + 5)}
            desk.arrive(work, rows)  # three rows at a time, and four have come
        desk.transaction()
        out += desk.out()
    assert (desk.status(), desk.state_of("ask")) == (TableStatus.STREAMING, RequestState.SUCCEEDED)
    assert [number for number, _, _ in out] == [*ROWS]
