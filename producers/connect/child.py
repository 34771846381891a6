"""One task's process, as its worker sees it: started, heard, asked to stop, killed.

In: how its process is begun.  Out: its reports and the lines that it prints, as they come, the last one too,
and its exit code.  It is right because the worker never waits for a child (what it says is read when there
is something), and because a child can't outlive its worker: it holds the other end of a line that the kernel
closes.
"""

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Protocol

import orjson

MOST_LINE = 1 << 16  # bytes of a line, above which it is cut
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Running(Protocol):
    """A process, as `subprocess` has it."""

    @property
    def pid(self) -> int:
        """Its number."""
        ...

    def poll(self) -> int | None:
        """Return its exit code, a signal as a negative number; None while it runs."""
        ...

    def wait(self) -> object:
        """Return when it has ended."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM."""
        ...

    def kill(self) -> None:
        """Send SIGKILL."""
        ...


Begin = Callable[[socket.socket, Connection], Running]  # its end of the lifeline, and what it prints to


@dataclass(frozen=True, slots=True)
class Said:
    """A line that the child printed."""

    line: str


@dataclass(frozen=True, slots=True)
class Reported:
    """What it told through the lifeline."""

    report: dict[str, object]


class _Lines:
    """Whole lines out of pieces; where a limit is given, a longer one is cut, so that memory has a bound."""

    def __init__(self, most: int | None = None) -> None:
        self._rest, self._most = b"", most

    def add(self, data: bytes) -> list[bytes]:
        """Return the lines that are whole now."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if self._most is None:
            return whole
        cut = [piece for line in whole for piece in _pieces(line, self._most)]
        if len(self._rest) > self._most:
            *filled, self._rest = _pieces(self._rest, self._most)
            cut += filled
        return cut

    def rest(self) -> list[bytes]:
        """Return what is left without an end, for no more will come."""
        left, self._rest = self._rest, b""
        return [left] if left else []


def _pieces(line: bytes, most: int) -> list[bytes]:
    return [line[at : at + most] for at in range(0, len(line), most)] or [line]


class Child:
    """A process that runs."""

    def __init__(self, begin: Begin) -> None:
        ours, theirs = socket.socketpair()
        printed, written = Pipe(duplex=False)
        try:
            with theirs, written:
                self._process = begin(theirs, written)
        except BaseException:
            ours.close()
            printed.close()
            raise
        self._line, self._printed = ours, printed
        ours.setblocking(False)
        os.set_blocking(printed.fileno(), False)
        # The reports are whole whatever their size: our own code wrote them, and half of one can't be read.
        self._lines, self._reports = _Lines(MOST_LINE), _Lines()

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended, a signal as a negative number; None while it runs."""
        return self._process.poll()

    @property
    def memory(self) -> int:
        """How many bytes of memory it has to itself; 0 when it has ended."""
        try:
            _, resident, shared, *_ = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return 0
        return (int(resident) - int(shared)) * _PAGE

    @property
    def descriptors(self) -> tuple[int, int]:
        """What to wait for, to hear from it or of its end."""
        return self._line.fileno(), self._printed.fileno()

    def hear(self) -> Iterator[Said | Reported]:
        """Give what it has said since, without waiting; of one that has ended all of it."""
        ended = self.exit_code is not None  # first: what it said before its end is all there
        printed = self._lines.add(_read(self._printed.fileno()))
        for line in [*printed, *self._lines.rest()] if ended else printed:
            yield Said(line.decode(errors="replace").rstrip("\r"))
        for report in self._reports.add(_read(self._line.fileno())):
            yield Reported(orjson.loads(report))

    def ask_to_stop(self) -> None:
        """Ask it to end in order."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """Let go of what belongs to it, once it has ended; one that has not is killed."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._line.close()
        self._printed.close()


def _read(descriptor: int) -> bytes:
    """Read all that is there now."""
    pieces = []
    while True:
        try:
            piece = os.read(descriptor, MOST_LINE)
        except (BlockingIOError, ConnectionResetError):
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces)
