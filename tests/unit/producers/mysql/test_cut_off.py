"""A transaction that a crash of the server cut off: nothing of it is told, or somebody has to know."""

from dataclasses import replace

import pytest

from tests.fixtures.written_log import BEGUN, WrittenLog
from tests.unit.producers.mysql.test_decode import BOTH, decoder, ids, places, rows, start_of, steps
from wrackline.producers.changes import Begin, Commit, Rows
from wrackline.producers.sources.mysql import kinds
from wrackline.producers.sources.mysql.cut_off import CutOff
from wrackline.producers.sources.mysql.position import History, position_of
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
    log, cut_off = crashed(kind, *lost), CutOff()
    with pytest.raises(Transient) as raised:
        steps(decoder(log, cut_off=cut_off), log.sent())
    assert raised.value.code == "mysql.log_cut_off"
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
    cut_off = CutOff()
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
def test_one_that_was_published_in_part_asks_for_a_read(kind: str) -> None:
    log, cut_off = crashed(kind, 2, 3), CutOff()
    made = decoder(log, most=10, cut_off=cut_off)
    crash = next(nth for nth, event in enumerate(log.sent()[1:], 1) if event[4] == kinds.ROTATE)
    told = [step.upto for step in steps(made, log.sent()[:crash]) if isinstance(step, Rows)]
    saved = position_of(told[-1].saved())
    assert saved.done == 2
    with pytest.raises(Definite) as raised:
        steps(decoder(log, saved, cut_off=cut_off), log.sent(saved.offset))
    assert raised.value.code == "mysql.cut_off_published"


@BOTH
def test_another_transaction_at_such_a_place_counts(kind: str) -> None:
    log, cut_off = crashed(kind, 2), CutOff()
    with pytest.raises(Transient):
        steps(decoder(log, cut_off=cut_off), log.sent())
    other = WrittenLog(kind, begun=BEGUN + 5)
    other.inserted(1, "t", 1)
    other.inserted(2, "t", 4)
    start = replace(start_of(other), history=History("here", "binlog.000001", BEGUN + 5))
    assert ids(steps(decoder(other, start, cut_off=cut_off), other.sent())) == [1, 4]
