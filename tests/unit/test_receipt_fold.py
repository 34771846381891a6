"""The newest requests of a pipeline: each one's newest receipt, and no more of them than a page shows."""

import pytest

from wrackline.control.runtime.board import receipt_fold
from wrackline.control.runtime.board.receipt_fold import MOST, ReceiptFold
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.receipts import RequestState
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import SourcePartition

PARTITION = SourcePartition("shop", "shop")


def key(request: str) -> bytes:
    return receipts.key("shop", PARTITION, request)


def value(request: str, *, runs: bool = False) -> bytes:
    made = receipts.accept(request, SnapshotKind.INCREMENTAL, ("public.orders",), 1)
    return receipts.encode(receipts.move(made, RequestState.RUNNING, 2) if runs else made)


def test_each_request_has_its_newest_receipt_and_the_one_that_changed_last_is_first() -> None:
    fold = ReceiptFold()
    for offset, (request, runs) in enumerate([("a", False), ("b", False), ("a", True)]):
        fold.apply(key(request), value(request, runs=runs), offset)
    assert [(one.id, one.state) for one in fold.newest_first()] == [
        ("a", RequestState.RUNNING), ("b", RequestState.ACCEPTED),
    ]  # fmt: skip
    fold.apply(key("a"), None, 3)
    assert [one.id for one in fold.newest_first()] == ["b"]


def test_only_the_newest_are_remembered_and_one_that_can_t_be_read_hides_no_other() -> None:
    fold = ReceiptFold()
    for number in range(MOST + 5):
        fold.apply(key(str(number)), value(str(number)), number)
    fold.apply(key("bad"), b"{", 99)
    found = [one.id for one in fold.newest_first()]
    assert (len(found), found[0], "0" in found) == (MOST - 1, str(MOST + 4), False)


def test_anybody_who_may_write_there_can_t_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    one = len(key("0")) + len(value("0"))
    monkeypatch.setattr(receipt_fold, "MOST_BYTES", 5 * one)
    fold = ReceiptFold()
    for number in range(8):
        fold.apply(key(str(number)), value(str(number)), number)
    assert [found.id for found in fold.newest_first()] == ["7", "6", "5", "4", "3"]
    fold.apply(key("5"), None, 8)
    fold.apply(key("8"), value("8"), 9)
    assert [found.id for found in fold.newest_first()] == ["8", "7", "6", "4", "3"], (
        "what is gone takes no room"
    )
    fold.apply(key("9"), b" " * one + value("9"), 10)
    assert [found.id for found in fold.newest_first()] == ["9", "8", "7", "6"]
    fold.apply(key("9"), b" " * (6 * one), 11)
    assert fold.newest_first() == (), "one that is larger than all leaves no room for itself either"
    fold.apply(key("0"), value("0"), 12)
    assert [found.id for found in fold.newest_first()] == ["0"]
