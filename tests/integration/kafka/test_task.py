"""A task over three source partitions on a real broker, also when that is killed, frozen or too small."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.place import Place
from tests.integration.kafka import child
from tests.integration.kafka.checker import check_all
from tests.integration.kafka.world import (
    CONNECTOR,
    Names,
    Notes,
    committed,
    made_publisher,
    running,
    until,
)
from wrackline.control.local.stack.servers import Broker
from wrackline.producers.contract.steps import Batch
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.producers.cutting.unpublishable import SizeBounds
from wrackline.producers.kafka.topic_creation import TopicGroup
from wrackline.producers.task.task_limits import TaskLimits
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.testing.sources.source_world import Insert

DROPPED = define("test.dropped", Transient, "the log of {database} was dropped", hint="it is opened again")


@pytest.fixture
def given(kafka: Broker, topic_prefix: str, tmp_path: Path) -> child.Orders:
    """Where one test's task works."""
    orders = child.Orders(kafka.bootstrap, topic_prefix, str(tmp_path), generation=1)
    orders.newest.write_text("1")
    return orders


def drained(made: child.Databases) -> Callable[[], bool]:
    """Whether everything is confirmed to every database."""
    return lambda: all(base.told == Place(0, base.end) for base in made.values())


def test_three_partitions_are_published_and_confirmed(given: child.Orders) -> None:
    made, notes, stopping = child.databases(given.prefix, given.transactions), Notes(), threading.Event()
    with running(child.task(given, made, notes, stopping).run, stopping) as errors:
        until(drained(made), "everything is confirmed to every database")
    assert errors == []
    check_all(given)
    assert [state.findings for state in notes.states] == [()] * len(notes.states)
    assert notes.healths[0] == (Health.STARTING, None)


def test_what_comes_later_is_published_too_and_a_neighbour_is_not_held_up(given: child.Orders) -> None:
    given = replace(given, transactions=0)
    made, stopping = child.databases(given.prefix, 0), threading.Event()
    first, *_ = made.values()
    with running(child.task(given, made, Notes(), stopping).run, stopping) as errors:
        until(drained(made), "the first positions are confirmed")
        for number in range(20):
            first.commit(Insert({"shop": "a", "number": number, "label": "x", "big": None}))
            until(drained(made), "the row is confirmed")
    assert errors == []
    assert len(committed(given.bootstrap, table_topic(given.prefix, first.shape.id, Naming.WRACKLINE))) == 20


def test_a_stream_that_fails_is_opened_again_where_kafka_is(given: child.Orders) -> None:
    """T-E15."""
    made, notes, stopping = child.databases(given.prefix, given.transactions), Notes(), threading.Event()
    polls = 0

    class Dropping(child.Telling):
        def poll(self, deadline: float) -> Batch | None:
            nonlocal polls
            polls += 1
            if polls % 30 == 7 and polls < 200:
                raise DROPPED(database=self._database.shape.id.database)
            return super().poll(deadline)

    task = child.task(given, made, notes, stopping, Dropping, limits=TaskLimits(longest_wait=0.1))
    with running(task.run, stopping) as errors:
        until(drained(made), "everything is confirmed to every database")
    assert errors == []
    assert any(one.endswith(" recovering: test.dropped") for one in notes.of_databases)
    assert notes.errors == [], "the others' session is the same"
    check_all(given)


def test_the_end_of_a_transaction_wakes_a_loop_that_waits(given: child.Orders) -> None:
    made, notes, stopping = child.databases(given.prefix, 2), Notes(), threading.Event()
    limits = TaskLimits(slice=600.0, slice_beside_others=600.0)
    with running(child.task(given, made, notes, stopping, limits=limits).run, stopping) as errors:
        until(drained(made), "everything is confirmed to every database")
        stopping.set()
    assert errors == []


def test_too_many_errors_end_the_task(given: child.Orders) -> None:
    made, notes, stopping = child.databases(given.prefix, 3), Notes(), threading.Event()

    class Gone(child.Telling):
        def poll(self, deadline: float) -> Batch | None:
            raise DROPPED(database=str(deadline))

    limits = TaskLimits(most_tries=2, longest_wait=0.01)
    with running(child.task(given, made, notes, stopping, Gone, limits=limits).run, stopping) as errors:
        until(lambda: bool(errors), "the task gives up")
    assert isinstance(errors[0], Transient)
    assert notes.errors == [], "no session begins again, which would multiply the tries"
    told = sorted(one.partition(" ")[2] for one in notes.of_databases)
    assert told == ["failed: test.dropped"] * 3 + ["recovering: test.dropped"] * 6


@pytest.mark.full
def test_a_broker_killed_under_load_loses_and_repeats_nothing(kafka: Broker, given: child.Orders) -> None:
    _survive_kills(kafka, replace(given, transactions=150), kills=1)


@pytest.mark.deep
def test_a_broker_killed_again_and_again(kafka: Broker, given: child.Orders) -> None:
    _survive_kills(kafka, replace(given, transactions=1500), kills=6)


def _survive_kills(kafka: Broker, given: child.Orders, kills: int) -> None:
    made, notes, stopping = child.databases(given.prefix, given.transactions), Notes(), threading.Event()
    with running(child.task(given, made, notes, stopping).run, stopping) as errors:
        for _ in range(kills):
            seen = len(notes.commits)
            until(lambda seen=seen: len(notes.commits) > seen + 3 or drained(made)(), "it publishes")  # type: ignore[misc] # mypy: a lambda's default
            kafka.process.kill()
            kafka.process.start()
        until(drained(made), "everything is confirmed to every database", patience=70)
    assert errors == []
    check_all(given)


def test_while_kafka_is_frozen_memory_is_bounded_and_streams_stay_alive(
    kafka: Broker, given: child.Orders
) -> None:
    """T-P25."""
    made, notes, stopping = child.databases(given.prefix, 400), Notes(), threading.Event()
    alive = read = 0

    class Counting(child.Telling):
        def poll(self, deadline: float) -> Batch | None:
            nonlocal read
            batch = super().poll(deadline)
            read += 0 if batch is None else batch.size
            return batch

        def keep_alive(self) -> None:
            nonlocal alive
            alive += 1

    limits = TaskLimits(most_ahead_bytes=30_000, longest_wait=0.1)
    task = child.task(replace(given, transactions=400), made, notes, stopping, Counting, limits=limits)
    try:
        with running(task.run, stopping) as errors:
            until(lambda: len(notes.commits) > 2, "it publishes")
            kafka.process.pause()
            before = read
            until(lambda: alive > 50, "there is no room, and the streams are kept alive")
            assert read - before < 30_000 + child.PARTITIONS * (
                child.POLICY.most_bytes + 2 * child.BATCH_BYTES
            )
            kafka.process.resume()
            until(drained(made), "everything is confirmed to every database", patience=120)
        assert errors == []
    finally:
        kafka.process.resume()
    check_all(replace(given, transactions=400))


ONE = Insert({"shop": "a", "number": 1, "label": "small", "big": None})
# nothing that compresses
NOISE = "".join(chr(0x4E00 + (number * number * 7919) % 20_000) for number in range(3000))
TOO_LARGE = Insert({"shop": "a", "number": 2, "label": "large", "big": NOISE})
AFTER = Insert({"shop": "a", "number": 3, "label": "small", "big": None})


def _set_aside(given: child.Orders, made: child.Databases) -> list[str]:
    """The databases whose table the offsets topic says is set aside."""
    state = made_publisher(given.bootstrap, Names(given.prefix), generation=1).start()
    return [p.database for p in made if table_fault.set_aside_tables(state, CONNECTOR, p)]


@pytest.mark.parametrize(
    ("code", "policy", "group", "rows"),
    [
        ("kafka.row_too_large", replace(child.POLICY, bounds=SizeBounds(record=4_000)), None, 1),
        ("kafka.record_refused", child.POLICY, TopicGroup(1, config={"max.message.bytes": "2000"}), 1),
    ],
)
def test_a_table_that_cannot_be_published_is_set_aside_and_its_neighbours_continue(
    given: child.Orders, code: str, policy: CutPolicy, group: TopicGroup | None, rows: int
) -> None:
    """T-E21."""
    made, notes, stopping = child.databases(given.prefix, 0), Notes(), threading.Event()
    base, *neighbours = made.values()
    base.commit(ONE)
    task = child.task(given, made, notes, stopping, policy=policy, group=group)
    with running(task.run, stopping) as errors:
        until(lambda: base.told == Place(0, base.end), "the first row is published")
        base.commit(TOO_LARGE)
        for neighbour in neighbours:
            neighbour.commit(ONE)
        until(drained(made), "everything is confirmed to every database")
        base.commit(AFTER)
        until(drained(made), "also what is left out")
    assert errors == []
    assert [(fault.table, fault.error.code) for fault in notes.faults] == [(base.shape.id, code)]
    assert NOISE[:9] not in str(notes.faults[0].error)
    topics = [table_topic(given.prefix, database.shape.id, Naming.WRACKLINE) for database in made.values()]
    assert [len(committed(given.bootstrap, topic)) for topic in topics] == [rows, 1, 1]
    assert _set_aside(given, made) == ["db0"], "a restart continues without it"


def test_a_topic_that_cannot_be_made_sets_its_table_aside(given: child.Orders) -> None:
    made, notes, stopping = child.databases(given.prefix, 0), Notes(), threading.Event()
    for database in made.values():
        database.commit(ONE)
    bad = TopicGroup(1, replication=7, include=(re.compile(r".*\.db0\..*"),))
    with running(child.task(given, made, notes, stopping, groups=(bad,)).run, stopping) as errors:
        until(drained(made), "everything is confirmed to every database")
    assert errors == []
    assert [(f.table.database, f.error.code) for f in notes.faults] == [("db0", "kafka.topic_not_made")]
    assert _set_aside(given, made) == ["db0"]
    topics = [table_topic(given.prefix, database.shape.id, Naming.WRACKLINE) for database in made.values()]
    assert [len(committed(given.bootstrap, topic)) for topic in topics[1:]] == [1, 1]


def test_an_idle_task_says_where_it_is(given: child.Orders) -> None:
    made, notes, stopping = child.databases(given.prefix, 0), Notes(), threading.Event()
    with running(child.task(given, made, notes, stopping).run, stopping) as errors:
        until(lambda: len(notes.commits) >= 3, "it publishes its position again after each quiet time")
    assert errors == []


def test_stopped_while_kafka_is_away_it_ends(kafka: Broker, given: child.Orders) -> None:
    made, notes, stopping = child.databases(given.prefix, 10), Notes(), threading.Event()
    task = child.task(given, made, notes, stopping, limits=TaskLimits(patience=0.5))
    kafka.process.pause()
    try:
        with running(task.run, stopping):
            until(lambda: bool(notes.healths), "it has begun to start")
    finally:
        kafka.process.resume()
