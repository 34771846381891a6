"""The command line over a running worker: it controls its pipelines and shows their state."""

import json
import os
import pty
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.prepared import Forked, run_command
from tests.integration.running.test_worker import Working, asked, asks_for_its_password
from tests.integration.running.world import PATIENCE, World, environment, wait_until
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers

WRONG = "c4n4ry-wr0ng"


@pytest.fixture
def working(world: World, tmp_path: Path) -> Iterator[Working]:
    """A worker of one pipeline that listens."""
    made = Working(tmp_path, "--rest-port", "0", world.file)
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def wrackline(working: Working, *words: str | Path) -> tuple[int, Any]:
    """Run a command that asks the worker; return its exit code and its document."""
    rest = ("--rest", working.requests.removesuffix("/connectors"), "--json")
    done = run_command([*map(str, words), *rest], env=environment())
    assert WRONG not in done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_pipeline_is_paused_and_resumed(world: World, working: Working) -> None:
    working.waits_for(world.prefix, "RUNNING")
    world.insert(1, 3)
    world.arrived(3)
    for verb, comes_to in (("pause", "PAUSED"), ("stop", "STOPPED"), ("resume", "RUNNING")):
        code, told = wrackline(working, verb, world.file, "--wait", "60")
        assert (code, told["name"], told["asked"], told["state"]) == (0, world.prefix, verb, comes_to)
        assert wrackline(working, "connectors")[1]["connectors"][0]["state"] == comes_to
    world.insert(4, 5)
    world.arrived(5)
    before = working.told(world.prefix, "RUNNING")[-1]["pid"]
    assert (
        wrackline(working, "restart", world.prefix, "--only-failed", "--wait", "60")[1]["state"] == "RUNNING"
    )
    assert working.told(world.prefix, "RUNNING")[-1]["pid"] == before, "it has not failed"
    assert wrackline(working, "restart", world.prefix, "--wait", "60")[1]["state"] == "RUNNING"
    assert working.told(world.prefix, "RUNNING")[-1]["pid"] != before
    code, told = wrackline(working, "apply", world.file)
    assert (code, told["error"]["code"]) == (Exit.OPERATOR, "rest.by_file")
    code, told = wrackline(working, "pause", "nobody")
    assert (code, told["error"]["code"]) == (Exit.DEFINITE, "rest.no_connector")
    assert working.stop() == Exit.OK


@pytest.mark.full
def test_a_failing_part_is_reported_until_it_is_repaired(world: World, tmp_path: Path) -> None:
    text = world.file.read_text()
    world.file.write_text(text.replace("${env:WRACKLINE_DB_PASSWORD}", WRONG))
    asks_for_its_password(world)
    working = Working(tmp_path, "--rest-port", "0", world.file)
    try:
        working.waits_for(world.prefix, "FAILED")
        code, told = wrackline(working, "connectors")
        assert (code, told["connectors"][0]["state"]) == (Exit.OPERATOR, "FAILED")
        assert "hint:" in told["connectors"][0]["trace"]
        code, told = wrackline(working, "restart", world.prefix, "--wait", "60")
        assert (code, told["error"]["code"]) == (Exit.OPERATOR, "remote.has_failed")
        assert len(working.told(world.prefix, "FAILED")) == 2, "it was started again"
        world.file.write_text(text)
        code, told = wrackline(working, "restart", world.prefix, "--only-failed", "--wait", "60")
        assert (code, told["state"]) == (Exit.OK, "RUNNING")
        assert wrackline(working, "connectors")[0] == Exit.OK
        assert working.stop() == Exit.OK
    finally:
        working.process.kill()
        working.process.wait()


def ids(document: Any) -> list[tuple[str, str]]:
    """What a check found, and of which table; how many bytes a slot keeps changes meanwhile."""
    return sorted((one["id"], str(one["table"])) for one in document["findings"])


def test_rest_reports_what_the_command_line_reports(world: World, working: Working) -> None:
    working.waits_for(world.prefix, "RUNNING")
    world.insert(1, 2)
    world.arrived(2)
    world.sql.execute("CREATE TABLE keyless (a int)")
    text = world.file.read_text().replace('"public.orders"', '"public.orders,public.keyless"')
    world.file.write_text(text)
    found = f"{working.requests}/{world.prefix}"
    wait_until(lambda: json.loads(world.command("status", "--json").stdout)["source"]["tables"])
    wait_until(lambda: asked(f"{found}/tables")[1]["tables"])
    status = json.loads(world.command("status", "--json").stdout)
    code, told = asked(f"{found}/tables")
    assert (code, told["pipeline"]) == (200, world.prefix)
    assert told["tables"].keys() == status["source"]["tables"].keys()
    assert {one["source"] for one in told["tables"].values()} == {"streaming"}
    assert told["errors"] == {}
    assert asked(f"{found}/lag")[1]["databases"].keys() == {world.database.name}
    code, told = asked(f"{found}/assessment")
    checked = json.loads(world.command("check", "--json").stdout)
    assert code == 200
    assert told["ok"] == checked["ok"]
    assert ids(told) == ids(checked)
    assert any(one["table"] for one in told["findings"]), "the file is read as it is now: a table has no key"
    assert asked(f"{found}/assessment")[1]["at_ms"] == told["at_ms"], (
        "asked again soon, it is the same answer"
    )
    assert working.stop() == Exit.OK


@pytest.mark.full
def test_status_is_watched_through_a_pipe(world: World) -> None:
    world.run()
    world.insert(1, 1)
    world.arrived(1)
    command = ["status", str(world.file), "--watch", "--every", "0.2", "--json"]
    with Forked(command, stdout=subprocess.PIPE, text=True, env=environment()) as watching:
        assert watching.stdout is not None
        told = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(PATIENCE) == Exit.OK
    assert [one["pipeline"] for one in told] == [world.prefix] * 2
    assert told[0]["ts_ms"] < told[1]["ts_ms"]
    command = ["status", str(world.file), "--watch", "--every", "0.2", "--json"]
    with Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as left:
        assert left.stdout is not None
        assert left.stderr is not None
        left.stdout.readline()
        left.stdout.close()
        assert left.wait(PATIENCE) == Exit.OK, "a reader that leaves causes no error output"
        assert left.stderr.read() == b""


def test_status_is_watched_on_a_terminal_and_leaves_it_as_it_was(world: World) -> None:
    world.run()
    world.insert(1, 1)
    world.arrived(1)
    ours, theirs = pty.openpty()
    environ = {**environment(), "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    command = ["status", str(world.file), "--watch", "--every", "0.2"]
    watching = Forked(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    seen = bytearray()

    def sees(what: bytes, times: int) -> bool:
        if select.select([ours], [], [], 1)[0]:
            seen.extend(os.read(ours, 1 << 16))
        return seen.count(what) >= times

    try:
        wait_until(lambda: sees(b"public.orders", 2))
        watching.send_signal(signal.SIGINT)
        wait_until(lambda: sees(b"\x1b[?25h", 1))
        assert watching.wait(PATIENCE) == Exit.OK
    finally:
        watching.kill()
        watching.wait()
        os.close(ours)
    assert seen.count(b"\x1b[?25l") == seen.count(b"\x1b[?25h") == 1, "the cursor is there again"
    assert b"Traceback" not in seen
