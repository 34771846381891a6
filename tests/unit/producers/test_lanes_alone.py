"""What a task does with its databases from turn to turn, without a log, Kafka or a loop around it."""

import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from math import inf
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wrackline.producers.reading.interleave import ReopenError
from wrackline.producers.task.lanes import Lanes
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.tables.table import SourcePartition

AWAY = define("test.alone_away", Transient, "{database} is away", hint="wait")
DENIED = define("test.alone_denied", OperatorNeeded, "{database} lets nobody in", hint="grant it")
CLOSED = define("test.alone_closed", OperatorNeeded, "{database} is closed", hint="open it")
LOST = define("test.alone_lost", Definite, "{database} has another log", hint="read it again")
A, B, C = DATABASES = [SourcePartition("server", name) for name in "abc"]
NOTHING = OffsetsState({}, {}, ())
WAIT_S = 10.0  # before the second try and later ones


class Lane:
    """A database that runs."""

    def __init__(self, world: "World", partition: SourcePartition) -> None:
        self.world, self.partition, self.over = world, partition, False
        self.refused = ("a table",)
        self.stream = SimpleNamespace(ask=self.ask)

    def ask(self) -> None:
        if (error := self.world.unasked.pop(self.partition, None)) is not None:
            raise error

    def tell(self, witness: object, refused: object) -> None:
        self.world.faults.append((witness, refused))

    def close(self) -> None:
        assert self.world.closes.wait(20)
        self.world.told.append(("closed", self.partition.database))
        if self.world.unclosed is not None:
            raise self.world.unclosed


class World:
    """Databases that can be opened or not, at a clock that is moved by hand."""

    def __init__(self, *partitions: SourcePartition) -> None:
        self.now, self.closes, self.opens = 100.0, Event(), Event()
        self.closes.set()
        self.opens.set()
        self.known = partitions or tuple(DATABASES)
        self.errors: defaultdict[SourcePartition, list[WracklineError]] = defaultdict(list)
        self.tries: list[SourcePartition] = []
        self.told: list[tuple[str, str]] = []
        self.unclosed: Exception | None = None
        self.unasked: dict[SourcePartition, WracklineError] = {}  # what a stream says at once
        self.faults: list[tuple[object, object]] = []
        self.anew = False
        self.asked: list[SourcePartition] = []  # whether a lost log begins anew
        limits = TaskLimits(soon=1.0, longest_wait=WAIT_S, most_tries=3)
        witness = cast("Any", self)
        self.lanes = Lanes(
            witness, lambda _: NOTHING, witness, limits, clock=lambda: self.now, chance=lambda: 1.0
        )

    def partitions(self) -> tuple[SourcePartition, ...]:
        return self.known

    def open(self, partition: SourcePartition, state: OffsetsState) -> Any:
        assert state is NOTHING
        self.tries.append(partition)
        assert self.opens.wait(20)
        if self.errors[partition]:
            raise self.errors[partition].pop(0)
        return Lane(self, partition)

    def closed(self, partition: SourcePartition) -> None:
        self.told.append(("forgotten", partition.database))

    def begins_anew(self, partition: SourcePartition, error: WracklineError) -> bool:
        assert isinstance(error, WracklineError)
        self.asked.append(partition)
        return self.anew

    def database(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        del error
        self.told.append((health.name, partition.database))

    def turns(self) -> None:
        """Begin what is due, and take what came of it, until nothing is due."""
        self.lanes.turn(None)
        while begun := [one.opening for one in self.lanes._apart.values() if one.opening is not None]:
            until(lambda openings=begun: all(one.done() for one in openings))  # type: ignore[misc]
            self.lanes.turn(None)

    def is_over(self) -> bool:
        return self.lanes.over

    @property
    def running(self) -> str:
        return "".join(sorted(one.partition.database for one in self.lanes.running))

    def said(self, database: str) -> list[str]:
        return [what for what, of in self.told if of == database]


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)


def test_the_only_database_is_opened_before_the_session_begins_and_its_error_is_the_task_s() -> None:
    world = World(A)
    world.lanes.begin(NOTHING)
    assert (world.running, world.told) == ("a", [])
    assert world.lanes.tried
    failing = World(A)
    failing.errors[A].append(AWAY(database="a"))
    with pytest.raises(WracklineError) as caught:
        failing.lanes.begin(NOTHING)
    assert caught.value.code == AWAY.code


def test_the_only_database_is_closed_before_another_session_may_begin() -> None:
    for ends in (lambda lanes: lanes.close(), suffers):
        world = World(A)
        world.lanes.begin(NOTHING)
        world.closes.clear()
        ending = Future[None]()
        end_in_a_thread(ends, world.lanes, ending)
        time.sleep(0.05)
        assert not ending.done()
        world.closes.set()
        until(ending.done)
        assert world.told == [("forgotten", "a"), ("closed", "a")]


def suffers(lanes: Lanes) -> None:
    with pytest.raises(WracklineError):
        lanes.suffers(lanes.running[0], AWAY(database="a"))


def end_in_a_thread(ends: Callable[[Lanes], None], lanes: Lanes, ending: Future[None]) -> None:
    def end() -> None:
        ends(lanes)
        ending.set_result(None)

    Thread(target=end, daemon=True).start()


def test_one_that_can_t_be_closed_is_the_only_database_s_error() -> None:
    world = World(A)
    world.lanes.begin(NOTHING)
    world.unclosed = ValueError("it hangs")
    with pytest.raises(ValueError, match="it hangs"):
        world.lanes.close()
    beside = World()
    beside.lanes.begin(NOTHING)
    beside.turns()
    beside.unclosed = ValueError("it hangs")
    beside.lanes.close()
    assert beside.running == ""


def test_what_is_away_is_tried_again_when_its_wait_is_over_and_not_before() -> None:
    world = World()
    world.errors[A] += [AWAY(database="a")] * 2
    world.lanes.begin(NOTHING)
    world.turns()
    assert (world.running, world.tries.count(A), world.lanes.tried) == ("bc", 2, True), "one is at once"
    for _ in range(3):
        world.turns()
    assert (world.tries.count(A), world.lanes.due > world.now) == (2, True)
    world.now = world.lanes.due
    assert world.lanes.due == inf
    world.turns()
    assert (world.running, world.tries.count(A)) == ("abc", 3)
    assert world.said("a") == ["RECOVERING", "RECOVERING", "RUNNING"]


def test_the_next_moment_is_the_first_of_those_that_wait() -> None:
    world = World()
    world.errors[A] += [DENIED(database="a")]
    world.errors[B] += [AWAY(database="b")] * 2
    world.lanes.begin(NOTHING)
    world.turns()
    world.turns()
    moments = sorted(one.at for one in world.lanes._apart.values())
    assert len(moments) == 2
    assert moments[0] < moments[1]
    assert world.lanes.due == moments[0]


def test_a_database_whose_rows_came_has_all_of_its_tries_again() -> None:
    world = World()
    for failures, progresses in ((3, True), (3, False), (1, False)):
        world.errors[A] += [AWAY(database="a")] * failures
        world.lanes.begin(NOTHING)
        for _ in range(failures + 1):
            world.now += 2 * WAIT_S
            world.turns()
        assert world.running == ("abc" if (failures, progresses) != (1, False) else "bc")
        if progresses:
            world.lanes.progressed(A)
        world.lanes.close()
        world.lanes.wait_closed(10)
    assert world.lanes.failed() is not None


def test_an_error_that_lasts_is_told_once_in_a_session_and_again_in_the_next() -> None:
    world = World()
    world.errors[A] += [DENIED(database="a")] * 3
    for session in (1, 2):
        world.lanes.begin(NOTHING)
        for _ in range(2 if session == 1 else 1):
            world.turns()
            world.now += WAIT_S
        assert world.said("a") == ["FAILED"] * session
        failed = world.lanes.failed()
        assert failed is not None
        assert failed.code == DENIED.code
        world.lanes.close()
        world.lanes.wait_closed(10)
    world.lanes.begin(NOTHING)
    assert (world.lanes.failed(), world.lanes.tried) == (None, False), "nothing is known of this session yet"
    world.turns()
    assert world.running == "abc"
    assert world.lanes.failed() is None


def test_all_is_done_once_what_runs_is_over_and_the_rest_has_failed() -> None:
    world = World()
    world.errors[A] += [DENIED(database="a")]
    world.lanes.begin(NOTHING)
    assert not world.is_over(), "none was opened yet"
    world.turns()
    first, second = (cast("Any", one) for one in world.lanes.running)
    assert not world.is_over()
    first.over = True
    assert not world.is_over()
    second.over = True
    assert world.is_over()
    world.now += WAIT_S
    world.turns()
    assert not world.is_over(), "it has been repaired"
    cast("Any", world.lanes.running[-1]).over = True
    assert world.is_over()


def test_a_database_that_does_not_answer_is_said_to_start_once() -> None:
    world = World()
    world.opens.clear()
    world.lanes.begin(NOTHING)
    world.lanes.turn(None)
    assert (world.lanes.tried, world.told) == (False, [])
    world.now += 1.1
    for _ in range(3):
        world.lanes.turn(None)
    assert (world.lanes.tried, sorted(world.told)) == (True, [("STARTING", name) for name in "abc"])
    world.opens.set()
    world.turns()
    assert world.said("a") == ["STARTING", "RUNNING"]


def test_what_is_opened_behind_the_end_of_its_session_is_forgotten_and_nothing_waits_for_it() -> None:
    world = World()
    world.opens.clear()
    world.lanes.begin(NOTHING)
    world.lanes.turn(None)
    world.lanes.close()
    assert (world.lanes._apart, world.lanes.due) == ({}, inf)
    world.opens.set()
    world.lanes.wait_closed(10)
    assert {name: world.said(name) for name in "abc"} == {name: ["closed", "forgotten"] for name in "abc"}


def test_what_runs_is_forgotten_by_its_opener_when_it_fails() -> None:
    world = World()
    world.lanes.begin(NOTHING)
    world.turns()
    world.lanes.suffers(next(one for one in world.lanes.running if one.partition == B), AWAY(database="b"))
    until(lambda: "closed" in world.said("b"))
    assert (world.running, world.said("b")[:2]) == ("ac", ["RUNNING", "forgotten"])


def test_a_database_that_takes_long_to_be_closed_is_said_to_start_and_opened_once_it_is() -> None:
    world = World()
    world.lanes.begin(NOTHING)
    world.turns()
    world.closes.clear()
    world.lanes.close()
    world.told.clear()
    world.lanes.begin(NOTHING)
    for later, told in ((0.0, []), (1.0, []), (0.1, ["STARTING"])):
        world.now += later
        world.lanes.turn(None)
        assert [one for one in world.said("a") if one.isupper()] == told
        assert world.lanes.tried is bool(told)
    assert world.tries.count(A) == 1
    world.closes.set()
    world.lanes.wait_closed(10)
    world.turns()
    assert (world.running, world.tries.count(A)) == ("abc", 2)


def test_one_whose_stream_fails_as_soon_as_it_is_open_is_closed_and_tried_again() -> None:
    world = World()
    world.unasked[A] = AWAY(database="a")
    world.lanes.begin(NOTHING)
    world.turns()
    assert world.running == "abc"
    told = world.said("a")
    assert (sorted(told[:-1]), told[-1]) == (["RECOVERING", "closed", "forgotten"], "RUNNING")


def test_what_a_database_set_aside_while_it_was_opened_is_told() -> None:
    world = World(A)
    world.lanes.begin(NOTHING)
    assert world.faults == [(world, ("a table",))]


def test_the_states_of_one_that_fails_in_several_ways_are_told_each_time_they_change() -> None:
    world = World()
    a = "a"
    world.errors[A] += [DENIED(database=a), DENIED(database=a), CLOSED(database=a), AWAY(database=a)]
    world.errors[A] += [AWAY(database=a), CLOSED(database=a)]
    world.lanes.begin(NOTHING)
    for _ in range(7):
        world.turns()
        world.now += WAIT_S
    assert world.said("a") == ["FAILED", "FAILED", "RECOVERING", "RECOVERING", "FAILED", "RUNNING"]
    assert world.lanes.failed() is None
    assert world.tries.count(A) == 7


def test_a_log_that_is_lost_is_begun_anew_at_once_where_the_opener_may() -> None:
    for anew in (True, False):
        world = World()
        world.anew = anew
        world.errors[A] += [LOST(database="a")]
        world.errors[B] += [AWAY(database="b")]
        world.lanes.begin(NOTHING)
        world.turns()
        assert world.running == ("abc" if anew else "bc")
        assert world.said("a") == (["RECOVERING", "RUNNING"] if anew else ["FAILED"])
        assert world.asked == [A], "a server that is away has lost nothing"
        world.now += 100 * WAIT_S
        world.turns()
        assert world.tries.count(A) == (2 if anew else 1)


def test_one_that_is_opened_again_though_nothing_failed_keeps_the_task_running() -> None:
    world = World()
    world.lanes.begin(NOTHING)
    world.turns()
    world.lanes.suffers(world.lanes.running[0], ReopenError())
    assert (world.lanes.tried, len(world.running)) == (True, 2)
    world.turns()
    assert world.running == "abc"
