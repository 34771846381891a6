"""Serves the application beside a worker: on the loopback address, in a thread, until the block ends."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Final

import uvicorn
from fastapi import FastAPI

from wrackline.schemas.errors import OperatorNeeded, define

HOST: Final = "127.0.0.1"
_AT_ONCE: Final = 16  # requests; more are answered with 503
_LEAVE_S: Final = 5

PORT_TAKEN = define(
    "rest.port_taken",
    OperatorNeeded,
    "port {port} can't be listened on: {reason}",
    hint="name another: wrackline worker --rest-port <port>; or 0 for one that is free",
)


@contextmanager
def serving(app: FastAPI, port: int) -> Iterator[int]:
    """Listen on a port, 0 for a free one; give its number."""
    listening = _listening(port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        limit_concurrency=_AT_ONCE,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_LEAVE_S,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, name="rest", daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(_LEAVE_S + 1)
        listening.close()


def _listening(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        made.listen(_AT_ONCE)
    except OSError as error:
        made.close()
        raise PORT_TAKEN(port=port, reason=error.strerror or str(error)) from error
    return made
