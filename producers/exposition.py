"""Figures in Prometheus' text form, and the small server that hands them out.

It listens on 127.0.0.1 alone, answers GET /metrics and nothing else, reads no body, and one request at a
time: it can neither be reached from outside nor be used to hold memory.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import accumulate
from math import inf, isinf
from socketserver import TCPServer
from threading import Thread

from wrackline.schemas.errors import OperatorNeeded, define

HOST = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

PORT_TAKEN = define(
    "metrics.port_taken",
    OperatorNeeded,
    "metrics can't be served at port {port}: {reason}",
    hint="choose another metrics.port; who has it: ss -ltnp 'sport = :{port}'",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One line; `suffix` is that of a histogram's parts."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric with all its lines."""

    name: str
    type: str
    meaning: str
    samples: Sequence[Sample]


class Histogram:
    """Counts values below bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = (*bounds, inf)
        self._counts = [0] * len(self._bounds)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self, labels: Mapping[str, str]) -> list[Sample]:
        """Its lines, each bucket holding those below it too."""
        totals = list(accumulate(self._counts))
        buckets = [
            Sample({**labels, "le": _number(bound)}, total, "_bucket")
            for bound, total in zip(self._bounds, totals, strict=True)
        ]
        return [*buckets, Sample(labels, self._sum, "_sum"), Sample(labels, totals[-1], "_count")]


def text(families: Iterable[Family]) -> str:
    """Write the families that have lines."""
    return "".join(line for family in families if family.samples for line in _lines(family))


@contextmanager
def serving(port: int, families: Callable[[], Iterable[Family]]) -> Iterator[int]:
    """Serve them until the block is left, at the port that comes out."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 5  # seconds for a request's line and headers

        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            body = text(families()).encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: a scrape is no event."""

    try:
        server = _Server((HOST, port), Handler)
    except OSError as exc:
        raise PORT_TAKEN(port=port, reason=exc.strerror or "the system refuses") from exc
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


def _lines(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escaped(family.meaning, quotes=False)}\n"
    yield f"# TYPE {family.name} {family.type}\n"
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        yield f"{family.name}{sample.suffix}{{{labels}}} {_number(sample.value)}\n"


def _escaped(value: str, *, quotes: bool = True) -> str:
    value = value.replace("\\", r"\\").replace("\n", r"\n")
    return value.replace('"', r"\"") if quotes else value


def _number(value: float) -> str:
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)
