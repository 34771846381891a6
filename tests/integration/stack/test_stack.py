"""Stacks stand side by side, are found again in their folders, and leave nothing behind."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.unit.stack.test_process import gone, until
from wrackline.control.local.stack import postgres
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.control.runtime.spark import jars
from wrackline.control.runtime.spark.jars import FETCH_FAILED, JAR_UNKNOWN, fetch
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.versions import Coordinate

SMALL = Coordinate("org.slf4j", "slf4j-simple", "1.7.36")
STARTER = """
import sys, time
from wrackline.control.local.stack.stack import Stack
with Stack(sys.argv[1]) as stack:
    print(stack.postgres().process.pid, flush=True)
    time.sleep(600)
"""
FETCH = """
import sys
from pathlib import Path
from tests.integration.stack.test_stack import SMALL
from wrackline.control.runtime.spark.jars import fetch
print([path.name for path in fetch([SMALL], cache=Path(sys.argv[1]))])
"""


def _write(server: PostgresServer, value: int) -> None:
    with psycopg.connect(server.dsn) as db:
        db.execute("CREATE TABLE side (a int)")
        db.execute("INSERT INTO side VALUES (%s)", [value])


def _read(server: PostgresServer) -> object:
    with psycopg.connect(server.dsn) as db:
        return db.execute("SELECT a FROM side").fetchall()


def test_two_stacks_side_by_side_and_found_again(tmp_path: Path) -> None:
    with Stack(tmp_path / "one") as one, Stack(tmp_path / "two") as two:
        for number, stack in enumerate((one, two)):
            _write(stack.postgres(), number)
        assert (_read(one.postgres()), _read(two.postgres())) == ([(0,)], [(1,)])
        address = two.postgres().address
        [state] = two.state()
        assert (state.name, state.running, state.address) == ("postgres-15", True, address)
        two.postgres().process.kill()
        assert not two.state()[0].running
    with Stack(tmp_path / "two") as again:
        assert again.postgres().address == address
        assert _read(again.postgres()) == [(1,)]


def test_a_killed_starter_leaves_no_postgres_behind(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        starter.kill()
    until(lambda: gone(pid))
    with Stack(tmp_path) as stack:
        assert stack.postgres().process.running


def test_an_unknown_postgres_major_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WracklineError) as raised:
        Stack(tmp_path).postgres(9)
    assert raised.value.code == postgres.UNKNOWN_MAJOR.code


def test_an_unknown_jar_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WracklineError) as raised:
        fetch([SMALL, SMALL._replace(artifact="slf4j-nowhere")], cache=tmp_path)
    assert raised.value.code == JAR_UNKNOWN.code
    assert "slf4j-nowhere" in raised.value.sentence
    assert "slf4j-simple" not in raised.value.sentence


@pytest.mark.parametrize("host", ["127.0.0.1", "nowhere.invalid"])
def test_a_jar_is_not_unknown_because_there_is_no_network(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Dhttps.proxyHost={host} -Dhttps.proxyPort=1")
    with pytest.raises(WracklineError) as raised:
        fetch([SMALL], cache=tmp_path)
    assert raised.value.code == FETCH_FAILED.code


def test_two_processes_fetch_the_same_jar_at_once(tmp_path: Path) -> None:
    both = [
        subprocess.Popen([sys.executable, "-c", FETCH, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [one.communicate(timeout=120)[0].strip() for one in both]
    assert said == [str(["slf4j-simple-1.7.36.jar", "slf4j-api-1.7.36.jar"])] * 2


def test_a_jar_that_went_away_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [SMALL._replace(transitive=False)]
    [jar] = fetch(alone, cache=tmp_path)
    monkeypatch.setattr(jars, "_resolve", lambda *_: pytest.fail("it is there: nothing is to be resolved"))
    assert fetch(alone, cache=tmp_path) == [jar]
    monkeypatch.undo()
    jar.unlink()
    assert fetch(alone, cache=tmp_path) == [jar]
    assert jar.exists()
