"""A worker runs the target half too: as a task that is seen, restarted, paused and resumed like the other."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.integration.consuming.world import SPARK_PATIENCE, World
from tests.integration.running.test_worker import Working, asked
from tests.integration.running.world import environment, wait_until
from wrackline.control.runtime.board.board_reader import read_board
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.schemas.kafka.board_records import Half

pytestmark = pytest.mark.servers


@pytest.fixture
def working(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Working]:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    made = Working(tmp_path, world.consumer_file, "--rest-port", "0")
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def sends(method: str, url: str) -> int:
    with urlopen(Request(url, method=method), timeout=30) as answer:  # noqa: S310 - our own address
        return int(answer.status)


def java_of(pid: int) -> list[int]:
    """The Java processes below a process."""
    said = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in said.splitlines()]
    below, grown = {pid}, True
    while grown:
        more = below | {int(own) for own, parent, _ in rows if int(parent) in below}
        below, grown = more, more != below
    return [int(own) for own, _, name in rows if int(own) in below and name == "java"]


def wished(world: World) -> tuple[bool, ...]:
    """Whether both halves have ended because somebody wished it, as they reported last."""
    board = read_board(good_pipeline(world.consumer_file).good())
    return tuple(bool(board.half(world.prefix, half).report["wished"]) for half in Half)


def age_ms(url: str, table: str) -> int:
    """How old a table's copy is."""
    told = asked(f"{url}/tables")[1]["tables"][table]["freshness_ms"]
    return 1 << 40 if told is None else int(told)


def pauses_one_table(world: World, url: str, table: str) -> None:
    one = f"{url}/tables/{table}"

    def state() -> str:
        return str(asked(f"{url}/tables")[1]["tables"][table]["target"])

    wait_until(lambda: age_ms(url, table) < 10_000)  # nothing happens, and it stays fresh
    assert sends("POST", f"{one}/pause") == 202
    wait_until(lambda: state() == "paused")
    world.insert(10, 12)
    wait_until(lambda: (asked(f"{url}/tables")[1]["tables"][table]["behind"] or 0) > 0)
    assert world.differences("orders")
    paused_ms = age_ms(url, table)
    wait_until(lambda: age_ms(url, table) > paused_ms + 1_000)
    assert sends("POST", f"{one}/resume") == 202
    world.arrives()
    wait_until(lambda: state() == "going")


def state_of(url: str) -> list[Any]:
    return [(one["id"], one["state"]) for one in asked(f"{url}/status")[1]["tasks"]]


def begins(world: World, working: Working) -> tuple[str, str]:
    """Wait until both halves run and a table is copied; return the pipeline's address, and the table."""
    url = f"{working.requests}/{world.prefix}"
    wait_until(lambda: state_of(url) == [(0, "RUNNING"), (1, "RUNNING")], patience=SPARK_PATIENCE)
    world.insert(1, 3)
    world.arrives()
    table = f"{world.database.name}.public.orders"
    wait_until(lambda: asked(f"{url}/tables")[1]["tables"].get(table, {}).get("target") == "going")
    return url, table


def test_a_worker_runs_both_halves_and_starts_a_killed_one_again(world: World, working: Working) -> None:
    url, table = begins(world, working)
    target = f"{world.prefix}:target"

    seen = asked(f"{url.rpartition('/connectors')[0]}/v1/contexts/default/pipelines/{world.prefix}/state")[1]
    assert (seen["sourceState"], seen["targetState"]) == ("OK", "OK")
    assert [(one["table"], one["state"]) for one in seen["tables"]] == [("orders", "REPLICATE")]

    first = working.told(target, "RUNNING")[-1]["pid"]
    java = java_of(first)
    assert java
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: working.told(target, "RUNNING")[-1]["pid"] != first, patience=SPARK_PATIENCE)
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in java))
    assert len(working.told(world.prefix, "RUNNING")) == 1, "the source half has seen nothing of it"
    world.insert(4, 6)
    world.arrives()

    pauses_one_table(world, url, table)
    java = java_of(working.process.pid)
    assert working.stop() == 0
    assert wished(world) == (False, False), "a worker that ends is no wish"
    assert not any(Path(f"/proc/{one}").exists() for one in java)


@pytest.mark.full  # each resume starts a Java; running/test_tasks.py has such wishes in the gate
def test_each_half_is_paused_resumed_and_restarted_as_a_task(world: World, working: Working) -> None:
    url, table = begins(world, working)
    target = f"{world.prefix}:target"
    assert sends("PUT", f"{url}/tasks/1/pause") == 202
    wait_until(lambda: state_of(url) == [(0, "RUNNING"), (1, "PAUSED")])
    assert asked(f"{url}/status")[1]["connector"]["state"] == "RUNNING"
    assert sends("PUT", f"{url}/pause") == 202
    wait_until(lambda: state_of(url) == [(0, "PAUSED"), (1, "PAUSED")])
    wait_until(
        lambda: asked(f"{url}/tables")[1]["errors"].get("target", {}).get("code") == "status.has_ended"
    )
    assert wished(world) == (True, True)
    world.insert(7, 9)
    assert sends("PUT", f"{url}/tasks/1/resume") == 202
    wait_until(lambda: state_of(url) == [(0, "PAUSED"), (1, "RUNNING")], patience=SPARK_PATIENCE)
    assert sends("PUT", f"{url}/resume") == 202
    world.arrives()
    wait_until(lambda: age_ms(url, table) < 10_000)
    assert sends("POST", f"{url}/tasks/1/restart") == 204
    wait_until(lambda: len(working.told(target, "RUNNING")) == 3, patience=SPARK_PATIENCE)
    assert len(working.told(world.prefix, "RUNNING")) == 2
    java = java_of(working.process.pid)
    assert working.stop() == 0
    assert wished(world) == (False, False), "a worker that ends is no wish"
    assert not any(Path(f"/proc/{one}").exists() for one in java)
