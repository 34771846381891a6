"""The machine where two things meet: late tickets, marks that are not there yet, rows of several kinds."""

from math import inf

import pytest

from tests.fakes.place import Place
from tests.unit.producers.snapshot.desk import ASK, ID, LOST, OTHER, REFUSED, Desk, full, void
from tests.unit.producers.snapshot.shop import TABLE, TAIL, Fence, key_of
from tests.unit.producers.snapshot.test_gap import taken_up, void_of
from tests.unit.producers.snapshot.test_tables import created, lacking_row
from wrackline.producers.contract.row_chunks import Chunk, Slice
from wrackline.producers.contract.snapshot_requests import PauseRequest, ResumeRequest, SnapshotRequest
from wrackline.producers.contract.steps import Appeared, Begin, Reshaped, Rows, Shape, Step, Truncate
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import (
    KeySpan,
    Plan,
    Read,
    SnapshotLimits,
    Ticket,
    VisibilityCheck,
)

SIX = [KeySpan(None, ("6",))]


def planning() -> tuple[Desk, Plan]:
    desk = Desk()
    desk.transaction()
    desk.machine.request(ASK)
    (plan,) = desk.work()
    assert isinstance(plan, Plan)
    return desk, plan


def waiting(desk: Desk) -> bool:
    return desk.machine.waiting


def reading(desk: Desk) -> bool:
    return desk.machine.reading


def overtaken() -> Desk:
    """A missing row was read, and the log has it whole before it could go out."""
    desk = Desk()
    desk.arrive(lacking_row(desk), mark=1)
    desk.transaction(full(5, 8))
    assert not desk.machine.states[ID].missing
    return desk


# Requests.


def test_a_pause_of_one_table_leaves_the_others() -> None:
    desk = Desk()
    desk.machine.request(SnapshotRequest("both", (ID, OTHER.id)))
    desk.machine.request(PauseRequest("p", (ID,)))
    assert [work.table for work in desk.work() if isinstance(work, Plan)] == [OTHER.id]


def test_a_pause_that_was_obeyed_is_known_by_the_table_where_its_receipt_is_lost() -> None:
    desk = Desk()
    desk.machine.request(ASK)
    desk.machine.request(PauseRequest("p"))
    desk.machine.request(ResumeRequest("r"))
    desk.save(desk.machine.unsaved())
    again = Desk(desk.kept, run="again")
    again.machine.request(PauseRequest("p"))
    assert again.status() is TableStatus.SNAPSHOTTING


# Tickets that mean nothing any more.


def test_a_void_that_is_no_longer_wanted_is_not_made() -> None:
    desk = taken_up()
    desk.transaction()
    late = void_of(desk)
    desk.machine.request(PauseRequest("p"))
    desk.machine.request(ResumeRequest("r"))
    wanted = void_of(desk)
    desk.machine.voided(late.ticket, void)
    desk.machine.voided(Ticket("run/99"), void)
    assert desk.release() is None
    desk.machine.voided(wanted.ticket, void)
    assert desk.release() is not None


def test_a_plan_that_is_no_longer_wanted_is_not_taken() -> None:
    desk, late = planning()
    desk.machine.request(PauseRequest("p"))
    desk.machine.request(ResumeRequest("r"))
    (plan,) = desk.work()
    desk.machine.planned(late.ticket, ("id",), [])
    assert desk.status() is TableStatus.SNAPSHOTTING
    desk.machine.planned(plan.ticket, ("id",), [])
    assert desk.status() is TableStatus.STREAMING


def test_a_read_that_is_no_longer_wanted_and_fails_leaves_the_plan() -> None:
    desk = Desk()
    desk.ask()
    late = desk.read()
    desk.step(Reshaped(ID, refresh=True))
    (plan,) = desk.work()
    desk.machine.failed(late.ticket, LOST(), 0.0)
    desk.machine.planned(plan.ticket, ("id",), [])
    assert desk.status() is TableStatus.STREAMING


# Marks.


def test_a_plan_whose_mark_was_passed_already_is_taken_at_once() -> None:
    desk, plan = planning()
    desk.machine.planned(plan.ticket, ("id",), SIX, Fence("x", desk.at))
    assert isinstance(desk.work()[0], Read)


def test_a_plan_waits_for_its_own_mark() -> None:
    desk, plan = planning()
    assert not waiting(desk)
    desk.machine.planned(plan.ticket, ("id",), SIX, Fence("x", desk.at + 2))
    assert waiting(desk)
    desk.transaction()
    assert (desk.work(), waiting(desk)) == ([], True)
    desk.transaction()
    assert isinstance(desk.work()[0], Read)


def test_a_read_that_is_under_way_waits_for_no_mark() -> None:
    desk = Desk()
    desk.ask()
    read = desk.read()
    assert not waiting(desk)
    desk.arrive(read, mark=1)
    assert waiting(desk)


# Which transactions are asked about, and when.


def test_a_table_with_a_key_is_read_beside_one_without() -> None:
    desk = Desk()
    desk.machine.request(SnapshotRequest("both", (ID, OTHER.id)))
    for plan in desk.work():
        assert isinstance(plan, Plan)
        key, spans = ((), [KeySpan()]) if plan.table == ID else (("id",), SIX)
        desk.machine.planned(plan.ticket, key, spans)
    assert {work.request.table for work in desk.work() if isinstance(work, Read)} == {ID, OTHER.id}


def test_the_first_of_several_waits_is_reported_and_none_that_is_over() -> None:
    desk = Desk()
    desk.machine.request(SnapshotRequest("both", (ID, OTHER.id)))
    first, second = desk.work()
    desk.machine.failed(first.ticket, LOST(), 0.0)
    desk.machine.failed(second.ticket, LOST(), 0.5)
    assert desk.machine.due(0.5) == 1.0
    assert desk.machine.due(1.0) == 1.5
    assert desk.machine.due(1.5) == inf


@pytest.mark.parametrize(("held", "reads"), [(145, 1), (140, 2)])
def test_what_one_pass_hands_out_counts_in_the_room_that_is_left(held: int, reads: int) -> None:
    desk = Desk(limits=SnapshotLimits(readers=4, most_bytes=160))
    desk.ask(SnapshotRequest("other", (OTHER.id,)))
    huge = Chunk(TABLE, (Slice([], ("1",), held),), True, lambda *_, **__: TAIL)
    desk.machine.chunk(desk.read().ticket, huge, Fence("x", 99))
    desk.machine.request(ASK)
    (plan,) = desk.work()
    desk.machine.planned(plan.ticket, ("id",), [KeySpan(None, ("3",)), KeySpan(("3",), ("6",))])
    assert len(desk.work()) == reads


def test_a_visibility_check_follows_a_single_transaction_and_then_waits_a_while() -> None:
    desk = Desk()
    assert desk.work() == []
    desk.transaction()
    assert desk.work(59.0) == []
    (look,) = desk.work(60.0)
    assert isinstance(look, VisibilityCheck)
    assert reading(desk)
    desk.machine.visibility(look.ticket, look.streamed)
    assert not reading(desk)
    assert desk.work(119.0) == []
    assert len(desk.work(120.0)) == 1


# What is held of a table that wants nothing more.


def test_rows_that_are_held_are_let_go_and_then_nothing_is_read() -> None:
    desk = overtaken()
    assert reading(desk)
    assert desk.out() == []
    assert not reading(desk)


def test_rows_that_were_read_in_another_shape_are_let_go_and_then_nothing_is_read() -> None:
    desk = overtaken()
    desk.step(Reshaped(ID, refresh=False))
    assert not reading(desk)


def test_a_read_that_is_given_up_leaves_nothing_behind() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, most_bytes=4_000, chunk_rows=3, slice_rows=2))
    late = lacking_row(desk)
    desk.transaction(full(5, 8))
    desk.transaction(*[full(number, 10) for number in range(1, 14)])  # more than it remembers
    desk.arrive(late)
    assert desk.work() == []
    assert not reading(desk)


# The log's rows.


def test_a_row_in_part_is_seen_among_whole_ones_and_behind_one_without_a_key() -> None:
    keyless: Step = Shape(2, OTHER, None)
    for before in (full(1, 9), (2, "c", None, b"value", None)):
        desk = Desk()
        desk.step(keyless)
        desk.transaction(before, created(5))
        assert list(desk.machine.states[ID].missing) == [key_of(5)]


@pytest.mark.parametrize("step", [Truncate(1, b"", Place(0, 0, 1)), Rows([full(1, 2)], Place(0, 0, 1))])
def test_a_transaction_that_a_position_may_lie_in_is_named(step: Step) -> None:
    desk = Desk()
    desk.step(Begin("open", 5))
    assert desk.machine.unproven() == ()
    desk.step(step)
    assert [commit.transaction for commit in desk.machine.unproven()] == ["open"]


def test_a_table_that_appears_has_the_shape_that_is_reported() -> None:
    desk = Desk()
    desk.step(Appeared(OTHER.id, complete=True, shape=OTHER))
    assert desk.machine.states[OTHER.id].shape == OTHER
    desk.machine.request(SnapshotRequest("other", (OTHER.id,)))
    (plan,) = desk.work()
    desk.machine.failed(plan.ticket, REFUSED(), 0.0)
    assert desk.machine.status(OTHER.id) is TableStatus.STREAMING
