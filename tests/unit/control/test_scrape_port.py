"""The port at which figures are handed out."""

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from wrackline.control.scrape_port import METRICS, PORT_TAKEN, Page, metrics_page, serving
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.exposition import Family, Sample


def test_it_is_served_at_its_path_alone_and_a_taken_port_is_named() -> None:
    family = Family("m", "gauge", "one", [Sample({}, 1)])
    pages = {METRICS: metrics_page(lambda: [family]), "/status": Page("application/json", lambda: b"{}")}
    with serving(0, pages, "metrics.port") as port:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert answer.read() == b"# HELP m one\n# TYPE m gauge\nm{} 1\n"
        with pytest.raises(HTTPError, match="404") as refused:
            urlopen(f"http://127.0.0.1:{port}/etc/passwd", timeout=10)
        refused.value.close()
        with pytest.raises(OperatorNeeded) as taken, serving(port, {}, "other.port"):
            pass
        assert (taken.value.code, "other.port" in taken.value.hint) == (PORT_TAKEN.code, True)
        with urlopen(f"http://127.0.0.1:{port}/status?x=1", timeout=10) as answer:
            assert (answer.headers["Content-Type"], answer.read()) == ("application/json", b"{}")
