"""Which table is merged when: side by side, alone in failure, and until an end is asked for."""

import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import pytest

from wrackline.consumers.batch.batch import SPARK_GONE
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.target import UpkeepResult
from wrackline.consumers.drive.claim import FENCED
from wrackline.consumers.drive.departures import Departure
from wrackline.consumers.drive.driver import Driver, DriverPace, DriverRequest, DriverWishes
from wrackline.consumers.drive.leaving import CopyRemover
from wrackline.consumers.drive.retry_state import RetryLimits, TableRetryState
from wrackline.consumers.drive.upkeep_worker import UpkeepOutcome, UpkeepWorker
from wrackline.consumers.kafka.topic_offsets import Ends
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError

ENDS: Ends = {"s.d.p.a": {0: 4}, "s.d.p.b": {0: 6}}
BROKEN, BUSY = OperatorNeeded("test.broken", "broken", ""), Transient("test.busy", "busy", "")
AWAY = Transient("test.away", "away", "")
PATIENCE = 20.0  # seconds until a test gives up


@dataclass
class World:
    """Topics and tables in memory; every batch moves a table by two offsets at most."""

    ends: dict[str, Mapping[int, int]] = field(default_factory=lambda: dict(ENDS))
    open: dict[str, int] = field(default_factory=dict)  # where a topic's open transaction begins
    wrong: dict[str, WracklineError] = field(default_factory=dict)
    away: int = 0  # looks that Kafka does not answer
    at: dict[str, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)  # how much was reported before each
    stood: list[tuple[str, str]] = field(default_factory=list)
    tries: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)  # up to where each batch may read
    looks: int = 0
    most_at_once: int = 0
    waiting_offsets: threading.Event | None = None
    at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    every: float = 0.0  # seconds between two upkeeps
    tending: threading.Event | None = None

    def upkeep(self, topic: str) -> UpkeepResult:
        if self.tending is not None:
            self.tending.wait(PATIENCE)
        if topic == "s.d.p.a":
            raise ValueError(topic)
        return UpkeepResult()

    def tended(self, tended: UpkeepOutcome) -> None:
        self.told.append(f"{tended.topic} {'tended' if tended.error is None else tended.error.code}")

    def look(self) -> Ends:
        self.looks += 1
        if self.away:
            self.away -= 1
            raise AWAY
        return dict(self.ends)

    def merge(self, topic: str, ends: Mapping[int, int]) -> BatchRange:
        with self.lock:
            self.tries[topic] = self.tries.get(topic, 0) + 1
            self.asked.append((topic, ends[0]))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.waiting_offsets is not None:
                self.waiting_offsets.wait(PATIENCE)
            if topic in self.wrong:
                raise self.wrong[topic]
            begin = self.at.get(topic, 0)
            self.at[topic] = min(begin + 2, ends[0], self.open.get(topic, ends[0]))
            return BatchRange(topic, {0: begin}, {0: self.at[topic]})
        finally:
            with self.lock:
                self.at_once -= 1

    def merged(self, topic: str, read: BatchRange, seconds: float) -> None:
        del seconds
        self.told.append(f"{topic} +{read.offsets}")

    def round_done(self) -> None:
        self.rounds.append(len(self.told))

    def stands(self, topic: str, standing: TableRetryState) -> None:
        self.stood.append((topic, standing.word))

    def failed(self, topic: str, standing: TableRetryState) -> None:
        self.causes.append("" if standing.error is None else standing.error.code)
        self.told.append(f"{topic} {'stopped' if standing.stopped else 'waits'}")

    def recovered(self, topic: str) -> None:
        self.told.append(f"{topic} goes on")

    def departs(self, departures: Mapping[str, Departure], changed: Collection[str]) -> None:
        for name in sorted(changed):
            known = departures.get(name)
            self.told.append(f"{name} {'back' if known is None else known.became or 'goes'}")

    def outage(self, error: WracklineError | None) -> None:
        self.told.append("back" if error is None else error.code)

    def driver(
        self,
        *,
        at_once: int = 2,
        last_word: float = PATIENCE,
        wishes: DriverWishes | None = None,
        leaving: CopyRemover | None = None,
    ) -> Driver:
        pace = DriverPace(0.01, at_once, RetryLimits(0.01, None), last_word)
        upkeep = UpkeepWorker(self.upkeep, self.every)
        return Driver(self.look, self.merge, pace, self, upkeep, wishes=wishes, leaving=leaving)

    def until(self, holds: Callable[[], bool]) -> Callable[[], DriverRequest]:
        """Wish for an end once it holds, or after long enough."""
        looks = iter(range(int(PATIENCE * 100)))
        return lambda: DriverRequest.STOP if holds() or next(looks, None) is None else DriverRequest.GO_ON


def test_once_brings_every_table_to_its_end_and_reports_what_failed() -> None:
    world = World(wrong={"s.d.p.a": BUSY})
    assert world.driver().once() == [BUSY]
    assert (world.at, world.tries["s.d.p.a"]) == ({"s.d.p.b": 6}, 1)
    assert world.stood == [("s.d.p.a", "waiting")]
    assert World().driver().once() == []


def test_a_look_that_finds_no_more_is_reported_too() -> None:
    world = World()
    assert world.driver().run(world.until(lambda: 5 in world.rounds))
    assert 5 in world.rounds, "two batches of one table, three of the other, then a look"


def test_once_waits_for_no_table_that_may_take_nothing_yet() -> None:
    world = World(open={"s.d.p.a": 2})
    assert world.driver().once() == []
    assert world.at == {"s.d.p.a": 2, "s.d.p.b": 6}


def test_a_table_that_needs_an_operator_is_reported_once_and_the_others_continue() -> None:
    world = World(wrong={"s.d.p.a": BROKEN})

    def more() -> bool:
        world.ends["s.d.p.b"] = {0: 20}
        return world.at.get("s.d.p.b") == 20

    assert world.driver().run(world.until(more))
    assert world.tries["s.d.p.a"] == 1
    assert world.told.count("s.d.p.a stopped") == 1


def test_a_stopped_table_is_tried_again_when_asked() -> None:
    world = World(wrong={"s.d.p.a": BROKEN})
    asked = iter([DriverRequest.RESUME])
    stop = world.until(lambda: world.at.get("s.d.p.a") == 4)

    def wish() -> DriverRequest:
        if "s.d.p.a stopped" in world.told and world.wrong:
            world.wrong.clear()
            return next(asked)
        return stop()

    world.driver().run(wish)
    assert world.at["s.d.p.a"] == 4
    assert world.told.index("s.d.p.a stopped") < world.told.index("s.d.p.a goes on")
    assert world.stood == [("s.d.p.a", "stopped"), ("s.d.p.a", "going")]


class Wishes:
    """What an operator wishes of single tables."""

    def __init__(self, *paused: str) -> None:
        self.paused = frozenset(paused)
        self.staying: frozenset[str] | None = frozenset()
        self.retries: frozenset[str] = frozenset()

    def take_retries(self) -> frozenset[str]:
        found, self.retries = self.retries, frozenset()
        return found


def test_a_paused_table_rests_and_the_others_go_on() -> None:
    world, wishes = World(), Wishes("d.p.a")
    world.driver(wishes=wishes).run(world.until(lambda: world.at.get("s.d.p.b") == 6 and world.looks > 9))
    assert "s.d.p.a" not in world.at
    wishes.paused = frozenset()
    world.driver(wishes=wishes).run(world.until(lambda: world.at.get("s.d.p.a") == 4))
    assert world.at["s.d.p.a"] == 4


def test_once_a_paused_table_is_left_out() -> None:
    world = World()
    assert world.driver(wishes=Wishes("d.p.a")).once() == []
    assert world.at == {"s.d.p.b": 6}


def test_one_stopped_table_is_tried_again_and_no_other() -> None:
    world, wishes = World(wrong={"s.d.p.a": BROKEN, "s.d.p.b": BROKEN}), Wishes()

    def both_stopped() -> bool:
        return {"s.d.p.a stopped", "s.d.p.b stopped"} <= set(world.told)

    def wish() -> DriverRequest:
        if both_stopped() and world.wrong:
            world.wrong.clear()
            wishes.retries = frozenset({"d.p.b"})
        return stop()

    stop = world.until(lambda: world.at.get("s.d.p.b") == 6)
    world.driver(wishes=wishes).run(wish)
    assert world.at["s.d.p.b"] == 6
    assert world.tries["s.d.p.a"] == 1


def test_a_transient_error_is_tried_again_and_reported_once() -> None:
    world = World(wrong={"s.d.p.a": BUSY})
    world.driver().run(world.until(lambda: world.tries.get("s.d.p.a", 0) > 3))
    assert world.told.count("s.d.p.a waits") == 1
    assert len(world.stood) == world.tries["s.d.p.a"]  # each failure is heard of


def test_an_outage_ends_nothing() -> None:
    world = World(away=3)
    assert world.driver().run(world.until(lambda: len(world.at) == 2 and world.at["s.d.p.b"] == 6))
    assert [told for told in world.told if told in ("test.away", "back")] == ["test.away", "back"]


@pytest.mark.parametrize("at_once", [1, 3])
def test_tables_side_by_side_are_bounded_and_none_is_merged_twice_at_once(at_once: int) -> None:
    world = World({f"s.d.p.{number}": {0: 2} for number in range(8)}, waiting_offsets=threading.Event())
    release = threading.Timer(0.2, world.waiting_offsets.set if world.waiting_offsets else lambda: None)
    release.start()
    world.driver(at_once=at_once).run(world.until(lambda: len(world.at) == 8))
    assert world.most_at_once == at_once
    assert set(world.tries.values()) == {1}


def test_a_table_whose_turn_comes_late_is_read_to_where_its_topic_is_by_then() -> None:
    world = World(waiting_offsets=threading.Event())

    def late() -> bool:
        if world.tries and world.waiting_offsets is not None and not world.waiting_offsets.is_set():
            if world.ends["s.d.p.b"] == {0: 6}:
                world.ends["s.d.p.b"] = {0: 8}
                world.looks = 0
            elif world.looks > 1:  # one of them began after the topic grew
                world.waiting_offsets.set()
        return len(world.tries) == 2

    assert world.driver(at_once=1).run(world.until(late))
    assert next(asked for asked in world.asked if asked[0] == "s.d.p.b") == ("s.d.p.b", 8)


def test_a_batch_that_does_not_end_is_let_go() -> None:
    world = World(waiting_offsets=threading.Event())
    try:
        assert not world.driver(last_word=0.1).run(world.until(lambda: bool(world.tries)))
    finally:
        assert world.waiting_offsets is not None
        world.waiting_offsets.set()


@pytest.mark.parametrize("error", [SPARK_GONE(), FENCED(server="s", other="host h, process 1")])
def test_a_driver_that_can_merge_no_table_ends(error: WracklineError) -> None:
    world = World(wrong={"s.d.p.a": error})
    with pytest.raises(type(error), match=re.escape(error.sentence)):
        world.driver().run(world.until(lambda: False))


def test_upkeep_runs_beside_the_batches_and_its_failure_is_reported() -> None:
    world = World(every=1e-9, tending=threading.Event())

    def more() -> bool:
        batches = [line for line in world.told if "+" in line]
        if len(batches) > 6 and world.tending is not None:
            world.tending.set()  # more batches of both tables came while an upkeep was under way
        else:
            world.ends = {topic: {0: end[0] + 2} for topic, end in world.ends.items()}
        return {"s.d.p.a consume.upkeep_failed", "s.d.p.b tended"} <= set(world.told)

    assert world.driver().run(world.until(more))
    assert {"s.d.p.a consume.upkeep_failed", "s.d.p.b tended"} <= set(world.told)
