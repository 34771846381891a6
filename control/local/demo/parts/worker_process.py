"""The worker as a child process that can be killed and started again: `wrackline run`.

In: a folder for its log, the pipeline's file, and the port where the file has its figures.  Out: a `Process`,
whose `start` returns when the log is streamed.
"""

import sys
import urllib.request
from pathlib import Path

import orjson

from wrackline.control.local.processes.process import Process, Program
from wrackline.control.runtime.ground.scrape_port import HOST, STATUS

_ANSWER = 5.0  # seconds


def worker_process(folder: Path, file: Path, port: int) -> Process:
    """Make the worker, not yet started."""

    def streams() -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{port}{STATUS}", timeout=_ANSWER) as answer:
                told = orjson.loads(answer.read())
        except OSError:
            return False
        return bool(told["pid"] == process.pid and told["running"])

    command = [sys.executable, "-m", "wrackline.control", "run", str(file)]
    process = Process(Program("worker", command, folder, [port], streams))
    return process
