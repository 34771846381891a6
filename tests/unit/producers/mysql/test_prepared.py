"""XA transactions in logs made by hand: the rows wait, and come from where they stand."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.fixtures.written_log import FIRST, WrittenLog
from tests.unit.producers.mysql.test_decode import BOTH, decoder, fails, ids, places, start_of, steps
from wrackline.producers.contract.steps import Begin, Commit, Step
from wrackline.producers.sources.mysql.decode import MySqlDecoder
from wrackline.producers.sources.mysql.events.events import Xid
from wrackline.producers.sources.mysql.log.log_cursor import position_elsewhere
from wrackline.producers.sources.mysql.log.position import MySqlPosition, PreparedXa, position_of
from wrackline.producers.sources.mysql.transactions.discarded import DiscardedTransactions
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient

A, B = Xid(1, b"a", b""), Xid(7, b"b\xff", b"branch")


def prepared(log: WrittenLog, number: int, xid: Xid, *numbers: int, table: str = "t") -> str:
    """A part that waits."""
    gtid = log.begin(number, xid=xid)
    log.insert(table, *numbers)
    log.prepare(xid)
    return gtid


def ended(log: WrittenLog, number: int, xid: Xid, how: str = "COMMIT") -> str:
    return log.alone(number, f"XA {how} {xid}")


def read(
    log: WrittenLog,
    start: MySqlPosition | None = None,
    most: int = 1 << 20,
    cut_off: DiscardedTransactions | None = None,
) -> list[Step]:
    """Read a log, and what it wants of itself."""
    offset = FIRST if start is None or start.history is None else start.offset
    made = decoder(log, start, most, cut_off=cut_off)
    found: list[Step] = []
    for event in log.sent(offset):
        found += steps(made, [event])
        found += part(made, log)
    return found


def part(made: MySqlDecoder, log: WrittenLog) -> list[Step]:
    """Feed what is wanted, if anything is."""
    found: list[Step] = []
    if (wanted := made.wanted) is not None:
        left = log.sent(wanted.offset or FIRST)
        while made.wanted is not None:
            found += steps(made, [left.pop(0)])
    return found


def transactions(found: Sequence[Step]) -> list[str]:
    return [step.transaction for step in found if isinstance(step, Begin)]


@BOTH
def test_rows_come_as_those_of_the_transaction_that_commits_them(kind: str) -> None:
    log = WrittenLog(kind)
    prepared(log, 1, A, 1, 2)
    prepared(log, 2, B, 3)
    between = log.inserted(3, "t", 4)
    second = ended(log, 4, B)
    first = ended(log, 5, A)
    found = read(log)
    assert ids(found) == [4, 3, 1, 2]
    assert transactions(found) == [between, second, first]
    assert places(found) == sorted(places(found))
    assert places(found)[-1].prepared == {}
    for place in places(found):
        later = read(log, position_of(place.saved()))
        out = sum(isinstance(step, Commit) and step.position <= place for step in found)
        left = {0: [4, 3, 1, 2], 1: [3, 1, 2], 2: [1, 2], 3: []}[out]
        assert ids(later) == (left[place.done :] if place.done else left)


@BOTH
def test_a_large_part_fills_batches_and_can_be_gone_on_with(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1, xid=A)
    for first in range(0, 50, 5):
        log.insert("t", *range(first, first + 5))
    log.prepare(A)
    ended(log, 2, A)
    found = read(log, most=1000)
    assert ids(found) == [*range(50)]
    inside = [place for place in places(found) if place.done]
    assert len(inside) > 4
    for place in inside:
        assert ids(read(log, position_of(place.saved()), most=1000)) == [*range(place.done, 50)]


@BOTH
def test_a_rollback_is_forgotten_and_its_name_is_free(kind: str) -> None:
    log = WrittenLog(kind)
    prepared(log, 1, A, 1)
    ended(log, 2, A, "ROLLBACK")
    prepared(log, 3, A, 2)
    assert list(places(read(log))[-1].prepared) == [str(A)]
    ended(log, 4, A)
    assert ids(read(log)) == [2]


def test_one_phase_is_a_transaction_of_its_own() -> None:
    log = WrittenLog("mysql")
    gtid = log.begin(1, xid=A)
    log.insert("t", 1, 2)
    log.prepare(A, one_phase=True)
    log.inserted(2, "t", 3)
    found = read(log)
    assert ids(found) == [1, 2, 3]
    assert transactions(found)[0] == gtid


@pytest.mark.parametrize("one_phase", [False, True], ids=["two phases", "one phase"])
def test_a_compressed_part_is_found(one_phase: object) -> None:
    log = WrittenLog("mysql")
    log.begin(1, xid=A)
    log.insert("t", 1, 2)
    log.prepare(A, one_phase=bool(one_phase))
    log.packed()
    log.inserted(2, "t", 3)
    if not one_phase:
        ended(log, 3, A)
    assert ids(read(log)) == ([1, 2, 3] if one_phase else [3, 1, 2])


def test_the_end_needs_no_length_of_the_transaction() -> None:
    log = WrittenLog("mysql")  # as 5.7 logs none
    log.begin(1, xid=A)
    log.insert("t", 1)
    log.prepare(A)
    log.begin(2, flags=1)
    log.query(f"XA COMMIT {A}")
    prepared(log, 3, B, 3)
    log.begin(4, flags=1)
    log.query(f"XA ROLLBACK {B}")
    log.inserted(5, "t", 2)
    found = read(log)
    assert ids(found) == [1, 2]
    assert sum(isinstance(step, Commit) for step in found) == 2


@BOTH
def test_an_unknown_prepared_transaction_is_never_passed_over(kind: str) -> None:
    log = WrittenLog(kind)
    ended(log, 1, A)
    error = fails(Definite, "mysql.xa_unknown", decoder(log), log.sent())
    assert str(A) in error.sentence
    known = replace(start_of(log), prepared={str(A): PreparedXa()})
    assert places(read(log, known))[-1].prepared == {}, "it had ended before the first row was read"


@BOTH
def test_another_transaction_in_its_place_is_another_log(kind: str) -> None:
    log = WrittenLog(kind)
    where = log.offset
    prepared(log, 1, B, 1)
    log.inserted(2, "t", 2)
    plain = log.offset
    log.inserted(3, "t", 3)
    ended(log, 4, A)
    for offset in (where, plain):
        made = decoder(log, replace(start_of(log), prepared={str(A): PreparedXa("binlog.000001", offset)}))
        steps(made, log.sent())
        assert made.wanted is not None
        fails(Definite, "mysql.log_another", made, log.sent(offset))
        assert made._log.at.done == 0, "rows of another transaction were delivered"


@BOTH
def test_another_server_has_the_part_behind_others_of_its_own(kind: str) -> None:
    log = WrittenLog(kind)
    gtid = prepared(log, 1, A, 1)
    log.inserted(2, "t", 2)
    there = position_elsewhere(position_of(places(read(log))[-1].saved()))
    assert there is not None
    assert there.prepared[str(A)].gtid == gtid
    other = WrittenLog(kind)
    other.inserted(9, "t", 7, domain=5)
    prepared(other, 8, B, 8)
    prepared(other, 1, A, 1)
    before = other.offset
    ended(other, 3, A)
    made = decoder(other, there)
    for event in other.sent(before):
        steps(made, [event])
    wanted = made.wanted
    assert wanted is not None
    assert wanted.behind is not None
    assert not wanted.behind.contains(type(wanted.behind).parse(gtid))  # type: ignore[arg-type]  # of one kind
    found = part(made, other)
    assert ids(found) == [1]
    assert made._log.at.prepared == {}


@BOTH
def test_a_statement_in_a_part_stops_the_stream(kind: str) -> None:
    log = WrittenLog(kind)
    where = log.offset
    log.begin(1, xid=A)
    log.query("DELETE FROM t")
    log.prepare(A)
    before = log.offset
    ended(log, 2, A)
    fails(OperatorNeeded, "mysql.statement_logged", decoder(log), log.sent())
    made = decoder(log, replace(start_of(log), prepared={str(A): PreparedXa("binlog.000001", where)}))
    steps(made, log.sent(before))
    fails(OperatorNeeded, "mysql.statement_logged", made, log.sent(where))


@BOTH
def test_a_format_that_only_statements_have_room_for_is_the_same(kind: str) -> None:
    log = WrittenLog(kind)
    prepared(log, 1, Xid(5, b"a", b"b"), 1)
    log.alone(2, f"XA COMMIT X'61',X'62',{5 + (1 << 32)}")
    assert ids(read(log)) == [1]


@BOTH
def test_rows_rolled_back_to_a_savepoint_before_the_prepare_are_left_out(kind: str) -> None:
    """MariaDB logs it where the transaction made a temporary table."""
    log = WrittenLog(kind)
    log.begin(1, xid=A)
    log.insert("t", 1)
    log.query("SAVEPOINT `s`")
    log.insert("t", 2)
    log.query("ROLLBACK TO `s`")
    log.insert("t", 3)
    log.prepare(A)
    ended(log, 2, A)
    cut_off = DiscardedTransactions()
    with pytest.raises(Transient):
        read(log, cut_off=cut_off)
    assert ids(read(log, cut_off=cut_off)) == [1, 3]
