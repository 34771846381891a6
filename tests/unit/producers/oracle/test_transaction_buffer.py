"""Which transactions are handed out, when, and in which order; and what a stop keeps."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.producers.oracle.redo_model import mined
from wrackline.producers.contract.optional_parts import OpenTransactions
from wrackline.producers.sources.oracle.mining.mined_row import (
    COMMIT,
    DELETE,
    INSERT,
    MISSING,
    ROLLBACK,
    ROW_BYTES,
    START,
    UPDATE,
    MinedRow,
)
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at
from wrackline.producers.sources.oracle.transactions import spill_file
from wrackline.producers.sources.oracle.transactions.split_rows import RowJoiner
from wrackline.producers.sources.oracle.transactions.transaction_buffer import TransactionBuffer
from wrackline.schemas.errors import Definite, Transient

R = "AAAS1AAEAAAB000001"
A, B, C = "0001000200000003", "0001000300000007", "0002000100000001"
UNKNOWN = "00010002FFFFFFFF"
BEGIN = OraclePosition(1, last_at(99), oldest=100, seen=99, done=last_at(99))


def row(scn: int, operation: int, xid: str = A, **fields: Any) -> MinedRow:
    if operation in {INSERT, UPDATE, DELETE}:
        fields = {"row_id": R, "owner": "SHOP", "table": "ORDERS", "redo": f"{xid[3]} {scn}", **fields}
    return mined(scn, operation, xid=xid, **fields)


def a_buffer(
    folder: Path, position: OraclePosition = BEGIN, threads: Iterable[int] = (1, 2)
) -> TransactionBuffer:
    return TransactionBuffer(threads, position, folder)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def out(buffer: TransactionBuffer) -> list[list[str]]:
    """Hand out all that can be."""
    found = []
    while (one := buffer.next_commit()) is not None:
        found.append([row.redo for piece in one.pieces() for _, row in piece])
        buffer.release(one)
    return found


def take(buffer: TransactionBuffer, rows: Iterable[MinedRow], upto: int | None = None) -> list[list[str]]:
    for each in rows:
        buffer.take(each)
    if upto is not None:
        buffer.end_range(upto)
    return out(buffer)


def test_a_transaction_comes_with_its_commit_and_never_with_a_rollback(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    rows = [row(100, START), row(100, START, B), row(101, INSERT), row(102, UPDATE, B), row(103, ROLLBACK, B)]
    assert take(buffer, rows, 103) == []
    assert buffer.window.open == 1
    assert take(buffer, [row(104, COMMIT, timestamp=77)], 110) == [["1 101"]]
    assert buffer.window == (111, 110, 0, (104, 1, (7, 104, 16)))


def test_what_is_handed_out_says_whose_it_is(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    for each in (row(100, START), row(101, INSERT), row(104, COMMIT, timestamp=77)):
        buffer.take(each)
    buffer.end_range(104)
    one = buffer.next_commit()
    assert one is not None
    assert (one.container, one.xid, one.username, one.committed, one.has_start) == (3, A, "APP", 77, True)
    assert one.place == (104, 1, (7, 104, 16))
    ((place, _),) = next(one.pieces())
    assert place == (101, 1, (7, 101, 16), 1)
    assert one.cut(place) == (3, A, one.place, place)
    other = a_buffer(tmp_path)
    take(other, [row(101, INSERT), row(104, COMMIT)])
    other.end_range(104)
    found = other.next_commit()
    assert found is not None
    assert not found.has_start


def test_commits_of_one_scn_come_in_the_order_of_their_places(tmp_path: Path) -> None:
    """flink-cdc#2204: a second commit of one SCN was dropped."""
    first = [row(100, START), row(101, INSERT), row(105, COMMIT, rba=(7, 9, 0))]
    second = [row(100, START, B), row(101, INSERT, B), row(105, COMMIT, B, rba=(7, 10, 0))]
    third = [
        row(100, START, C, thread=2),
        row(101, INSERT, C, thread=2),
        row(105, COMMIT, C, thread=2, rba=(3, 1, 0)),
    ]
    for rows in ([*first, *third], [*third, *first]):
        buffer = a_buffer(tmp_path)
        both = sorted([*rows, *second], key=lambda one: one.scn)
        assert take(buffer, both, 105) == [["1 101"], ["1 101"], ["2 101"]]
        assert buffer.window.done == (105, 2, (3, 1, 0))


def test_a_commit_waits_until_every_thread_shows_a_higher_scn(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    rows = [row(100, START), row(101, INSERT), row(105, COMMIT), row(107, START, B)]
    assert take(buffer, rows) == []
    assert take(buffer, [row(105, START, C, thread=2)]) == [], "an equal SCN may come again"
    assert take(buffer, [row(106, INSERT, C, thread=2)]) == [["1 101"]]
    ended = a_buffer(tmp_path)
    assert take(ended, rows[:3], 105) == [["1 101"]]


def test_rows_of_another_thread_may_come_behind_the_commit(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    rows = [row(100, START), row(103, INSERT), row(105, COMMIT)]
    other = [row(101, UPDATE, thread=2), row(105, UPDATE, thread=2, redo="last")]
    assert take(buffer, [*rows, *other], 105) == [["1 101", "1 103", "last"]]


def test_two_containers_may_use_one_xid(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    rows = [row(100, START), row(100, START, container=4), row(101, INSERT), row(102, INSERT, container=4)]
    assert take(buffer, [*rows, row(103, ROLLBACK, container=4), row(104, COMMIT)], 104) == [["1 101"]]


def test_a_transaction_over_the_border_of_two_ranges(tmp_path: Path) -> None:
    """T-O03, DBZ-8844, DBZ-5085, DBZ-6963, DBZ-4936."""
    buffer = a_buffer(tmp_path)
    other = [row(101, START, B), row(102, INSERT, B), row(103, COMMIT, B)]
    assert take(buffer, [row(100, START), row(100, INSERT), *other], 104) == [["1 102"]]
    stopped = BEGIN.behind(buffer.window)
    assert (stopped.oldest, stopped.done.scn, stopped.seen) == (100, 103, 104)
    assert take(buffer, [row(105, COMMIT)], 106) == [["1 100"]]
    again = a_buffer(tmp_path, stopped)
    assert again.after == 99
    assert take(again, [row(100, START), row(100, INSERT), *other], 104) == []
    assert take(again, [row(105, COMMIT)], 106) == [["1 100"]]


def test_a_stop_inside_a_transaction_leaves_out_what_is_out(tmp_path: Path) -> None:
    rows = [row(100, START), *(row(100 + number, INSERT) for number in range(1, 6)), row(106, COMMIT)]
    buffer = a_buffer(tmp_path)
    for each in rows:
        buffer.take(each)
    buffer.end_range(110)
    one = buffer.next_commit()
    assert one is not None
    pieces = list(one.pieces(most_bytes=800))
    assert [len(piece) for piece in pieces] == [2, 2, 1]
    size = ROW_BYTES + len("1 101")
    assert [len(piece) for piece in one.pieces(most_bytes=size)] == [1] * 5
    assert [len(piece) for piece in one.pieces(most_bytes=2 * size)] == [2, 2, 1]
    assert [len(piece) for piece in one.pieces(most_bytes=2 * size + 1)] == [3, 2]
    stopped = BEGIN.inside(one.cut(pieces[0][-1][0]), 2, buffer.window)
    assert (stopped.oldest, stopped.seen) == (100, 110)
    again = a_buffer(tmp_path, stopped)
    others = [row(101, INSERT, B, thread=2), row(107, COMMIT, B, thread=2)]  # its row is before the cut
    for each in (*rows, *others):
        again.take(each)
    again.end_range(110)
    rest = again.next_commit()
    assert rest is not None
    assert [each.redo for each in rest.passed()] == ["1 101", "1 102"]
    assert out(again) == [["1 103", "1 104", "1 105"], ["1 101"]]
    assert again.window.done.scn == 107


def test_one_that_took_all_back_is_out_too(tmp_path: Path) -> None:
    """Else it would be mined again without its beginning, and what it took back be published."""
    buffer = a_buffer(tmp_path)
    rows = [row(100, START), row(101, INSERT), row(102, DELETE, rollback=True), row(104, COMMIT)]
    assert take(buffer, [*rows, row(103, START, C, thread=2)], 104) == []
    window = buffer.window
    assert (window.oldest, window.done.scn) == (103, 104)
    again = a_buffer(tmp_path, BEGIN.behind(window))
    assert take(again, [row(104, COMMIT)], 104) == []


def test_nothing_is_abandoned_however_old(tmp_path: Path) -> None:
    """DBZ-8874: a full cache dropped events, and old transactions were given up."""
    buffer = TransactionBuffer((1,), BEGIN, tmp_path, most_bytes=5_000)
    buffer.take(row(100, START))
    for scn in range(101, 1_001):
        buffer.take(row(scn, INSERT, redo=str(scn)))
        assert buffer.size <= 5_800
        buffer.end_range(scn)
    assert buffer.window.oldest == 100
    assert take(buffer, [row(1_001, COMMIT)], 1_001) == [[str(scn) for scn in range(101, 1_001)]]
    assert buffer.size == 0


def test_the_largest_transactions_go_to_files_and_no_name_stays(tmp_path: Path) -> None:
    """T-O04."""
    buffer = TransactionBuffer((1,), BEGIN, tmp_path, most_bytes=20_000)
    small = [f"0001{number:04X}00000001" for number in range(5)]
    open_before = open_files()
    for xid in small:
        buffer.take(row(100, INSERT, xid))
        buffer.take(row(100, INSERT, xid))
    for number in range(60):
        buffer.take(row(100 + number, INSERT, A))
    assert buffer.size <= 20_000
    assert open_files() == open_before + 1, "one file, for the one that is large"
    assert list(tmp_path.iterdir()) == []
    buffer.close()
    assert open_files() == open_before


def test_more_transactions_than_memory_has_room_for_are_not_written_for_each_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = TransactionBuffer((1,), BEGIN, tmp_path, most_bytes=5_000)
    calls = []
    spill = TransactionBuffer._spill

    def counted(self: TransactionBuffer) -> None:
        calls.append(1)
        spill(self)

    monkeypatch.setattr(TransactionBuffer, "_spill", counted)
    for number in range(1, 200):
        buffer.take(row(100, INSERT, f"0001{number:04X}00000001"))
    assert len(calls) < 10


def test_what_is_kept_is_shown_with_the_moment_of_the_oldest(tmp_path: Path) -> None:
    buffer = TransactionBuffer((1, 2), BEGIN, tmp_path, most_bytes=2_000)
    assert buffer.backlog == OpenTransactions(0, None, 0)
    unknown = a_buffer(tmp_path)
    take(unknown, [row(100, START)])
    assert unknown.backlog == OpenTransactions(1, None, 0), "no moment is not that of 1970"
    take(buffer, [row(100, START, B, timestamp=7_000_999), row(101, START, timestamp=8_000_000)])
    assert buffer.backlog == OpenTransactions(2, 7_000, 0)
    take(buffer, [row(102 + number, INSERT, redo="x" * 3_000) for number in range(5)])
    assert buffer.backlog.file_bytes > 3_000
    take(buffer, [row(107, COMMIT, B), row(108, ROLLBACK)], 110)
    assert buffer.backlog == OpenTransactions(0, None, 0)


def test_a_folder_that_is_full_is_said_and_nothing_is_dropped(tmp_path: Path) -> None:
    buffer = TransactionBuffer((1,), BEGIN, tmp_path / "gone", most_bytes=2_000)
    buffer.take(row(100, INSERT))
    buffer.take(row(101, INSERT))
    with pytest.raises(Transient, match="No such file") as caught:
        buffer.take(row(102, INSERT))
    assert caught.value.code == spill_file.SPILL_FAILED.code
    assert "df -h" in caught.value.hint


def test_a_row_without_a_sequence_is_the_one_s_that_has_the_slot(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    take(buffer, [row(100, START), row(101, INSERT), row(102, INSERT, redo="x", row_id=R[:-1] + "2")], 102)
    undo = row(103, DELETE, UNKNOWN, rollback=True, row_id=R[:-1] + "2")
    assert take(buffer, [undo, row(104, COMMIT, UNKNOWN)], 104) == [["1 101"]]
    assert buffer.doubts() == {}


def test_a_row_without_a_sequence_is_of_its_own_slot_and_container(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    others: list[dict[str, Any]] = [{"xid": B}, {"container": 4}]
    begins = [row(100, START), *(row(100, START, **other) for other in others)]
    inserts = [row(101, INSERT), *(row(101, INSERT, **other) for other in others)]
    undo = row(102, DELETE, UNKNOWN, rollback=True)
    commits = [row(103, COMMIT), row(104, COMMIT, B), row(105, COMMIT, container=4)]
    assert take(buffer, [*begins, *inserts, undo, *commits], 105) == [["1 101"], ["1 101"]]
    assert buffer.doubts() == {}


def test_a_row_without_a_sequence_that_two_may_have_written_is_not_guessed(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    rows = [row(100, START), row(101, START, A[:-1] + "4")]
    take(buffer, [*rows, row(103, DELETE, UNKNOWN, rollback=True)], 103)
    found = buffer.doubts()
    assert "2 transactions have its slot" in str(found[3, "SHOP", "ORDERS"])
    again = a_buffer(tmp_path, OraclePosition(1, last_at(99), oldest=100, seen=110, done=last_at(99)))
    take(again, [*rows, row(103, DELETE, UNKNOWN, rollback=True)], 103)
    assert again.doubts().keys() == found.keys()
    assert buffer.doubts() == {}, "once"
    with pytest.raises(Definite, match="2 transactions may have ended"):
        buffer.take(row(104, COMMIT, UNKNOWN))


def test_a_row_without_a_sequence_and_without_a_transaction(tmp_path: Path) -> None:
    """Up to what was seen before the stop it is of one that is out or rolled back; behind it is a doubt."""
    undo = row(103, DELETE, UNKNOWN, rollback=True)
    seen = OraclePosition(1, last_at(99), oldest=100, seen=103, done=last_at(99))
    buffer = a_buffer(tmp_path, seen)
    take(buffer, [undo], 103)
    assert buffer.doubts() == {}
    take(buffer, [row(104, START, UNKNOWN), row(104, 255, UNKNOWN)], 104)
    assert buffer.doubts() == {}, "rows of no table"
    take(buffer, [undo._replace(scn=105)], 105)
    assert buffer.doubts().keys() == {(3, "SHOP", "ORDERS")}


def test_a_slot_is_used_by_one_after_the_other(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    rows = [row(100, START), row(101, INSERT), row(102, COMMIT), row(103, START, A[:-1] + "4")]
    late = row(101, DELETE, UNKNOWN, thread=2, rollback=True)
    assert take(buffer, [*rows, late], 104) == []
    assert buffer.doubts() == {}
    assert buffer.window.done.scn == 102


def test_a_slot_is_free_when_its_transaction_is_out(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    second = A[:-1] + "4"
    assert take(buffer, [row(100, START), row(101, INSERT), row(102, COMMIT)], 102) == [["1 101"]]
    take(buffer, [row(103, START, second), row(103, INSERT, second)], 103)
    undo = row(104, DELETE, UNKNOWN, rollback=True)
    assert take(buffer, [undo, row(105, INSERT, second), row(106, COMMIT, second)], 106) == [["1 105"]]
    assert buffer.doubts() == {}


def test_a_transaction_that_has_ended_wrote_nothing_later(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    second = A[:-1] + "4"
    first = [row(100, START), row(101, INSERT), row(102, COMMIT)]
    other = [row(103, START, second), row(103, INSERT, second), row(104, DELETE, UNKNOWN, rollback=True)]
    assert take(buffer, [*first, *other, row(105, COMMIT, UNKNOWN)], 105) == [["1 101"]]
    assert buffer.doubts() == {}
    assert buffer.window.open == 0


def test_a_row_without_a_sequence_may_have_the_first_and_the_last_scn(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    begin = [row(100, START), row(100, INSERT), row(100, DELETE, UNKNOWN, rollback=True)]
    end = [row(101, INSERT), row(102, COMMIT), row(102, DELETE, UNKNOWN, thread=2, rollback=True)]
    assert take(buffer, [*begin, *end], 102) == []
    assert buffer.doubts() == {}
    assert buffer.window.done.scn == 102


def test_an_end_finds_the_rows_of_its_slot_that_are_not_later(tmp_path: Path) -> None:
    seen = OraclePosition(1, last_at(110), oldest=100, seen=110, done=last_at(110))
    buffer = a_buffer(tmp_path, seen)
    ends = [row(104, COMMIT, B[:8] + "FFFFFFFF"), row(105, COMMIT, UNKNOWN), row(107, ROLLBACK, UNKNOWN)]
    take(buffer, [*ends, row(105, INSERT, thread=2), row(108, INSERT, A[:-1] + "4", thread=2)])
    take(buffer, [row(109, START, C, thread=2), row(107, START, C[:-1] + "2")])
    assert buffer.window.open == 3, "the first is dropped with its end, at 105"
    buffer.end_range(110)
    take(buffer, [])
    assert buffer.window.open == 3
    begins = a_buffer(tmp_path, seen)
    take(begins, [row(105, COMMIT, UNKNOWN), row(105, START, A[:-1] + "4")], 110)
    assert begins.window.open == 1, "the next one of the slot begins at the SCN of the end"


def test_an_end_without_a_sequence_is_of_its_own_slot_and_of_a_transaction_without_one(
    tmp_path: Path,
) -> None:
    buffer = a_buffer(tmp_path, OraclePosition(1, last_at(110), oldest=100, seen=110, done=last_at(110)))
    take(buffer, [row(105, COMMIT, UNKNOWN), row(104, ROLLBACK, A[:-1] + "5", thread=2)])
    take(buffer, [row(105, INSERT, C, thread=2)], 110)
    assert buffer.window.open == 1, "what ended by itself is gone, and the other slot's is open"


def test_the_oldest_open_transaction_is_where_a_stop_resumes(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    take(buffer, [row(102, INSERT, B), row(103, INSERT), row(101, INSERT, B, thread=2)], 105)
    assert buffer.window.oldest == 101
    ahead = a_buffer(tmp_path)
    take(ahead, [row(107, INSERT)])
    assert ahead.window == (100, 99, 1, last_at(99))


def test_an_end_without_a_sequence_before_rows_of_another_thread(tmp_path: Path) -> None:
    """The rest of a transaction that is out would stay open for ever."""
    seen = OraclePosition(1, last_at(110), oldest=100, seen=110, done=last_at(110))
    buffer = a_buffer(tmp_path, seen)
    assert take(buffer, [row(105, COMMIT, UNKNOWN), row(103, INSERT, thread=2)], 110) == []
    assert (buffer.window.open, buffer.window.oldest) == (0, 111)
    later = row(112, INSERT, A[:-1] + "4")
    take(buffer, [row(111, START, A[:-1] + "4"), later], 112)
    assert buffer.window.open == 1


def test_rows_of_one_record_are_rows_each(tmp_path: Path) -> None:
    """redpanda#4826, redpanda#4827: an array delete has one (RS_ID, SSN) for up to 255 rows."""
    ids = [f"AAAS1AAEAAAB{number:06d}" for number in range(255)]
    same: dict[str, Any] = {"rba": (7, 5, 16), "rs_id": "0x7.5.10", "ssn": 0}
    rows = [row(101, DELETE, row_id=row_id, redo=row_id, **same) for row_id in ids]
    buffer = a_buffer(tmp_path)
    assert take(buffer, [row(100, START), *rows, row(102, COMMIT)], 102) == [ids]


def test_a_statement_in_several_rows_is_one(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    same: dict[str, Any] = {"rba": (7, 5, 16), "rs_id": "0x7.5.10"}
    parts = [row(101, INSERT, csf=True, redo="a", **same), row(101, INSERT, csf=True, redo="b", **same)]
    assert take(buffer, [row(100, START), *parts, row(101, INSERT, redo="c", **same)]) == []
    assert take(buffer, [row(102, COMMIT)], 102) == [["abc"]]
    joiner = RowJoiner()
    assert [joiner.join(part) for part in parts] == [None, None]
    assert joiner.join(parts[0]._replace(csf=False, redo="c")) == parts[0]._replace(csf=False, redo="abc")


@pytest.mark.parametrize(
    "wrong",
    [
        [row(101, INSERT, csf=True), row(101, INSERT, B)],
        [row(101, INSERT, csf=True), row(102, INSERT)],
        [row(101, INSERT, csf=True), row(101, INSERT, rs_id="other")],
        [row(101, INSERT, csf=True), row(101, INSERT, ssn=1)],
        [row(101, INSERT, csf=True)],
        [row(99, INSERT)],
        [row(105, INSERT), row(104, INSERT)],
        [row(105, INSERT, thread=3)],
        [row(100, START), row(105, COMMIT), row(106, COMMIT)],
    ],
)
def test_what_can_be_no_log_is_refused(wrong: list[MinedRow], tmp_path: Path) -> None:
    with pytest.raises(Definite) as caught:
        take(a_buffer(tmp_path), wrong, 110)
    assert caught.value.code == "oracle.log_inconsistent"


def test_a_thread_that_is_enabled_later_is_waited_for_too(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path, threads=(1,))
    buffer.end_range(104)
    buffer.know((1, 2))
    assert buffer.after == 104
    buffer.take(row(105, START, C[:-1] + "2", thread=2))
    rows = [row(105, START), row(105, INSERT), row(106, COMMIT), row(107, START, B)]
    assert take(buffer, rows) == []
    assert take(buffer, [row(107, START, C, thread=2)]) == [["1 105"]]


def test_a_row_of_an_unknown_thread_says_so(tmp_path: Path) -> None:
    with pytest.raises(Definite, match="a thread that is not known"):
        a_buffer(tmp_path).take(row(104, START, thread=3))
    with pytest.raises(Definite, match="an SCN that was passed"):
        a_buffer(tmp_path).take(row(99, START))


def test_a_missing_scn_names_thread_and_sequence(tmp_path: Path) -> None:
    with pytest.raises(Definite, match="thread 2 with sequence 7") as caught:
        a_buffer(tmp_path).take(row(104, MISSING, thread=2))
    assert caught.value.code == "oracle.log_missing"
    with pytest.raises(Definite, match=r"oracle.log_missing"):
        a_buffer(tmp_path).take(row(104, MISSING, thread=0))


def test_transactions_are_released_in_their_order(tmp_path: Path) -> None:
    buffer = a_buffer(tmp_path)
    for each in (row(100, INSERT), row(100, INSERT, B), row(101, COMMIT), row(102, COMMIT, B)):
        buffer.take(each)
    buffer.end_range(102)
    first = buffer.next_commit()
    assert first is not None
    again = buffer.next_commit()
    assert again is not None
    assert again.key == first.key
    buffer.release(first)
    with pytest.raises(ValueError, match="in their order"):
        buffer.release(first)
    second = buffer.next_commit()
    assert second is not None
    buffer.release(second)
    with pytest.raises(ValueError, match="in their order"):
        buffer.release(second)


def test_doubts_of_a_transaction_come_with_its_commit_or_not_at_all(tmp_path: Path) -> None:
    wrong = [row(100, START), row(101, UPDATE, rollback=True)]
    buffer = a_buffer(tmp_path)
    for each in (*wrong, row(102, COMMIT)):
        buffer.take(each)
    buffer.end_range(102)
    one = buffer.next_commit()
    assert one is not None
    assert one.doubts.keys() == {(3, "SHOP", "ORDERS")}
    assert list(one.pieces()) == []
    rolled = a_buffer(tmp_path)
    assert take(rolled, [*wrong, row(102, ROLLBACK)], 102) == []
