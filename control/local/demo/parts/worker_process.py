"""The worker as a child process that can be killed and started again: `wrackline run`.

In: a folder for its log, the pipeline's file, and the port where the file has its figures.  Out: a `Process`,
whose `start` returns when the log is streamed.
"""

import re
import sys
import urllib.request
from pathlib import Path

from wrackline.control.local.processes.process import Process, Program
from wrackline.control.runtime.ground.scrape_port import HOST, METRICS

_ANSWER = 5.0  # seconds
_RUNS = re.compile(rb"^wrackline_running\{[^}]*\} 1", re.MULTILINE)


def worker_process(folder: Path, file: Path, port: int) -> Process:
    """Make the worker, not yet started."""

    def streams() -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}{METRICS}", timeout=_ANSWER) as answer:
                return _RUNS.search(answer.read()) is not None
        except OSError:
            return False

    command = [sys.executable, "-m", "wrackline.control", "run", str(file)]
    return Process(Program("worker", command, folder, [port], streams))
