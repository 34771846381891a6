"""The newest requests of a pipeline: each one's newest receipt, and no more of them than a page shows."""

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
