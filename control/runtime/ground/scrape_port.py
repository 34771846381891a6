"""The small server for figures: pages by their paths, made again for each request.

It listens only on 127.0.0.1, answers only GET of its pages, reads no body, and handles one request at a time:
it can't be reached from outside, nor be used to hold memory.  A request must arrive whole within seconds, and
at the end the server waits for no client.  `Host` exposes a browser's page whose host name was made to mean
127.0.0.1.
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
from wrackline.schemas.language.exposition import Family, text
from wrackline.schemas.settings.settings_registry import Values

HOST = "127.0.0.1"
METRICS = "/metrics"
_HOSTS = ("127.0.0.1", "localhost")
_ASK_S = 5.0  # seconds for a request to come whole, and for its answer to be read

PORT_TAKEN = define(
    "metrics.port_taken",
    OperatorNeeded,
    "metrics can't be served at port {port}: {reason}",
    hint="choose another {setting}; who has it: ss -ltnp 'sport = :{port}'",
)


@dataclass(frozen=True, slots=True)
class ScrapePage:
    """What one path answers."""

    content_type: str
    body: Callable[[], bytes]


def task_port(values: Values, task: int) -> int:
    """Return where a task serves its figures; 0: nowhere.

    The tasks of a pipeline may all run on one machine, and beside its consumer.  They take the ports from
    `metrics.port` on, in turn, without the consumer's.
    """
    first, consumer = values.integer("metrics.port"), values.integer("consume.metrics.port")
    if not first:
        return 0
    return first + task + (first < consumer <= first + task)


def metrics_page(families: Callable[[], Iterable[Family]]) -> ScrapePage:
    """Return the page that Prometheus reads."""
    return ScrapePage("text/plain; version=0.0.4; charset=utf-8", lambda: text(families()).encode())


@contextmanager
def serve_pages(port: int, pages: Mapping[str, ScrapePage], setting: str) -> Iterator[int]:
    """Serve them until the block is left, and yield the port; `setting` is the setting that names it."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _ASK_S

        def setup(self) -> None:
            """Hang up on a client that takes too long to ask."""
            super().setup()
            self.hurry = Timer(_ASK_S, _hang_up, [self.connection])
            self.hurry.daemon = True
            self.hurry.start()

        def finish(self) -> None:
            """Wait for no client."""
            self.hurry.cancel()
            super().finish()

        def do_GET(self) -> None:
            self.hurry.cancel()
            page = pages.get(self.path.partition("?")[0])
            hosts = {host.rpartition(":")[0] or host for host in self.headers.get_all("Host", [])}
            if page is None or not hosts.issubset(_HOSTS):  # an old client may send none
                self.send_error(404 if page is None else 400)
                return
            body = page.body()
            self.send_response(200)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: a scrape is not an event."""

    try:
        server = _Server((HOST, port), Handler)
    except OSError as exc:
        raise PORT_TAKEN(port=port, reason=exc.strerror or "the system refuses", setting=setting) from exc
    except OverflowError:  # a task adds its number to the setting
        raise PORT_TAKEN(port=port, reason="65535 is the last one", setting=setting) from None
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.end()
        server.server_close()
        thread.join()


class _Server(TCPServer):  # not HTTPServer, which asks the name service for our name
    allow_reuse_address = True
    _asking: socket.socket | None = None
    _ended = False

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as the base has it
        """Handle one request, unless the server ends."""
        self._asking = request
        if self._ended:
            _hang_up(request)
        super().process_request(request, client_address)

    def end(self) -> None:
        """Hang up on the current client, and accept no other."""
        self._ended = True
        if self._asking is not None:
            _hang_up(self._asking)
        self.shutdown()

    def handle_error(self, *_: object) -> None:
        """Log nothing: a client that has gone does not matter here."""


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # it has gone
        connection.shutdown(socket.SHUT_RDWR)
