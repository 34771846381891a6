"""One connection that answers questions about the catalogue; it is lent to one caller at a time.

    lend  ->  wait for the lock  ->  open it if there is none  ->  the caller asks, errors become ours

Several threads ask: the task, the readers, the stream.  A connection that the server has ended shows that
only when it is used.  Its caller then gets the error, and the next caller gets another connection.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Final, Generic, Protocol, TypeVar

_ACTION: Final = "answer about its catalogue"  # follows "the server did not" in an error


class ClosableConnection(Protocol):
    """A driver's connection; to close it twice may be an error."""

    def close(self) -> None:
        """End it."""
        ...


C = TypeVar("C", bound=ClosableConnection)


class LentConnection(Generic[C]):
    """A connection that is opened when it is first needed, and again after it was lost or closed."""

    def __init__(
        self,
        connect: Callable[[], C],
        is_open: Callable[[C], bool],
        translate_errors: Callable[[C, str], AbstractContextManager[None]],
    ) -> None:
        self._connect, self._is_open, self._translate_errors = connect, is_open, translate_errors
        self._lock = Lock()
        self._connection: C | None = None

    @contextmanager
    def lend(self) -> Iterator[C]:
        """Lend it to one caller; a caller that has it must not ask for it again."""
        with self._lock:
            if self._connection is None or not self._is_open(self._connection):
                self._connection = self._connect()
            with self._translate_errors(self._connection, _ACTION):
                yield self._connection

    def close(self) -> None:
        """End it, once nobody has it; twice is harmless."""
        with self._lock:
            if self._connection is not None and self._is_open(self._connection):
                self._connection.close()
