"""A task says that it runs once every log's position is in Kafka, and not before."""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import ClassVar, cast

import pytest

from tests.fakes.database import Database
from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.fakes.source import FakeSource
from tests.fakes.stream import FakeStream
from tests.fakes.ticking import Ticking
from tests.fakes.wire import Registry
from wrackline.producers.contract.first_reads import NO_READS
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings
from wrackline.producers.contract.steps import Batch, Fault
from wrackline.producers.cutting.cutter import CutPolicy, Publication
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.kafka.failures import TOO_LARGE, TopicRefusedError
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.task.memory_tuning import collect_rarely
from wrackline.producers.task.partition_opener import SnapshotOptions, SourcePartitionOpener
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.producers.task.retries import GIVEN_UP
from wrackline.producers.task.task_limits import Clocks, TaskLimits
from wrackline.producers.task.task_loop import Task
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Offset, PositionKey, canonical_json
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.source_world import Change, Said, orders

FAILS = define("test.fails", Transient, "try {number} fails", hint="try again")
BEGINS, BEGINS_LATE = SourcePartition("server", "a"), SourcePartition("server", "b")
NOWHERE = OffsetsState({}, {}, ())
LATE_POLLS = 3


class Late(FakeStream):
    """One of the logs says nothing at first."""

    silent = LATE_POLLS
    asked: ClassVar[list[str]] = []

    def ask(self) -> None:
        self.asked.append(self._database.shape.id.database)

    def poll(self, deadline: float) -> Batch | None:
        if self._database.shape.id.database == BEGINS_LATE.database and self.silent > 0:
            self.silent -= 1
            return None
        return super().poll(deadline)


class Notes:
    """Kafka and witness in one, so their calls have one order; it stops a task that reports that it runs."""

    commit_seconds = 0.0

    def __init__(self, state: OffsetsState, clock: Ticking) -> None:
        self.told: list[str] = []
        self.stopping = threading.Event()
        self._state, self.clock = state, clock

    def start(self) -> OffsetsState:
        return self._state

    def committed(self) -> OffsetsState:
        return self._state

    def publish(self, publications: Sequence[Publication]) -> float:
        self.told += [f"Kafka has {one.partition.database}" for one in publications]
        return self.clock.now

    def hear(self) -> None:
        """There is nothing to hear."""

    def close(self) -> None:
        """There is nothing to close."""

    def health(self, health: Health, error: Exception | None) -> None:
        assert error is None
        self.told.append(health.value)
        if health is Health.RUNNING:
            self.stopping.set()

    def resumed(self, state: OffsetsState) -> None:
        """What was committed is known."""

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        raise AssertionError(f"{fault} of {partition}")

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Reported by `publish`."""


class Failing(Notes):
    """Kafka refuses the first transactions."""

    fails = 2

    def publish(self, publications: Sequence[Publication]) -> float:
        if self.fails:
            self.fails -= 1
            raise FAILS(number=self.fails)
        return super().publish(publications)

    def health(self, health: Health, error: Exception | None) -> None:
        super().health(health, error if health is not Health.RECOVERING else None)


def told(state: OffsetsState) -> list[str]:
    """What happens from the start of a task over two logs until it runs."""
    notes = Notes(state, Ticking())
    run(notes, SourcePartitionOpener)
    return notes.told


def run(
    notes: Notes,
    kind: type[SourcePartitionOpener],
    changes: Sequence[Change] = (),
    tell: Callable[[WracklineError], None] = lambda _: None,
    limits: TaskLimits | None = None,
) -> None:
    """Run a task over two logs until it is stopped; each has these changes."""
    clock, registry = notes.clock, Registry()
    databases = {partition: Database(orders(partition)) for partition in (BEGINS, BEGINS_LATE)}
    for database in databases.values() if changes else ():
        database.commit(*changes)
    source = FakeSource(databases, MarkKind.FENCE, Surroundings(clock, lambda: 0, registry.register))
    source.stream_of = Late
    lanes = kind(
        source,
        "c",
        CutPolicy(linger=0.0),
        SnapshotOptions(NO_READS, tell=tell),
        topics=TableTopics("server", Naming.WRACKLINE),
        control_of=lambda _: PlainControl(),
        moments=Clocks(clock, lambda: 0, lambda: 0.5),
    )
    publisher = cast("Publisher", notes)
    limits = limits or TaskLimits(longest_wait=0.0, soon=1e9)
    task = Task(lanes, publisher, notes, limits, clock=clock, chance=lambda: 0.5, stopping=notes.stopping)
    task.run()


def test_a_task_that_begins_now_runs_once_kafka_has_every_log_s_first_position() -> None:
    Late.asked.clear()
    assert told(NOWHERE) == ["starting", "Kafka has a", "Kafka has b", "running"]
    assert Late.asked == [BEGINS.database, BEGINS_LATE.database], "a quiet log may not move for minutes"


@pytest.mark.parametrize("known", [(BEGINS,), (BEGINS, BEGINS_LATE)], ids=["one log", "both"])
def test_a_continued_log_need_not_wait_for_what_kafka_has(known: tuple[SourcePartition, ...]) -> None:
    position = canonical_json(Place(0, 1).saved())
    positions = {PositionKey("c", *one): Offset(1, 1, position, None, 0, 0) for one in known}
    awaited = [] if BEGINS_LATE in known else ["Kafka has b"]
    found = told(OffsetsState(positions, {}, ()))
    assert [line for line in found if line != "Kafka has a"] == ["starting", *awaited, "running"]


class Refusing(Notes):
    """Kafka takes no logical message."""

    refused = 0

    def publish(self, publications: Sequence[Publication]) -> float:
        if any(record[0] == "message" for one in publications for record in one.records):
            self.refused += 1
            raise TopicRefusedError("message", TOO_LARGE(topic="message"))
        self.stopping.set()
        return super().publish(publications)

    def health(self, health: Health, error: Exception | None) -> None:
        assert health is not Health.RECOVERING, error


def test_a_refused_topic_of_messages_ends_nothing_and_is_said_once() -> None:
    position = canonical_json(Place(0, 0).saved())
    positions = {PositionKey("c", *one): Offset(1, 1, position, None, 0, 0) for one in (BEGINS, BEGINS_LATE)}
    notes, notices = Refusing(OffsetsState(positions, {}, ()), Ticking()), list[WracklineError]()
    run(notes, SourcePartitionOpener, changes=(Said("app", b"large"),), tell=notices.append)
    assert notes.refused == 1
    assert notes.told != [], "the position moves past them"
    (notice,) = notices
    assert (notice.code, "message" in notice.sentence) == ("kafka.messages_left_out", True)


def test_what_a_try_held_is_freed_before_the_next_one() -> None:
    """A try that failed holds what was read, and the collector looks for cycles too seldom to free it."""
    held: list[weakref.ref[object]] = []
    before: list[int] = []

    class Watched(SourcePartitionOpener):
        def open(self, partition: SourcePartition, state: OffsetsState) -> PartitionRun:
            if partition == BEGINS:
                before.append(sum(one() is not None for one in held))
            lane = super().open(partition, state)
            held.extend((weakref.ref(lane.cutter), weakref.ref(lane.existing)))
            return lane

    with collect_rarely():
        run(Failing(NOWHERE, Ticking()), Watched)
    assert before == [0, 0, 0]


class FailingSlowly(Notes):
    """Kafka refuses some transactions, and each refusal takes long."""

    def __init__(self, *fails: bool) -> None:
        super().__init__(NOWHERE, Ticking())
        self.fails = list(fails)

    def publish(self, publications: Sequence[Publication]) -> float:
        if self.fails and self.fails.pop(0):
            self.clock.now += 50.0
            raise FAILS(number=0)
        return super().publish(publications)

    def health(self, health: Health, error: Exception | None) -> None:
        del error
        if health is Health.RUNNING and not self.fails:
            self.stopping.set()


def test_a_task_is_given_up_only_if_nothing_succeeds_for_the_set_time() -> None:
    limits = TaskLimits(longest_wait=0.0, most_seconds=60.0, soon=1e9)
    run(FailingSlowly(*[True, False] * 3), SourcePartitionOpener, limits=limits)
    with pytest.raises(OperatorNeeded, match=GIVEN_UP.code):
        run(FailingSlowly(*[True] * 3), SourcePartitionOpener, limits=limits)
