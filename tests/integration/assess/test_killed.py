"""Killed in the middle of a trial, an assessment leaves nothing that one does not remove an hour later."""

import os
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import orjson
import pytest

from tests.fixtures.prepared import run_command
from tests.integration.assess.world import (
    AssessWorld,
    PgAssessWorld,
    WithTarget,
    assess_later,
    mysql_world,
)
from tests.integration.mysql.world import rows_of
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.local.stack.stack import Stack
from wrackline.producers import failpoints

pytestmark = pytest.mark.servers


def assess(world: AssessWorld, kill: str = "") -> subprocess.CompletedProcess[str]:
    armed = {failpoints.VARIABLE: f"{kill}=kill"} if kill else {}
    return run_command(["assess", str(world.file()), "--probe", "--json"], env={**os.environ, **armed})


def subjects(registry: SchemaRegistry, name: str) -> set[str]:
    with urlopen(f"http://127.0.0.1:{registry.port}/apis/ccompat/v7/subjects?deleted=true") as answer:
        return {one for one in orjson.loads(answer.read()) if name in one}


def test_a_killed_trial_leaves_nothing_behind_the_next_one(
    world: PgAssessWorld, registry: SchemaRegistry
) -> None:
    name = world.given["name"]
    assert assess(world, "probe_slot").returncode == -signal.SIGKILL
    wait_until(lambda: not world.slots())  # it ends with its session
    assert not world.topics()
    for place in ("probe_topic", "probe_open", "probe_committed"):
        before = world.topics()
        assert assess(world, place).returncode == -signal.SIGKILL
        assert len(world.topics() - before) == 1, "or nothing was killed"
    assert assess(world, "probe_subject").returncode == -signal.SIGKILL
    left = world.topics(), subjects(registry, name)
    assert list(map(len, left)) == [4, 1], "or nothing was killed"
    done = orjson.loads(assess(world).stdout)
    assert all(one["ok"] for one in done["trials"]), "what was left is not read back"
    assert (world.topics(), subjects(registry, name)) == left, "these might still run"
    done = assess_later(world)
    assert all(one["ok"] for one in done["trials"]), done
    assert (world.slots(), world.topics(), subjects(registry, name)) == ([], set(), set())


@pytest.mark.full
@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_killed_trial_of_a_binlog_leaves_no_signal(
    tmp_path: Path, stack: Stack, kafka: Broker, registry: SchemaRegistry, kind: str
) -> None:
    with mysql_world(tmp_path, getattr(stack, kind)(), kafka, registry, kind) as (world, server):
        signals = "SELECT id FROM assessed.signals"
        assert assess(world, "probe_signal").returncode == -signal.SIGKILL
        assert len(rows_of(server, signals)) == 1, "or nothing was killed"
        done = assess_later(world)
        assert all(one["ok"] for one in done["trials"]), done
        assert rows_of(server, signals) == []


@pytest.mark.full
@pytest.mark.parametrize("kind", ["postgres", "iceberg"])
def test_a_killed_trial_of_a_target_leaves_no_table(world: PgAssessWorld, tmp_path: Path, kind: str) -> None:
    target = WithTarget(world, kind, tmp_path / "warehouse")
    for killed, place in enumerate(("probe_table", "probe_merged"), 1):
        assert assess(world, place).returncode == -signal.SIGKILL
        assert len(target.tables()) == killed, "or nothing was killed"
    done = assess_later(world)
    assert all(one["ok"] for one in done["trials"]), done
    assert target.tables() == []
