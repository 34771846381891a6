"""The order that a task keeps around a commit: what is confirmed when, what waits, how much is read."""

import threading
from collections.abc import Callable, Sequence
from typing import cast

from tests.fakes.database import Database
from tests.fakes.plain_control import PlainControl
from tests.fakes.source import FakeSource
from tests.fakes.stream import FakeStream
from tests.fakes.ticking import Ticking
from tests.fakes.wire import Registry
from wrackline.producers.contract.first_reads import NO_READS
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings
from wrackline.producers.contract.steps import Batch, Fault, Position
from wrackline.producers.cutting.cutter import CutPolicy, Publication
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.task.partition_opener import SnapshotOptions, SourcePartitionOpener
from wrackline.producers.task.task_limits import Clocks, TaskLimits
from wrackline.producers.task.task_loop import Task
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.source_world import Insert, orders

PARTITION = SourcePartition("server", "a")
PATIENCE = 30.0
LOST = define("test.task_lost", Transient, "the log was lost", hint="wait")
REFUSED = define("test.task_refused", Transient, "Kafka has it not", hint="wait")


class Stopping(threading.Event):
    """Notes when the task looks at it, and when it has seen that it should stop."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = threading.Event()
        self.on_look: Callable[[], None] = lambda: None

    def is_set(self) -> bool:
        self.on_look()
        found = super().is_set()
        if found:
            self.seen.set()
        return found


class World:
    """A task over one log, with a Kafka, a witness and a stream that note what happens, in order."""

    commit_seconds = 0.0

    def __init__(self, *, limits: TaskLimits | None = None) -> None:
        self.told: list[str] = []
        self.stopping = Stopping()
        self.database = Database(orders(PARTITION))
        self.on_publish: Callable[[int], None] = lambda _: None
        self.on_poll: Callable[[int], None] = lambda _: None
        self.on_keep_alive: Callable[[], None] = lambda: None
        self.sizes: list[int] = []  # of what was published
        self.polls = self.heard = 0
        self._publishes = False
        self._clock, self._published = Ticking(), 0
        self._limits = limits or TaskLimits()

    def run(self) -> list[str]:
        world, registry = self, Registry()

        class Noting(FakeStream):
            def poll(self, deadline: float) -> Batch | None:
                world.polls += 1
                world.on_poll(world.polls)
                return super().poll(deadline)

            def confirm(self, position: Position) -> None:
                world.told.append("confirmed")
                super().confirm(position)

            def keep_alive(self) -> None:
                world.on_keep_alive()
                super().keep_alive()

        around = Surroundings(self._clock, lambda: 0, registry.register)
        source = FakeSource({PARTITION: self.database}, MarkKind.FENCE, around)
        source.stream_of = Noting
        lanes = SourcePartitionOpener(
            source,
            "c",
            CutPolicy(linger=0.0),
            SnapshotOptions(NO_READS),
            topics=TableTopics("server", Naming.WRACKLINE),
            control_of=lambda _: PlainControl(),
            moments=Clocks(self._clock, lambda: 0, lambda: 0.5),
        )
        publisher = cast("Publisher", self)
        task = Task(
            lanes,
            publisher,
            self,
            self._limits,
            clock=self._clock,
            chance=lambda: 0.5,
            stopping=self.stopping,
        )
        task.run()
        return self.told

    # what a publisher is

    def start(self) -> OffsetsState:
        self.told.append("started")
        return OffsetsState({}, {}, ())

    def committed(self) -> OffsetsState:
        raise AssertionError("a task of one log opens it once a session")

    def publish(self, publications: Sequence[Publication]) -> float:
        self.sizes.append(sum(one.size for one in publications))
        self._published += 1
        self._publishes = True
        self.told.append("publishing")
        try:
            self.on_publish(self._published)
        finally:
            self._publishes = False
        self.told.append("in Kafka")
        return self._clock.now

    def hear(self) -> None:
        assert not self._publishes, "the producer has one user at a time"
        self.heard += 1

    def close(self) -> None:
        self.told.append("closed")

    # what a witness is

    def health(self, health: Health, error: Exception | None) -> None:
        del error
        if health is Health.RECOVERING:
            self.told.append("recovering")

    def resumed(self, state: OffsetsState) -> None:
        """What was committed is known."""

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        raise AssertionError(f"{fault} of {partition}")

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Noted by `publish`."""


def test_inv_1_a_database_hears_of_a_commit_after_it() -> None:
    world = World()
    world.on_publish = lambda _: world.stopping.set()
    assert world.run() == ["started", "publishing", "in Kafka", "confirmed", "closed"]


def test_what_the_client_reports_is_taken_while_nothing_is_published() -> None:
    world = World()
    world.on_poll = lambda _: world.stopping.set() if world.heard > 2 or world.polls > 500 else None
    world.run()
    assert world.heard > 2


def test_inv_1_a_database_hears_nothing_of_a_commit_that_failed() -> None:
    """T-P01."""
    world = World()

    def publish(number: int) -> None:
        if number == 1:
            raise REFUSED()  # noqa: RSE102 - it makes the error
        world.stopping.set()

    world.on_publish = publish
    assert world.run()[:4] == ["started", "publishing", "recovering", "started"]
    assert world.told[4:] == ["publishing", "in Kafka", "confirmed", "closed"]


def test_a_commit_that_ends_after_the_wish_to_stop_is_confirmed() -> None:
    world = World()

    def publish(_: int) -> None:
        world.stopping.set()
        assert world.stopping.seen.wait(PATIENCE), "the task left its loop"

    world.on_publish = publish
    assert world.run()[-3:] == ["in Kafka", "confirmed", "closed"]


def test_a_new_start_waits_for_the_commit_under_way() -> None:
    world = World()
    under_way, failed, waited_for = threading.Event(), threading.Event(), threading.Event()

    def publish(number: int) -> None:
        if number == 1:
            under_way.set()
            assert failed.wait(PATIENCE)
            assert waited_for.wait(PATIENCE), "the task looks whether the commit has ended"
        else:
            world.stopping.set()

    def poll(_: int) -> None:
        if under_way.is_set() and not failed.is_set():
            failed.set()
            raise LOST()  # noqa: RSE102 - as above

    world.on_publish, world.on_poll = publish, poll
    world.stopping.on_look = lambda: waited_for.set() if failed.is_set() else None
    found = world.run()
    assert found[:5] == ["started", "publishing", "in Kafka", "recovering", "started"]


def test_what_a_commit_under_way_holds_counts_as_read_ahead() -> None:
    world = World(limits=TaskLimits(most_ahead_bytes=4_000, slice=0.001))
    kept_alive = threading.Semaphore(0)
    polls: list[tuple[int, int]] = []

    def poll(number: int) -> None:
        if number == 2:  # the log's first position is known
            world.database.commit(Insert({"shop": "a", "number": 1, "label": "x" * 6_000}))

    def publish(_: int) -> None:
        if world.sizes[-1] <= 4_000:
            return
        before = world.polls
        for _ in range(3):
            assert kept_alive.acquire(timeout=PATIENCE)
        polls.append((before, world.polls))
        world.stopping.set()

    world.on_publish, world.on_poll, world.on_keep_alive = publish, poll, kept_alive.release
    world.run()
    assert max(world.sizes) > 4_000
    assert [before == after for before, after in polls] == [True]
