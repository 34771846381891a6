"""Serves the application beside a worker: in a thread, until the block ends.

Connections are counted, also by address, and one too many is answered with 503, except for `/health`.  So a
connection that sends no request, never completes it, or does not read its answer is closed: a few of them
would keep all others out.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from wrackline.control.runtime.rest.server.connection_counts import ConnectionCounts
from wrackline.control.runtime.rest.server.listener import HandshakesEnd

_AT_ONCE: Final = 100  # connections
_OF_ONE: Final = 80  # of these, from one neighbour
_READ_S: Final = 10.0  # seconds for an answer to be read as far as the next part of it can be sent
_ASK_S: Final = 5.0  # seconds for a request to come whole; twice as long, if it begins just behind a look
_LEAVE_S: Final = 5


class _TimedConnection(H11Protocol):
    """A connection that is checked at intervals."""

    _seen: RequestResponseCycle | None = None  # the request of the last look
    _unread: asyncio.TimerHandle | None = None

    def __init__(self, shares: ConnectionCounts, **given: Any) -> None:  # noqa: ANN401 - as the base has it
        super().__init__(**given)
        self._shares, self._from = shares, ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base has it
        """Begin to look."""
        super().connection_made(transport)
        self._from = _address(self.client)
        self._shares.begin(self._from)
        self.loop.call_later(_ASK_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more."""
        self._shares.end(self._from)
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read, but not for ever."""
        super().pause_writing()
        self._unread = self.loop.call_later(_READ_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Send the rest."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _look(self) -> None:
        """Hang up if no other request has come whole since the last look, and none waits for its answer."""
        asked: RequestResponseCycle | None = self.cycle
        if self.transport.is_closing():
            return
        if asked is self._seen and (asked is None or asked.more_body or asked.response_complete):
            self.transport.close()
            self.loop.call_later(_READ_S, self.transport.abort)  # what is still unread then is dropped
            return
        self._seen = asked
        self.loop.call_later(_ASK_S, self._look)


class _LimitedApp:
    """The application, for a limited number of connections at once; any client may ask `/health`."""

    def __init__(self, app: ASGIApp, shares: ConnectionCounts) -> None:
        self._app, self._shares = app, shares

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or report that there are too many."""
        too_many = self._shares.of(_address(scope["client"])) > _OF_ONE or self._shares.total >= _AT_ONCE
        if too_many and scope["path"] != "/health":
            await service_unavailable(scope, receive, send)  # type: ignore[arg-type] # its own names of the same
        else:
            await self._app(scope, receive, send)


def _address(client: tuple[str, int] | None) -> str:
    return client[0] if client else ""


@contextmanager
def serve_app(app: FastAPI, listening: socket.socket, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve on a socket that listens, and close it at the end; yield its port's number."""
    shares = ConnectionCounts()
    config = uvicorn.Config(
        _LimitedApp(app, shares),
        http=partial(_TimedConnection, shares),  # type: ignore[arg-type] # it is called, whatever it is
        ws="none",
        ssl_context_factory=None if tls is None else lambda *_: tls,
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_LEAVE_S,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=_run, args=(server, listening), name="rest", daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(_LEAVE_S + 1)
        listening.close()


def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    with asyncio.Runner(loop_factory=lambda: HandshakesEnd(_ASK_S)) as runner:
        runner.run(server.serve(sockets=[listening]))
