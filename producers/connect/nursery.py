"""Starts tasks' processes from a process that has already loaded what they need.

    worker  ->  nursery: loads the modules, once, and does nothing else  ->  fork  ->  task  task  task

Loading takes a second of CPU time; a fork of what is loaded takes some milliseconds, and its memory is
shared until it is written to.  It is right because the nursery has one thread and no connection when it is
forked; `multiprocessing` keeps it, and it ends with the worker.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running

from wrackline.producers.connect import gc_freeze
from wrackline.producers.connect.child import Begin, RunningProcess

Main = Callable[..., None]  # its arguments, and then its end of the lifeline


class Nursery:
    """Makes ways to start a task."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Take the names of the modules that are loaded before anything is forked."""
        self._context: ForkServerContext = get_context("forkserver")
        self._context.set_forkserver_preload([*modules, gc_freeze.__name__])
        ensure_running()  # now: the first task, which may be urgent, must find it loaded

    def way(self, main: Main, *arguments: object) -> Begin:
        """Return a function that starts a process that calls `main`; the arguments must be picklable."""

        def begin(line: socket.socket, output: Connection) -> RunningProcess:
            process = self._context.Process(target=_run, args=(main, arguments, line, output))
            process.start()
            return _Forked(process)

        return begin


class _Forked:
    """A process of `multiprocessing`, with the interface of one from `subprocess`."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self.pid = process.pid or 0
        self.wait = process.join
        self.kill, self.terminate = process.kill, process.terminate

    def poll(self) -> int | None:
        """Return its exit code."""
        return self._process.exitcode


def _run(main: Main, arguments: Sequence[object], line: socket.socket, output: Connection) -> None:
    """Run the task's process, in a session of its own: Ctrl-C goes to the worker, which stops it in order."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1, closefd=False)  # line by line
    main(*arguments, line)
