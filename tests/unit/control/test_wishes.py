"""Wishes of many threads: those that wait are granted together, and each caller gets its own end."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock

import pytest

from wrackline.control.runtime.group.wishes import Wish, WishQueue
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import Transient, WracklineError, define

PAUSE, RUN = DesiredState.PAUSE, DesiredState.RUN
LOST = define("test.wish_lost", Transient, "it was lost", hint="try again")

Grant = Callable[[Sequence[Wish]], None]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Slow:
    """Grants wishes; the first ones wait until they may."""

    def __init__(self, then: Grant = lambda _: None) -> None:
        self.granted: list[list[tuple[str, DesiredState]]] = []
        self.may, self._then = Event(), then
        self.queue = WishQueue(Lock(), self._grant)

    def _grant(self, wishes: Sequence[Wish]) -> None:
        self.granted.append([(one.name, one.state) for one in wishes])
        if len(self.granted) == 1:
            assert self.may.wait(30)
        else:
            self._then(wishes)

    def ask_all(self, *asked: tuple[str, DesiredState]) -> Sequence["Future[None]"]:
        """Ask for the first; for the others in this order while it is being granted; return their ends."""
        with ThreadPoolExecutor(len(asked)) as pool:
            ends = list[Future[None]]()
            for number, (name, state) in enumerate(asked):
                ends.append(pool.submit(self.queue.ask, Wish(name, state, None)))
                until(lambda number=number: len(self.queue._waiting) == number + 1)  # type: ignore[misc]
                until(lambda: bool(self.granted))
            self.may.set()
        return ends


def test_wishes_that_come_while_one_is_written_are_written_together() -> None:
    slow = Slow()
    for end in slow.ask_all(("a", PAUSE), ("b", PAUSE), ("c", RUN)):
        end.result()
    assert slow.granted == [[("a", PAUSE)], [("b", PAUSE), ("c", RUN)]]


def test_of_two_wishes_for_a_connector_the_later_one_is_granted_after_the_earlier_one() -> None:
    slow = Slow()
    for end in slow.ask_all(("a", PAUSE), ("b", PAUSE), ("c", RUN), ("b", RUN)):
        end.result()
    assert slow.granted == [[("a", PAUSE)], [("b", PAUSE), ("c", RUN)], [("b", RUN)]]


def test_what_is_wrong_with_one_wish_is_its_own_and_a_failed_write_is_that_of_all() -> None:
    def refuse_b(wishes: Sequence[Wish]) -> None:
        for one in wishes:
            if one.name == "b":
                one.error = LOST()

    first, b, c = Slow(refuse_b).ask_all(("a", PAUSE), ("b", PAUSE), ("c", RUN))
    assert (first.exception(), c.exception()) == (None, None)
    assert isinstance(b.exception(), WracklineError)

    def fail(_: Sequence[Wish]) -> None:
        lost = LOST()
        raise lost

    for error in (end.exception() for end in Slow(fail).ask_all(("a", PAUSE), ("b", PAUSE), ("c", RUN))[1:]):
        assert isinstance(error, WracklineError)
    queue = WishQueue(Lock(), fail)
    for _ in range(2):
        with pytest.raises(WracklineError):
            queue.ask(Wish("a", PAUSE, None))
