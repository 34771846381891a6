"""A group is controlled from the command line, through any of its workers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.prepared import run_command
from tests.integration.group.world import GroupWorld, Worker, asked
from tests.integration.running.world import CANARY, environment
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers


def wrackline(worker: Worker, *words: str | Path) -> tuple[int, Any]:
    """Run a command that asks a worker; return its exit code and its document."""
    command = [*map(str, words), "--rest", worker.url, "--json"]
    done = run_command(command, env=environment())
    assert CANARY not in done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.full
def test_a_connector_is_made_changed_and_looked_at(world: GroupWorld, tmp_path: Path) -> None:
    first = world.start()
    world.runs(first, 0)
    second = world.start()
    name, file = world.name(0), tmp_path / "connector.json"
    file.write_text(json.dumps({"name": name, "config": world.config(0)}))
    path = "/connector-plugins/postgres/config/validate"
    code, told = asked("PUT", f"{second.url}{path}", {**world.config(0), "name": name})
    assert (code, told["error_count"]) == (200, 0), told
    assert wrackline(second, "apply", file) == (Exit.OK, {"name": name, "done": "made"})
    world.runs(first, 1)
    world.insert(0, 1, 3)
    world.arrived(0, 3)
    for verb, comes_to in (("pause", "PAUSED"), ("resume", "RUNNING"), ("restart", "RUNNING")):
        assert wrackline(first, verb, name, "--wait", "60")[1]["state"] == comes_to
    file.write_text(
        json.dumps({"name": name, "config": world.config(0, **{"heartbeat.interval.ms": "5000"})})
    )
    assert wrackline(first, "apply", file)[1]["done"] == "changed"
    file.write_text(json.dumps({"name": name, "config": {"connector.class": "postgres"}}))
    code, told = wrackline(first, "apply", file)
    assert (code, told["error"]["code"]) == (Exit.DEFINITE, "rest.invalid")
    world.insert(0, 4, 5)
    world.arrived(0, 5)
    for worker in (first, second):
        code, told = asked("GET", f"{worker.url}/connectors/{name}/tables")
        assert (code, {one["source"] for one in told["tables"].values()}) == (200, {"streaming"})
        code, told = asked("GET", f"{worker.url}/connectors/{name}/assessment")
        assert (code, told["ok"]) == (200, True)
