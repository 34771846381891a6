"""When a table is tended: so long after its last upkeep, or what counts as one, and never twice at once."""

import random
import threading
import time
from collections.abc import Callable

from wrackline.consumers.contract.target import UpkeepResult
from wrackline.consumers.drive.upkeep_worker import UpkeepOutcome, UpkeepWorker

HOUR = 3600.0


class Upkeep:
    """Notes which tables were tended; waits where a test wants it."""

    def __init__(self) -> None:
        self.tended: list[str] = []
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, topic: str) -> UpkeepResult:
        assert self.go_on.wait(20)
        self.tended.append(topic)
        return UpkeepResult(incomplete=len(self.tended))


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def until(tending: UpkeepWorker, holds: Callable[[list[UpkeepOutcome]], bool]) -> list[UpkeepOutcome]:
    done: list[UpkeepOutcome] = []
    deadline = time.monotonic() + 20
    while not holds(done):
        assert time.monotonic() < deadline
        done += tending.done()
    return done


def test_a_table_is_tended_an_interval_after_what_counts_as_its_last_upkeep_and_then_after_its_last() -> None:
    upkeep, clock = Upkeep(), Clock()
    tending = UpkeepWorker(upkeep, HOUR, clock, lambda: 0.0)
    for late in (0, 1, HOUR - 1):
        clock.now = 50 + late
        tending.merged("s.d.p.a")
    clock.now = 50 + HOUR
    tending.merged("s.d.p.a")
    tending.merged("s.d.p.b")  # its first
    assert [one.topic for one in until(tending, lambda done: len(done) == 1)] == ["s.d.p.a"]
    clock.now += HOUR - 1
    tending.merged("s.d.p.a")
    clock.now += 1
    tending.merged("s.d.p.b")
    (done,) = until(tending, lambda done: len(done) == 1)
    assert (done.topic, done.did.incomplete) == ("s.d.p.b", 2)
    assert upkeep.tended == ["s.d.p.a", "s.d.p.b"]
    tending.close()


def test_a_table_is_not_tended_twice_at_once() -> None:
    upkeep, clock = Upkeep(), Clock()
    upkeep.go_on.clear()
    tending = UpkeepWorker(upkeep, 1.0, clock, lambda: 0.0)
    for _ in range(5):
        tending.merged("s.d.p.a")
        clock.now += 1
    assert list(tending.done()) == []
    upkeep.go_on.set()
    until(tending, lambda done: len(done) == 1)
    assert upkeep.tended == ["s.d.p.a"]
    tending.close()


def tended_by_restarts(restarts: int, lasting: float) -> int:
    """How often a table is tended by consumers that run one after the other, each for so long."""
    upkeep, clock, chances = Upkeep(), Clock(), random.Random(7)
    for _ in range(restarts):
        tending = UpkeepWorker(upkeep, HOUR, clock, chances.random)
        for _ in range(2):
            tending.merged("s.d.p.a")
            clock.now += lasting / 2
        tending.merged("s.d.p.a")
        until(tending, lambda _: not tending.is_under_way("s.d.p.a"))  # noqa: B023 - it ends here
        tending.close()
    return len(upkeep.tended)


def test_a_consumer_that_restarts_more_often_tends_its_tables_once_in_an_interval() -> None:
    assert 35 <= tended_by_restarts(200, HOUR / 4) <= 65


def test_restarts_in_a_loop_do_not_tend_each_time() -> None:
    assert tended_by_restarts(200, 2.0) <= 2


def test_the_first_batch_of_a_process_is_not_held_up_by_an_upkeep() -> None:
    upkeep, clock = Upkeep(), Clock()
    tending = UpkeepWorker(upkeep, HOUR, clock, lambda: 1 - 2**-53)
    tending.merged("s.d.p.a")
    assert upkeep.tended == []
    clock.now += 1
    tending.merged("s.d.p.a")
    until(tending, lambda done: len(done) == 1)
    tending.close()


def test_nothing_is_tended_where_the_interval_is_nothing() -> None:
    upkeep, clock = Upkeep(), Clock()
    tending = UpkeepWorker(upkeep, 0.0, clock)
    for _ in range(3):
        tending.merged("s.d.p.a")
        clock.now += HOUR
    tending.close()
    assert upkeep.tended == []
