"""The small server that hands figures out: pages by their paths, made anew for each who asks.

It listens on 127.0.0.1 alone, answers GET of its pages and nothing else, reads no body, and one request at a
time: it can neither be reached from outside nor be used to hold memory.  A request has some seconds to come
whole, and at the end nobody is waited for.  `Host` tells apart a page of a browser whose host's name was made
to mean 127.0.0.1.
"""

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from threading import Thread, Timer
from typing import Any

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.exposition import Family, text

HOST = "127.0.0.1"
METRICS, STATUS = "/metrics", "/status"
_HOSTS = ("127.0.0.1", "localhost")
_ASK_S = 5.0  # seconds for a request to come whole, and for its answer to be read

PORT_TAKEN = define(
    "metrics.port_taken",
    OperatorNeeded,
    "metrics can't be served at port {port}: {reason}",
    hint="choose another {setting}; who has it: ss -ltnp 'sport = :{port}'",
)


@dataclass(frozen=True, slots=True)
class Page:
    """What one path answers."""

    content_type: str
    body: Callable[[], bytes]


def metrics_page(families: Callable[[], Iterable[Family]]) -> Page:
    """Return the page that Prometheus reads."""
    return Page("text/plain; version=0.0.4; charset=utf-8", lambda: text(families()).encode())


@contextmanager
def serving(port: int, pages: Mapping[str, Page], setting: str) -> Iterator[int]:
    """Serve them until the block is left, at the port that comes out; the setting is where it was named."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _ASK_S

        def setup(self) -> None:
            """Hang up on whoever takes too long to ask."""
            super().setup()
            self.hurry = Timer(_ASK_S, _hang_up, [self.connection])
            self.hurry.daemon = True
            self.hurry.start()

        def finish(self) -> None:
            """Wait for nobody."""
            self.hurry.cancel()
            super().finish()

        def do_GET(self) -> None:
            self.hurry.cancel()
            page = pages.get(self.path.partition("?")[0])
            hosts = {host.rpartition(":")[0] or host for host in self.headers.get_all("Host", [])}
            if page is None or not hosts.issubset(_HOSTS):  # a client that is old enough says none
                self.send_error(404 if page is None else 400)
                return
            body = page.body()
            self.send_response(200)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: a scrape is no event."""

    try:
        server = _Server((HOST, port), Handler)
    except OSError as exc:
        raise PORT_TAKEN(port=port, reason=exc.strerror or "the system refuses", setting=setting) from exc
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.end()
        server.server_close()
        thread.join()


class _Server(TCPServer):  # not HTTPServer, which asks the name service who we are
    allow_reuse_address = True
    _asking: socket.socket | None = None
    _ended = False

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the base has it
        """Hear one, unless it is the end."""
        self._asking = request
        if self._ended:
            _hang_up(request)
        super().process_request(request, client_address)

    def end(self) -> None:
        """Hang up on who is just asking, and hear nobody else."""
        self._ended = True
        if self._asking is not None:
            _hang_up(self._asking)
        self.shutdown()

    def handle_error(self, *_: object) -> None:
        """Say nothing: the client has gone, which is its own affair."""


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # it has gone
        connection.shutdown(socket.SHUT_RDWR)
