"""One connection that answers questions about the catalogue; it is lent to one caller at a time.

    lend  ->  wait for the lock  ->  open it if there is none  ->  the caller asks, errors become ours

Several threads ask: the task, the readers, the stream.  A connection that the server has ended shows that
only when it is used.  Its caller then gets the error, and the next caller gets another connection.

The databases of a task share how many stay open while nobody asks: beyond that the one that has been unused
for longest is closed.  So their number does not grow with that of the databases.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from typing import Any, Final, Generic, Protocol, TypeVar

_ACTION: Final = "answer about its catalogue"  # follows "the server did not" in an error
_MOST_UNUSED: Final = 16  # twice as many as a start has in use


class ClosableConnection(Protocol):
    """A driver's connection; to close it twice may be an error."""

    def close(self) -> None:
        """End it."""
        ...


C = TypeVar("C", bound=ClosableConnection)


class UnusedConnections:
    """Those of several databases that are open and that nobody has; any thread calls it."""

    def __init__(self) -> None:
        self.most = _MOST_UNUSED
        self._lock = Lock()
        self._unused: dict[LentConnection[Any], None] = {}  # the one that was used last is the last

    def take(self, one: "LentConnection[Any]") -> None:
        """Note that somebody has one."""
        with self._lock:
            self._unused.pop(one, None)

    def put(self, one: "LentConnection[Any]") -> None:
        """Take one that is not used any more, and close those that are too many."""
        with self._lock:
            self._unused[one] = None
            late = list(self._unused)[: max(0, len(self._unused) - self.most)]
            for other in late:
                del self._unused[other]
        for other in late:
            other.close_unused()


class LentConnection(Generic[C]):
    """A connection that is opened when it is first needed, and again after it was lost or closed."""

    def __init__(
        self,
        connect: Callable[[], C],
        is_open: Callable[[C], bool],
        translate_errors: Callable[[C, str], AbstractContextManager[None]],
        unused: UnusedConnections | None = None,
    ) -> None:
        """Take where it is while it is open and nobody has it, if others share that."""
        self._connect, self._is_open, self._translate_errors = connect, is_open, translate_errors
        self._unused = unused
        self._lock = Lock()
        self._connection: C | None = None

    @contextmanager
    def lend(self) -> Iterator[C]:
        """Lend it to one caller; a caller that has it must not ask for it again."""
        with self._lock:
            if self._unused is not None:
                self._unused.take(self)
            if self._connection is None or not self._is_open(self._connection):
                self._connection = self._connect()
            try:
                with self._translate_errors(self._connection, _ACTION):
                    yield self._connection
            finally:
                if self._unused is not None:
                    self._unused.put(self)

    def close(self) -> None:
        """End it, once nobody has it; twice is harmless."""
        with self._lock:
            self._end()

    def close_unused(self) -> None:
        """End it, unless somebody has it by now; the caller has another one, and gets none of its errors."""
        if self._lock.acquire(blocking=False):
            try:
                with suppress(Exception):
                    self._end()
            finally:
                self._lock.release()

    def _end(self) -> None:
        if self._connection is not None and self._is_open(self._connection):
            self._connection.close()
