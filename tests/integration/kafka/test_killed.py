"""A task that is killed, or frozen until it has a successor, at each place of a transaction."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import orjson
import psutil
import pytest

from tests.integration.kafka import child
from tests.integration.kafka.checker import check_all, check_told, told
from tests.integration.kafka.world import PATIENCE, until
from wrackline.control.local.stack.servers import Broker
from wrackline.producers import failpoints
from wrackline.producers.task.task_limits import TaskLimits


@pytest.fixture
def given(kafka: Broker, topic_prefix: str, tmp_path: Path) -> child.Orders:
    """What the children of one test are to do."""
    orders = child.Orders(kafka.bootstrap, topic_prefix, str(tmp_path), generation=1)
    orders.newest.write_text("1")
    return orders


@contextmanager
def started(orders: child.Orders, armed: str = "") -> Iterator[subprocess.Popen[str]]:
    """Start a child; it is gone when the block is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.kafka.child", orjson.dumps(asdict(orders)).decode()],
        env={**os.environ, failpoints.VARIABLE: armed},
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run(orders: child.Orders, armed: str = "") -> tuple[int, str]:
    """Run a child to its end: how it ended, and what it said."""
    with started(orders, armed) as process:
        said, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, said.strip()


@pytest.mark.full
def test_killed_anywhere_a_restart_continues_exactly(kafka: Broker, given: child.Orders) -> None:
    """T-E14."""
    for number, name in enumerate(failpoints.COMMIT):
        ended, _ = run(given, f"{name}=kill@{2 + number % 3}")
        assert ended == -signal.SIGKILL, f"{name} was not reached"
        until(lambda: _told_is_durable(kafka, given), f"what was confirmed before {name} is in Kafka")
    assert run(given) == (0, "")
    check_told(kafka.bootstrap, given)
    check_all(given)


def _told_is_durable(kafka: Broker, given: child.Orders) -> bool:
    try:
        check_told(kafka.bootstrap, given)
    except (AssertionError, KeyError):
        return False  # the markers of a commit follow its answer
    return True


@pytest.mark.parametrize(
    "name",
    [
        "before_commit",
        *(pytest.param(name, marks=pytest.mark.full) for name in ("after_begin", "after_commit")),
    ],
)
def test_a_frozen_owner_does_nothing_once_it_has_a_successor(
    kafka: Broker, given: child.Orders, name: str
) -> None:
    """T-E16."""
    with started(given, f"{name}=stop@4") as old:
        until(lambda: psutil.Process(old.pid).status() == psutil.STATUS_STOPPED, "the owner is frozen")
        frozen = time.monotonic()
        successor = replace(given, generation=2)
        given.newest.write_text("2")
        assert run(successor) == (0, "")
        check_all(given)
        before = told(given.told)
        longest = TaskLimits().longest_pause  # what was committed may be confirmed for so long
        until(lambda: time.monotonic() - frozen > longest, "no confirmation can come in time")
        old.send_signal(signal.SIGCONT)
        said, _ = old.communicate(timeout=PATIENCE)
    assert (old.returncode, said.strip()) == (0, "kafka.superseded")
    assert told(given.told) == before, "INV-9: it confirms nothing"
    check_told(kafka.bootstrap, successor)
    check_all(given)


@pytest.mark.deep
def test_a_storm_of_kills(kafka: Broker, given: child.Orders) -> None:
    given = replace(given, transactions=400)
    kills = 0
    for number in range(40):
        name = failpoints.COMMIT[number * 5 % len(failpoints.COMMIT)]
        ended, _ = run(given, f"{name}=kill@{1 + number % 7}")
        kills += ended == -signal.SIGKILL
        until(lambda: _told_is_durable(kafka, given), "what was confirmed is in Kafka")
    assert kills > 20
    assert run(given) == (0, "")
    check_all(given)
