"""The databases of a pipeline, dealt to tasks: each is a process, and databases move exactly once."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.fixtures.prepared import Forked
from tests.fixtures.servers import Database
from tests.integration.running.test_databases import TwoDatabases
from tests.integration.running.test_worker import Working
from tests.integration.running.world import PATIENCE, environment, free_port, metric_of, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[TwoDatabases]:
    """Two databases, and a pipeline of two tasks over both."""
    made = TwoDatabases(tmp_path, database, kafka, registry, topic_prefix, 0)
    made.file.write_text(f"tasks.max = 2\n{made.file.read_text()}")
    yield made
    made.close()


@pytest.fixture
def working(world: TwoDatabases) -> Iterator[list[Working]]:
    """Workers that were started; those that still run are ended."""
    assert world, "it is closed after them"
    made: list[Working] = []
    yield made
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def asked(url: str, method: str = "GET") -> Any:
    request = Request(url, method=method)  # noqa: S310 - our own worker's
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
        body = answer.read()
    return json.loads(body) if body else None


def _tasks(world: TwoDatabases) -> list[dict[str, Any]]:
    """Each task as a command shows it; none before they have reported."""
    found: list[dict[str, Any]] = json.loads(world.command("status", "--json").stdout)["log"].get("tasks", [])
    return found


def _errors(world: TwoDatabases) -> list[str | None]:
    return [one["error"] and one["error"]["code"] for one in _tasks(world)]


def both_arrive(world: TwoDatabases, count: int) -> None:
    wait_until(lambda: len(world.events()) >= count and len(world.events(world.other_topic)) >= count)
    assert (len(world.events()), len(world.events(world.other_topic))) == (count, count)


def ports_in_turn() -> int:
    """Three ports in turn that nobody has at the moment; return the first one."""
    while True:
        first = free_port()
        with ExitStack() as opened, suppress(OSError):
            for port in range(first, first + 3):
                opened.enter_context(socket()).bind(("127.0.0.1", port))
            return first


def test_tasks_serve_metrics_under_their_numbers_beside_the_consumers_port(
    world: TwoDatabases, working: list[Working], tmp_path: Path
) -> None:
    first = ports_in_turn()
    text = world.file.read_text().replace("metrics.port = 0", f"metrics.port = {first}")
    world.file.write_text(f"consume.metrics.port = {first + 1}\n{text}")
    worker = Working(tmp_path, world.file)
    working.append(worker)
    for task in (world.prefix, f"{world.prefix}:1"):
        worker.waits_for(task, "RUNNING")
    world.insert(1, 2)
    world.insert_beside(1, 3)
    for number, port, database, count in ((0, first, world.database.name, 2), (1, first + 2, world.other, 3)):
        labels = f'task="{number}" database="{database}"'
        assert metric_of(port, f"wrackline_running {labels}") == 1
        events = partial(metric_of, port, f'wrackline_events_total {labels} operation="c"')
        wait_until(lambda read=events, of=count: read() == of)  # type: ignore[misc]
    assert worker.stop() == Exit.OK


def deals(world: TwoDatabases, before: Sequence[str], after: Sequence[str]) -> None:
    """Name the databases in another order in the file."""
    was, now = ('["{}", "{}"]'.format(*names) for names in (before, after))
    world.file.write_text(world.file.read_text().replace(was, now))


def test_each_task_reads_its_databases_and_they_move_exactly_once(
    world: TwoDatabases, working: list[Working], tmp_path: Path
) -> None:
    """T-E23."""
    name, second = world.prefix, f"{world.prefix}:1"
    worker = Working(tmp_path, "--rest-port", "0", world.file)
    working.append(worker)
    url = f"{worker.requests}/{name}"
    for task in (name, second):
        worker.waits_for(task, "RUNNING")
    world.insert(1, 5)
    world.insert_beside(1, 5)
    both_arrive(world, 5)
    tasks = asked(f"{url}/status")["tasks"]
    assert [(one["id"], one["state"], one["half"]) for one in tasks] == [
        (0, "RUNNING", "source"),
        (1, "RUNNING", "source"),
    ]
    dealt = [one["config"]["database.names"] for one in asked(f"{url}/tasks")]
    assert dealt == [world.database.name, world.other]
    assert {one["database"] for one in world.offsets("show")["offsets"]} == set(dealt)
    wait_until(lambda: [one["databases"] for one in _tasks(world)] == [[name] for name in dealt])

    world.let_in(nobody=True)
    worker.waits_for(second, "FAILED")
    world.insert(6, 10)
    world.arrived(10)
    wait_until(lambda: _errors(world) == [None, "pg.login_refused"])
    assert world.command("status").returncode != Exit.OK
    assert not worker.told(name, "FAILED"), "a task's trouble is its own"
    world.let_in(nobody=False)
    turned = dealt[::-1]
    deals(world, dealt, turned)
    asked(f"{url}/tasks/1/restart", "POST")  # it keeps its database, though its file has other shares by now
    worker.waits_for(second, "RESTARTING")
    world.insert_beside(6, 11)
    world.insert(11, 11)
    both_arrive(world, 11)
    assert len({one["pid"] for one in worker.told(name, "STARTING")}) == 1, "the other task has not ended"
    assert [one["databases"] for one in _tasks(world)] == [[name] for name in dealt]

    asked(f"{url}/restart", "POST")
    world.insert(12, 12)
    world.insert_beside(12, 12)
    both_arrive(world, 12)
    wait_until(lambda: [one["databases"] for one in _tasks(world)] == [[name] for name in turned])
    assert asked(f"{url}/config")["database.names"] == ",".join(turned)
    assert worker.stop() == Exit.OK

    world.insert(13, 13)
    world.insert_beside(13, 13)
    whole = world.run()  # all databases in one process, from where the two were
    both_arrive(world, 13)
    assert whole.stop() == Exit.OK
    again = Working(tmp_path, world.file)
    working.append(again)
    world.insert(14, 14)
    world.insert_beside(14, 14)
    both_arrive(world, 14)
    assert again.stop() == Exit.OK


@contextmanager
def inserting(world: TwoDatabases) -> Iterator[list[int]]:
    """Insert into both databases all the time; the list has how many rows each has got."""
    count, over = [0], threading.Event()

    def insert() -> None:
        while not over.wait(0.02):
            number = count[0] + 1
            world.insert(number, number)
            world.insert_beside(number, number)
            count[0] = number

    thread = threading.Thread(target=insert)
    thread.start()
    try:
        yield count
    finally:
        over.set()
        thread.join(PATIENCE)


def moves_on(world: TwoDatabases, count: list[int]) -> None:
    """Wait until rows have come that were not there when this was called."""
    for topic in (world.topic, world.other_topic):
        wait_until(lambda of=topic, more=count[0]: len(world.events(of)) > more)  # type: ignore[misc]


@pytest.mark.full  # test_deals.py holds it at Kafka
@pytest.mark.parametrize("place", failpoints.TAKEOVER)
def test_a_new_deal_loses_and_doubles_nothing_though_its_task_is_killed(
    world: TwoDatabases, working: list[Working], tmp_path: Path, place: str
) -> None:
    """T-E24."""
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
    before = Working(tmp_path / "before", world.file)
    working.append(before)
    for task in (world.prefix, f"{world.prefix}:1"):
        before.waits_for(task, "RUNNING")
    with inserting(world) as count:  # no row is older than the slots, from which the logs are read
        moves_on(world, count)
        armed = {**environment(), failpoints.VARIABLE: f"{place}=kill"}
        with (tmp_path / "killed").open("wb") as out:  # one task over both databases
            command = ["run", "--text", str(world.file)]
            killed = Forked(command, stdout=out, stderr=subprocess.STDOUT, env=armed)
            assert killed.wait(PATIENCE) == -signal.SIGKILL, (tmp_path / "killed").read_text()
        after = Working(tmp_path / "after", world.file)
        working.append(after)
        for task in (world.prefix, f"{world.prefix}:1"):
            after.waits_for(task, "RUNNING")
            before.waits_for(task, "FAILED")
        moves_on(world, count)
    for topic in (world.topic, world.other_topic):
        wait_until(lambda of=topic: len(world.events(of)) >= count[0])  # type: ignore[misc]
        keys = [key for key, _ in world.events(topic)]
        assert len(keys) == len(set(keys)) == count[0], topic
    assert after.stop() == Exit.OK
