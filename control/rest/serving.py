"""Serves the application beside a worker: in a thread, until the block ends.

Connections are counted, and one too many is answered with 503; so one that asks nothing, or never says the
end of what it asks, is hung up on: a few of them would keep all others out.
"""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Final

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from wrackline.control.rest.listening import HandshakesEnd

_AT_ONCE: Final = 100  # connections
_ASK_S: Final = 5.0  # seconds for a request to come whole; twice as long, if it begins just behind a look
_LEAVE_S: Final = 5


class _Prompt(H11Protocol):
    """A connection that is looked at now and then."""

    _seen: RequestResponseCycle | None = None  # the request of the last look

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the base has it
        """Begin to look."""
        super().connection_made(transport)
        self.loop.call_later(_ASK_S, self._look)

    def _look(self) -> None:
        """Hang up if no other request has come whole since the last look, and none waits for its answer."""
        asked: RequestResponseCycle | None = self.cycle
        if self.transport.is_closing():
            return
        if asked is self._seen and (asked is None or asked.more_body or asked.response_complete):
            self.transport.close()
            return
        self._seen = asked
        self.loop.call_later(_ASK_S, self._look)


@contextmanager
def serving(app: FastAPI, listening: socket.socket, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve on a socket that listens, and close it at the end; give the number of its port."""
    config = uvicorn.Config(
        app,
        http=_Prompt,
        ws="none",
        ssl_context_factory=None if tls is None else lambda *_: tls,
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_AT_ONCE,
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
