"""Contenders that do next to nothing, so that a test sees the framework alone."""

import os
import threading
import time
from pathlib import Path

from bench.score import Outcome


def count(name: str, diary: Path, rate: float) -> Outcome:
    """Write down that this contender had its turn, and claim a rate."""
    with diary.open("a") as lines:
        lines.write(name + "\n")
    return Outcome({"rows_per_s": rate})


def hold(megabytes: int, cpu_s: float) -> Outcome:
    """Use so much memory and so much processor."""
    held = bytearray(megabytes * 2**20)
    while time.process_time() < cpu_s:
        pass
    return Outcome({"bytes": float(len(held))})


def fail() -> Outcome:
    """Fail as a contender would."""
    raise RuntimeError("the server is away")


def linger(note: Path) -> Outcome:
    """Print this process's number, then wait to be ended."""
    note.with_suffix(".part").write_text(str(os.getpid()))
    note.with_suffix(".part").rename(note)
    threading.Event().wait(120)
    return Outcome({})
