"""One task's process, as its worker sees it: started, heard, asked to stop, killed.

In: how its process is started.  Out: its reports and the lines that it prints, as they come, including the
last one, and its exit code.  It is right because the worker never waits for a child (its output is read when
there is some), and because a child can't outlive its worker: it holds the other end of a line that the kernel
closes.
"""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Protocol

import orjson

from wrackline.producers.connect.lifeline import REST

MOST_LINE = 1 << 16  # bytes of a line, above which it is cut
_PAGE = os.sysconf("SC_PAGE_SIZE")


class RunningProcess(Protocol):
    """A process, with the interface of `subprocess`."""

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


Begin = Callable[
    [socket.socket, Connection], RunningProcess
]  # its end of the lifeline, and what it prints to


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line that the child printed."""

    line: str


@dataclass(frozen=True, slots=True)
class ChildReport:
    """A report through the lifeline."""

    report: dict[str, object]


class _Lines:
    """Whole lines from pieces; with a limit, a longer line is cut, so that memory has a bound."""

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
        """Return what is left without an end, because no more will come."""
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
        # Reports are whole whatever their size: our own code writes them, and half a report can't be read.
        self._lines, self._reports = _Lines(MOST_LINE), _Lines()

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit code, a signal as a negative number; None while it runs."""
        return self._process.poll()

    @property
    def memory(self) -> int:
        """Bytes of memory that it does not share; 0 when it has ended."""
        try:
            _, resident, shared, *_ = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        except (OSError, ValueError):
            return 0
        return (int(resident) - int(shared)) * _PAGE

    @property
    def descriptors(self) -> tuple[int, int]:
        """Descriptors to wait for, to get its output or notice its end."""
        return self._line.fileno(), self._printed.fileno()

    def hear(self) -> Iterator[PrintedLine | ChildReport]:
        """Yield what it has said since, without waiting; all of it if the child has ended."""
        ended = self.exit_code is not None  # first: what it said before its end is all there
        printed = self._lines.add(_read(self._printed.fileno()))
        for line in [*printed, *self._lines.rest()] if ended else printed:
            yield PrintedLine(line.decode(errors="replace").rstrip("\r"))
        for report in self._reports.add(_read(self._line.fileno())):
            yield ChildReport(orjson.loads(report))

    def ask_to_stop(self, *, rests: bool = False) -> None:
        """Ask it to end in order; `rests`: because somebody wished it."""
        if rests:
            self.say_rest()
        self._process.terminate()

    def say_rest(self) -> None:
        """Say that somebody wished that it rests, to a process that was asked to end or will be."""
        with suppress(OSError):  # it may end at this moment
            self._line.send(REST)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """Close what belongs to it, once it has ended; a process that has not ended is killed."""
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
