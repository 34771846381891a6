"""`wrackline assess` on real servers: what it tries, what it exits with, what it mends."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.prepared import run_command
from tests.integration.assess.world import PASSWORD, PgAssessWorld, WithTarget
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers

ACCEPTED = "pg.slot_keep_unlimited=the disk has an alarm, at 70 %"


def assess(
    world: PgAssessWorld, *more: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    said = run_command(["assess", str(world.file()), *more], env=env)
    assert PASSWORD not in said.stdout + said.stderr
    assert "Traceback" not in said.stderr
    return said


def document(said: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(said.stdout)


def test_a_warning_closes_the_gate_until_its_reason_is_in_the_file(world: PgAssessWorld) -> None:
    said = assess(world, "--probe", "--json")
    assert said.returncode == Exit.WARNINGS, said.stdout + said.stderr
    found = document(said)
    assert (found["ok"], found["verdict"], found["applied"]) == (True, "warnings", [])
    assert [(one["id"], one["ok"], one["failed"]) for one in found["trials"]] == [
        ("login", True, None),
        ("log", True, None),
        ("rows", True, None),
        ("transaction", True, None),
        ("versions", True, None),
    ]
    assert found["forecast"]["rows"] == 20
    assert found["forecast"]["kafkaBytes"] > 20 * 5000
    world.given["assess.accept"] = ACCEPTED.replace(",", "\\,")
    said = assess(world)
    assert said.returncode == Exit.OK, said.stdout + said.stderr
    assert "accepted  [pg.slot_keep_unlimited]: the disk has an alarm, at 70 %" in said.stdout
    assert "verdict: good" in said.stdout


def test_safe_fixes_are_run_as_an_administrator_and_looked_at_again(world: PgAssessWorld) -> None:
    world.run("REVOKE SELECT ON orders FROM {role}", "ALTER TABLE orders ENABLE ROW LEVEL SECURITY")
    assert assess(world, "--json").returncode == Exit.FINDINGS
    secret = world.admin.replace("postgres@", "postgres:s3cr3t-of-an-admin@")
    said = assess(world, "--apply", "--json", env={"WRACKLINE_ADMIN": secret, **os.environ})
    assert "s3cr3t" not in said.stdout + said.stderr
    assert said.returncode == Exit.FINDINGS, "what is not safe is left to people"
    found = document(said)
    assert [(one["id"], one["gone"]) for one in found["applied"]] == [("pg.select_missing", True)]
    assert found["applied"][0]["undo"].startswith("REVOKE SELECT")
    assert "pg.row_security" in {one["id"] for one in found["findings"]}


def test_an_administrator_who_is_not_let_in_is_an_error_of_the_fix(world: PgAssessWorld) -> None:
    world.run("REVOKE SELECT ON orders FROM {role}")
    wrong = "postgresql://nobody_here:s3cr3t-of-an-admin@127.0.0.1:1/x"
    said = assess(world, "--apply", "--admin", wrong, "--json")
    assert "s3cr3t" not in said.stdout + said.stderr
    [tried] = document(said)["applied"]
    assert (tried["gone"], tried["error"]["code"]) == (False, "pg.admin_refused")
    assert assess(world, "--apply").returncode == Exit.USAGE


@pytest.fixture(params=["postgres", "iceberg", "delta"])
def with_target(world: PgAssessWorld, tmp_path: Path, request: pytest.FixtureRequest) -> WithTarget:
    """The same pipeline with a target."""
    return WithTarget(world, request.param, tmp_path / "warehouse")


@pytest.mark.full
def test_a_target_is_tried_through_its_own_contract(world: PgAssessWorld, with_target: WithTarget) -> None:
    said = assess(world, "--probe", "--json")
    assert said.returncode == Exit.WARNINGS, said.stdout + said.stderr
    [trial] = (one for one in document(said)["trials"] if one["id"] == "merge")
    assert trial["ok"], trial
    assert trial["measures"] == {"rows": 10, "columns": 11}
    checked = json.loads(run_command(["check", str(world.file()), "--probe", "--json"]).stdout)
    assert checked["target"]["measures"] == trial["measures"]
    assert with_target.tables() == []
