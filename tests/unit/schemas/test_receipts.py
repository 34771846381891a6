"""Receipts: legal moves only, read back whole, and Debezium's notifications between two of them."""

from itertools import pairwise

import orjson
import pytest

from wrackline.schemas.errors import Definite
from wrackline.schemas.kafka.receipts import (
    MOVES,
    TABLE_FINISHED,
    Receipt,
    ReceiptKey,
    RequestKind,
    RequestState,
    ScanStatus,
    TableProgress,
    accept,
    decode,
    encode,
    join,
    key,
    move,
    notifications,
    parse_key,
    progress,
    refuse,
)
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import SourcePartition

CANARY = "4929-canary"
LEGAL = {
    ("accepted", "running"),
    ("accepted", "paused"),
    ("accepted", "succeeded"),
    ("accepted", "failed"),
    ("accepted", "cancelled"),
    ("running", "paused"),
    ("running", "succeeded"),
    ("running", "failed"),
    ("running", "cancelled"),
    ("paused", "running"),
    ("paused", "failed"),
    ("paused", "cancelled"),
}


def accepted(*tables: str, kind: SnapshotKind = SnapshotKind.INCREMENTAL) -> Receipt:
    return accept("r1", kind, tables or ("a.b",), 1)


@pytest.mark.parametrize("state", RequestState)
@pytest.mark.parametrize("wished", RequestState)
def test_only_legal_moves_are_made(state: RequestState, wished: RequestState) -> None:
    receipt = Receipt("r1", state, SnapshotKind.INCREMENTAL, 1)
    if (state.value, wished.value) in LEGAL:
        assert move(receipt, wished, 2).state is wished
    else:
        with pytest.raises(Definite, match=r"receipt\.illegal_move"):
            move(receipt, wished, 2)
        assert receipt.state is state


def test_what_is_over_stays_over() -> None:
    assert {state for state, moves in MOVES.items() if not moves} == {
        RequestState.SUCCEEDED,
        RequestState.FAILED,
        RequestState.CANCELLED,
    }


def test_a_failure_carries_its_code_and_sentence() -> None:
    error = TABLE_FINISHED(id="r1", table="a.b")
    failed = move(accepted(), RequestState.FAILED, 2, error)
    assert (failed.code, failed.sentence) == (error.code, error.sentence)


def test_a_table_moves_on_and_ends_once() -> None:
    running = move(accepted("a.b", "c.d"), RequestState.RUNNING, 2)
    further = progress(running, TableProgress("a.b", rows=10, last_key="7"), 3)
    assert further.current == "a.b"
    over = progress(further, TableProgress("a.b", rows=20, scan=ScanStatus.SUCCEEDED), 4)
    assert over.current is None
    assert [table.rows for table in over.tables] == [20, 0]
    with pytest.raises(Definite, match=r"receipt\.table_finished"):
        progress(over, TableProgress("a.b", rows=21), 5)


@pytest.mark.parametrize("state", [RequestState.ACCEPTED, RequestState.PAUSED, RequestState.SUCCEEDED])
def test_a_table_moves_on_only_while_the_request_runs(state: RequestState) -> None:
    with pytest.raises(Definite, match=r"receipt\.illegal_move"):
        progress(Receipt("r1", state, SnapshotKind.INCREMENTAL, 1), TableProgress("a.b", rows=1), 2)


def test_a_table_may_be_given_up_while_its_request_waits_but_not_after_its_end() -> None:
    gone = TableProgress("a.b", scan=ScanStatus.SKIPPED)
    for state in (RequestState.ACCEPTED, RequestState.PAUSED):
        (table,) = progress(Receipt("r1", state, SnapshotKind.INCREMENTAL, 1), gone, 2).tables
        assert table == gone
    with pytest.raises(Definite, match=r"receipt\.illegal_move"):
        progress(Receipt("r1", RequestState.FAILED, SnapshotKind.INCREMENTAL, 1), gone, 2)


@pytest.mark.parametrize(
    ("table", "percent"),
    [
        (TableProgress("a.b", rows=10), None),
        (TableProgress("a.b", rows=10, expected=40), 25),
        (TableProgress("a.b", rows=50, expected=40), 99),  # the guess was too low: it is not over yet
        (TableProgress("a.b", rows=0, expected=0), 0),
        (TableProgress("a.b", rows=39, expected=40, scan=ScanStatus.SUCCEEDED), 100),
        (TableProgress("a.b", rows=9, expected=40, scan=ScanStatus.SKIPPED), None),
    ],
)
def test_percent_is_of_what_was_expected_and_whole_only_at_the_end(
    table: TableProgress, percent: int | None
) -> None:
    (further,) = progress(move(accepted(), RequestState.RUNNING, 2), table, 3).tables
    assert further.percent == percent


def test_tables_that_come_later_join_and_those_that_are_there_stay() -> None:
    running = progress(move(accepted(), RequestState.RUNNING, 2), TableProgress("a.b", rows=7), 3)
    given_up = progress(running, TableProgress("e.f", rows=3, scan=ScanStatus.SKIPPED), 4)
    joined = join(given_up, ("a.b", "c.d", "e.f"), 5)
    assert joined.tables == (*running.tables, TableProgress("c.d"), TableProgress("e.f"))
    assert joined.state is RequestState.RUNNING


def test_a_key_names_whose_request_it_is() -> None:
    shop = SourcePartition("shop1", "shop")
    keys = {
        key(*whose)
        for whose in (
            ("c", shop, "r1"),
            ("c2", shop, "r1"),
            ("c", SourcePartition("shop2", "shop"), "r1"),
            ("c", SourcePartition("shop1", "store"), "r1"),
            ("c", shop, "r2"),
        )
    }
    assert len(keys) == 5
    assert parse_key(key("c", shop, 'r"1')) == ReceiptKey("c", "shop1", "shop", 'r"1')
    for other in (None, b"", b"r1", b'"r1"', b'["c",{"server":"s","database":"d"}]'):
        assert parse_key(other) is None


def test_what_is_written_is_read() -> None:
    running = move(accepted("a.b", "ü"), RequestState.RUNNING, 2)
    full = progress(running, TableProgress("a.b", 3, "3", "9", ScanStatus.SQL_EXCEPTION, "pg.connection"), 3)
    refused = refuse("r1", SnapshotKind.BLOCKING, RequestKind.STOP, TABLE_FINISHED(id="r1", table="a.b"), 2)
    for receipt in (accepted(), running, full, refused):
        assert decode(encode(receipt), partition=0, offset=1) == receipt
    assert orjson.loads(encode(full))["version"] == 1


def spoiled(**fields: object) -> bytes:
    return orjson.dumps({**orjson.loads(encode(accepted())), **fields})


@pytest.mark.parametrize(
    "value",
    [
        b"",
        CANARY.encode(),
        b"[]",
        b"null",
        b"{}",
        spoiled(version=2),
        spoiled(version="1"),
        spoiled(state="done"),
        spoiled(state=CANARY),
        spoiled(at_ms="1"),
        spoiled(tables=None),
        spoiled(tables=[{"name": "a", CANARY: 1}]),
        spoiled(tables=[{"rows": 1}]),
        spoiled(**{CANARY: 1}),
    ],
)
def test_a_broken_receipt_is_named_by_its_place(value: bytes) -> None:
    with pytest.raises(Definite) as caught:
        decode(value, partition=2, offset=77)
    assert "offset 77 of partition 2" in caught.value.sentence
    assert CANARY not in str(caught.value)
    assert CANARY not in repr(caught.value.__context__)


def said(before: Receipt | None, after: Receipt) -> list[tuple[str, dict[str, str]]]:
    return [(n.type, dict(n.additional_data)) for n in notifications(before, after, "srv")]


def test_a_whole_snapshot_as_debezium_would_report_it() -> None:
    first = accepted("a.b")
    running = move(first, RequestState.RUNNING, 2)
    further = progress(running, TableProgress("a.b", 5, "5", "9"), 3)
    paused = move(further, RequestState.PAUSED, 4)
    resumed = move(paused, RequestState.RUNNING, 5)
    over = progress(resumed, TableProgress("a.b", 9, "9", "9", ScanStatus.SUCCEEDED), 6)
    done = move(over, RequestState.SUCCEEDED, 7)
    steps: list[Receipt | None] = [None, first, running, further, paused, resumed, over, done]
    told = [line for a, b in pairwise(steps) if b is not None for line in said(a, b)]
    every = {"connector_name": "srv"}
    tables = {**every, "data_collections": "a.b"}
    assert told == [
        ("STARTED", tables),
        (
            "IN_PROGRESS",
            {
                **tables,
                "current_collection_in_progress": "a.b",
                "maximum_key": "9",
                "last_processed_key": "5",
            },
        ),
        ("PAUSED", tables),
        ("RESUMED", tables),
        (
            "TABLE_SCAN_COMPLETED",
            {**tables, "scanned_collection": "a.b", "total_rows_scanned": "9", "status": "SUCCEEDED"},
        ),
        ("COMPLETED", every),
    ]


def test_a_cancelled_request_is_aborted_and_nothing_is_said_twice() -> None:
    first = accepted("a.b", "c.d")
    cancelled = move(first, RequestState.CANCELLED, 2)
    assert said(first, cancelled) == [("ABORTED", {"connector_name": "srv", "data_collections": "a.b,c.d"})]
    assert said(cancelled, cancelled) == []
    assert said(None, first) == []


def test_each_notification_carries_its_own_requests_id_and_kind() -> None:
    first = accepted(kind=SnapshotKind.BLOCKING)
    (started,) = notifications(first, move(first, RequestState.RUNNING, 9), "srv")
    assert started.value() == {
        "id": "r1",
        "type": "STARTED",
        "aggregate_type": "Initial Snapshot",
        "additional_data": {"connector_name": "srv", "data_collections": "a.b"},
        "timestamp": 9,
    }


def test_debezium_hears_of_snapshots_alone_and_of_rows_not_of_guesses() -> None:
    paused = accept("p", SnapshotKind.INCREMENTAL, ("a.b",), 1, RequestKind.PAUSE)
    assert notifications(None, move(paused, RequestState.SUCCEEDED, 2), "c") == ()
    running = progress(move(accepted(), RequestState.RUNNING, 2), TableProgress("a.b", rows=7), 3)
    guessed = progress(running, TableProgress("a.b", rows=7, expected=9, seconds_left=1), 4)
    assert notifications(running, guessed, "c") == ()
