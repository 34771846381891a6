"""One wait for all logs of a task: who has something is looked at, and who has nothing costs nothing."""

import fcntl
import math
import os
import resource
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import ClassVar, cast

import pytest

from tests.fakes.database import Database
from tests.fakes.stream import FakeStream
from tests.unit.producers import test_lanes_apart
from tests.unit.producers.kit.test_polled_stream import LATE, SOON, Answers, Pictures, SilentError
from tests.unit.producers.test_lanes_apart import ROWS, World, has_all, start_at_zero
from wrackline.producers.contract.optional_parts import StreamWait
from wrackline.producers.contract.source_plugin import LogStream
from wrackline.producers.contract.steps import Fault
from wrackline.producers.cutting.cutter import CutPolicy, Cutter, Publication
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.kit.polled_stream import PolledStream, ReadState, SilenceWatch
from wrackline.producers.kit.wakeup import Wakeup
from wrackline.producers.reading.interleave import Interleaver
from wrackline.producers.task import lane_wait
from wrackline.producers.task.lane_wait import LOOK_S, LaneWait
from wrackline.producers.task.lanes import Lanes
from wrackline.producers.task.partition_opener import PartitionOpener
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.producers.task.task_loop import Task
from wrackline.producers.task.task_observers import TaskObserver
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.source_world import Insert


@dataclass
class Rows:
    """Stands for what reads existing rows."""

    quiet: bool = True
    at: float = math.inf  # when it has something to do by itself
    requests: int = 0  # that wait
    heard: int = 0  # how often it was asked for one

    def due(self) -> float:
        return self.at

    def hear(self) -> bool:
        self.heard += 1
        came, self.requests = self.requests > 0, 0
        return came

    def advance(self, *, hears: bool) -> Sequence[Fault]:
        assert hears
        return ()


@dataclass
class Lane:
    """A lane over a wire whose server is the other end of a socket."""

    name: str
    ours: socket.socket
    theirs: socket.socket
    rows: Rows = field(default_factory=Rows)

    def __post_init__(self) -> None:
        self.wire = Answers(self.ours)
        self.stream = PolledStream(self.wire, Pictures(), time.monotonic)
        self.run = PartitionRun(
            SourcePartition("server", self.name),
            cast("LogStream", self.stream),
            cast("Cutter", None),
            cast("Interleaver", self.rows),
            shared=self.stream,
        )


@dataclass
class Waiting:
    """Lanes, a clock that is set by hand, and the wait."""

    lanes: Sequence[Lane]
    now: float = 0.0

    def __post_init__(self) -> None:
        self.wait = LaneWait(lambda: self.now, SOON)

    def pick(self, patience: float = LATE) -> list[str]:
        """Look at the lanes that are picked, and name them."""
        picked = self.wait.pick([one.run for one in self.lanes], patience)
        for one in picked:
            one.stream.poll(-1.0)
        return [one.partition.database for one in picked]


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    made = Waiting([Lane(name, *socket.socketpair()) for name in "abc"])
    assert made.pick() == ["a", "b", "c"], "nobody knows what they have"
    yield made
    made.wait.close()
    for lane in made.lanes:
        lane.stream.close()
        lane.ours.close()
        lane.theirs.close()


def test_a_lane_that_has_something_is_looked_at_and_no_other(waiting: Waiting) -> None:
    waiting.lanes[1].theirs.send(b"!")
    assert waiting.pick() == ["b"]
    assert [one.wire.asked.count("read") for one in waiting.lanes] == [1, 2, 1]


def test_nobody_is_looked_at_if_nothing_comes(waiting: Waiting) -> None:
    assert waiting.pick(0.0) == []
    assert waiting.pick(SOON) == []


def test_a_lane_that_is_woken_is_looked_at_once(waiting: Waiting) -> None:
    waiting.lanes[2].stream.wake()
    assert waiting.pick() == ["c"]
    assert waiting.pick(SOON) == []


def test_a_ring_ends_a_wait_once(waiting: Waiting) -> None:
    timer = threading.Timer(SOON, waiting.wait.ring)
    timer.start()
    begun = time.monotonic()
    assert waiting.pick() == []
    assert time.monotonic() - begun < LATE
    timer.join()
    begun = time.monotonic()
    assert waiting.pick(SOON) == []
    assert time.monotonic() - begun >= SOON, "it was heard"


def test_a_quiet_lane_is_looked_at_as_often_as_its_server_wants(waiting: Waiting) -> None:
    waiting.lanes[1].theirs.send(b"!")
    waiting.now = LATE / 2
    assert waiting.pick() == ["b"]
    waiting.lanes[1].ours.recv(1)
    assert waiting.pick(0.0) == []
    waiting.now = LATE
    assert waiting.pick() == ["a", "c"]
    assert waiting.pick(0.0) == []
    waiting.now = LATE * 3 / 2
    assert waiting.pick() == ["b"]


def test_a_quiet_lane_is_looked_at_when_rows_are_to_be_read_again(waiting: Waiting) -> None:
    waiting.lanes[1].rows.at = 0.25
    waiting.lanes[1].stream.wake()
    assert waiting.pick() == ["b"]
    waiting.now = 0.125
    assert waiting.pick(0.0) == []
    waiting.lanes[1].rows.at = math.inf
    waiting.now = 0.25
    assert waiting.pick() == ["b"]


def test_requests_of_quiet_lanes_are_heard_once_a_second_and_no_log_is_read(waiting: Waiting) -> None:
    reads = [one.wire.asked.count("read") for one in waiting.lanes]
    waiting.now = LOOK_S
    for _ in range(5):
        assert waiting.pick(0.0) == []
    assert [one.rows.heard for one in waiting.lanes] == [1, 1, 1]
    assert [one.wire.asked.count("read") for one in waiting.lanes] == reads
    waiting.lanes[2].rows.requests = 1
    assert waiting.pick(0.0) == []
    waiting.now = 2 * LOOK_S
    assert waiting.pick() == ["c"]
    assert waiting.pick(0.0) == []


def test_a_lane_that_is_not_waited_for_does_not_ring(waiting: Waiting) -> None:
    first, *others = waiting.lanes
    first.theirs.send(b"!")
    others[0].theirs.send(b"!")
    waiting.lanes = others
    assert waiting.pick() == ["b"], "there is no room for more of the first one"
    others[0].ours.recv(1)
    assert waiting.pick(0.0) == []
    waiting.lanes = [first, *others]
    assert waiting.pick() == ["a"]


def test_another_lane_may_have_the_descriptors_of_one_that_is_gone(waiting: Waiting) -> None:
    gone, *others = waiting.lanes
    assert waiting.pick(0.0) == []
    numbers = gone.ours.fileno(), gone.stream._wakeup.fileno()
    gone.stream.close()
    gone.ours.close()
    gone.theirs.close()
    made = Lane("a", *socket.socketpair())
    assert {made.ours.fileno(), made.theirs.fileno(), made.stream._wakeup.fileno()} & {*numbers}
    waiting.lanes = [made, *others]
    assert waiting.pick() == ["a"]
    made.theirs.send(b"!")
    assert waiting.pick() == ["a"]


def test_a_lane_of_the_next_session_is_looked_at_first(waiting: Waiting) -> None:
    assert waiting.pick(0.0) == []
    waiting.wait.clear()
    assert waiting.pick() == ["a", "b", "c"]
    assert waiting.pick(0.0) == []


def test_a_wait_ends_with_the_round_over_all_lanes(waiting: Waiting) -> None:
    waiting.now = LOOK_S - SOON
    begun = time.monotonic()
    assert waiting.pick(LATE) == []
    assert time.monotonic() - begun < LATE


def test_a_wait_that_has_ended_has_no_open_files() -> None:
    made = Waiting([])
    made.pick(0.0)
    number = made.wait._bell.fileno()
    made.wait.close()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(number)


def test_a_lane_that_reads_rows_is_looked_at_after_each_wait(waiting: Waiting) -> None:
    waiting.lanes[0].rows.quiet = False
    assert waiting.pick(0.0) == ["a"]
    waiting.lanes[1].theirs.send(b"!")
    assert waiting.pick() == ["a", "b"]


def test_a_wait_beside_rows_is_short_and_no_other_is(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def select(seconds: float) -> list[tuple[object, int]]:
        waits.append(seconds)
        return []

    monkeypatch.setattr(waiting.wait._selector, "select", select)
    busy = waiting.lanes[1]
    for quiet, patience in ((True, LATE), (False, LATE), (False, SOON / 2), (True, LATE)):
        busy.rows.quiet = quiet
        waiting.wait.forget(busy.run.partition)
        assert waiting.pick(0.0) == ["b"]
        assert waiting.pick(patience) == ([] if quiet else ["b"])
    assert waits[1::2] == [LOOK_S, SOON, SOON / 2, LOOK_S]


def test_a_message_that_is_held_is_tried_again_though_others_ring_all_the_time(waiting: Waiting) -> None:
    held = waiting.lanes[0]
    held.wire.reads = [ReadState.HELD]
    held.theirs.send(b"!")
    assert waiting.pick() == ["a"]
    looks = []
    for step in range(1, 6):
        waiting.now = step * 0.01
        waiting.wait.ring()
        looks.append(waiting.pick())
    assert looks == [[], ["a"], [], ["a"], []], "it is not listened to, but tried again after 0.02 s"


def test_a_read_that_stopped_at_its_limit_is_continued_at_once(waiting: Waiting) -> None:
    waiting.lanes[2].stream.wake()
    waiting.lanes[2].wire.reads = [ReadState.MORE, ReadState.DRAINED]
    assert waiting.pick() == ["c"]
    assert waiting.pick() == ["c"]
    assert waiting.pick(0.0) == []


def test_a_lane_that_was_left_alone_is_looked_at_first(waiting: Waiting) -> None:
    waiting.wait.forget(waiting.lanes[1].run.partition)
    assert waiting.pick() == ["b"]


def look_each_second(waiting: Waiting, first: int, last: int) -> None:
    for lane in waiting.lanes:
        lane.wire.longest_wait = LOOK_S
    for second in range(first, last):
        waiting.now = second * LOOK_S
        assert waiting.pick(0.0) + waiting.pick(0.0) == ["a", "b", "c"]


def test_a_silent_server_is_found_out(waiting: Waiting) -> None:
    silent = waiting.lanes[0]
    for lane in waiting.lanes:
        lane.stream.wake()
    assert waiting.pick() == ["a", "b", "c"]
    silent.wire.silence, silent.wire.patience = SilenceWatch(lambda: waiting.now, LOOK_S), 2
    look_each_second(waiting, 1, 3)
    silent.theirs.send(b"!")  # a part of a message
    assert waiting.pick() == ["a"]
    silent.ours.recv(1)
    look_each_second(waiting, 3, 4)
    assert [one for one in silent.wire.asked if "silence" in one] == ["silence 1"] * 2, "it was heard"
    with pytest.raises(SilentError):
        look_each_second(waiting, 4, 6)


class Together(World):
    """Two logs that are waited for together, and ring only when somebody wakes them."""

    bells: ClassVar[list[Wakeup]] = []

    def has_all(self) -> bool:
        """Whether Kafka has all; then the loop, which this is asked in, need not wait before it looks."""
        done = has_all(self)
        for bell in self.bells if done else ():
            bell.set()
        return done

    def _stream(self, database: Database, *given: object) -> FakeStream:
        made, bell = super()._stream(database, *given), Wakeup()
        self.bells.append(bell)
        made.begin_wait = lambda: StreamWait((bell.fileno(),), LATE)  # type: ignore[attr-defined]  # added here
        made.end_wait = lambda _: bell.clear()  # type: ignore[attr-defined]  # as above
        made.wake = bell.set  # type: ignore[method-assign]  # as above
        return made


def test_the_end_of_a_commit_ends_the_wait_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_wait, "LOOK_S", LATE)
    monkeypatch.setattr(test_lanes_apart, "CutPolicy", partial(CutPolicy, quiet=2 * LATE))
    world = Together(limits=TaskLimits(slice_together=LATE, soon=LATE), positions=start_at_zero())
    world.committing = partial(time.sleep, SOON)  # meanwhile the loop waits
    begun = time.monotonic()
    world.run(lambda _: world.has_all())
    assert world.rows == {"good": ROWS, "odd": ROWS}
    assert time.monotonic() - begun < LATE


def test_positions_of_quiet_logs_go_out_together() -> None:
    """Each has a quiet time of its own, and none has a transaction of its own."""
    world = World(positions=start_at_zero())
    published: list[int] = []
    publish = world.publish

    def count(publications: Sequence[Publication]) -> float:
        published.append(len(publications))
        world.clock.now += 6.0  # more than half of the time after which a position goes out by itself
        if len(published) == 10:  # from here on, one is due when the other is not
            world.databases[1].commit(Insert({"shop": "a", "number": ROWS}))
        if len(published) == 20:
            world.stopping.set()
        return publish(publications)

    world.publish = count  # type: ignore[method-assign]  # it counts too
    world.run(lambda _: False)
    assert published[-10:] == [2] * 10


def test_a_descriptor_may_have_any_number() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    ours, theirs = socket.socketpair()
    high = socket.socket(fileno=fcntl.fcntl(ours, fcntl.F_DUPFD, 1500))
    lane = Lane("a", high, theirs)
    waiting = Waiting([lane])
    try:
        assert waiting.pick() == ["a"]
        theirs.send(b"!")
        assert waiting.pick() == ["a"]
    finally:
        waiting.wait.close()
        lane.stream.close()
        for one in (ours, high, theirs):
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_lane_that_polled_alone_for_a_while_is_looked_at_first(waiting: Waiting) -> None:
    """Meanwhile what was known of it grows old: a part of its log may wait in memory, where nothing rings."""
    (stays, *_), cutter = waiting.lanes, cast("Cutter", SimpleNamespace(ahead=0))
    stay, leave, come = (replace(one.run, cutter=cutter) for one in waiting.lanes)
    task = Task(
        cast("PartitionOpener", None),
        cast("Publisher", SimpleNamespace(committed=None)),
        cast("TaskObserver", None),
        TaskLimits(),
        clock=lambda: 0.0,
        chance=lambda: 0.5,
        stopping=threading.Event(),
    )

    def poll(running: Sequence[PartitionRun]) -> None:
        task._poll(cast("Lanes", SimpleNamespace(running=running)), None, 0.0)

    for _ in range(2):
        poll([stay, leave])
    reads = stays.wire.asked.count("read")
    poll([stay, leave])
    assert stays.wire.asked.count("read") == reads, "it rests"
    stays.wire.reads = [ReadState.MORE]
    poll([stay])
    poll([stay, come])
    assert stays.wire.asked.count("read") == reads + 2
    task._wait.close()
