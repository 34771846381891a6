"""The streams and readers that a source has opened and its caller may leave open.

In: each of them as it is opened, from any thread.  Out: all of them closed, when the source is.

A stream that the caller drops is not kept here, because its buffers are large.  A reader is kept until it is
closed, because it has a connection on the server.
"""

from contextlib import ExitStack
from threading import Lock
from typing import Protocol, TypeVar
from weakref import WeakSet

from wrackline.producers.contract.source_plugin import ChunkReader, LogStream


class ClosableReader(ChunkReader, Protocol):
    """A reader that says whether it was closed."""

    @property
    def closed(self) -> bool:
        """Whether its connection has ended."""
        ...


S = TypeVar("S", bound=LogStream)
R = TypeVar("R", bound=ClosableReader)


class OpenHandles:
    """What one source has opened."""

    def __init__(self) -> None:
        self._lock = Lock()  # every reader's thread opens its own
        self._streams: WeakSet[LogStream] = WeakSet()
        self._readers: list[ClosableReader] = []

    def keep_stream(self, stream: S) -> S:
        """Close it with the source, unless it is dropped before."""
        with self._lock:
            self._streams.add(stream)
        return stream

    def keep_reader(self, reader: R) -> R:
        """Close it with the source, unless it is closed before."""
        with self._lock:
            self._readers = [*(one for one in self._readers if not one.closed), reader]
        return reader

    def close(self) -> None:
        """Close all; the error of one is raised when the others are closed."""
        with self._lock:
            handles: list[ClosableReader | LogStream] = [*self._readers, *self._streams]
        with ExitStack() as ends:
            for handle in handles:
                ends.callback(handle.close)  # the last first, so the streams before the readers
