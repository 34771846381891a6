"""What a piece of work costs: CPU seconds and peak memory of a process and its descendants.

    with metered(pid) as meter: work()  ->  meter.cost

CPU is the difference between the end and the start; a process that ended in between is in its parent's
account of children.  Peak memory is the kernel's own high-water mark of each process, so infrequent
looks miss only a process that lived shorter than one interval.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

LOOK_EVERY_S = 0.25


class Cost(NamedTuple):
    """CPU seconds and peak megabytes of a process tree."""

    cpu_s: float
    peak_mb: float


class Meter:
    """Watches one process tree; `cost` is there when the block has ended."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ended = threading.Event()
        self._peak_mb = 0.0
        self._cpu_before = self._cpu()
        self._watch = threading.Thread(target=self._look_until_ended, daemon=True)
        self.cost = Cost(0.0, 0.0)

    def start(self) -> None:
        """Begin to look."""
        self._watch.start()

    def stop(self) -> None:
        """Look once more and set `cost`."""
        self._ended.set()
        self._watch.join()
        self._look()
        self.cost = Cost(self._cpu() - self._cpu_before, self._peak_mb)

    def _look_until_ended(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        self._peak_mb = max(self._peak_mb, sum(_peak_mb(process) for process in self._tree()))

    def _cpu(self) -> float:
        return cpu_seconds(self._pid)

    def _tree(self) -> list[psutil.Process]:
        return _tree(self._pid)


@contextmanager
def metered(pid: int | None = None) -> Iterator[Meter]:
    """Meter the block's cost in the tree of `pid`, or of this process."""
    meter = Meter(os.getpid() if pid is None else pid)
    meter.start()
    try:
        yield meter
    finally:
        meter.stop()


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and its descendants until now."""
    return sum(_cpu_s(process) for process in _tree(pid))


def _tree(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []


def _cpu_s(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def _peak_mb(process: psutil.Process) -> float:
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in (
            Path(f"/proc/{process.pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        ):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    with suppress(psutil.NoSuchProcess):  # no such mark on this system: what it holds now
        return float(process.memory_info().rss) / 2**20
    return 0.0
