"""A socket that accepts a limited number of connections, stalled handshakes included.

The web server counts only connections that have reached HTTP.  A client that stalls before that, in TLS,
would use up file descriptors of this process without a bound, and a worker needs them to start its tasks.
In: an address.  Out: a socket for asyncio, which calls `accept` for each new connection.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final

from wrackline.control.runtime.rest.server.connection_counts import ConnectionCounts
from wrackline.control.runtime.rest.server.rest_settings import ListenAddress
from wrackline.schemas.errors import OperatorNeeded, define

_AT_ONCE: Final = 200  # twice what the web server serves: it can answer what is too much only for itself
_OF_ONE: Final = 160  # of these, from one address

PORT_TAKEN = define(
    "rest.port_taken",
    OperatorNeeded,
    "port {port} can't be listened on: {reason}",
    hint="name another: wrackline worker --rest-port <port>; or 0 for one that is free",
)


class LimitedListener(socket.socket):
    """Listens; closes each connection above the limit at once."""

    before: Callable[[], None] | None = None  # called before each connection

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - as the base has it
        super().__init__(*given)
        self.open = ConnectionCounts()

    def accept(self) -> tuple[socket.socket, Any]:
        """Take the next connection."""
        if self.before is not None:
            self.before()
        taken, who = super().accept()
        if self.open.total >= _AT_ONCE or self.open.of(who[0]) >= _OF_ONE:
            taken.close()
            raise ConnectionAbortedError
        return _Counted(taken, self, who[0]), who


class _Counted(socket.socket):
    """A connection that reports its end."""

    def __init__(self, taken: socket.socket, listening: LimitedListener, address: str) -> None:
        super().__init__(taken.family, taken.type, taken.proto, fileno=taken.detach())
        self._listening: LimitedListener | None = listening
        self._address = address
        listening.open.begin(address)

    def close(self) -> None:
        """Close it, and count it no longer."""
        super().close()
        if self._listening is not None:
            self._listening.open.end(self._address)
            self._listening = None


class HandshakesEnd(asyncio.SelectorEventLoop):
    """An event loop that limits the time of a TLS handshake, and of its end."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def create_server(self, *given: Any, **named: Any) -> asyncio.Server:  # noqa: ANN401 - as the base has it
        """Listen."""
        if named.get("ssl"):
            named |= {"ssl_handshake_timeout": self._seconds, "ssl_shutdown_timeout": self._seconds}
        return await super().create_server(*given, **named)


def listen(address: ListenAddress) -> LimitedListener:
    """Listen on an address."""
    # asyncio sends small answers at once only where the protocol is named; else each waits some 40 ms
    made = LimitedListener(address.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address.place)
        made.listen(_AT_ONCE)
    except OSError as error:
        made.close()
        raise PORT_TAKEN(port=address.place[1], reason=error.strerror or str(error)) from error
    return made
