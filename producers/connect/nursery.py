"""Begins tasks' processes from one that has already loaded what they need.

    worker  ->  nursery: loads the modules, once, and does nothing else  ->  fork  ->  task  task  task

Loading takes a second of a processor; a fork of what is loaded takes some milliseconds, and its memory is
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

from wrackline.producers.connect import frozen
from wrackline.producers.connect.child import Begin, Running

Main = Callable[..., None]  # its arguments, and then its end of the lifeline


class Nursery:
    """Makes ways to begin a task."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Take the names of what is loaded before anything is forked."""
        self._context: ForkServerContext = get_context("forkserver")
        self._context.set_forkserver_preload([*modules, frozen.__name__])
        ensure_running()  # now: the first task, which may come in a hurry, shall find it loaded

    def way(self, main: Main, *arguments: object) -> Begin:
        """Return how a process is begun that calls `main`; what it is given must be picklable."""

        def begin(line: socket.socket, output: Connection) -> Running:
            process = self._context.Process(target=_run, args=(main, arguments, line, output))
            process.start()
            return _Forked(process)

        return begin


class _Forked:
    """A process of `multiprocessing`, as `subprocess` has one."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process
        self.pid = process.pid or 0
        self.wait = process.join
        self.kill, self.terminate = process.kill, process.terminate

    def poll(self) -> int | None:
        """Return its exit code."""
        return self._process.exitcode


def _run(main: Main, arguments: Sequence[object], line: socket.socket, output: Connection) -> None:
    """Be the task's process: its own session, so that Ctrl-C goes to the worker, which stops it in order."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1, closefd=False)  # a line at a time
    main(*arguments, line)
