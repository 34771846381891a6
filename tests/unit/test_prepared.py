"""A forked command is what a started one is: the same outputs, exit codes, signals and environment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.prepared import Forked, run_command
from wrackline.producers import failpoints

FILE = """
name = "shop"
topic.prefix = "shop"
[source]
connector.class = "postgres"
database.hostname = "127.0.0.1"
database.port = 1
database.user = "u"
database.dbname = "d"
[kafka]
bootstrap.servers = "127.0.0.1:1"
[schema.registry]
url = "http://127.0.0.1:1"
"""


MORE = (["--version"], ["settings", "topic.prefix"], ["nothing"])


@pytest.mark.parametrize(
    "words", [["errors", "no.code"], *(pytest.param(words, marks=pytest.mark.full) for words in MORE)]
)
def test_it_prints_and_ends_as_one_that_is_started(words: list[str]) -> None:
    command = [sys.executable, "-m", "wrackline.control", *words]
    started = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    forked = run_command(words)
    same = (started.returncode, started.stdout, started.stderr)
    assert (forked.returncode, forked.stdout, forked.stderr) == same


def test_its_environment_and_folder_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(FILE.replace('"u"', '"${env:WRACKLINE_DB_USER}"'))
    missing = run_command(["check", "shop.toml"], cwd=tmp_path)
    assert "WRACKLINE_DB_USER" in missing.stdout + missing.stderr
    there = run_command(["check", "shop.toml"], cwd=tmp_path, env={**os.environ, "WRACKLINE_DB_USER": "u"})
    assert "WRACKLINE_DB_USER" not in there.stdout + there.stderr


def test_a_signal_reaches_it_and_its_end_is_reported(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(FILE)
    with Forked(
        ["run", str(tmp_path / "shop.toml")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.poll() is None
        assert process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.kill()
        assert process.wait(60) == process.poll() == -signal.SIGKILL


def test_failpoints_are_armed_by_its_environment(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(FILE)
    wrong = {**os.environ, failpoints.VARIABLE: "nowhere=kill"}
    assert "names no place" in run_command(["check", str(tmp_path / "shop.toml")], env=wrong).stderr
