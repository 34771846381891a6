"""Each checker sees the fault that it is there for, and says nothing of a history that is right."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from zlib import crc32

import pytest

from tests.chaos.checks import CHECKS, WHOLE_BELOW, check_all, findings
from tests.chaos.evidence import Event, Evidence, Mark, Numbered, Told, Tombstone, Write

A, B = "accounts", "orders"  # the deletes of A say n


def seq(number: int) -> str:
    return f"0001{number:016x}ff{number:08x}"


def event(table: str, offset: int, key: int, op: str, n: int | None, xid: int) -> Event:
    return Event(table, 0, offset, key, op, n, seq(100 * xid + offset), xid, size=100)


EVENTS = (
    event(A, 0, 1, "c", 1, 7),
    event(A, 1, 2, "c", 2, 7),
    event(A, 3, 1, "u", 3, 8),  # offset 2 is the end of a Kafka transaction
    event(A, 4, 2, "d", 2, 8),
    event(B, 0, 1, "c", 4, 8),
    event(B, 2, 1, "d", None, 9),
)
WRITES = (
    Write(A, 1, "c", 1, 7),
    Write(A, 2, "c", 2, 7),
    Write(A, 1, "u", 3, 8),
    Write(A, 2, "d", 2, 8),
    Write(B, 1, "c", 4, 8),
    Write(B, 1, "d", 4, 9),
)
VALUE = b"v"
SUM = crc32(VALUE)
MARKS = (
    Mark(0, 1, 0, ends=False),
    Mark(10, 1, 1, ends=False),
    Mark(11, 1, 1, True, 100, b"p1", None, 2, 2 * SUM),
    Mark(20, 1, 2, ends=False),
    Mark(21, 1, 2, True, 200, b"p2", b"p1", 4, 3 * SUM),
    Mark(30, 2, 0, ends=False),
    Mark(31, 2, 1, ends=False),
    Mark(32, 2, 1, True, 300, b"p3", b"p2", 2, SUM),
)
KEYED, KEYLESS = "s.d.public.accounts", "s.d.public.lines"
NUMBERED = (
    Numbered(KEYED, 0, 0, True, "r", seq(1)),
    Numbered(KEYED, 0, 1, True, "r", seq(1)),  # the rows of a chunk share one
    Numbered(KEYED, 0, 2, False, "t", seq(3)),
    Numbered(KEYED, 1, 0, True, "c", seq(2)),
    Numbered(KEYLESS, 0, 0, False, "t", seq(4)),
    Numbered(KEYLESS, 0, 1, False, "r", seq(4)),
    Numbered(KEYLESS, 0, 2, False, "c", seq(9)),
    Numbered(KEYLESS, 0, 3, False, "t", seq(7)),  # its rows are read again
    Numbered(KEYLESS, 0, 4, False, "r", seq(7)),
)
RIGHT = Evidence(
    events=EVENTS,
    tombstones=(Tombstone(A, 0, 5, 2), Tombstone(B, 0, 3, 1)),
    attempts=(*EVENTS, replace(EVENTS[2], offset=9)),  # sent, aborted and sent again
    writes=WRITES,
    rows={(A, 1): 3},
    numbered=NUMBERED,
    told=(Told(5, 50), Told(12, 50), Told(15, 100), Told(22, 200), Told(40, 300)),
    marks=MARKS,
    records=8,
    checksum=6 * SUM,
    whole=frozenset({A}),
)


def without(index: int) -> Evidence:
    return replace(RIGHT, events=EVENTS[:index] + EVENTS[index + 1 :])


def with_event(made: Event) -> Evidence:
    return replace(RIGHT, events=(*EVENTS, made))


def with_seq(index: int, other: str) -> Evidence:
    changed = replace(NUMBERED[index], seq=other)
    return replace(RIGHT, numbered=(*NUMBERED[:index], changed, *NUMBERED[index + 1 :]))


def read_twice(n: int) -> Evidence:
    """A row is read at one place by two readers; this is what the second one finds."""
    first = replace(EVENTS[2], offset=10, op="r", seq=seq(9998))
    return replace(RIGHT, events=(*EVENTS, first, replace(first, offset=11, n=n)))


def with_marks(change: Callable[[list[Mark]], object]) -> Evidence:
    marks = list(MARKS)
    change(marks)
    return replace(RIGHT, marks=marks)


PLANTED = [
    ("CHK-1", "the last change of a row is missing", without(2)),
    ("CHK-1", "a delete is missing", without(3)),
    ("CHK-1", "the table has a row that no event made", replace(RIGHT, rows={(A, 1): 3, (A, 9): 1})),
    ("CHK-2", "an older version comes after a newer one", with_event(event(A, 10, 1, "u", 2, 9))),
    ("CHK-2", "seq goes back", with_event(replace(EVENTS[2], offset=10, n=9, seq=seq(1)))),
    ("CHK-2", "a key is in two partitions", with_event(replace(EVENTS[2], partition=1, n=9, seq=seq(9999)))),
    ("CHK-3", "an event is there twice", with_event(replace(EVENTS[0], offset=10))),
    ("CHK-3", "a row is read twice at one place, in two versions", read_twice(4)),
    ("CHK-4", "a change is missing", without(1)),
    ("CHK-4", "a delete that says no n is missing", without(5)),
    ("CHK-5", "a change that was rolled back is there", with_event(event(A, 10, 5, "c", 77, 9))),
    ("CHK-5", "a change stands under another transaction", with_event(replace(EVENTS[0], xid=99))),
    ("CHK-6", "a position does not name the one before", with_marks(lambda m: m.pop(2))),
    ("CHK-6", "the offsets count fewer records than there are", replace(RIGHT, records=9)),
    ("CHK-6", "a value is another one than was counted", replace(RIGHT, checksum=6 * SUM + 1)),
    (
        "CHK-7",
        "told before Kafka has it",
        replace(RIGHT, told=(*RIGHT.told[:2], Told(20, 200), Told(40, 300))),
    ),
    ("CHK-7", "told more than Kafka ever has", replace(RIGHT, told=(*RIGHT.told, Told(50, 301)))),
    (
        "CHK-12",
        "a transaction is cut",
        replace(RIGHT, events=(EVENTS[0], replace(EVENTS[1], offset=2), *EVENTS[2:])),
    ),
    ("CHK-15", "a begin has no end", with_marks(lambda m: m.pop(4))),
    ("CHK-15", "an end has no begin", with_marks(lambda m: m.pop(3))),
    (
        "CHK-15",
        "an end is of another transaction",
        with_marks(lambda m: m.insert(1, Mark(9, 1, 9, ends=False))),
    ),
    ("INV-3", "a key's changes come in another order", replace(RIGHT, writes=WRITES[::-1])),
    (
        "INV-9",
        "an owner commits after its successor",
        with_marks(lambda m: m.append(Mark(33, 1, 3, ends=False))),
    ),
    (
        "seq",
        "an event that was sent again has another seq",
        replace(RIGHT, attempts=(*EVENTS, replace(EVENTS[2], seq=seq(1)))),
    ),
    ("seq order", "a change goes back", with_seq(1, seq(0))),
    ("seq order", "a truncate of a table with a key goes back", with_seq(2, seq(0))),
    ("seq order", "a change of a table without a key goes back", with_seq(2 + 4, seq(3))),
    ("seq order", "a read begins without a truncate", with_seq(8, seq(6))),
    ("tombstones", "a delete has no tombstone", replace(RIGHT, tombstones=RIGHT.tombstones[1:])),
    (
        "tombstones",
        "a tombstone has no delete",
        replace(RIGHT, tombstones=(*RIGHT.tombstones, Tombstone(A, 0, 8, 1))),
    ),
]


def test_what_is_right_passes() -> None:
    assert findings(RIGHT) == {}


def test_a_row_may_be_read_twice_at_one_place() -> None:
    assert findings(read_twice(3), ["CHK-2", "CHK-3"]) == {}


@pytest.mark.parametrize(
    ("name", "seen"), [pytest.param(name, seen, id=what) for name, what, seen in PLANTED]
)
def test_a_planted_fault_is_seen(name: str, seen: Evidence) -> None:
    assert CHECKS[name](seen)


def test_no_checker_is_without_a_fault_that_it_sees() -> None:
    assert {name for name, _, _ in PLANTED} == set(CHECKS)


def test_a_transaction_that_is_too_large_may_be_cut() -> None:
    large = replace(EVENTS[0], size=WHOLE_BELOW)
    assert not CHECKS["CHK-12"](replace(RIGHT, events=(large, replace(EVENTS[1], offset=2), *EVENTS[2:])))


@dataclass(frozen=True)
class Left:
    """A world whose run is over."""

    seen: Evidence

    def evidence(self) -> Evidence:
        return self.seen


def test_all_checks_are_asked_but_those_that_are_left_out() -> None:
    assert check_all(Left(RIGHT)) is RIGHT
    for name, _, seen in PLANTED:
        with pytest.raises(AssertionError, match=name):
            check_all(Left(seen))
    torn = with_marks(lambda m: m.pop(3))
    check_all(Left(torn), but=["CHK-15"])
    with pytest.raises(AssertionError, match="no checker"):
        check_all(Left(RIGHT), but=["CHK-8"])
    with pytest.raises(AssertionError, match="nothing was written"):
        check_all(Left(replace(RIGHT, writes=())))
