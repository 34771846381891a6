"""The receipts of all partitions of a task are read once, and again where what was read may be old."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from wrackline.producers.kafka.requests_topic import SharedReceipts
from wrackline.schemas.kafka import receipts
from wrackline.schemas.kafka.receipts import Receipt, ReceiptKey
from wrackline.schemas.kafka.signals import SnapshotKind
from wrackline.schemas.tables.table import SourcePartition

ONE, OTHER = SourcePartition("server", "one"), SourcePartition("server", "other")


def receipt(name: str) -> Receipt:
    return receipts.accept(name, SnapshotKind.INCREMENTAL, ("t",), 1)


class Topic:
    """Counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0
        self.found = [
            (ReceiptKey("shop", "server", "one", "a"), receipt("a")),
            (ReceiptKey("shop", "server", "other", "b"), receipt("b")),
            (ReceiptKey("stock", "server", "one", "c"), receipt("c")),
            (ReceiptKey("shop", "server", "one", "d"), receipt("d")),
        ]

    def read(self) -> list[tuple[ReceiptKey, Receipt]]:
        self.reads += 1
        return list(self.found)


def test_each_partition_gets_its_own_of_one_read() -> None:
    topic = Topic()
    shared = SharedReceipts(topic.read)
    assert [one.id for one in shared.of("shop", ONE)] == ["a", "d"]
    assert [one.id for one in shared.of("shop", OTHER)] == ["b"]
    assert [one.id for one in shared.of("shop", SourcePartition("server", "third"))] == []
    assert topic.reads == 1


def test_what_is_opened_again_may_have_written_since() -> None:
    topic = Topic()
    shared = SharedReceipts(topic.read)
    for partition in (ONE, OTHER):
        shared.of("shop", partition)
    topic.found.append((ReceiptKey("shop", "server", "one", "e"), receipt("e")))
    assert [one.id for one in shared.of("shop", ONE)] == ["a", "d", "e"]
    assert topic.reads == 2


def test_what_ran_while_another_was_opened_again_may_have_written_since() -> None:
    topic = Topic()
    shared = SharedReceipts(topic.read)
    for partition in (ONE, OTHER, ONE):
        shared.of("shop", partition)
    topic.found.append((ReceiptKey("shop", "server", "other", "e"), receipt("e")))
    assert [one.id for one in shared.of("shop", OTHER)] == ["b", "e"]


class CountedLock:
    """Counts who has come to it."""

    def __init__(self) -> None:
        self.came = threading.Semaphore(0)
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self.came.release()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_those_that_are_opened_again_share_a_read_that_begins_after_all_have_asked() -> None:
    topic, lock, reads = Topic(), CountedLock(), threading.Event()
    shared = SharedReceipts(topic.read)
    partitions = [SourcePartition("server", str(number)) for number in range(8)]
    for partition in partitions:
        shared.of("shop", partition)
    expected = iter([partitions])  # all of them come during the first read

    def read() -> list[tuple[ReceiptKey, Receipt]]:
        reads.set()
        assert all(lock.came.acquire(timeout=10) for _ in next(expected, ()))
        return topic.read()

    shared._read, shared._lock = read, lock  # type: ignore[assignment]  # it counts too
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(shared.of, "shop", partitions[0])
        assert reads.wait(10)
        rest = [threads.submit(shared.of, "shop", one) for one in partitions[1:]]
        assert [list(answer.result(10)) for answer in (first, *rest)] == [[]] * 8
    assert topic.reads == 3


def test_those_that_come_while_it_is_read_wait_for_it() -> None:
    topic, ready = Topic(), threading.Barrier(4)
    shared = SharedReceipts(topic.read)

    def ask(number: int) -> int:
        ready.wait(10)
        return len(shared.of("shop", SourcePartition("server", str(number))))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [0] * 4
    assert topic.reads == 1


def test_a_read_that_fails_is_made_again() -> None:
    topic = Topic()
    shared, read = SharedReceipts(lambda: 1 / 0), topic.read  # type: ignore[arg-type,return-value]  # it fails
    with pytest.raises(ZeroDivisionError):
        shared.of("shop", ONE)
    shared._read = read
    assert [one.id for one in shared.of("shop", ONE)] == ["a", "d"]
