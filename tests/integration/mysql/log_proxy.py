"""A relay before a server that can keep the log back, and nothing else: a reader of rows gets ahead of it.

A connection that asks for a dump is known by the number of that command, which is all that is looked at.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fixtures.cut_proxy import CutProxy, Way

_DUMPS = frozenset({0x12, 0x1E})  # COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID
_DROP, _BETWEEN_DROPS = 1_000, 0.002
_COMMAND = 4  # where a command's number stands, behind the packet's length and number


class LogProxy(CutProxy):
    """One listener, in front of one server."""

    def __init__(self, upstream: int) -> None:
        super().__init__(upstream)
        self.drips = False  # so that its reader meets it event by event, not all at once
        self._dumps: set[int] = set()  # connections, each by its id
        self._flows = threading.Event()
        self._flows.set()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Hand no byte of any dump on until the block ends."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()

    def parts(self, link: object, way: Way, piece: bytes) -> Iterator[bytes]:
        """Know a dump by its command, and keep back what comes of it."""
        if way is Way.UP and len(piece) > _COMMAND and piece[_COMMAND] in _DUMPS:
            self._dumps.add(id(link))
        elif way is Way.DOWN and id(link) in self._dumps:
            self._flows.wait()
            while self.drips and piece:
                yield piece[:_DROP]
                piece = piece[_DROP:]
                time.sleep(_BETWEEN_DROPS)
        yield piece
