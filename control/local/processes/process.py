"""Runs one server as a child process: start, wait until healthy, stop, kill, pause, resume, restart.

In: a `Program` (command, folder, ports, what "healthy" means). Out: a `Process` whose server listens when
`start` returns. It is right because no server outlives the process that started it (launch.py), because a
folder has one server at a time (a lock that is held until the server has really gone), and because every wait
has a deadline and notices a server that died.
"""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from wrackline.control.local.processes import launch
from wrackline.schemas.errors import OperatorNeeded, define

PORT_IN_USE = define(
    "stack.port_in_use",
    OperatorNeeded,
    "port {port}, which {server} wants, is in use",
    hint="see who has it: ss -ltnp 'sport = :{port}'",
)
FOLDER_IN_USE = define(
    "stack.folder_in_use",
    OperatorNeeded,
    "another {server} runs in {folder}",
    hint="stop the run that started it, or choose another folder",
)
SERVER_DIED = define(
    "stack.server_died",
    OperatorNeeded,
    "{server} ended (exit {code}) before it was ready",
    hint="read its log: less {log}",
)
SERVER_LATE = define(
    "stack.server_late",
    OperatorNeeded,
    "{server} was not ready within {seconds} s",
    hint="a busy machine may need another try; its log: {log}",
)
PREPARE_FAILED = define(
    "stack.prepare_failed",
    OperatorNeeded,
    "{server} could not prepare its data in {folder}",
    hint="read its log: less {log}",
)

Run = Callable[[Sequence[str]], None]
"""Runs a command in the server's folder, its words in the server's log; raises when it fails."""

POLL = 0.05  # seconds between two checks of a condition
LOG_TAIL = 12  # lines of a dead server's log that go with the error


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, where, what to do before, and when it is ready (`ready` is called until it is true)."""

    name: str
    command: Sequence[str]
    folder: Path
    ports: Sequence[int]
    ready: Callable[[], bool]
    prepare: Callable[[Run], None] = lambda run: None  # makes the data if there is none yet  # noqa: ARG005 nothing to make is the usual case
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    patience: float = 60.0
    stop_patience: float = 20.0


class Process:
    """One server; `start` after `kill` uses the same ports and the same data."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The file with all output of the server, over all its starts."""
        return self.program.folder / "log.txt"

    @property
    def pid(self) -> int | None:
        """The server's process number while it runs."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    @property
    def running(self) -> bool:
        """Whether the server's process exists; a paused one does."""
        return self.pid is not None

    def start(self) -> None:
        """Start the server and return when it is ready; do nothing if it runs."""
        if self.running:
            return
        lock = self._lock()
        try:
            for port in self.program.ports:
                if not is_free(port):
                    raise PORT_IN_USE(port=port, server=self.program.name)
            self.program.prepare(self.run)
            self._child = self._spawn(lock)
        finally:
            os.close(lock)  # the watcher holds it now
        try:
            wait_until(
                partial(self._ready, self._child),
                self.program.name,
                log=f"less {self.log}",
                patience=self.program.patience,
            )
        except BaseException:
            self.kill()  # nothing half-started stays, not even after Ctrl-C
            raise

    def stop(self) -> None:
        """Ask the server to stop; kill it when it takes too long."""
        if self._child is None:
            return
        self._child.send_signal(self.program.stop_signal)
        self._child.send_signal(signal.SIGCONT)  # a paused server could not receive it
        try:
            self._child.wait(self.program.stop_patience)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the server at once, as `kill -9` does; returns when its own children have gone too."""
        if self._child is None or self._child.poll() is not None:
            return
        below = _children(self._child.pid)  # PostgreSQL's have groups of their own, and hold its memory
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + self.program.stop_patience
        while any(map(_alive, below)) and time.monotonic() < deadline:
            time.sleep(POLL)

    def pause(self) -> None:
        """Freeze the server; its connections stay open and silent."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server continue."""
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start again, on the same ports and data."""
        self.stop()
        self.start()

    def run(self, command: Sequence[str]) -> None:
        """Run a command that prepares the server's data, in its folder, its output in the server's log."""
        program = self.program
        with self.log.open("ab") as log:
            ended = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=program.folder,
                timeout=program.patience,
                check=False,
            )
        if ended.returncode != 0:
            failed = PREPARE_FAILED(server=program.name, folder=program.folder, log=self.log)
            failed.add_note(tail(self.log))
            raise failed

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None:
            self._child.send_signal(number)  # does nothing once the child has ended

    def _lock(self) -> int:
        """Take the folder's lock; an earlier server, or its watcher, may still be letting go of it."""
        self.program.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.program.folder / "lock", os.O_RDWR | os.O_CREAT)
        deadline = time.monotonic() + 2 * launch.GRACE_MS / 1000
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as exc:
                if time.monotonic() > deadline:
                    os.close(lock)
                    raise FOLDER_IN_USE(server=self.program.name, folder=self.program.folder) from exc
                time.sleep(POLL)
            else:
                return lock

    def _spawn(self, lock: int) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                launch.launched(self.program.command, self.program.stop_signal, lock),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.program.folder,
                env={**os.environ, **self.program.environment},
                pass_fds=(lock,),
                start_new_session=True,  # Ctrl-C goes to us, and we stop the server
            )

    def _ready(self, child: subprocess.Popen[bytes]) -> bool:
        if child.poll() is not None:
            died = SERVER_DIED(server=self.program.name, code=child.returncode, log=self.log)
            died.add_note(tail(self.log))
            raise died
        return self.program.ready()


def wait_until(ready: Callable[[], bool], server: str, *, log: str, patience: float) -> None:
    """Return when the server is ready; raise if that takes longer than `patience` seconds.

    `log` is the command that shows the server's log.
    """
    deadline = time.monotonic() + patience
    while not ready():
        if time.monotonic() > deadline:
            raise SERVER_LATE(server=server, seconds=patience, log=log)
        time.sleep(POLL)


def tail(log: Path, lines: int = LOG_TAIL) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do: TIME_WAIT does not prevent it
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def is_listening(port: int) -> bool:
    """Whether a server accepts connections on this port of 127.0.0.1."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def _children(parent: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if _stat(pid)[1:] == (str(parent),)]


def _alive(pid: int) -> bool:
    return _stat(pid)[:1] not in ((), ("Z",), ("X",))


def _stat(pid: int) -> tuple[str, ...]:
    """Return a process's state and its parent; nothing if it has gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ()
    return tuple(text.rpartition(")")[2].split()[:2])  # its name, in parentheses, may contain anything
