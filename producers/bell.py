"""Wakes a thread that waits for a socket: it waits for the bell as well.

In: a ring, from any thread.  Out: a file descriptor that can be read until the ring was heard.  Nobody waits
to ring, and a ring after the end is heard by nobody.
"""

import socket
from contextlib import suppress
from threading import Lock
from weakref import finalize

_MANY = 4096  # rings that are heard at once


class Bell:
    """One listener's."""

    def __init__(self) -> None:
        self._ear, self._clapper = socket.socketpair()
        self._ear.setblocking(False)
        self._clapper.setblocking(False)
        self._lock = Lock()  # a closed socket's number may be another's by now
        for half in (self._ear, self._clapper):
            finalize(self, half.close)  # of one that is dropped with its listener

    def fileno(self) -> int:
        """What to wait for."""
        return self._ear.fileno()

    def ring(self) -> None:
        """Wake who waits, or who waits next."""
        with self._lock, suppress(BlockingIOError):  # it rings enough
            if self._clapper.fileno() >= 0:
                self._clapper.send(b"!")

    def hush(self) -> None:
        """Have heard it."""
        with suppress(BlockingIOError):
            self._ear.recv(_MANY)

    def close(self) -> None:
        """End; twice is harmless."""
        with self._lock:
            self._ear.close()
            self._clapper.close()
