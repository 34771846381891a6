"""What the copy can't do without continues: over stops, lost connections, tables that went, too many keys."""

import pytest

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import (
    ASK,
    ID,
    LOST,
    REFUSED,
    ROWS,
    Desk,
    full,
    moved,
    partial,
    with_column,
)
from tests.unit.producers.snapshot.history import chunk_of
from tests.unit.producers.snapshot.shop import ENCODER, TABLE, TAIL, Fence
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
    TableHeldUp,
)
from wrackline.producers.contract.steps import (
    Appeared,
    Begin,
    Commit,
    Fault,
    Found,
    Renamed,
    RowChange,
    Rows,
    Shape,
    Step,
    Unsent,
    Vanished,
)
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import Job, TableState, TableStatus
from wrackline.producers.snapshot.work_items import Plan, Read, SnapshotLimits
from wrackline.schemas.kafka.receipts import RequestState
from wrackline.schemas.tables.table import TableId

FIRST = SnapshotRequest("first", (ID,), Purpose.INITIAL)
GONE = [Vanished(ID), Renamed(ID, TableId("d", "public", "another"))]


@pytest.mark.parametrize("gone", GONE)
def test_a_table_set_aside_stays_so_when_it_is_dropped(
    gone: Step,
) -> None:
    desk = Desk()
    desk.step(Fault(ID, REFUSED()))
    desk.step(gone)
    desk.step(Appeared(ID, complete=True))
    for here in (desk, desk.again()):
        assert here.status() is TableStatus.FAILED
        assert (list(here.machine.unstreamed), here.work()) == ([], [])
    desk.machine.request(ASK)
    assert list(desk.machine.unstreamed) == [ID]  # the stream is opened again, with the new table
    desk.save(desk.machine.unsaved())
    desk = desk.again("third")
    assert (list(desk.machine.unstreamed), len(desk.finish())) == ([], 6)


@pytest.mark.parametrize("gone", GONE)
def test_a_table_that_goes_before_the_stream_was_opened_for_it_is_set_aside_again(gone: Step) -> None:
    desk = Desk()
    desk.step(Fault(ID, REFUSED()))
    desk.machine.request(ASK)
    desk.step(gone)
    assert (desk.status(), list(desk.machine.unstreamed)) == (TableStatus.FAILED, [])
    assert desk.again().status() is TableStatus.FAILED


def test_a_table_that_goes_and_was_streamed_leaves_nothing_behind() -> None:
    desk = Desk()
    desk.ask()
    desk.step(Vanished(ID))
    assert (desk.status(), desk.work(), desk.state_of("ask")) == (
        TableStatus.GONE,
        [],
        RequestState.CANCELLED,
    )
    assert desk.again().machine.states[ID].left, "the next table of its name is read as a new one"


def test_a_stop_leaves_the_first_read_and_says_so() -> None:
    desk = Desk()
    desk.ask(FIRST)
    desk.machine.request(SnapshotRequest("more", (ID,)))
    desk.machine.request(PauseRequest("p"))
    desk.machine.request(ResumeRequest("r"))
    desk.machine.request(StopRequest("s"))
    desk.save(desk.machine.unsaved())
    assert (desk.receipts["p"].code, desk.receipts["r"].code) == (None, None)
    assert (desk.state_of("first"), desk.state_of("more")) == (RequestState.RUNNING, RequestState.CANCELLED)
    assert (desk.state_of("s"), desk.receipts["s"].code) == (RequestState.SUCCEEDED, "snapshot.goes_on")
    assert len(desk.finish()) == 6
    assert desk.state_of("first") is RequestState.SUCCEEDED
    desk.machine.request(StopRequest("nothing"))
    desk.save(desk.machine.unsaved())
    assert desk.receipts["nothing"].code is None


def test_a_request_that_makes_a_failed_first_read_good_cannot_take_it_away_with_it() -> None:
    desk = Desk()
    desk.ask(FIRST)
    desk.machine.failed(desk.read().ticket, REFUSED(), 0.0)
    desk.machine.request(ASK)
    desk.machine.request(StopRequest("s"))
    desk.save(desk.machine.unsaved())
    assert desk.state_of("ask") is RequestState.CANCELLED
    assert len(desk.finish()) == 6


def test_a_request_that_takes_a_table_up_again_cannot_leave_it_without_its_rows() -> None:
    desk = Desk()
    desk.step(Fault(ID, REFUSED()))
    desk.machine.request(ASK)
    desk.machine.request(StopRequest("s"))
    desk.save(desk.machine.unsaved())
    desk = desk.again()
    assert len(desk.finish()) == 6


def test_rows_that_wait_for_a_request_are_read_though_it_is_stopped() -> None:
    desk = Desk()
    desk.machine = Machine({}, SnapshotLimits(readers=4), "run", bound_of=lambda *_: None)
    desk.step(Shape(1, TABLE, None))
    desk.machine.request(ASK)
    desk.transaction(*moved(1, 5, 10))
    desk.machine.request(StopRequest("s"))
    desk.save(desk.machine.unsaved())
    assert isinstance(desk.work()[0], Plan)


@pytest.mark.parametrize("purpose", [Purpose.INITIAL, Purpose.REFRESH])
def test_rule_9_no_number_of_lost_connections_ends_what_the_copy_needs(purpose: Purpose) -> None:
    desk = Desk()
    desk.ask(SnapshotRequest("first", (ID,), purpose))
    now, told = 0.0, []
    for _ in range(1_100):  # twice as long each time would be no number any more
        (read,) = desk.work(now)
        desk.machine.failed(read.ticket, LOST(), now)
        unsaved = desk.machine.unsaved()
        told += [change.error.code for change in unsaved.receipts if isinstance(change, TableHeldUp)]
        waits = desk.machine.due(now) - now
        assert 0 < waits <= 60.0
        assert desk.work(now + waits / 2) == []
        now += waits
    assert waits == 60.0
    assert told == ["snapshot.held_up"]
    assert isinstance(desk.work(now)[0], Read)
    assert desk.state_of("first") is RequestState.RUNNING


def test_rule_9_missing_rows_are_asked_for_however_often_the_connection_is_lost() -> None:
    desk = Desk()
    desk.transaction(*moved(1, 5, 10))
    now = 0.0
    for _ in range(10):
        (read,) = desk.work(now)
        desk.machine.failed(read.ticket, LOST(), now)
        now = desk.machine.due(now)
    assert isinstance(desk.work(now)[0], Read)


def test_rule_5_of_too_many_missing_rows_all_are_read() -> None:
    desk = Desk()
    desk.machine = Machine(
        {}, SnapshotLimits(readers=4), "run", bound_of=lambda _, key: (str(int.from_bytes(key[5:], "big")),)
    )
    desk.step(Shape(1, TABLE, None))
    desk.step(Begin("large", 0))
    for number in range(1, 1_500):
        desk.machine.step(Rows([created(number)], Place(0, 0, number)))
    (state,) = (desk.machine._tables[ID].state,)
    assert len(state.missing) == 0
    assert [(job.purpose, job.begun) for job in state.jobs] == [(Purpose.REFRESH, False)]
    desk.transaction()
    (plan,) = desk.work()
    assert isinstance(plan, Plan)
    desk.transaction(created(7))  # from here on the refresh may have read it before
    assert len(desk.machine._tables[ID].state.missing) == 1


def test_rule_12_a_changed_value_that_was_not_sent_makes_its_row_missing() -> None:
    desk = Desk()
    desk.transaction(partial(1, 2))
    assert not desk.machine._tables[ID].state.missing  # the copy has the value, which did not change
    ref, op, key, value, unsent = partial(2, 2)
    assert unsent is not None
    desk.transaction((ref, op, key, value, unsent._replace(again=True)))
    assert list(desk.machine._tables[ID].state.missing) == [key]


def created(number: int) -> RowChange:
    value = ENCODER.head(None, (number, number, None)) + TAIL
    key = ENCODER.key((number, None, None))
    assert key is not None
    return (1, "c", key, value, Unsent(("big",), ENCODER.key((number + 5_000, None, None))))


def test_rule_12_a_window_that_would_remember_too_many_keys_is_read_again_later() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, most_bytes=4_000, chunk_rows=3, slice_rows=2))
    desk.ask()
    late = desk.read()
    desk.transaction(*[full(number, 10) for number in range(1, 13)])
    desk.transaction(full(1, 20), *[full(number, 21) for number in range(1, 13)])
    assert not desk.machine._tables[ID].windows  # nothing is kept for a read that is in vain
    desk.arrive(late, ROWS)  # rows of before: nobody remembers which of them the log has changed
    desk.transaction()
    assert desk.out() == []
    assert desk.work(0.0) == []
    assert desk.machine.due(0.0) == 1.0
    assert desk.read(1.0).request.after is None


def test_rule_12_reads_that_the_log_outruns_again_and_again_are_reported_once_a_spell() -> None:
    limits = SnapshotLimits(
        readers=1, most_bytes=4_000, chunk_rows=3, slice_rows=2, most_tries=3, look_every=9e9
    )
    desk = Desk(limits=limits)
    desk.ask()
    now = 0.0
    told: list[str] = []

    def outrun() -> None:
        nonlocal now
        late = desk.read(now)
        desk.machine.step(Begin(f"x{desk.at}", 0))
        desk.machine.step(Rows([full(number, desk.at) for number in range(1, 13)], Place(0, desk.at, 1)))
        unsaved = desk.machine.unsaved()
        told.extend(change.error.code for change in unsaved.receipts if isinstance(change, TableHeldUp))
        desk.step(Commit(f"x{desk.at}", Place(0, desk.at), 0))
        desk.arrive(late)
        assert desk.work(now) == []
        now = desk.machine.due(now)

    for _ in range(2):
        outrun()
    assert told == []
    for _ in range(5):
        outrun()
    assert told == ["snapshot.held_up"]
    desk.arrive(desk.read(now))
    desk.transaction()
    assert desk.release() is not None
    for _ in range(3):
        outrun()
    assert told == ["snapshot.held_up"] * 2


def test_rule_12_a_key_that_changes_again_and_again_is_remembered_once() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, most_bytes=4_000, chunk_rows=3, slice_rows=2))
    desk.ask()
    read = desk.read()
    for version in range(10, 60):
        desk.transaction(full(1, version), partial(2, version))
    desk.arrive(read)
    desk.transaction()
    assert desk.out() == [(2, 59, "b2"), (3, 3, "b3")]


def test_rule_6_a_chunk_that_is_ahead_of_the_log_is_not_read_again_at_once() -> None:
    desk = Desk()
    desk.ask()
    waits = []
    now = 0.0
    for version in range(10, 14):
        read = desk.read(now)
        chunk = chunk_of(read.request, {1: (1, 1, "b1")}, with_column())
        desk.machine.chunk(read.ticket, chunk, Fence("x", 99))
        desk.transaction(partial(1, version))  # of the shape that the chunk has left behind
        assert desk.work(now) == []
        waits.append(desk.machine.due(now) - now)
        now += waits[-1]
    assert waits == [1.0, 2.0, 4.0, 8.0]
    read = desk.read(now)
    desk.machine.chunk(read.ticket, chunk_of(read.request, {1: (1, 1, "b1")}, with_column()), Fence("x", 99))
    desk.transaction(partial(1, 15))
    assert desk.work(now) == []
    desk.transaction(steps=[Shape(2, with_column(), TABLE)])  # the log is there: no need to wait
    assert isinstance(desk.work(now)[0], Read)


def test_a_request_that_failed_keeps_no_missing_row_from_being_read() -> None:
    desk = Desk()
    desk.ask(SnapshotRequest("wrong", (ID,), keys=(("x",),)))
    desk.machine.failed(desk.read().ticket, REFUSED(), 0.0)
    desk.save(desk.machine.unsaved())
    desk.step(Found(TABLE, frozenset()))
    desk.transaction((1, "c", *partial(5, 2)[2:]))
    assert desk.read().request.only == (("5",),)
    assert desk.state_of("wrong") is RequestState.FAILED


def test_the_reason_of_a_table_is_its_newest_failure() -> None:
    older, newer = FaultReason("test.older", "it was so", ""), FaultReason("test.newer", "it is so", "")
    state = TableState(
        jobs=(
            Job("first", Purpose.INITIAL, failed=older),
            Job("again", Purpose.REFRESH, failed=newer),
            Job("asked", Purpose.REQUESTED, failed=older),
        )
    )
    assert state.reason == newer
