"""Receipts through restarts: what Kafka has of a request continues, and what it lacks is written first."""

from dataclasses import replace

import pytest

from tests.unit.producers.snapshot.desk import ASK, ID, OTHER, REFUSED, Desk
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    RequestRefused,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.producers.contract.steps import Found, Vanished
from wrackline.producers.snapshot.table_state import parse_state
from wrackline.producers.snapshot.work_items import KeySpan, Plan
from wrackline.schemas.kafka.receipts import Receipt, RequestKind, RequestState, ScanStatus
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import TableId

BOTH = SnapshotRequest("both", (ID, OTHER.id))
FIRST = SnapshotRequest("initial", (ID,), Purpose.INITIAL)


def save(desk: Desk) -> None:
    desk.save(desk.machine.unsaved())


def ask(desk: Desk, *asked: SnapshotRequest | PauseRequest | ResumeRequest | StopRequest) -> None:
    for one in asked:
        desk.machine.request(one)
        save(desk)


def read_one(desk: Desk, which: TableId) -> None:
    """Plan all, and find one of the tables empty."""
    for work in desk.work():
        if isinstance(work, Plan) and work.table == which:
            desk.machine.planned(work.ticket, ("id",), ())
    save(desk)


def lines(receipt: Receipt) -> dict[str, ScanStatus | None]:
    return {line.name: line.scan for line in receipt.tables}


def test_a_start_finds_nothing_to_write_where_all_was_saved_together() -> None:
    desk = Desk()
    ask(desk, BOTH)
    assert desk.again().receipts == desk.receipts
    read_one(desk, ID)
    ask(desk, PauseRequest("hold"))
    assert desk.state_of("both") is RequestState.PAUSED
    again = desk.again()
    assert again.receipts == desk.receipts
    ask(again, ResumeRequest("on"))
    assert again.state_of("both") is RequestState.RUNNING


@pytest.mark.parametrize("paused", [False, True])
def test_lost_receipts_are_written_again(*, paused: bool) -> None:
    desk = Desk()
    ask(desk, BOTH)
    read_one(desk, ID)
    if paused:
        ask(desk, PauseRequest("hold"))
    again = Desk(desk.kept, run="again")
    receipt = again.receipts["both"]
    assert receipt.state is (RequestState.PAUSED if paused else RequestState.RUNNING)
    assert lines(receipt) == {str(ID): ScanStatus.SUCCEEDED, str(OTHER.id): None}
    ask(again, ResumeRequest("on"), StopRequest("stop"))
    assert again.state_of("both") is RequestState.CANCELLED


def test_a_receipt_ends_whose_tables_are_captured_no_more() -> None:
    desk = Desk()
    ask(desk, BOTH)
    read_one(desk, OTHER.id)
    del desk.kept[ID]
    left = desk.again().receipts["both"]
    assert left.state is RequestState.CANCELLED
    assert lines(left) == {str(ID): ScanStatus.SKIPPED, str(OTHER.id): ScanStatus.EMPTY}


def test_a_receipt_continues_with_the_tables_that_are_still_captured() -> None:
    desk = Desk()
    ask(desk, BOTH)
    (first, *_) = [work for work in desk.work() if isinstance(work, Plan)]
    assert desk.state_of("both") is RequestState.RUNNING
    del desk.kept[first.table]
    other = next(table for table in BOTH.tables if table != first.table)
    desk.kept[other] = desk.kept[other].replace(b'"begun":true', b'"begun":false')  # type: ignore[assignment]  # still canonical
    again = desk.again()
    assert again.state_of("both") is RequestState.RUNNING, "it does not go back to accepted"
    assert lines(again.receipts["both"])[str(first.table)] is ScanStatus.SKIPPED
    ask(again, StopRequest("stop"))
    assert again.state_of("both") is RequestState.CANCELLED


def test_a_table_that_comes_later_joins_the_first_read_that_runs() -> None:
    desk = Desk()
    ask(desk, FIRST)
    desk.plan()
    again = desk.again()
    ask(again, replace(FIRST, tables=(ID, OTHER.id)))
    receipt = again.receipts["initial"]
    assert (receipt.state, set(lines(receipt))) == (RequestState.RUNNING, {str(ID), str(OTHER.id)})


def test_a_table_that_comes_after_the_first_read_is_over_has_a_receipt_of_its_own() -> None:
    desk = Desk()
    ask(desk, FIRST)
    desk.plan()
    desk.finish()
    over = desk.receipts["initial"]
    assert over.state is RequestState.SUCCEEDED
    again = desk.again()
    ask(again, replace(FIRST, tables=(OTHER.id,)))
    assert again.receipts["initial"] == over
    ((name, own),) = [(n, r) for n, r in again.receipts.items() if n != "initial"]
    assert (own.state, set(lines(own))) == (RequestState.ACCEPTED, {str(OTHER.id)})
    third = again.again("third")
    ask(third, replace(FIRST, tables=(ID, OTHER.id)))  # as a start of `always` would
    assert set(third.receipts) == {"initial", name}


def test_a_table_that_is_captured_again_starts_over_in_a_receipt_that_runs() -> None:
    desk = Desk()
    ask(desk, replace(BOTH, id="initial", purpose=Purpose.INITIAL))
    desk.work()
    del desk.kept[ID]
    again = desk.again()
    assert lines(again.receipts["initial"])[str(ID)] is ScanStatus.SKIPPED
    ask(again, FIRST)
    assert lines(again.receipts["initial"]) == {str(ID): None, str(OTHER.id): None}
    again.finish()
    assert lines(again.receipts["initial"])[str(ID)] is ScanStatus.SUCCEEDED


def test_the_same_id_is_one_request_whatever_tables_it_names() -> None:
    desk = Desk()
    ask(desk, ASK, replace(ASK, tables=(OTHER.id,)))
    assert set(lines(desk.receipts["ask"])) == {str(ID)}
    assert OTHER.id not in desk.kept or not parse_state(desk.kept[OTHER.id], OTHER.id).jobs


def test_what_was_obeyed_says_what_it_was_and_is_over_at_once() -> None:
    desk = Desk()
    ask(desk, ASK, PauseRequest("p"), ResumeRequest("r"), StopRequest("s"))
    told = {name: (desk.receipts[name].what, desk.receipts[name].state) for name in ("p", "r", "s")}
    assert told == {
        "p": (RequestKind.PAUSE, RequestState.SUCCEEDED),
        "r": (RequestKind.RESUME, RequestState.SUCCEEDED),
        "s": (RequestKind.STOP, RequestState.SUCCEEDED),
    }
    assert desk.receipts["ask"].what is RequestKind.READ


def test_a_table_that_is_dropped_while_its_request_is_held_is_finished_in_its_receipt() -> None:
    desk = Desk()
    ask(desk, BOTH, PauseRequest("hold"))
    desk.step(Vanished(ID))
    assert lines(desk.receipts["both"]) == {str(ID): ScanStatus.SKIPPED, str(OTHER.id): None}
    assert desk.state_of("both") is RequestState.PAUSED


def test_rows_are_reported_beside_what_was_expected_and_a_failure_with_its_code() -> None:
    desk = Desk()
    desk.step(Found(OTHER, frozenset()))
    ask(desk, BOTH)
    plans = {work.table: work.ticket for work in desk.work() if isinstance(work, Plan)}
    desk.machine.planned(plans[ID], ("id",), [KeySpan(None, ("6",))], expected=40)
    desk.machine.failed(plans[OTHER.id], REFUSED(), 0.0)
    save(desk)
    line = next(line for line in desk.receipts["both"].tables if line.name == str(ID))
    assert (line.rows, line.expected, line.percent) == (0, 40, 0)
    failed = next(line for line in desk.receipts["both"].tables if line.name == str(OTHER.id))
    assert (failed.scan, failed.code) == (ScanStatus.SQL_EXCEPTION, "test.desk_refused")
    desk = desk.again()
    desk.finish()
    line = next(line for line in desk.receipts["both"].tables if line.name == str(ID))
    assert (line.rows, line.expected, line.percent, line.scan) == (6, 40, 100, ScanStatus.SUCCEEDED)
    assert desk.state_of("both") is RequestState.FAILED
    assert desk.receipts["both"].code == "test.desk_refused", (
        "also when it was not the last table that failed"
    )


def test_an_id_means_one_request_however_many_came_since_also_before_a_restart() -> None:
    desk = Desk()
    for number in range(40):  # more than a table remembers
        ask(desk, SnapshotRequest(f"r{number}", (ID,)))
        read_one(desk, ID)
    for one in (desk, desk.again()):
        ask(one, SnapshotRequest("r0", (ID,)))
        assert (one.work(), one.state_of("r0")) == ([], RequestState.SUCCEEDED)


def test_an_id_that_was_refused_is_taken_before_a_restart_as_behind_it() -> None:
    desk = Desk()
    desk.machine.refuse(RequestRefused("no", SnapshotKind.INCREMENTAL, RequestKind.READ, REFUSED()))
    ask(desk, SnapshotRequest("no", (ID,)))
    assert desk.work() == []


def test_a_refusal_that_has_the_id_of_a_request_under_way_ends_nothing() -> None:
    desk = Desk()
    ask(desk, ASK)
    desk.machine.refuse(RequestRefused(ASK.id, SnapshotKind.INCREMENTAL, RequestKind.READ, REFUSED()))
    ask(desk, StopRequest("s"))
    assert desk.state_of(ASK.id) is RequestState.CANCELLED
