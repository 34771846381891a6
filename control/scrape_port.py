"""The small server that hands figures out: pages by their paths, made anew for each who asks.

It listens on 127.0.0.1 alone, answers GET of its pages and nothing else, reads no body, and one request at a
time: it can neither be reached from outside nor be used to hold memory.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from threading import Thread

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.exposition import Family, text

HOST = "127.0.0.1"
METRICS, STATUS = "/metrics", "/status"

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
        timeout = 5  # seconds for a request's line and headers

        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            if page is None:
                self.send_error(404)
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
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(TCPServer):  # not HTTPServer, which asks the name service who we are
    allow_reuse_address = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: the client has gone, which is its own affair."""
