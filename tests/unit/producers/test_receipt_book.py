"""What is written of requests, when, and in whose transaction."""

from collections import Counter

import orjson
import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from wrackline.producers.contract.snapshot_requests import (
    RequestAccepted,
    RequestJoined,
    RequestMoved,
    RequestRefused,
    TableAdvanced,
)
from wrackline.producers.contract.steps import Batch, Progress
from wrackline.producers.cutting.cutter import CutPolicy, Cutter
from wrackline.producers.cutting.record_buffer import Record
from wrackline.producers.reading.receipt_records import EVERY, ReceiptRecords
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.events.control_events import NotificationEvent
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.receipts import (
    Receipt,
    ReceiptKey,
    RequestKind,
    RequestState,
    ScanStatus,
    StoredReceipts,
    TableProgress,
    decode,
    fold,
    parse_key,
)
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import SourcePartition, TableId

PARTITION = SourcePartition("server", "db0")
ORDERS, GIFTS = TableId("db0", "public", "orders"), TableId("db0", "public", "gifts")
INCREMENTAL = SnapshotKind.INCREMENTAL
ACCEPTED = RequestAccepted("one", INCREMENTAL, (ORDERS, GIFTS))
RUNS = RequestMoved("one", RequestState.RUNNING)
UNKNOWN = define("test.book_unknown", OperatorNeeded, "there is no such table", hint="name another")


DONE = ScanStatus.SUCCEEDED


def further(rows: int, scan: ScanStatus | None = None, expected: int | None = None) -> TableAdvanced:
    return TableAdvanced("one", TableProgress(str(ORDERS), rows, scan=scan, expected=expected))


class Desk:
    """A book, and a clock that is moved by hand."""

    def __init__(self, known: StoredReceipts = StoredReceipts(), *, notifies: bool = False) -> None:  # noqa: B008 - frozen
        self.now = 100.0
        self.told: list[WracklineError] = []
        self.book = ReceiptRecords(
            "c",
            PARTITION,
            "requests",
            known,
            clock=lambda: self.now,
            now_ms=lambda: int(self.now * 1000),
            tell=self.told.append,
            notify=note if notifies else None,
        )

    def written(self) -> list[Receipt]:
        return [receipt_of(record) for record in self.book.records() if record[0] == "requests"]


def note(notification: NotificationEvent) -> Record:
    return ("notes", b"", notification.type.encode())


def receipt_of(record: Record) -> Receipt:
    key = parse_key(record[1])
    assert key is not None
    assert key[:3] == ReceiptKey("c", "server", "db0", "")[:3]
    receipt = decode(record[2] or b"", partition=0, offset=0)
    assert receipt.id == key.id
    return receipt


def states(written: list[Receipt]) -> list[RequestState]:
    return [receipt.state for receipt in written]


def test_each_change_of_state_is_a_record_and_goes_out_at_once() -> None:
    desk = Desk()
    desk.book.take([ACCEPTED])
    desk.book.take([RequestMoved("one", RequestState.PAUSED), RUNS])
    assert states(desk.written()) == [RequestState.ACCEPTED, RequestState.PAUSED, RequestState.RUNNING]
    assert desk.written() == []
    desk.book.take([RequestMoved("one", RequestState.SUCCEEDED)])
    assert states(desk.written()) == [RequestState.SUCCEEDED]


def test_progress_goes_out_every_few_seconds_and_with_whatever_else_does() -> None:
    desk = Desk()
    desk.book.take([ACCEPTED, RUNS, further(1)])
    (*_, first) = desk.written()
    desk.book.take([further(2)])
    assert [line.rows for line in first.tables if line.name == str(ORDERS)] == [1]
    desk.now += EVERY - 0.1
    assert desk.written() == []
    desk.now += 0.2
    assert [one.tables[0].rows for one in desk.written()] == [2]
    assert desk.written() == []
    desk.book.take([further(3)])
    assert desk.written() == []
    desk.book.take([RequestMoved("one", RequestState.PAUSED)])
    assert [(one.state, one.tables[0].rows) for one in desk.written()] == [(RequestState.PAUSED, 3)]
    desk.now += 60
    assert desk.written() == [], "it went with the pause"


def test_the_end_of_a_table_goes_out_at_once_unless_the_receipt_is_long() -> None:
    desk = Desk()
    desk.book.take([ACCEPTED, RUNS])
    desk.written()
    for table in (ORDERS, GIFTS):
        desk.book.take([TableAdvanced("one", TableProgress(str(table), 3, scan=ScanStatus.SUCCEEDED))])
        ((*_, receipt),) = [desk.written()]
        assert next(line.percent for line in receipt.tables if line.name == str(table)) == 100
    many = tuple(TableId("db0", "public", f"t{number}") for number in range(200))
    desk.book.take([RequestAccepted("many", INCREMENTAL, many), RequestMoved("many", RequestState.RUNNING)])
    desk.written()
    often = 0
    for table in many[:99]:
        desk.book.take([TableAdvanced("many", TableProgress(str(table), 1, scan=ScanStatus.SUCCEEDED))])
        often += len(desk.written())
    assert often <= 1
    desk.now += EVERY
    desk.written()
    desk.book.take([RequestMoved("many", RequestState.SUCCEEDED)])
    (last,) = desk.written()
    assert sum(line.scan is not None for line in last.tables) == 99


def test_the_tables_of_a_receipt_are_put_together_once_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, made, real = Desk(), Counter[str](), receipts.lines_of
    many = tuple(TableId("db0", "public", f"t{number}") for number in range(1000))
    desk.book.take([RequestAccepted("one", INCREMENTAL, many), RUNS])
    desk.written()

    def lines_of(receipt: Receipt) -> dict[str, TableProgress]:
        made[receipt.id] += 1
        return real(receipt)

    monkeypatch.setattr(receipts, "lines_of", lines_of)
    for table in many:
        desk.book.take(
            [
                TableAdvanced("one", TableProgress(str(table), 1)),
                TableAdvanced("one", TableProgress(str(table), 2, scan=DONE)),
            ]
        )
    desk.now += EVERY
    (receipt,) = desk.written()
    assert [line.rows for line in receipt.tables] == [2] * 1000
    assert made == {"one": 1}, "or ten thousand tables take minutes of the task's own thread"
    desk.book.take(
        [TableAdvanced("one", TableProgress(str(many[0]), 3)), RequestMoved("one", RequestState.SUCCEEDED)]
    )
    assert [error.code for error in desk.told] == ["receipt.table_finished"]
    assert [line.rows for line in desk.written()[-1].tables] == [2] * 1000


def test_time_left_follows_the_recent_pace_and_is_absent_where_it_is_unknown() -> None:
    desk = Desk()
    desk.book.take([ACCEPTED, RUNS, further(0, expected=10_000)])
    assert [line.seconds_left for line in desk.written()[-1].tables] == [None, None]
    for second in range(1, 101):
        desk.now += 1.0
        desk.book.take([further(10 * second if second <= 50 else 500 + 100 * (second - 50), expected=10_000)])
    line = desk.written()[-1].tables[0]
    assert (line.rows, line.percent, line.seconds_left) == (5_500, 55, 45)  # 100 rows a second of late
    desk.book.take([RequestMoved("one", RequestState.PAUSED)])
    assert desk.written()[-1].tables[0].seconds_left is None
    desk.now += 9
    desk.book.take([RUNS, further(11_000, expected=10_000)])
    line = desk.written()[-1].tables[0]
    assert (line.percent, line.seconds_left) == (99, None)
    desk.now += 9
    desk.book.take([further(12_000)])
    line = desk.written()[-1].tables[0]
    assert (line.percent, line.seconds_left) == (None, None)


def test_a_refused_request_has_one_receipt_and_what_is_known_stays_as_it_is() -> None:
    desk = Desk()
    refused = RequestRefused("bad", INCREMENTAL, RequestKind.READ, UNKNOWN())
    desk.book.take([refused, refused])
    (receipt,) = desk.written()
    assert (receipt.state, receipt.code, receipt.sentence) == (
        RequestState.FAILED,
        "test.book_unknown",
        "there is no such table",
    )
    desk.book.take([ACCEPTED, RequestRefused("one", INCREMENTAL, RequestKind.READ, UNKNOWN())])
    assert states(desk.written()) == [RequestState.ACCEPTED]
    again = Desk(fold([receipt, receipts.accept("one", INCREMENTAL, ("x",), 1)]))
    again.book.take(
        [
            refused,
            RequestAccepted("bad", INCREMENTAL, (), RequestKind.STOP),
            RequestMoved("bad", RequestState.SUCCEEDED),
        ]
    )
    assert again.written() == []
    assert again.book.known is not None
    assert list(again.book.known.under_way) == ["one"]


def test_a_book_continues_from_what_kafka_has() -> None:
    first = Desk()
    first.book.take([ACCEPTED, RUNS, further(4)])
    written = first.written()
    again = Desk(fold(written), notifies=True)
    again.book.take([RequestJoined("one", (GIFTS,)), further(5), RequestMoved("one", RequestState.SUCCEEDED)])
    records = again.book.records()
    assert [value for topic, _, value in records if topic == "notes"] == [b"IN_PROGRESS", b"COMPLETED"]
    assert (
        states([receipt_of(record) for record in records if record[0] == "requests"])[-1]
        is RequestState.SUCCEEDED
    )
    over = fold([*written, receipts.move(written[-1], RequestState.SUCCEEDED, 9)])
    assert (dict(over.under_way), over.over) == ({}, ("one",))


def test_what_is_remembered_of_requests_that_are_over_is_bounded() -> None:
    one = receipts.refuse("0", INCREMENTAL, RequestKind.READ, UNKNOWN(), 1)
    many = [
        receipts.refuse(str(number), INCREMENTAL, RequestKind.READ, UNKNOWN(), 1) for number in range(1500)
    ]
    assert len(fold([one, *many]).over) == 1000
    desk = Desk(fold(many))
    desk.book.take(
        [RequestRefused(f"more {number}", INCREMENTAL, RequestKind.READ, UNKNOWN()) for number in range(9)]
    )
    assert len(desk.book._over) == 1000


def test_a_forbidden_change_is_reported_and_stops_nothing() -> None:
    desk = Desk()
    desk.book.take([ACCEPTED, further(1), RUNS, RequestMoved("nobody", RequestState.FAILED), further(2)])
    assert [error.code for error in desk.told] == ["receipt.illegal_move"]
    assert desk.written()[-1].tables[0].rows == 2


@pytest.mark.parametrize(
    "changes", [(ACCEPTED,), (RequestRefused("bad", INCREMENTAL, RequestKind.READ, UNKNOWN()),)]
)
def test_receipts_go_out_with_the_states_that_made_them_also_where_there_is_none(changes: tuple) -> None:  # type: ignore[type-arg]  # of whatever changes
    desk = Desk()

    class Keeper:
        def aside(self, fault: object) -> dict[TableId, bytes]:
            raise NotImplementedError

        def beside(self) -> None:
            return None

        def records(self) -> list[Record]:
            return list(desk.book.records())

    policy = CutPolicy(linger=0.0, quiet=1e9)
    control = PlainControl(counts=False)
    cutter = Cutter(PARTITION, policy, str, control, opened=0.0, fresh=False, keeper=Keeper())  # type: ignore[arg-type]  # all that is used of it
    cutter.feed(Batch((Progress(Place(0, 1)),), 0), 1.0)
    assert cutter.take(2.0) is None
    desk.book.take(changes)
    cutter.save({}, 3.0)
    publication = cutter.take(3.0)
    assert publication is not None
    assert [topic for topic, *_ in publication.records] == ["requests"]
    assert publication.topics == ("requests",)
    assert publication.size == sum(len(k or b"") + len(v or b"") for _, k, v, *_ in publication.records)
    assert cutter.take(4.0) is None
    assert orjson.loads(publication.records[0][1] or b"")[0] == "c"
