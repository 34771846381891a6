"""What the server undid, by a crash or a ROLLBACK: none of it is published, or an operator must act."""

import tracemalloc
from array import array
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.fixtures.written_log import BEGUN, FIRST, WrittenLog
from tests.unit.producers.mysql.test_decode import BOTH, T, decoder, fails, ids, places, rows, start_of, steps
from wrackline.producers.contract.steps import Begin, Commit, RowChange, Rows, Signal, Step
from wrackline.producers.sources.mysql.ddl.ddl_effects import ControlKind, TransactionControl
from wrackline.producers.sources.mysql.decode import MySqlDecoder
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition, position_of
from wrackline.producers.sources.mysql.rows.source_record import MySqlSourceLabels
from wrackline.producers.sources.mysql.transactions.discarded import DiscardedTransactions
from wrackline.producers.sources.mysql.transactions.transaction import Transaction, TransactionMark
from wrackline.schemas.errors import Definite, Transient


def crashed(kind: str, *lost: int) -> WrittenLog:
    """A log with two whole transactions around one that has only these rows."""
    log = WrittenLog(kind)
    log.inserted(1, "t", 1)
    log.begin(2)
    for number in lost:
        log.insert("t", number)
    log.crash()
    log.inserted(2, "t", 9)  # the server gives the same name again
    return log


@BOTH
@pytest.mark.parametrize("lost", [(), (2, 3)])
def test_it_is_passed_over_when_the_log_is_opened_again(kind: str, lost: tuple[int, ...]) -> None:
    log, cut_off = crashed(kind, *lost), DiscardedTransactions()
    fails(Transient, "mysql.log_cut_off", decoder(log, cut_off=cut_off), log.sent())
    found = steps(decoder(log, cut_off=cut_off), log.sent())
    assert ids(found) == [1, 9]
    told = [step.transaction for step in found if isinstance(step, Begin | Commit)]
    assert told == [told[0]] * 2 + [told[-1]] * 2
    assert places(found)[-1].offset == log.offset
    assert places(found) == sorted(places(found))


@BOTH
def test_neither_its_statements_nor_its_maps_count(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.query("CREATE TABLE n (id int)")
    log.map("t", metadata=b"")
    log.crash()
    log.inserted(1, "t", 1)
    cut_off = DiscardedTransactions()
    with pytest.raises(Transient):
        steps(decoder(log, cut_off=cut_off), log.sent())
    found = steps(decoder(log, cut_off=cut_off), log.sent())
    assert rows(found) == [(1, 0)]
    assert [type(step).__name__ for step in found if "Progress" not in type(step).__name__] == [
        "Begin",
        "Shape",
        "Rows",
        "Commit",
    ]


@BOTH
def test_a_cut_off_transaction_that_was_partly_published_needs_a_read(kind: str) -> None:
    log, cut_off = crashed(kind, 2, 3), DiscardedTransactions()
    made = decoder(log, most=10, cut_off=cut_off)
    crash = next(nth for nth, event in enumerate(log.sent()[1:], 1) if event[4] == event_kinds.ROTATE)
    told = [step.upto for step in steps(made, log.sent()[:crash]) if isinstance(step, Rows)]
    saved = position_of(told[-1].saved())
    assert saved.done == 2
    fails(Definite, "mysql.cut_off_published", decoder(log, saved, cut_off=cut_off), log.sent(saved.offset))


@BOTH
def test_another_transaction_at_such_a_place_counts(kind: str) -> None:
    log, cut_off = crashed(kind, 2), DiscardedTransactions()
    with pytest.raises(Transient):
        steps(decoder(log, cut_off=cut_off), log.sent())
    other = WrittenLog(kind, begun=BEGUN + 5)
    other.inserted(1, "t", 1)
    other.inserted(2, "t", 4)
    start = replace(start_of(other), history=MySqlHistory("here", "binlog.000001", BEGUN + 5))
    assert ids(steps(decoder(other, start, cut_off=cut_off), other.sent())) == [1, 4]


def taken_back(kind: str) -> WrittenLog:
    """A log with a transaction that goes back to a savepoint, then one that is logged with its ROLLBACK."""
    log = WrittenLog(kind)
    log.begin(1)
    log.insert("t", 1)
    log.query("SAVEPOINT `s`")
    log.insert("other", 7)
    log.insert("t", 2, 3)
    log.query("ROLLBACK TO `S`")
    log.insert("t", 4)
    log.commit()
    log.begin(2)
    log.insert("t", 5)
    log.query("ROLLBACK")
    log.inserted(3, "t", 6)
    return log


def met(
    log: WrittenLog, cut_off: DiscardedTransactions, start: MySqlPosition | None = None, most: int = 1 << 20
) -> None:
    """Have the decoder meet the next rows that were rolled back."""
    offset = FIRST if start is None else start.offset
    fails(Transient, "mysql.rolled_back", decoder(log, start, most, cut_off=cut_off), log.sent(offset))


@BOTH
def test_rows_that_are_logged_and_taken_back_are_passed_over_when_the_log_is_opened_again(kind: str) -> None:
    log, cut_off = taken_back(kind), DiscardedTransactions()
    met(log, cut_off)
    met(log, cut_off)
    found = steps(decoder(log, cut_off=cut_off), log.sent())
    assert rows(found) == [(1, 0), (4, 4), (6, 0)]
    assert places(found)[-1].offset == log.offset
    assert places(found) == sorted(places(found))


@BOTH
def test_rolled_back_rows_that_were_not_handed_out_are_taken_out(kind: str) -> None:
    log = taken_back(kind)
    made = decoder(log)
    for event in log.sent():
        made.feed(event, 0, len(event))
    batch = made.take()
    assert batch is not None
    assert rows(batch.steps) == [(1, 0), (4, 4), (6, 0)]
    told = [step for step in batch.steps if isinstance(step, Begin | Commit)]
    assert [step.transaction for step in told[::2]] == [step.transaction for step in told[1::2]]
    assert [place.done for place in places(batch.steps) if place.done] == [1, 5, 1]


@BOTH
def test_a_start_behind_what_was_taken_back_need_not_know_of_it(kind: str) -> None:
    log, cut_off = taken_back(kind), DiscardedTransactions()
    met(log, cut_off)
    met(log, cut_off)
    found = steps(decoder(log, most=10, cut_off=cut_off), log.sent())
    inside = [place for place in places(found) if place.done][:2]
    assert [place.done for place in inside] == [1, 5]
    for place, rest in zip(inside, ([4, 6], [6]), strict=True):
        anew = DiscardedTransactions()
        for _ in range(2 if place.done == 1 else 1):
            met(log, anew, place)
        assert ids(steps(decoder(log, place, cut_off=anew), log.sent(place.offset))) == rest


@BOTH
def test_rolled_back_rows_that_were_partly_published_need_a_read(kind: str) -> None:
    log = taken_back(kind)
    back = next(nth for nth, event in enumerate(log.sent()) if b"ROLLBACK TO" in event)
    told = [step.upto for step in steps(decoder(log, most=10), log.sent()[:back]) if isinstance(step, Rows)]
    saved = position_of(told[-1].saved())
    assert saved.done == 4
    fails(Definite, "mysql.rolled_back_published", decoder(log, saved), log.sent(saved.offset))


@BOTH
def test_rolled_back_rows_of_other_tables_are_not_reported(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.insert("t", 1)
    log.query("SAVEPOINT s")
    log.insert("other", 2)
    log.query("ROLLBACK TO s")
    log.commit()
    log.begin(2)
    log.insert("other", 3)
    log.query("ROLLBACK")
    log.inserted(3, "t", 4)
    assert rows(steps(decoder(log), log.sent())) == [(1, 0), (4, 0)]


@BOTH
def test_an_unknown_savepoint_is_an_error_and_not_guessed(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.insert("t", 1)
    log.query("ROLLBACK TO s")
    fails(Definite, "mysql.log_out_of_order", decoder(log), log.sent())


@BOTH
def test_only_rows_that_were_handed_out_cause_the_log_to_be_read_again(kind: str) -> None:
    """However many savepoints a large transaction goes back to."""
    log, cut_off = WrittenLog(kind), DiscardedTransactions()
    log.begin(1)
    for number in range(0, 20, 2):
        log.insert("t", number)
        log.query("SAVEPOINT s")
        log.insert("t", number + 1)
        log.query("ROLLBACK TO s")
    log.commit()
    made, found = decoder(log, cut_off=cut_off), list[Step]()
    for event in log.sent():
        made.feed(event, 0, len(event))
        if b"ROLLBACK TO" in event and (batch := made.take()) is not None:
            found += batch.steps
    last = made.take()
    assert last is not None
    assert ids([*found, *last.steps]) == list(range(0, 20, 2))


@BOTH
def test_events_are_the_same_whether_rows_were_taken_out_or_passed_over(kind: str) -> None:
    log, cut_off = taken_back(kind), DiscardedTransactions()
    made = counted(log)
    for event in log.sent():
        made.feed(event, 0, len(event))
    batch = made.take()
    assert batch is not None
    for _ in range(2):
        met(log, cut_off)
    assert changes(steps(counted(log, cut_off), log.sent())) == changes(batch.steps)


def counted(log: WrittenLog, cut_off: DiscardedTransactions | None = None) -> MySqlDecoder:
    """One whose events say which of their transaction and table they are."""
    made = decoder(log, cut_off=cut_off)
    made._labels = replace(made._labels, counted=True)
    return made


def changes(found: Sequence[Step]) -> list[RowChange]:
    return [row for step in found if isinstance(step, Rows) for row in step.rows]


@BOTH
def test_an_unknown_savepoint_matters_only_where_rows_are_captured(kind: str) -> None:
    log = WrittenLog(kind)
    log.begin(1)
    log.query("SAVEPOINT `É`")
    log.insert("other", 1)
    log.query("ROLLBACK TO `e`")  # the same to the server
    log.commit()
    log.inserted(2, "t", 2)
    assert ids(steps(decoder(log), log.sent())) == [2]


def test_a_signal_that_was_taken_back_is_none_also_where_the_rows_behind_it_are_out() -> None:
    start = start_of(WrittenLog("mariadb"))
    opened = Transaction("0-1-1", start, "f", None, 1, 0, 0, alone=False, skip=9, done=4, handled_end=4)
    told: list[Step] = [Signal("a", "kept", "", start.behind(1)), Signal("b", "gone", "", start.behind(3))]
    DiscardedTransactions().rolled_back(opened, TransactionMark(2, 0, array("Q")), told)
    assert [step.type for step in told if isinstance(step, Signal)] == ["kept"]


def test_a_savepoint_of_one_name_is_held_once_however_often_it_is_set() -> None:
    opened = Transaction("0-1-1", start_of(WrittenLog("mariadb")), "f", None, 1, 0, 0, alone=False)
    for number in range(10):
        opened.frame(MySqlSourceLabels("1", "mysql", "server"), T._replace(name=f"t{number}"), 0)
    cut_off, told = DiscardedTransactions(), list[Step]()
    tracemalloc.start()
    try:
        for opened.done in range(10_000):
            cut_off.savepoint(opened, TransactionControl(ControlKind.SAVEPOINT, savepoint="s"), told)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 10_000
