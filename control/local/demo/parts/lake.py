"""The warehouse as the demo sees it: a child process that reads the table, and compares.

In: a folder and the pipeline's file.  Out: the newest numbers, and a verdict on request.  The child ends when
the pipe to it closes; what is left of its process group is then ended by number.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from wrackline.control.local.demo.parts.comparison import CopyComparison
from wrackline.control.local.processes.process import POLL, tail
from wrackline.control.runtime.spark import java
from wrackline.schemas.errors import OperatorNeeded, define

LAKE_ENDED = define(
    "demo.lake_ended",
    OperatorNeeded,
    "the demo's reader ended before it had done its work",
    hint="read its log: less {log}",
)
LAKE_LATE = define(
    "demo.lake_late",
    OperatorNeeded,
    "the demo's reader did not answer within {seconds} s",
    hint="read its log: less {log}; a busy machine may need another try",
)
_JAVA = "-XX:TieredStopAtLevel=1"  # the second compiler pays after minutes, and takes a core until then
_START = 120.0
_COMPARE = 180.0
_END = 30.0


class LakeProcess:
    """One process; leaving the block ends it."""

    def __init__(self, kind: str, folder: Path, file: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "log.txt"
        program = [
            sys.executable,
            "-m",
            "wrackline.control.local.demo.parts.lake_reader",
            kind,
            str(folder),
            str(file),
        ]
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **java_environment()},
                start_new_session=True,  # Ctrl-C goes to us, and we end it
            )
        self._reader = threading.Thread(target=self._read, name="lake")
        self._ready = False
        self._verdict: CopyComparison | None = None
        self.offsets = 0  # that the table has applied, summed over the partitions
        self.rows = 0  # that a reader sees
        self.error: str | None = None  # the last look's error, if it failed
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Let a look that has begun end, then end the process; twice is harmless."""
        if self._child.stdin is not None:
            with contextlib.suppress(OSError):
                self._child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_END)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._reader.join()

    @property
    def pid(self) -> int:
        """The child's process number."""
        return self._child.pid

    def await_ready(self) -> None:
        """Return when it looks."""
        self._wait(lambda: self._ready, _START)

    def compare(self) -> CopyComparison:
        """Compare the source with the warehouse, as both are now."""
        self._ask_for_verdict()
        self._wait(lambda: self._verdict is not None, _COMPARE)
        if self._verdict is None:
            raise LAKE_ENDED(log=self.log)
        return self._verdict

    def check(self) -> None:
        """Raise when the child has ended by itself."""
        if self._child.poll() is not None:
            ended = LAKE_ENDED(log=self.log)
            ended.add_note(tail(self.log))
            raise ended

    def _ask_for_verdict(self) -> None:
        self._verdict = None
        if self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.write(b"compare\n")
                self._child.stdin.flush()

    def _wait(self, done: Callable[[], bool], patience: float) -> None:
        deadline = time.monotonic() + patience
        while not done():
            self.check()
            if time.monotonic() > deadline:
                raise LAKE_LATE(seconds=patience, log=self.log)
            time.sleep(POLL)

    def _read(self) -> None:
        if self._child.stdout is None:
            return
        with self._child.stdout as lines:
            for line in lines:
                self._hear(orjson.loads(line))

    def _hear(self, answer: dict[str, Any]) -> None:
        match answer:
            case {"ready": True}:
                self._ready = True
            case {"offsets": int(offsets), "rows": int(rows)}:
                self.offsets, self.rows, self.error = offsets, rows, None
            case {"verdict": dict(verdict)}:
                lists = (tuple(verdict[name]) for name in ("missing", "surplus", "changed", "absent"))
                self._verdict = CopyComparison(verdict["rows"], verdict["columns"], *lists)
            case {"error": str(error)}:
                self.error = error


def java_environment() -> dict[str, str]:
    """Return the Java that was found, and its options besides the user's own options."""
    options = f"{_JAVA} {os.environ.get('JDK_JAVA_OPTIONS', '')}".strip()
    return {"JAVA_HOME": str(java.find_java().home), "JDK_JAVA_OPTIONS": options}
