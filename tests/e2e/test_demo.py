"""`./run demo` as a user runs it: it ends well, survives its own crash, and leaves nothing behind."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from wrackline.control.local.emulators.spanner import find_emulator

pytestmark = [pytest.mark.servers, pytest.mark.spark]


def demo(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "wrackline.control.local.demo", "--folder", str(folder), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def look(said: str, name: str) -> str:
    """Run a line that the demo has printed; `./run` would install first what is installed here."""
    (line,) = (
        line
        for line in said.splitlines()
        if name in line and line.startswith(("  ./run", "  .venv", "  /", "  '/", "  rm"))
    )
    words = shlex.split(line)
    if words[:2] == ["./run", "wrackline"]:
        words[:2] = [sys.executable, "-m", "wrackline.control"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def left_of(folder: Path) -> list[str]:
    """Every process that has to do with the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            words, where = process.cmdline(), process.cwd()
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
        if any(str(folder) in word for word in [*words, where]):
            found.append(" ".join(words)[:200])
    return found


def nothing_left(folder: Path) -> bool:
    deadline = time.monotonic() + 40
    while left_of(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left_of(folder) == []


def judge(said: str, source: str, target: str, columns: int) -> None:
    """What a demo has printed at its end: the copy is exact, after a kill -9 and a change of shape."""
    equal = re.search(
        rf"^EQUAL: ([\d,]+) rows of {columns} columns, ([\d,]+) values are the same in {re.escape(source)}"
        rf" and in {re.escape(target)}$",
        said,
        re.MULTILINE,
    )
    assert equal, said
    rows, values = (int(number.replace(",", "")) for number in equal.groups())
    assert rows > 500
    assert values == columns * rows
    assert re.search(r"^exactly once: ([\d,]+) changes, \1 events, 0 duplicates", said, re.MULTILINE), said
    first = re.search(r"kill -9: wrackline worker \(pid (\d+)\)", said)
    second = re.search(r"wrackline worker \(pid (\d+)\) continues", said)
    assert first, said
    assert second, said
    assert first[1] != second[1]
    assert not psutil.pid_exists(int(second[1]))
    assert "the worker reads the rows again" in said


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder below which nothing runs after the test."""
    yield tmp_path / "demo"
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("source", "title", "columns"),
    [
        ("postgres", "PostgreSQL", 20),
        pytest.param("mariadb", "MariaDB", 20, marks=pytest.mark.deep),
        pytest.param("sqlserver", "SQL Server (stand-in)", 19, marks=pytest.mark.full),
    ],
)
def test_the_demo_ends_well_and_its_worker_was_killed(
    folder: Path, source: str, title: str, columns: int
) -> None:
    with demo(folder, "--source", source, "--seconds", "6", "--keep") as process:
        assert process.stdout is not None
        said, looked = "", {}
        for line in process.stdout:
            said += line
            if "with kcat: the topics" in line:
                try:
                    looked = {name: look(said, name) for name in ("wrackline tail", "demo.warehouse_query")}
                finally:
                    process.send_signal(signal.SIGINT)
    assert process.returncode == 0, said
    assert len(looked["wrackline tail"].splitlines()) == 5
    assert "count(1)" in looked["demo.warehouse_query"]
    place = "00:00 no SQL Server runs here, a stand-in takes its place: docs/sqlserver.md\n"
    assert said.startswith(place) == (source == "sqlserver"), said
    judge(said, title, "Iceberg", columns)


@pytest.mark.parametrize(
    ("target", "title", "emulator"),
    [
        ("bigquery", "BigQuery", "bqemulator, an emulator,"),
        ("redshift", "Redshift", "an emulator over PostgreSQL"),
        ("snowflake", "Snowflake", "fakesnow, an emulator,"),
        ("spanner", "Spanner", "Google's emulator"),
    ],
)
@pytest.mark.full
def test_a_copy_in_an_emulator_is_exact_and_ends_with_it(
    folder: Path, target: str, title: str, emulator: str
) -> None:
    if target == "spanner" and find_emulator() is None:  # EMULATORS.md: sp-apart
        pytest.skip("Google's emulator is not here: gcloud components install cloud-spanner-emulator")
    with demo(folder, "--target", target, "--seconds", "6") as process:
        said, _ = process.communicate(timeout=900)
    assert process.returncode == 0, said
    assert said.startswith(f"00:00 no {title} runs here, {emulator} takes its place: docs/{target}.md\n")
    judge(said, "PostgreSQL", f"{title} (emulator)", 20)
    assert {path.name for path in (folder / "lake").rglob("*")} - {"log.txt", "key.p8"} == set()
    assert "demo.warehouse_query" not in said, "there is nothing to query"
    look(said, "rm -r")
    assert not folder.exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.full
def test_an_interrupted_demo_stops_everything(folder: Path, how: signal.Signals) -> None:
    with demo(folder, "--seconds", "600") as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "the shop is open" in line:
                break
        assert left_of(folder)
        os.kill(process.pid, how)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == (130 if how is signal.SIGINT else -how), said + rest
    assert ("everything that was started has been stopped" in rest) is (how is signal.SIGINT)


def test_a_folder_that_is_not_the_demo_s_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with demo(tmp_path) as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "demo.folder_foreign" in said
