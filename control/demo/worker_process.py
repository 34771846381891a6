"""The worker as a child process that can be killed and started again.

In: a folder for its log, and the pipeline's file.  Out: a `Process`, whose `start` returns when the log is
streamed.
"""

import sys
from pathlib import Path

from wrackline.control.stack.process import Process, Program

READY = "ready"  # beside the pipeline's file: the number of the process that streams


def worker_process(folder: Path, file: Path) -> Process:
    """Make the worker, not yet started."""
    ready = file.with_name(READY)

    def streams() -> bool:
        return ready.exists() and ready.read_text() == str(process.pid)

    command = [sys.executable, "-m", "wrackline.control.demo.worker", str(file)]
    process = Process(Program("worker", command, folder, [], streams))
    return process
