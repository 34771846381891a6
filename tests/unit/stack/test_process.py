"""A server is stopped, killed and restarted as asked, and never outlives the process that started it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import (
    FOLDER_IN_USE,
    PORT_IN_USE,
    SERVER_DIED,
    SERVER_LATE,
    Process,
    Program,
    is_listening,
)
from wrackline.schemas.errors import WracklineError

# A real server of a few lines: it serves its folder.
SERVER = """
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()
"""
# The same with a child in a group of its own, as PostgreSQL's are.
PARENT = """
import subprocess
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
open("child", "w").write(str(child.pid))
"""
STARTER = """
import sys, time
from pathlib import Path
from tests.unit.stack.test_process import program
from wrackline.control.local.processes.process import Process
process = Process(program(Path(sys.argv[1])))
process.start()
print(process.pid, process.program.ports[0], flush=True)
try:
    time.sleep(600)
finally:
    process.stop()
"""


def program(folder: Path, code: str = SERVER, patience: float = 20.0) -> Program:
    """The small server in this folder."""
    [port] = choose(folder, "web").values()
    command = [sys.executable, "-c", code, str(port)]
    return Program("web", command, folder, [port], partial(is_listening, port), patience=patience)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    made = Process(program(tmp_path / "web"))
    yield made
    made.kill()


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Return when the condition holds; fail when it does not within the time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_it_answers_once_started_and_is_gone_once_stopped(process: Process) -> None:
    process.start()
    [port] = process.program.ports
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/ports.json", timeout=5) as answer:
        assert answer.status == 200
    pid = process.pid
    process.start()
    assert process.pid == pid  # a second start does nothing
    process.stop()
    assert not process.running
    assert not is_listening(port)
    assert '"GET /ports.json' in process.log.read_text()


def test_kill_ends_its_children_too_and_restart_takes_the_same_port(tmp_path: Path) -> None:
    process = Process(program(tmp_path, PARENT + SERVER))
    for _ in range(2):
        process.start()
        assert is_listening(process.program.ports[0])
        process.kill()
        assert gone(int((tmp_path / "child").read_text()))


def test_a_paused_server_is_silent_until_it_is_resumed(process: Process) -> None:
    process.start()
    process.pause()
    url = f"http://127.0.0.1:{process.program.ports[0]}/ports.json"
    with pytest.raises((TimeoutError, urllib.error.URLError)):
        urllib.request.urlopen(url, timeout=0.3).close()
    assert process.running
    process.resume()
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.status == 200


def test_a_paused_server_can_be_stopped(process: Process) -> None:
    process.start()
    process.pause()
    process.stop()
    assert not process.running


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_starter(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as starter:
        assert starter.stdout is not None
        pid, port = map(int, starter.stdout.readline().split())
        assert is_listening(port)
        starter.send_signal(number)
        starter.wait(30)
    until(partial(gone, pid))
    until(lambda: not is_listening(port))  # its first thread ends before the others, which hold the port


def test_a_paused_server_does_not_outlive_its_starter_either(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline().split()[0])
        os.kill(pid, signal.SIGSTOP)
        starter.kill()
    until(partial(gone, pid))


def test_the_folder_is_free_again_once_a_killed_starters_server_is_gone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        starter.stdout.readline()
        starter.kill()
    again = Process(program(tmp_path))
    again.start()  # waits for the other to let go; the port is the same
    assert again.running
    again.kill()


def test_a_port_in_use_is_named_before_anything_starts(process: Process) -> None:
    [port] = process.program.ports
    with socket.create_server(("127.0.0.1", port)), pytest.raises(WracklineError) as raised:
        process.start()
    assert raised.value.code == PORT_IN_USE.code
    assert str(port) in raised.value.hint
    assert not process.log.exists()


def test_two_servers_cannot_share_a_folder(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    process.start()
    monkeypatch.setattr("wrackline.control.local.processes.launch.GRACE_MS", 50)
    with pytest.raises(WracklineError) as raised:
        Process(process.program).start()
    assert raised.value.code == FOLDER_IN_USE.code


def test_a_server_that_dies_says_why(tmp_path: Path) -> None:
    with pytest.raises(WracklineError) as raised:
        Process(program(tmp_path, "raise SystemExit('no disk')")).start()
    assert raised.value.code == SERVER_DIED.code
    assert "no disk" in raised.value.__notes__[0]


def test_a_server_that_never_answers_is_given_up_and_ended(tmp_path: Path) -> None:
    late = Process(program(tmp_path, "import time; time.sleep(600)", patience=0.3))
    with pytest.raises(WracklineError) as raised:
        late.start()
    assert raised.value.code == SERVER_LATE.code
    assert f"less {late.log}" in raised.value.hint
    assert not late.running
