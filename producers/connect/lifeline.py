"""The line between a worker and a task's process: a socket pair, made by the worker, given to the child.

    child -> worker     what it is doing, one JSON object a line
    worker -> child     REST, before it is asked to stop because somebody wished it; when the line closes, the
                        worker is gone

The kernel closes the line when its owner ends in any way, including `kill -9`, so a child needs no heartbeat
to know that it is alone.  It then stops as if it had been asked to, and ends at once if that takes too long.
"""

import contextlib
import os
import signal
import socket
import time
from threading import Lock, Thread
from typing import Final

import orjson

GRACE = 5.0  # seconds to stop in order, once the worker is gone
REST: Final = b"rest"
ALONE = 3  # exit code of a child that ended by itself because its worker is gone

_MOST = 4096


class Lifeline:
    """The child's end."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._lock = Lock()
        self._rests = False

    def hold(self) -> None:
        """End this process when the line closes; a thread of its own watches it."""
        Thread(target=self._hold, name="lifeline", daemon=True).start()

    def rests(self) -> bool:
        """Whether somebody wished that this half is paused or stopped; else it is only asked to end."""
        return self._rests

    def tell(self, report: dict[str, object]) -> None:
        """Send a report to the worker; a worker that is gone needs none."""
        with self._lock, contextlib.suppress(OSError):
            self._line.sendall(orjson.dumps(report) + b"\n")

    def _hold(self) -> None:
        with contextlib.suppress(OSError):
            while word := self._line.recv(_MOST):
                self._rests = self._rests or REST in word  # it may be said twice
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(ALONE)
