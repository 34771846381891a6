"""A socket that accepts so many connections and no more, handshakes that stall among them.

The web server counts what has come as far as HTTP; who stalls before that, in TLS, would take up files of
this process without a bound, and a worker needs its files to begin its tasks.
In: an address.  Out: a socket for asyncio, which calls `accept` whenever somebody knocks.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, Final

from wrackline.control.rest.settings import Address
from wrackline.control.rest.shares import Shares
from wrackline.schemas.errors import OperatorNeeded, define

_AT_ONCE: Final = 200  # twice what the web server serves: what is too much for it alone, it answers
_OF_ONE: Final = 160  # of these, from one neighbour

PORT_TAKEN = define(
    "rest.port_taken",
    OperatorNeeded,
    "port {port} can't be listened on: {reason}",
    hint="name another: wrackline worker --rest-port <port>; or 0 for one that is free",
)


class Listening(socket.socket):
    """Listens; one connection too many is hung up on at once."""

    before: Callable[[], None] | None = None  # called before each connection

    def __init__(self, *given: Any) -> None:  # noqa: ANN401 - as the base has it
        super().__init__(*given)
        self.open = Shares()

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
    """A connection that says when it ends."""

    def __init__(self, taken: socket.socket, listening: Listening, address: str) -> None:
        super().__init__(taken.family, taken.type, taken.proto, fileno=taken.detach())
        self._listening: Listening | None = listening
        self._address = address
        listening.open.begin(address)

    def close(self) -> None:
        """End it, and count it no more."""
        super().close()
        if self._listening is not None:
            self._listening.open.end(self._address)
            self._listening = None


class HandshakesEnd(asyncio.SelectorEventLoop):
    """An event loop that waits for a TLS handshake, and for its end, no longer than it is told."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def create_server(self, *given: Any, **named: Any) -> asyncio.Server:  # noqa: ANN401 - as the base has it
        """Listen."""
        if named.get("ssl"):
            named |= {"ssl_handshake_timeout": self._seconds, "ssl_shutdown_timeout": self._seconds}
        return await super().create_server(*given, **named)


def listen(address: Address) -> Listening:
    """Listen on an address."""
    made = Listening(address.family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address.place)
        made.listen(_AT_ONCE)
    except OSError as error:
        made.close()
        raise PORT_TAKEN(port=address.place[1], reason=error.strerror or str(error)) from error
    return made
