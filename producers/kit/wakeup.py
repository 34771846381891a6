"""Wakes a thread that waits for a socket: it waits for this bell as well.

In: a ring, from any thread.  Out: a file descriptor that can be read until the ring is heard.  A ring never
waits, and a ring after the end has no effect.
"""

import socket
from contextlib import suppress
from threading import Lock
from weakref import finalize

_MANY = 4096  # rings that are heard at once


class Wakeup:
    """The bell of one listener."""

    def __init__(self) -> None:
        self._ear, self._clapper = socket.socketpair()
        self._ear.setblocking(False)
        self._clapper.setblocking(False)
        self._lock = Lock()  # a closed socket's number may be in use again
        for half in (self._ear, self._clapper):
            finalize(self, half.close)  # if it is dropped with its listener

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._ear.fileno()

    def set(self) -> None:
        """Wake the thread that waits, or that waits next."""
        with self._lock, suppress(BlockingIOError):  # enough rings wait
            if self._clapper.fileno() >= 0:
                self._clapper.send(b"!")

    def clear(self) -> None:
        """Note that it was heard."""
        with suppress(BlockingIOError):
            self._ear.recv(_MANY)

    def close(self) -> None:
        """End; twice is harmless."""
        with self._lock:
            self._ear.close()
            self._clapper.close()
