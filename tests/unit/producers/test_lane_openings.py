"""How many databases a task opens at once: a few, and one more for each that its server lets wait."""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from wrackline.producers.task.lanes import Lanes
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.tables.table import SourcePartition

DATABASES = [SourcePartition("server", f"db{number}") for number in range(30)]
AT_ONCE = 8
NOTHING = OffsetsState({}, {}, ())


class Server:
    """Opens a database when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waiting: dict[SourcePartition, threading.Event] = {}
        self.opened: list[SourcePartition] = []
        self.told: list[tuple[SourcePartition, Health]] = []
        self.lanes = Lanes(
            cast("Any", self),
            lambda _: NOTHING,
            cast("Any", self),
            TaskLimits(soon=1.0),
            clock=lambda: self.now,
            chance=lambda: 0.5,
        )
        self.lanes.begin(NOTHING)

    def partitions(self) -> list[SourcePartition]:
        return DATABASES

    def open(self, partition: SourcePartition, state: OffsetsState) -> object:
        assert state is NOTHING
        answers = self.waiting[partition] = threading.Event()
        assert answers.wait(20)
        del self.waiting[partition]
        stream = SimpleNamespace(ask=lambda: self.opened.append(partition))
        return SimpleNamespace(partition=partition, tell=lambda *_: None, refused=(), stream=stream)

    def database(self, partition: SourcePartition, health: Health, error: object) -> None:
        assert error is None
        self.told.append((partition, health))

    def turn(self, expected: int) -> None:
        """Let the task look again, and so many databases be waited for."""
        self.lanes.turn(None)
        until(lambda: len(self.waiting) >= expected)
        time.sleep(0.05)
        assert len(self.waiting) == expected

    def answer(self, count: int) -> None:
        left = len(self.waiting) - count
        for partition in list(self.waiting)[:count]:
            self.waiting[partition].set()
        until(lambda: len(self.waiting) == left)
        time.sleep(0.05)  # until the futures are done


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)


def test_a_start_opens_a_few_databases_at_once_and_others_as_those_are_open() -> None:
    server = Server()
    for expected, answered in ((AT_ONCE, 0), (AT_ONCE, 3), (AT_ONCE, AT_ONCE), (AT_ONCE, AT_ONCE)):
        server.turn(expected)
        server.answer(answered)
    server.turn(AT_ONCE)
    assert len(server.opened) == 3 + 2 * AT_ONCE
    while server.waiting:
        server.answer(len(server.waiting))
        server.lanes.turn(None)
        time.sleep(0.05)
    assert sorted(server.opened) == sorted(DATABASES)


def test_one_that_is_waited_for_long_keeps_no_other_from_being_opened() -> None:
    server = Server()
    server.turn(AT_ONCE)
    server.now += 1.0
    server.turn(AT_ONCE)
    server.now += 0.1
    server.turn(2 * AT_ONCE)
    server.turn(2 * AT_ONCE)
    assert server.told == [(one, Health.STARTING) for one in DATABASES[:AT_ONCE]], "of the rest nobody knows"
    server.answer(2 * AT_ONCE)
