"""What is read waits for the gate, and what the log says of a window's keys: rules 2 and 5."""

from collections.abc import Sequence

from tests.fakes.place import Place
from tests.fakes.source import SignalMark
from tests.unit.producers.snapshot.desk import (
    ASK,
    LOST,
    ROWS,
    Desk,
    delete,
    full,
    moved,
    partial,
)
from tests.unit.producers.snapshot.shop import bound_of
from wrackline.producers.contract.steps import Begin, Commit, Progress, Rows, Signal, Truncate
from wrackline.producers.snapshot.gate import Gate
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import (
    KeySpan,
    Plan,
    Read,
    SnapshotLimits,
    Ticket,
    VisibilityCheck,
)


def names(commits: Sequence[Commit]) -> list[str]:
    return [commit.transaction for commit in commits]


def test_rule_2_a_read_waits_for_what_was_streamed_and_no_reader_has_seen() -> None:
    desk = Desk()
    desk.transaction(full(1, 10))
    desk.transaction()  # of tables that are left out, and may be read one day
    desk.machine.request(ASK)
    (plan,) = desk.work()
    assert [commit.transaction for commit in plan.streamed] == ["x0", "x1"]
    desk.transaction(full(2, 11))
    desk.machine.planned(plan.ticket, ("id",), [KeySpan(None, ("6",))])
    read = desk.read()
    assert [commit.transaction for commit in read.streamed] == ["x2"]  # the plan's reader has seen the others
    desk.arrive(read)
    assert desk.read().streamed == ()


def test_rule_2_nothing_is_read_inside_a_transaction_of_which_a_part_has_gone_by() -> None:
    desk = Desk()
    desk.machine.request(ASK)
    desk.step(Begin("open", 0))
    desk.step(Rows([full(1, 10)], Place(0, 0, 1)))
    assert desk.work() == []
    assert [commit.transaction for commit in desk.machine.unproven()] == ["open"]
    desk.step(Commit("open", Place(0, 1), 0))
    assert [commit.transaction for commit in desk.work()[0].streamed] == ["open"]


def test_rule_2_what_was_streamed_before_a_crash_is_waited_for_after_it() -> None:
    before = (Commit("x9", Place(0, 1), 0),)
    machine = Machine({}, SnapshotLimits(), "run", bound_of=bound_of, streamed=before)
    machine.request(ASK)
    assert machine.work(0.0)[0].streamed == before
    assert machine.unproven() == before


def test_rule_2_what_a_look_finds_hidden_is_kept_and_the_rest_is_let_go() -> None:
    desk = Desk(limits=SnapshotLimits(readers=4, chunk_rows=3, look_at=3, look_rest=1.0, look_every=60.0))
    assert desk.work(0.0) == []
    desk.transaction(full(1, 10))
    desk.transaction(full(2, 11))
    assert desk.work(1.0) == []  # too few, too early
    desk.transaction(full(3, 12))
    (look,) = desk.work(1.0)
    assert isinstance(look, VisibilityCheck)
    assert names(look.streamed) == ["x0", "x1", "x2"]
    assert desk.work(2.0) == []  # one is on its way
    desk.transaction(full(4, 13))
    desk.machine.visibility(look.ticket, look.streamed[1:2])
    assert names(desk.machine.unproven()) == ["x1", "x3"]
    assert desk.work(3.0) == []
    (later,) = desk.work(61.0)  # few, but for long
    assert names(later.streamed) == ["x1", "x3"]
    desk.machine.failed(later.ticket, LOST(), 61.0)
    assert names(desk.machine.unproven()) == ["x1", "x3"]  # nobody has seen them
    desk.transaction(full(5, 14))
    assert desk.work(70.0) == []  # many, but the server did not answer
    desk.machine.request(ASK)
    assert names(desk.work(70.0)[0].streamed) == ["x1", "x3", "x4"]


def test_rule_2_a_reader_that_gives_up_at_the_gate_names_what_is_hidden() -> None:
    desk = Desk()
    desk.transaction(full(1, 10))
    desk.transaction(full(2, 11))
    desk.machine.request(ASK)
    (plan,) = desk.work()
    desk.machine.failed(plan.ticket, LOST(), 0.0, plan.streamed[:1])
    assert names(desk.work(1.0)[0].streamed) == ["x0"]


def test_rule_2_a_transaction_seen_to_be_hidden_outlives_many_that_were_not_looked_for() -> None:
    gate = Gate("run", 4, [Commit("stuck", Place(0, 0), 0)])
    for number in range(9):
        gate.begin(Begin(f"x{number}", 0))
        gate.touch(Place(0, number))
        gate.passing(Commit(f"x{number}", Place(0, number), 0))
    assert names(gate.streamed()) == ["stuck", "x5", "x6", "x7", "x8"]
    assert names(gate.unproven(3)) == ["stuck", "x7", "x8"]
    gate.seen(gate.streamed(), gate.streamed()[:1])
    assert names(gate.streamed()) == ["stuck"]
    gate.seen([Commit("earlier", Place(0, 0), 0)])  # by a check that was given less, and comes back later
    assert names(gate.streamed()) == ["stuck"]


def test_rule_8_a_ticket_is_not_taken_for_a_longer_one() -> None:
    gate = Gate("run", 4, [])
    for number in (1, 12):
        gate.out(Ticket(f"run/{number}"))
    gate.passing(Signal("run/12-close", "snapshot-window-close", "{}", Place(0, 1)))
    gate.passing(Progress(Place(0, 2)))
    gate.back(Ticket("run/1"))
    mark = SignalMark("run/12", "run/12-close")
    assert gate.passed(mark)
    gate.back(Ticket("run/12"))
    assert not gate.passed(mark)


def test_rule_5_old_and_new_key_of_an_event_leave_the_window() -> None:
    """T-W06."""
    desk = Desk()
    desk.ask(ASK)
    read = desk.read()
    desk.transaction(delete(1))
    desk.arrive(read, mark=1)
    desk.transaction(delete(2), full(3, 12, "c"))
    assert desk.out() == []


def test_rule_5_a_partial_event_keeps_the_row_and_takes_its_columns_in_log_order() -> None:
    """T-T03."""
    desk = Desk()
    desk.ask(ASK)
    read = desk.read()
    desk.transaction(partial(1, 10), partial(1, 11))
    desk.transaction(partial(2, 12), full(2, 13), partial(2, 14))
    desk.arrive(read, mark=1)
    desk.transaction(partial(1, 15), partial(3, 16))
    assert desk.out() == [(1, 15, "b1"), (3, 16, "b3")]


def test_rule_5_partial_events_before_the_chunk_is_here_all_go_into_it() -> None:
    desk = Desk()
    desk.ask(ASK)
    read = desk.read()
    desk.transaction(partial(1, 10), partial(1, 11))
    desk.arrive(read)
    desk.transaction()
    assert desk.out() == [(1, 11, "b1"), (2, 2, "b2"), (3, 3, "b3")]


def test_rule_5_a_key_that_changes_before_the_chunk_is_here_is_asked_for_by_itself() -> None:
    desk = Desk()
    desk.ask(ASK)
    read = desk.read()
    desk.transaction(*moved(1, 9, 10))
    desk.arrive(read)
    desk.transaction()
    assert desk.out() == [(2, 2, "b2"), (3, 3, "b3")]
    asked = [work.request.only for work in desk.work() if isinstance(work, Read)]
    assert (("9",),) in asked


def test_rule_5_a_full_image_after_a_partial_one_removes_the_row() -> None:
    """T-T04."""
    desk = Desk()
    desk.ask(ASK)
    read = desk.read()
    desk.transaction(partial(1, 10))
    desk.arrive(read, mark=1)
    desk.transaction(full(1, 11), partial(2, 12))
    assert desk.out() == [(2, 12, "b2"), (3, 3, "b3")]


def test_rule_5_a_partial_key_change_moves_the_row_to_its_new_key() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.arrive(desk.read(), mark=1)
    desk.step(Begin("x", 0))
    desk.step(Rows([*moved(1, 9, 10), partial(9, 11)], Place(0, 0, 1)))
    desk.step(Commit("x", Place(0, 0), 0))  # not yet at the mark
    assert desk.read().request.only == ()  # the next chunk: the row is not missing, for a window holds it
    desk.transaction()
    assert desk.out() == [(9, 11, "b1"), (2, 2, "b2"), (3, 3, "b3")]


def test_rule_5_a_moved_row_whose_old_key_is_used_again_may_be_another_row() -> None:
    desk = Desk()
    desk.ask(ASK)
    desk.arrive(desk.read(), {**ROWS, 1: (1, 12, "B12")}, mark=1)  # the SELECT saw the row that came after
    desk.transaction(*moved(1, 9, 10), full(1, 12, "c"))
    assert desk.out() == [(2, 2, "b2"), (3, 3, "b3")]
    asked = [work.request.only for work in desk.work() if isinstance(work, Read)]
    assert (("9",),) in asked


def test_rule_5_a_row_that_the_select_saw_under_its_new_key_stays_there() -> None:
    desk = Desk()
    desk.ask(ASK, KeySpan(None, ("9",)))
    desk.arrive(desk.read(), {1: (1, 12, "B12"), 9: (9, 10, "b1")}, mark=1)
    desk.transaction(*moved(1, 9, 10), full(1, 12, "c"))
    assert desk.out() == [(9, 10, "b1")]


def test_rule_5_a_truncate_empties_the_window() -> None:
    """T-W23."""
    desk = Desk()
    desk.ask(ASK)
    first = desk.read()
    desk.transaction(steps=[Truncate(1, b"", Place(0, 0, 1))])
    desk.arrive(first, mark=1)
    desk.transaction()
    assert desk.out() == []
    desk.arrive(desk.read(), mark=1)
    desk.transaction(steps=[Truncate(1, b"", Place(0, 1, 1))])
    assert desk.out() == []


def test_rule_5_a_partial_create_outside_any_window_requests_its_row() -> None:
    desk = Desk()
    desk.transaction(*moved(1, 5, 10))
    assert desk.status() is TableStatus.REFRESHING
    desk = desk.again()
    read = desk.read()
    assert (read.request.only, read.request.key) == ((("5",),), ("id",))
    desk.arrive(read, {5: (5, 10, "b1")})
    desk.transaction()
    assert desk.out() == [(5, 10, "b1")]
    assert desk.status() is TableStatus.STREAMING


def test_rule_5_a_row_that_waits_to_be_asked_for_is_forgotten_once_the_log_has_it() -> None:
    desk = Desk()
    desk.transaction(*moved(1, 5, 10), *moved(2, 6, 11))
    desk.transaction(full(5, 12), delete(6))
    assert (desk.status(), desk.work()) == (TableStatus.STREAMING, [])


def test_rule_5_a_moved_row_is_asked_for_if_its_window_is_lost() -> None:
    desk = Desk()
    desk.ask(ASK, KeySpan(("2",), ("6",)))
    desk.arrive(desk.read(), mark=1)
    desk.transaction(*moved(3, 1, 10))  # to where the range does not reach
    desk = desk.again()
    asked = [work.request.only for work in desk.work() if isinstance(work, Read)]
    assert (("1",),) in asked


def test_rule_5_a_missing_row_whose_key_changes_again_is_asked_for_under_the_new_key_only() -> None:
    desk = Desk()
    desk.transaction(*moved(1, 5, 10))
    desk.transaction(*moved(5, 6, 11))
    assert desk.read().request.only == (("6",),)


def test_rule_5_a_missing_row_that_no_read_finds_makes_all_rows_be_read() -> None:
    desk = Desk()
    desk.transaction(*moved(1, 5, 10))
    desk.arrive(desk.read(), {})
    desk.transaction()
    assert desk.out() == []
    (work,) = desk.work()
    assert isinstance(work, Plan), "its key can't be known: nothing less than the whole table finds it"


def test_rule_5_a_row_that_was_deleted_is_not_given_to_another_that_moves_to_its_key() -> None:
    desk = Desk()
    desk.ask(ASK)
    read = desk.read()
    desk.transaction(delete(3))
    desk.transaction(*moved(1, 3, 10))
    desk.arrive(read)  # the SELECT may have seen the deleted row
    desk.transaction()
    assert desk.out() == [(2, 2, "b2")]


def test_rule_5_a_row_that_another_replaced_before_the_chunk_does_not_get_its_columns() -> None:
    desk = Desk()
    desk.ask(ASK)
    read = desk.read()
    desk.transaction(*moved(1, 3, 10))
    desk.arrive(read)  # the SELECT saw a row 3 that was there before
    desk.transaction()
    assert desk.out() == [(2, 2, "b2")]
