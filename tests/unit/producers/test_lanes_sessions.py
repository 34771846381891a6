"""What a session leaves to be opened or closed is nobody's, and what it has counted is not forgotten."""

import threading
import time
from collections.abc import Callable

import pytest

from tests.unit.producers.test_lanes_apart import AWAY, ROWS, World, has_all, start_at_zero
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.schemas.errors import Transient, define

KAFKA_AWAY = define("kafka.test_away", Transient, "Kafka is away", hint="wait")


def wait_for(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)


def fail_once(until: threading.Event) -> Callable[[], None]:
    """Let Kafka end the session once, when this has come."""
    failed = threading.Event()

    def commit() -> None:
        if until.is_set() and not failed.is_set():
            failed.set()
            raise KAFKA_AWAY()  # noqa: RSE102 - it makes the error

    return commit


class Openings:
    """The openings of one database: the first waits for its server, and ends with its session's successor."""

    def __init__(self, world: World) -> None:
        self.world, self.begun = world, 0
        self.waits, self.answer = threading.Event(), threading.Event()
        world.opening, world.closing = self.open, self.close
        self.told: list[str] = []

    def open(self, name: str) -> None:
        if name != "odd":
            return
        self.begun += 1
        number = self.begun
        self.told.append(f"begins {number}")
        if number == 1:
            self.waits.set()
            assert self.answer.wait(10)
        self.told.append(f"opens {number}")

    def close(self, name: str) -> None:
        if name == "odd":
            self.told.append("closes")


def test_an_opening_of_a_session_that_has_ended_is_closed_before_the_next_session_opens_it() -> None:
    world = World(positions=start_at_zero())
    openings = Openings(world)
    world.committing = fail_once(openings.waits)

    def has_gone_on() -> bool:
        if world.sessions == 2 and world.seen.count(("good", "running")) == 2:
            openings.answer.set()
        return has_all(world)

    world.run(lambda _: has_gone_on())
    assert world.rows == {"good": ROWS, "odd": ROWS}
    assert openings.told[:5] == ["begins 1", "opens 1", "closes", "begins 2", "opens 2"]
    assert not any(database.in_use for database in world.databases)


def test_an_opening_that_a_stop_overtakes_leaves_no_log_open() -> None:
    world = World(positions=start_at_zero())
    openings = Openings(world)
    world.stopping = StopThen(openings.answer)
    world.run(lambda one: openings.waits.is_set() and one.rows["good"] >= ROWS)
    assert openings.told == ["begins 1", "opens 1", "closes"]
    assert not any(database.in_use for database in world.databases)


class StopThen(threading.Event):
    """A wish to stop that is followed by something a moment later."""

    def __init__(self, then: threading.Event) -> None:
        super().__init__()
        self._then = then

    def set(self) -> None:
        super().set()
        timer = threading.Timer(0.2, self._then.set)
        timer.daemon = True
        timer.start()


def test_a_log_that_takes_long_to_close_holds_up_no_other_and_is_opened_only_after_that() -> None:
    world = World({"odd": [AWAY(database="odd")]}, positions=start_at_zero())
    told: list[str] = []
    good_has_all, hung = threading.Event(), threading.Event()

    def close(name: str) -> None:
        if name == "odd" and not hung.is_set():
            hung.set()
            assert good_has_all.wait(10), "the other one is read meanwhile"
            told.append("closes")

    def look(one: World) -> bool:
        if hung.is_set() and one.rows["good"] >= ROWS:
            good_has_all.set()
        return has_all(one)

    world.closing = close
    world.opening = lambda name: told.append("opens") if name == "odd" else None
    world.run(look)
    assert told[:3] == ["opens", "closes", "opens"]
    assert world.rows == {"good": ROWS, "odd": ROWS}


def test_a_task_runs_though_one_database_does_not_answer() -> None:
    limits = TaskLimits(longest_wait=0.0, soon=0.05)
    world = World(limits=limits, positions=start_at_zero())
    openings = Openings(world)

    def runs(one: World) -> bool:
        if ("task", "running") in one.seen and ("odd", "starting") in one.seen:
            openings.answer.set()
        return has_all(one)

    world.run(runs)
    assert world.seen.index(("odd", "starting")) < world.seen.index(("odd", "running"))
    assert world.seen.index(("task", "running")) < world.seen.index(("odd", "running"))


def test_databases_that_fail_at_once_are_tried_as_often_as_one_alone() -> None:
    most = 3
    world = World(limits=TaskLimits(most_tries=most, longest_wait=0.0, soon=1e9), positions=start_at_zero())
    tries = dict.fromkeys(("good", "odd"), 0)

    def refuse(name: str) -> None:
        tries[name] += 1
        raise AWAY(database=name)

    world.opening = refuse
    with pytest.raises(Transient) as told:
        world.run(lambda _: False)
    assert told.value.code == AWAY.code
    assert tries == {"good": most + 1, "odd": most + 1}, "the first, and those that are tried again"


def test_failures_of_a_database_still_count_after_kafka_has_ended_a_session() -> None:
    world = World(limits=TaskLimits(most_tries=5, longest_wait=0.0, soon=1e9), positions=start_at_zero())
    tries, enough = 0, threading.Event()

    def refuse(name: str) -> None:
        nonlocal tries
        if name == "odd":
            tries += 1
            if tries == 4:
                enough.set()
                wait_for(lambda: world.sessions == 2 or world.stopping.is_set())
            raise AWAY(database=name)

    world.opening = refuse
    fail = fail_once(enough)
    world.committing = lambda: (enough.wait(10), fail())[1]
    world.run(lambda one: ("odd", "failed") in one.seen and one.rows["good"] >= ROWS)
    assert tries == 6 + 1, "what the ended session began does not count"


def test_a_task_recovers_until_it_runs_so_that_its_error_is_shown_while_it_is_tried_again() -> None:
    world = World(positions=start_at_zero())
    enough = threading.Event()
    fail = fail_once(enough)
    enough.set()
    world.committing = fail
    world.run(has_all)
    states = [state for name, state in world.seen if name == "task"]
    assert states == ["starting", "running", "recovering", "running"]
