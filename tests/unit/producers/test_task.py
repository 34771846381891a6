"""A task says that it runs once every log's position is in Kafka, and not before."""

import threading
from collections.abc import Sequence
from typing import cast

import pytest

from tests.contract.source_world import orders
from tests.fakes.database import Database
from tests.fakes.place import Place
from tests.fakes.source import FakeSource
from tests.fakes.stream import FakeStream
from tests.fakes.wire import Registry
from tests.unit.producers.test_batching import PlainControl
from wrackline.producers.batching import Policy, Publication
from wrackline.producers.changes import Batch, Fault
from wrackline.producers.first_reads import NO_READS
from wrackline.producers.kafka.recovery import Publisher
from wrackline.producers.lanes import Health, Reading, SourceLanes
from wrackline.producers.own_topics import OwnTopics
from wrackline.producers.pace import Limits, Moments
from wrackline.producers.plugin import MarkKind, Surroundings
from wrackline.producers.task import Task
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import Offset, PositionKey, canonical
from wrackline.schemas.table import SourcePartition

BEGINS, BEGINS_LATE = SourcePartition("server", "a"), SourcePartition("server", "b")
NOWHERE = State({}, {}, ())
LATE_POLLS = 3


class Ticking:
    """A clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class Late(FakeStream):
    """One of the logs says nothing at first."""

    silent = LATE_POLLS

    def poll(self, deadline: float) -> Batch | None:
        if self._database.shape.id.database == BEGINS_LATE.database and self.silent > 0:
            self.silent -= 1
            return None
        return super().poll(deadline)


class Notes:
    """Kafka and witness in one, so that what they are told has one order; it stops who says that it runs."""

    commit_seconds = 0.0

    def __init__(self, state: State, clock: Ticking) -> None:
        self.told: list[str] = []
        self.stopping = threading.Event()
        self._state, self._clock = state, clock

    def start(self) -> State:
        return self._state

    def publish(self, publications: Sequence[Publication]) -> float:
        self.told += [f"Kafka has {one.partition.database}" for one in publications]
        return self._clock.now

    def close(self) -> None:
        """There is nothing to close."""

    def health(self, health: Health, error: Exception | None) -> None:
        assert error is None
        self.told.append(health.value)
        if health is Health.RUNNING:
            self.stopping.set()

    def resumed(self, state: State) -> None:
        """What was committed is known."""

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        raise AssertionError(f"{fault} of {partition}")

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Told by `publish`."""


def told(state: State) -> list[str]:
    """What happens from the start of a task over two logs until it runs."""
    clock, registry = Ticking(), Registry()
    notes = Notes(state, clock)
    databases = {partition: Database(orders(partition)) for partition in (BEGINS, BEGINS_LATE)}
    source = FakeSource(databases, MarkKind.FENCE, Surroundings(clock, lambda: 0, registry.register))
    source.stream_of = Late
    lanes = SourceLanes(
        source,
        "c",
        Policy(linger=0.0),
        Reading(NO_READS),
        topics=OwnTopics("server"),
        control_of=lambda _: PlainControl(),
        moments=Moments(clock, lambda: 0, lambda: 0.5),
    )
    publisher = cast("Publisher", notes)
    task = Task(lanes, publisher, notes, Limits(), clock=clock, chance=lambda: 0.5, stopping=notes.stopping)
    task.run()
    return notes.told


def test_who_begins_now_runs_once_kafka_has_every_log_s_first_position() -> None:
    assert told(NOWHERE) == ["starting", "Kafka has a", "Kafka has b", "running"]


@pytest.mark.parametrize("known", [(BEGINS,), (BEGINS, BEGINS_LATE)], ids=["one log", "both"])
def test_who_goes_on_need_not_wait_for_what_kafka_has(known: tuple[SourcePartition, ...]) -> None:
    position = canonical(Place(0, 1).saved())
    positions = {PositionKey("c", *one): Offset(1, 1, position, None, 0, 0) for one in known}
    awaited = [] if BEGINS_LATE in known else ["Kafka has b"]
    found = told(State(positions, {}, ()))
    assert [line for line in found if line != "Kafka has a"] == ["starting", *awaited, "running"]
