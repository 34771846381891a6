"""Wishes that are on their way together: each counts when it is read, and each builds on those before it."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Condition
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import Producer

from wrackline.control.runtime.group import config_records
from wrackline.control.runtime.group.config_records import Change, Connector, CoordinatorTerm, Sent
from wrackline.control.runtime.group.coordinator_writer import CoordinatorWriter
from wrackline.control.runtime.group.group_connectors import GroupConnectors
from wrackline.control.runtime.group.worker_tasks import WorkerTasks
from wrackline.control.runtime.logs.lines import log_through
from wrackline.control.runtime.worker.worker_log import WorkerLog
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.producers.kafka.client import Client
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import internal_topics

PAUSE, RUN, STOP = DesiredState.PAUSE, DesiredState.RUN, DesiredState.STOP
TOPICS = internal_topics("g")


class Topic:
    """A worker that coordinates, and its topic: what is written there is read when the test says so."""

    def __init__(self) -> None:
        telling = WorkerLog(lambda *_: None, log_through(lambda _: None), str)
        supervisor = Supervisor({}, telling, for_somebody=lambda _: False, must_stop=lambda: True)
        self.hands = WorkerTasks(TOPICS, supervisor, cast("Any", None), lambda _: None, print)
        self.written: list[Change] = []
        self.waits, self.silent = 0, False
        self.read, self.changed, self.office = 0, Condition(), CoordinatorTerm("a", "http://a", "t1")
        threads = SimpleNamespace(make=lambda *_: SimpleNamespace(start=lambda: None))
        group = SimpleNamespace(client=None, id="g")
        self.crew = GroupConnectors(*cast("Any", (group, "kafka", self.hands, self, print, threads)))
        self.crew._pen = cast("Any", self)
        self.crew._holds = True
        self.write([config_records.term_record(self.office)])
        for name in ("a", "b"):
            self.write(config_records.connector_record(Connector(name, {}, 1, RUN, 0)))
        self.reads_all()
        self.crew._read_own_term()
        self.waits = 0
        self.sent = len(self.written)

    def write(self, changes: Sequence[Change]) -> None:
        with self.changed:
            self.written += changes
            self.changed.notify_all()

    def send(self, record: Callable[[Sent], Change]) -> Sent:
        sent = Sent(self.office.number, len(self.written))
        self.write([record(sent)])
        return sent

    def take(self, *_: object, **__: object) -> None:
        self.office = CoordinatorTerm("a", "http://a", "t9")

    def numbered(self, read: CoordinatorTerm | None) -> CoordinatorTerm:
        if read == self.office:
            self.office = read
        return self.office

    def check_sent(self) -> None:
        pass

    def wait_for(self, holds: Callable[[], bool], patience: float) -> bool:
        del patience
        if self.silent:
            return holds()
        with self.changed:
            self.waits += 1
            self.changed.notify_all()
            assert self.changed.wait_for(holds, 30)
        return True

    def reads_all(self) -> None:
        with self.changed:
            for offset, (key, value) in enumerate(self.written[self.read :], self.read):
                self.hands.hears(TOPICS.configs, offset, key, value)
            self.read = len(self.written)
            self.changed.notify_all()

    def until_sent(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.written) == self.sent + count, 30)

    def states(self) -> dict[str, DesiredState]:
        return {name: one.wish for name, one in self.hands.connectors().items()}


def wished(topic: Topic, pool: ThreadPoolExecutor, *wishes: tuple[str, DesiredState]) -> list["Future[None]"]:
    """Wish one after the other, before any is read."""
    ends = []
    for nth, wish in enumerate(wishes, 1):
        ends.append(pool.submit(topic.crew.wish, *wish))
        topic.until_sent(nth)
    return ends


def test_no_wish_waits_until_another_is_read_and_each_builds_on_the_last() -> None:
    topic = Topic()
    with ThreadPoolExecutor(4) as pool:
        ends = wished(topic, pool, ("a", PAUSE), ("b", STOP), ("a", STOP))
        same = pool.submit(topic.crew.wish, "b", STOP)  # it is sent already, but does not count yet
        assert [one.done() for one in (*ends, same)] == [False] * 4
        assert topic.states() == {"a": RUN, "b": RUN}
        topic.reads_all()
        for one in (*ends, same):
            one.result(30)
    assert topic.states() == {"a": STOP, "b": STOP}
    assert len(topic.written) == topic.sent + 3


def test_who_decides_on_more_than_a_wish_knows_all_that_were_sent() -> None:
    topic, known = Topic(), list[dict[str, DesiredState]]()

    def decide() -> None:
        with topic.crew.writing():
            known.append(topic.states())

    with ThreadPoolExecutor(2) as pool:
        (end,) = wished(topic, pool, ("a", PAUSE))
        decided = pool.submit(decide)
        with topic.changed:
            assert topic.changed.wait_for(lambda: topic.waits == 2, 30)
        topic.reads_all()
        decided.result(30)
        end.result(30)
    assert known == [{"a": PAUSE, "b": RUN}]


def test_a_wish_that_was_read_behind_another_term_is_refused() -> None:
    topic = Topic()
    with ThreadPoolExecutor(1) as pool:
        topic.write([config_records.term_record(CoordinatorTerm("z", "http://z", "t2"))])
        topic.sent += 1
        (end,) = wished(topic, pool, ("a", PAUSE))
        topic.reads_all()
        with pytest.raises(WracklineError) as raised:
            end.result(30)
    assert raised.value.code == "rest.no_coordinator"
    assert topic.states() == {"a": RUN, "b": RUN}
    assert not topic.crew.writes


def test_who_has_not_read_its_own_term_decides_nothing() -> None:
    topic = Topic()
    topic.crew._holds, topic.silent = False, True
    topic.crew._stop.set()  # else it waits for the next try
    topic.crew._take()
    assert not topic.crew.writes
    with pytest.raises(WracklineError) as raised:
        topic.crew.wish("a", PAUSE)
    assert raised.value.code == "rest.no_coordinator"


def test_wishes_whose_reports_nobody_takes_do_not_fill_the_clients_memory() -> None:
    sender = Producer({"bootstrap.servers": "127.0.0.1:1", "queue.buffering.max.messages": 1, "log_level": 0})
    writer = CoordinatorWriter(Client({}), "g")
    writer._sender, writer.office = sender, CoordinatorTerm("a", "http://a", "t1")
    for nth in range(1, 4):
        assert writer.send(lambda _: (b"a", b"paused")).nth == nth
        sender.purge()  # it ends here, and its report waits until somebody takes it
