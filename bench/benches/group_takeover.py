"""From the kill of one of three workers until all tasks' changes are in Kafka again, each worker in turn.

The peer is the minimum that Kafka's own group membership takes: three bare consumers with the same settings,
from the kill of one until the others own all partitions.  Changes are written to all tables once the worker
is dead; `events_s` ends when the last of them can be read, `running_s` when every task reports that it runs.
"""

import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    NewTopic,
)

from bench import stage
from bench.address import Address
from bench.ours.group import PATIENCE_S, Group, Worker, group
from bench.peers.slot import connect
from bench.runner import Contender, Size
from bench.score import Outcome
from wrackline.control.local.processes.launch import launched

UNITS = {"events_s": "s", "running_s": "s", "worst_events_s": "s", "moved": "tasks"}
FULL = Size(30, 2)  # tasks
QUICK = Size(6, 1)
WORKERS = 3
_MEMBER = """
import sys, time
from confluent_kafka import Consumer
from wrackline.control.runtime.group.member import MEMBERSHIP
owned = set()
def has(consumer, partitions):
    owned.update(one.partition for one in partitions)
    consumer.incremental_assign(partitions)
    print(f"{time.monotonic():.3f} {len(owned)}", flush=True)
def loses(consumer, partitions):
    owned.difference_update(one.partition for one in partitions)
    consumer.incremental_unassign(partitions)
    print(f"{time.monotonic():.3f} {len(owned)}", flush=True)
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], **MEMBERSHIP})
consumer.subscribe([sys.argv[2]], on_assign=has, on_revoke=loses)
while True:
    consumer.poll(0.1)
"""
_PARTITIONS = 128


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start the servers."""
    with stage.servers() as stack:
        at = Address(stack.postgres().port, "postgres", "", "postgres")
        bootstrap = stack.kafka().bootstrap
        yield [
            Contender("wrackline", workers, (at, bootstrap, stack.registry().url, rows), ours=True),
            Contender("bare consumers", members, (bootstrap,)),
        ]


def workers(at: Address, bootstrap: str, registry: str, tasks: int) -> Outcome:
    """Kill each of three workers in turn; a new one is started before the next."""
    prefix = f"g{secrets.token_hex(4)}"
    at = stage.new_database(at, prefix)
    events, running, moved = [], [], 0
    with (
        tempfile.TemporaryDirectory() as folder,
        group(Path(folder), at, bootstrap, registry, prefix) as ours,
    ):
        for _ in range(WORKERS):
            ours.start()
        for number in range(tasks):
            ours.make(number, running=True)
        ours.until_running(ours.workers[0], tasks)
        for turn in range(WORKERS):
            _beat(at, tasks, turn)
            _arrived(bootstrap, ours, tasks, turn + 1)
            gone, left = ours.workers[turn], ours.workers[turn + 1]
            moved += list(left.running().values()).count(gone.url.removeprefix("http://"))
            again, ran = _killed(at, bootstrap, ours, gone, left, tasks, turn)
            events.append(again)
            running.append(ran)
            newcomer = ours.start()
            ours.until_running(newcomer, tasks)
    figures = {
        "events_s": sum(events) / WORKERS,
        "running_s": sum(running) / WORKERS,
        "worst_events_s": max(events),
        "moved": moved / WORKERS,
    }
    return Outcome(figures)


def _killed(
    at: Address, bootstrap: str, ours: Group, gone: Worker, left: Worker, tasks: int, turn: int
) -> tuple[float, float]:
    gone.process.kill()
    gone.process.wait()
    killed = time.monotonic()
    _beat(at, tasks, turn + 100)
    ours.until_running(left, tasks, gone.url.removeprefix("http://"))
    ran = time.monotonic() - killed
    _arrived(bootstrap, ours, tasks, 2 * turn + 2)
    return time.monotonic() - killed, ran


def _beat(at: Address, tasks: int, number: int) -> None:
    """Change every table."""
    with connect(at) as session:
        for table in range(tasks):
            session.execute(f"insert into t{table} values ({number}, 0)")


def _arrived(bootstrap: str, ours: Group, tasks: int, count: int) -> None:
    """Wait until every table's topic has this many committed events."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bench", "isolation.level": "read_committed"}
    with closing(Consumer({**settings, "enable.auto.commit": False})) as consumer:
        consumer.assign([TopicPartition(ours.topic(number), 0, 0) for number in range(tasks)])
        missing, deadline = tasks * count, time.monotonic() + PATIENCE_S
        while missing > 0 and time.monotonic() < deadline:
            messages = consumer.consume(1000, 0.1)
            missing -= sum(message.error() is None for message in messages)
    if missing > 0:
        raise TimeoutError


def members(bootstrap: str) -> Outcome:
    """Kill one of three bare members."""
    name = f"m{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, _PARTITIONS, 1)])[name].result(PATIENCE_S)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        said = [Path(folder) / str(number) for number in range(WORKERS)]
        processes = []
        for file in said:
            out = opened.enter_context(file.open("wb"))
            command = launched([sys.executable, "-c", _MEMBER, bootstrap, name])
            process = subprocess.Popen(command, stdout=out, start_new_session=True)
            opened.callback(process.kill)
            processes.append(process)
            _until_owned(said[: len(processes)], len(processes))
        processes[0].kill()
        killed = time.monotonic()
        last = _until_owned(said[1:], WORKERS - 1)
    return Outcome({"events_s": last - killed, "running_s": last - killed})


def _until_owned(said: Sequence[Path], count: int) -> float:
    """Wait until these members own all partitions among them, each some; return since when."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        lines = [file.read_text().splitlines() for file in said]
        last = [one[-1].split() for one in lines if one]
        owned = [int(number) for _, number in last]
        if sum(owned) == _PARTITIONS and sum(number > 0 for number in owned) == count:
            return max(float(when) for when, _ in last)
        time.sleep(0.05)
    raise TimeoutError
