"""The ledger alone: a table's state before and after in, what goes onto the receipts out."""

from dataclasses import replace

import pytest

from tests.unit.producers.snapshot.desk import ID, OTHER
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    ReceiptChange,
    RequestAccepted,
    RequestJoined,
    RequestMoved,
    TableAdvanced,
    TableGivenUp,
)
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.receipt_changes import ReceiptChanges
from wrackline.producers.snapshot.table_state import Job, Outcome, PendingRange, TableState
from wrackline.producers.snapshot.work_items import KeySpan
from wrackline.schemas.kafka.receipts import (
    Receipt,
    RequestKind,
    RequestState,
    ScanStatus,
    StoredReceipts,
    TableProgress,
)
from wrackline.schemas.kafka.signals import SnapshotKind

INCREMENTAL = SnapshotKind.INCREMENTAL
WHY = FaultReason("test.why", "it was so", "")
JOB = Job("ask", Purpose.REQUESTED)
BEGUN = replace(JOB, begun=True)
RANGES = (PendingRange(0, KeySpan(None, ("5",))), PendingRange(1, KeySpan(("5",), ("9",))))
READING = replace(BEGUN, key=("id",), ranges=RANGES, most=("9",), expected=9)
OPEN = TableState(jobs=(JOB,))
UNDER_WAY = TableState(jobs=(READING,))


def told(state: RequestState, *lines: TableProgress) -> StoredReceipts:
    return StoredReceipts({"ask": Receipt("ask", state, INCREMENTAL, 0, tables=lines)})


def running(*, paused: bool = False) -> ReceiptChanges:
    """A ledger whose one request is under way, with nothing said yet."""
    made = ReceiptChanges({ID: replace(UNDER_WAY, paused=paused)})
    assert made.take() == []
    return made


def said(before: TableState, after: TableState, ledger: ReceiptChanges | None = None) -> list[ReceiptChange]:
    ledger = ledger or running()
    ledger.changed(ID, before, after)
    return list(ledger.take())


@pytest.mark.parametrize(
    ("states", "stands"),
    [
        ({ID: OPEN}, []),
        ({ID: TableState(jobs=(BEGUN,))}, [RequestState.RUNNING]),
        ({ID: OPEN, OTHER.id: TableState(ended={"ask": Outcome.SUCCEEDED})}, [RequestState.RUNNING]),
        ({ID: OPEN, OTHER.id: TableState(jobs=(replace(JOB, failed=WHY),))}, [RequestState.RUNNING]),
        ({ID: replace(OPEN, paused=True)}, [RequestState.PAUSED]),
    ],
)
def test_a_lost_receipt_has_the_state_that_the_tables_show(
    states: dict[object, TableState], stands: list[RequestState]
) -> None:
    made = ReceiptChanges(states, StoredReceipts()).take()  # type: ignore[arg-type]  # its keys are tables
    accepted, *others = made
    assert isinstance(accepted, RequestAccepted)
    assert [one.state for one in others if isinstance(one, RequestMoved)] == stands


def test_a_request_that_began_elsewhere_does_not_begin_twice() -> None:
    ledger = ReceiptChanges({ID: OPEN, OTHER.id: TableState(jobs=(BEGUN,))})
    assert said(OPEN, TableState(jobs=(BEGUN,)), ledger) == []
    ledger = ReceiptChanges({ID: OPEN})
    assert said(OPEN, TableState(jobs=(BEGUN,)), ledger) == [RequestMoved("ask", RequestState.RUNNING)]


def test_work_that_the_worker_continues_under_its_own_name_runs_at_once() -> None:
    own = replace(READING, id="own", purpose=Purpose.REFRESH)
    made = said(UNDER_WAY, TableState(jobs=(own,), ended={"ask": Outcome.CANCELLED}))
    assert made[:2] == [RequestAccepted("own", INCREMENTAL, (ID,)), RequestMoved("own", RequestState.RUNNING)]
    assert made[-1] == RequestMoved("ask", RequestState.CANCELLED)


def test_a_request_that_is_over_is_remembered_and_is_no_more_under_way() -> None:
    ledger = running()
    assert (ledger.was("ask"), ledger.under_way("ask")) == (False, True)
    said(UNDER_WAY, TableState(ended={"ask": Outcome.SUCCEEDED}), ledger)
    assert (ledger.was("ask"), ledger.under_way("ask")) == (True, False)


def test_a_request_that_is_over_at_once_is_remembered() -> None:
    ledger = ReceiptChanges({})
    ledger.obeyed(PauseRequest("hold"), (ID,))
    ledger.accept("none", INCREMENTAL, ())
    assert ledger.take() == [
        RequestAccepted("hold", INCREMENTAL, (ID,), RequestKind.PAUSE),
        RequestMoved("hold", RequestState.SUCCEEDED),
        RequestAccepted("none", INCREMENTAL, ()),
        RequestMoved("none", RequestState.SUCCEEDED),
    ]
    assert ledger.was("hold")
    assert ledger.was("none")


def test_a_receipt_of_tables_that_are_captured_no_more_is_remembered_as_over() -> None:
    ledger = ReceiptChanges({}, told(RequestState.RUNNING, TableProgress(str(ID))))
    assert ledger.was("ask")
    assert ledger.take()[-1] == RequestMoved("ask", RequestState.CANCELLED)


def test_a_receipt_says_how_far_the_range_is_that_went_on() -> None:
    further = replace(RANGES[1], span=replace(RANGES[1].span, after=("7",)))
    after = replace(READING, ranges=(RANGES[0], further), rows=2)
    line = TableProgress(str(ID), 2, '["7"]', '["9"]', expected=9)
    assert said(UNDER_WAY, TableState(jobs=(after,))) == [TableAdvanced("ask", line)]


def test_a_receipt_says_nothing_where_no_row_went_out_or_the_request_is_held() -> None:
    assert said(UNDER_WAY, replace(UNDER_WAY, letters={"a": 1})) == []
    held = replace(UNDER_WAY, paused=True)
    assert said(held, replace(held, jobs=(replace(READING, rows=2),)), running(paused=True)) == []


@pytest.mark.parametrize(
    ("job", "scan"),
    [
        (replace(READING, rows=2), ScanStatus.SUCCEEDED),
        (READING, ScanStatus.SUCCEEDED),  # the log had changed all of its rows
        (replace(BEGUN, key=(), rows=2), ScanStatus.SUCCEEDED),  # without a key nothing is the greatest
        (replace(BEGUN, key=("id",)), ScanStatus.EMPTY),
    ],
)
def test_a_table_is_called_empty_where_nothing_of_it_was_read(job: Job, scan: ScanStatus) -> None:
    (further, over) = said(TableState(jobs=(job,)), TableState(ended={"ask": Outcome.SUCCEEDED}))
    assert isinstance(further, TableAdvanced)
    assert further.table.scan is scan
    assert over == RequestMoved("ask", RequestState.SUCCEEDED)


def test_a_table_that_was_given_up_is_reported_once_and_not_also_as_set_aside() -> None:
    failed = TableState(jobs=(replace(READING, failed=WHY),))
    ledger = running()
    made = said(UNDER_WAY, failed, ledger)
    assert [one.error.code for one in made if isinstance(one, TableGivenUp)] == ["test.why"]
    assert said(failed, replace(failed, letters={"a": 1}), ledger) == []
    aside = said(UNDER_WAY, replace(failed, set_aside=WHY))
    assert not [one for one in aside if isinstance(one, TableGivenUp)]
    assert len(aside) == 2  # its end, on its receipt


# At a start.


def test_tables_that_a_receipt_lacks_are_added_to_it() -> None:
    states = {ID: OPEN, OTHER.id: OPEN}
    assert ReceiptChanges(states, told(RequestState.ACCEPTED, TableProgress(str(ID)))).take() == [
        RequestJoined("ask", (OTHER.id,))
    ]
    both = told(RequestState.ACCEPTED, TableProgress(str(ID)), TableProgress(str(OTHER.id)))
    assert ReceiptChanges(states, both).take() == []


@pytest.mark.parametrize(
    ("stood", "state", "becomes"),
    [
        (RequestState.RUNNING, replace(OPEN, paused=True), [RequestState.PAUSED]),
        (RequestState.RUNNING, OPEN, []),
        (RequestState.ACCEPTED, UNDER_WAY, []),
        (RequestState.PAUSED, OPEN, [RequestState.RUNNING]),
        (RequestState.PAUSED, UNDER_WAY, [RequestState.RUNNING]),
        (RequestState.PAUSED, TableState(ended={"ask": Outcome.SUCCEEDED}), [RequestState.CANCELLED]),
        (RequestState.PAUSED, TableState(ended={"ask": Outcome.FAILED}), [RequestState.FAILED]),
        (RequestState.RUNNING, TableState(ended={"ask": Outcome.SUCCEEDED}), [RequestState.SUCCEEDED]),
    ],
)
def test_a_receipt_is_made_good_by_what_the_table_says(
    stood: RequestState, state: TableState, becomes: list[RequestState]
) -> None:
    made = ReceiptChanges({ID: state}, told(stood, TableProgress(str(ID)))).take()
    assert [one.state for one in made if isinstance(one, RequestMoved)] == becomes


def test_another_request_s_failure_is_not_a_request_s_own() -> None:
    state = TableState(jobs=(replace(JOB, id="other", failed=WHY), BEGUN))
    ledger = ReceiptChanges({ID: state}, told(RequestState.RUNNING, TableProgress(str(ID))))
    ended = TableState(jobs=(replace(JOB, id="other", failed=WHY),), ended={"ask": Outcome.SUCCEEDED})
    assert said(state, ended, ledger)[-1] == RequestMoved("ask", RequestState.SUCCEEDED)
