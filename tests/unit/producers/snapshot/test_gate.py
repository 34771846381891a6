"""The gate by itself: what must be visible to a read, what may be forgotten, and which marks came back."""

from dataclasses import dataclass

from tests.fakes.place import Place
from wrackline.producers.contract.steps import Begin, Commit, Message, Passing, Progress, Signal
from wrackline.producers.snapshot.gate import Gate
from wrackline.producers.snapshot.work_items import Ticket

TICKET = Ticket("run/7")


@dataclass(frozen=True)
class At:
    """A mark that is passed where the log is at a place, whatever says so."""

    name: str
    lsn: int

    def passed(self, step: Passing) -> bool:
        assert isinstance(step.position, Place)
        return step.position.lsn >= self.lsn


@dataclass(frozen=True)
class Said:
    """A mark that is passed by what names it."""

    name: str

    def passed(self, step: Passing) -> bool:
        return isinstance(step, Message | Signal) and self.name == said(step)


def said(step: Message | Signal) -> str:
    return step.content.decode() if isinstance(step, Message) else step.id


def commits(*names: str) -> tuple[Commit, ...]:
    return tuple(Commit(name, Place(0, at), 0) for at, name in enumerate(names, 1))


def message(content: str, lsn: int = 1) -> Message:
    return Message("wrackline.mark", content.encode(), Place(0, lsn))


def test_nothing_has_been_passed_at_the_start() -> None:
    assert not Gate("run", 9, ()).passed(At("run/1", 0))


def test_a_mark_is_passed_by_the_newest_end_of_a_transaction_whatever_was_said_since() -> None:
    gate = Gate("run", 9, ())
    gate.passing(Commit("a", Place(0, 5), 0))
    gate.passing(message("a place inside another transaction", 2))
    assert gate.passed(At("run/1", 5))
    assert not gate.passed(At("run/1", 6))


def test_a_mark_is_passed_by_what_was_said_behind_it() -> None:
    gate = Gate("run", 9, ())
    gate.passing(Progress(Place(0, 5)))
    gate.passing(message("between two transactions", 6))
    assert gate.passed(At("run/1", 6))


def test_a_mark_that_came_back_before_its_reader_is_known_until_that_is_back() -> None:
    for step in (message(TICKET), Signal(TICKET, "mark", "", Place(0, 1))):
        gate = Gate("run", 9, ())
        gate.out(TICKET)
        gate.passing(step)
        gate.passing(Progress(Place(0, 2)))
        assert gate.passed(Said(TICKET))
        assert not gate.passed(Said("run/8"))
        gate.back(TICKET)
        assert not gate.passed(Said(TICKET))


def test_marks_of_other_starts_and_of_readers_that_are_back_are_not_kept() -> None:
    gate = Gate("run", 9, ())
    gate.out(TICKET)
    for other in ("ran/7", "run/8", "running", ""):
        gate.passing(message(other))
        gate.passing(Progress(Place(0, 2)))
        assert not gate.passed(Said(other))


def test_an_open_transaction_is_unproven_once_a_row_of_it_was_handed_out() -> None:
    gate = Gate("run", 9, commits("a"))
    gate.begin(Begin("b", 3))
    assert (gate.inside, gate.unproven(9)) == (True, commits("a"))
    gate.touch(Place(0, 4))
    assert gate.unproven(9) == (*commits("a"), Commit("b", Place(0, 4), 3))
    gate.passing(Commit("b", Place(0, 5), 3))
    assert (gate.inside, gate.unproven(9)) == (False, (*commits("a"), Commit("b", Place(0, 5), 3)))
    gate.begin(Begin("c", 3))
    assert len(gate.unproven(9)) == 2


def test_of_too_many_unproven_the_oldest_and_the_newest_are_named() -> None:
    names = commits(*"abcdefgh")
    gate = Gate("run", 9, names)
    assert gate.unproven(8) == names
    assert gate.unproven(5) == (*names[:2], *names[-3:])
    assert gate.unproven(4) == (*names[:2], *names[-2:])


def test_what_is_hidden_still_keeps_its_place_before_what_came_later() -> None:
    a, b, c, d = commits(*"abcd")
    gate = Gate("run", 9, (a, b, c))
    gate.passing(d)
    gate.seen((a, b), (a,))
    assert gate.streamed() == (a, c, d)
    gate.seen((a, c, d), (d,))
    assert (gate.streamed(), len(gate)) == ((d,), 1)
    gate.seen((d,))
    assert gate.streamed() == ()


def test_of_too_many_hidden_ones_the_oldest_are_kept() -> None:
    a, b, c = commits(*"abc")
    gate = Gate("run", 2, ())
    gate.seen((a, b, c), (a, b, c))
    assert gate.streamed() == (a, b)
