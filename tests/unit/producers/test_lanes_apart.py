"""What one database of a task suffers costs the others nothing, and it continues where Kafka has it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import cast

import pytest

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
from wrackline.producers.kafka.failures import TopicRefusedError
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.task.lane_wait import LaneWait
from wrackline.producers.task.lanes import Lanes
from wrackline.producers.task.partition_opener import PartitionOpener, SnapshotOptions, SourcePartitionOpener
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.producers.task.task_limits import Clocks, TaskLimits
from wrackline.producers.task.task_loop import Task
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import Offset, PositionKey, canonical_json
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.source_world import Insert, orders

GOOD, ODD = SourcePartition("server", "good"), SourcePartition("server", "odd")
AWAY = define("test.lane_away", Transient, "{database} is away", hint="wait")
DENIED = define("test.lane_denied", OperatorNeeded, "{database} lets nobody in", hint="grant it")
ROWS = 30


@dataclass
class World:
    """A task over two databases, its Kafka and its witness."""

    troubles: dict[str, list[WracklineError]] = field(default_factory=dict)  # at polls, in order
    limits: TaskLimits = field(default_factory=lambda: TaskLimits(longest_wait=0.0, soon=1e9))
    unheard: dict[str, list[WracklineError]] = field(default_factory=dict)  # at confirmations, in order
    recovers: threading.Event = field(default_factory=threading.Event)  # a database does
    seen: list[tuple[str, str]] = field(default_factory=list)  # database and health
    rows: dict[str, int] = field(default_factory=lambda: {"good": 0, "odd": 0})  # that Kafka has
    positions: dict[PositionKey, Offset] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)
    committing: Callable[[], None] = lambda: None
    opening: Callable[[str], None] = lambda _: None  # a database's log; in the opening's thread
    closing: Callable[[str], None] = lambda _: None
    reads: list[OffsetsState] = field(default_factory=list)
    commit_seconds = 0.0
    sessions = 0

    def run(self, until: Callable[["World"], bool]) -> None:
        clock, registry, self.until = Ticking(), Registry(), until
        self.clock = clock
        databases = {partition: Database(orders(partition)) for partition in (GOOD, ODD)}
        self.databases = list(databases.values())
        for database in self.databases:
            for number in range(ROWS):
                database.commit(Insert({"shop": "a", "number": number}))
        source = FakeSource(databases, MarkKind.FENCE, Surroundings(clock, lambda: 0, registry.register))
        source.stream_of = self._stream
        opener = SourcePartitionOpener(
            source,
            "c",
            CutPolicy(linger=0.0),
            SnapshotOptions(NO_READS),
            topics=TableTopics("server", Naming.WRACKLINE),
            control_of=lambda _: PlainControl(),
            moments=Clocks(clock, lambda: 0, lambda: 0.5),
        )
        task = Task(
            opener,
            cast("Publisher", self),
            self,
            self.limits,
            clock=clock,
            chance=lambda: 0.5,
            stopping=self.stopping,
        )
        watch = threading.Timer(20, self.stopping.set)
        watch.start()
        try:
            task.run()
        finally:
            watch.cancel()

    def _stream(self, database: Database, *given: object) -> FakeStream:
        world, name = self, database.shape.id.database

        class Troubled(FakeStream):
            def poll(self, deadline: float) -> Batch | None:
                if world.troubles.get(name):
                    raise world.troubles[name].pop(0)
                return super().poll(deadline)

            def confirm(self, position: Position) -> None:
                if world.unheard.get(name):
                    raise world.unheard[name].pop(0)
                super().confirm(position)

            def close(self) -> None:
                world.closing(name)
                super().close()

        world.opening(name)
        return Troubled(database, *given)  # type: ignore[arg-type]  # as the source gives them

    # what a publisher is

    def start(self) -> OffsetsState:
        self.sessions += 1
        return OffsetsState(dict(self.positions), {}, ())

    def committed(self, partition: SourcePartition) -> OffsetsState:
        del partition
        state = OffsetsState(dict(self.positions), {}, ())
        self.reads.append(state)
        return state

    def publish(self, publications: Sequence[Publication]) -> float:
        self.committing()
        for one in publications:
            position = canonical_json(one.position.saved())
            self.positions[PositionKey("c", *one.partition)] = Offset(1, 1, position, None, 0, 0)
            self.rows[one.partition.database] += sum(one.tally.events.values())
        return self.clock.now

    def hear(self) -> None:
        """There is nothing to hear."""

    def close(self) -> None:
        """There is nothing to close."""

    # what a witness is

    def health(self, health: Health, error: Exception | None) -> None:
        assert error is None or health is Health.RECOVERING
        self.seen.append(("task", health.value))

    def database(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        assert (error is None) == (health in {Health.RUNNING, Health.STARTING})
        self.seen.append((partition.database, health.value))
        if health is Health.RECOVERING:
            self.recovers.set()
        self._look()

    def resumed(self, state: OffsetsState) -> None:
        """What was committed is known."""

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        assert "refused" in fault.error.code or fault.error.code == DENIED.code, f"{fault} of {partition}"

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        del publications, commit_seconds
        self._look()

    def _look(self) -> None:
        if self.until(self):
            self.stopping.set()


def start_at_zero() -> dict[PositionKey, Offset]:
    begin = canonical_json({"v": 1, "epoch": 0, "lsn": 0, "done": 0})
    return {PositionKey("c", *one): Offset(1, 1, begin, None, 0, 0) for one in (GOOD, ODD)}


def has_all(world: World) -> bool:
    return min(world.rows.values()) >= ROWS


def test_a_database_that_is_away_for_a_while_holds_up_no_other_and_loses_nothing() -> None:
    world = World({"odd": [AWAY(database="odd")] * 3}, positions=start_at_zero())
    world.run(has_all)
    assert world.rows == {"good": ROWS, "odd": ROWS}
    assert world.seen.count(("odd", "recovering")) == 3
    assert ("good", "recovering") not in world.seen
    assert world.sessions == 1, "the others' session is the same"


def test_a_database_that_needs_an_operator_is_left_and_the_others_continue() -> None:
    limits = TaskLimits(longest_wait=1e9, soon=1e9)
    world = World({"odd": [DENIED(database="odd")]}, limits, positions=start_at_zero())
    world.run(lambda one: one.rows["good"] >= ROWS and ("odd", "failed") in one.seen)
    assert world.rows == {"good": ROWS, "odd": 0}
    assert ("task", "running") in world.seen


def test_a_database_that_an_operator_has_repaired_continues_by_itself() -> None:
    world = World({"odd": [DENIED(database="odd")] * 3}, positions=start_at_zero())
    world.run(has_all)
    assert world.rows == {"good": ROWS, "odd": ROWS}
    assert [health for name, health in world.seen if name == "odd"].count("failed") >= 1


def test_what_is_tried_too_often_has_failed() -> None:
    world = World(
        {"odd": [AWAY(database="odd")] * 9},
        TaskLimits(most_tries=2, longest_wait=0.0, soon=1e9),
        positions=start_at_zero(),
    )
    world.run(lambda one: ("odd", "failed") in one.seen and one.rows["good"] >= ROWS)
    assert [health for name, health in world.seen if name == "odd"].count("recovering") == 2
    assert world.rows == {"good": ROWS, "odd": 0}


def test_a_task_without_a_database_that_is_left_fails_itself() -> None:
    denied = {name: [DENIED(database=name)] for name in ("good", "odd")}
    with pytest.raises(OperatorNeeded) as told:
        World(denied, positions=start_at_zero()).run(lambda _: False)
    assert told.value.code == DENIED.code


def test_a_log_is_not_opened_again_while_a_commit_may_still_move_it() -> None:
    """Else it would be opened where Kafka does not have it any more, and events would be there twice."""
    world = World(positions=start_at_zero())
    failing, is_over = threading.Event(), threading.Event()

    def commit() -> None:
        if not failing.is_set():
            failing.set()
            world.troubles["odd"] = [AWAY(database="odd")]
            is_over.wait(0.3)

    world.committing = commit
    world.run(has_all)
    assert ("odd", "recovering") in world.seen
    assert world.rows == {"good": ROWS, "odd": ROWS}


def test_a_confirmation_that_does_not_arrive_is_its_own_databases_error() -> None:
    world = World(positions=start_at_zero())
    world.unheard["odd"] = [AWAY(database="odd")]
    world.run(lambda one: has_all(one) and ("odd", "recovering") in one.seen)
    assert world.rows == {"good": ROWS, "odd": ROWS}
    assert world.sessions == 1, "the others' session is the same"


def test_a_topic_that_kafka_refuses_is_known_though_its_log_was_closed_meanwhile() -> None:
    world = World(positions=start_at_zero())
    refused = threading.Event()

    def commit() -> None:
        if not refused.is_set() and ("task", "running") in world.seen:
            refused.set()
            world.troubles["odd"] = [AWAY(database="odd")]
            world.recovers.wait(10)
            raise TopicRefusedError("server.odd.public.orders", DENIED(database="odd"))

    world.committing = commit
    world.run(lambda one: one.rows["good"] >= ROWS)
    assert refused.is_set()
    assert world.rows["good"] == ROWS


def test_a_loop_does_not_spin_for_a_database_that_nothing_can_open_yet() -> None:
    partitions = [SourcePartition("server", str(number)) for number in range(9)]
    leave = threading.Event()

    class Opener:
        def partitions(self) -> Sequence[SourcePartition]:
            return partitions

        def open(self, partition: SourcePartition, state: OffsetsState) -> PartitionRun:
            del state
            leave.wait(20)
            raise AWAY(database=partition.database)

    world, rings = World(), threading.Semaphore(0)
    lanes = Lanes(
        cast("PartitionOpener", Opener()),
        world.committed,
        world,
        world.limits,
        lambda: 1.0,
        lambda: 0.5,
        rings.release,
    )
    lanes.begin(world.start())
    lanes.turn(None)
    assert lanes.due == inf, "eight are being opened, and the ninth waits for one of them"
    assert not rings.acquire(blocking=False)
    leave.set()
    assert all(rings.acquire(timeout=20) for _ in range(8)), "the end of each ends the wait of the loop"


def test_while_no_log_is_open_the_loop_waits_for_one_and_does_not_look_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fifty that a slow server opens cost a core's tenth, if the loop looked a hundred times a second."""
    pick, waits, waited = LaneWait.pick, list[float](), threading.Event()

    def seen(self: LaneWait, lanes: Sequence[PartitionRun], patience: float) -> Sequence[PartitionRun]:
        if not lanes:
            waits.append(patience)
            if len(waits) > 2:
                waited.set()
        return pick(self, lanes, patience)

    def opened_late(_: str) -> None:
        waited.wait(20)

    monkeypatch.setattr(LaneWait, "pick", seen)
    world = World(positions=start_at_zero(), opening=opened_late)
    world.run(has_all)
    assert world.rows == {"good": ROWS, "odd": ROWS}
    assert waits[1:3] == [world.limits.slice] * 2
