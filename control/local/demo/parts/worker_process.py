"""The worker as a child process that can be killed and started again: `wrackline worker`.

In: a folder for its log, the pipeline's file, and the port of its REST and console.  Out: a `Process`, whose
`start` returns when the log is streamed.
"""

import sys
import urllib.request
from pathlib import Path

import orjson

from wrackline.control.local.demo.parts.demo_pipeline import SERVER
from wrackline.control.local.demo.parts.lake import java_environment
from wrackline.control.local.processes.process import Process, Program
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK

_ANSWER = 5.0  # seconds


def worker_process(folder: Path, file: Path, port: int, name: str = SERVER) -> Process:
    """Make the worker, not yet started."""

    def streams() -> bool:
        url = f"http://{LOOPBACK}:{port}/connectors/{name}/tasks/0/status"
        try:
            with urllib.request.urlopen(url, timeout=_ANSWER) as answer:
                return bool(orjson.loads(answer.read())["state"] == "RUNNING")
        except OSError:
            return False

    command = [sys.executable, "-m", "wrackline.control", "worker", str(file), "--rest-port", str(port)]
    return Process(Program("worker", command, folder, [port], streams, environment=java_environment()))


def console_url(port: int) -> str:
    """Return where the worker's console is."""
    return f"http://{LOOPBACK}:{port}/console/"
