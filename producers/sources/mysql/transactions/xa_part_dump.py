"""A second dump beside the log's own, which brings the rows of one XA transaction and is closed behind them.

It does not wait at the log's end: rows that are not there now do not exist.
"""

from collections.abc import Callable
from typing import TypeVar

from wrackline.producers.sources.mysql.log.dump_refusals import LOG_PURGED
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.transactions.xa_parts import XA_PURGED, XaPart
from wrackline.schemas.errors import Definite

Answer = TypeVar("Answer")


class XaPartDump:
    """Its packets, with the interface of the log's packets."""

    def __init__(self, part: XaPart, flow: Callable[[], Packets], end: Callable[[], None]) -> None:
        self._part, self._end = part, end
        self._packets = self._call(flow)

    def fileno(self) -> int:
        """The socket's number, for select."""
        return self._packets.fileno()

    def fill(self) -> bool:
        """Read the socket's data; return whether there was any."""
        return self._packets.fill()

    def take(self) -> tuple[bytes, int, int] | None:
        """Return the next whole event."""
        return self._call(self._packets.take)

    def close(self) -> None:
        """End it here and on the server."""
        self._packets.close()
        self._end()

    def _call(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except Definite as exc:
            if exc.code != LOG_PURGED.code:
                raise
            raise XA_PURGED(xid=self._part.xid) from exc
