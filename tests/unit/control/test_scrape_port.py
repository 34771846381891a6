"""The port at which figures are handed out."""

from contextlib import ExitStack
from socket import create_connection, socket
from threading import Event, Timer
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from wrackline.control.runtime.ground import scrape_port
from wrackline.control.runtime.ground.scrape_port import (
    METRICS,
    PORT_TAKEN,
    ScrapePage,
    metrics_page,
    serve_pages,
    task_port,
)
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.language.exposition import Family, Sample
from wrackline.schemas.settings.settings_registry import Values


def test_it_is_served_at_its_path_alone_and_a_taken_port_is_named() -> None:
    family = Family("m", "gauge", "one", [Sample({}, 1)])
    pages = {
        METRICS: metrics_page(lambda: [family]),
        "/status": ScrapePage("application/json", lambda: b"{}"),
    }
    with serve_pages(0, pages, "metrics.port") as port:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert answer.read() == b"# HELP m one\n# TYPE m gauge\nm{} 1\n"
        with pytest.raises(HTTPError, match="404") as refused:
            urlopen(f"http://127.0.0.1:{port}/etc/passwd", timeout=10)
        refused.value.close()
        with pytest.raises(OperatorNeeded) as taken, serve_pages(port, {}, "other.port"):
            pass
        assert (taken.value.code, "other.port" in taken.value.hint) == (PORT_TAKEN.code, True)
        with urlopen(f"http://127.0.0.1:{port}/status?x=1", timeout=10) as answer:
            assert (answer.headers["Content-Type"], answer.read()) == ("application/json", b"{}")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9402", "127.0.0.1.evil.example"])
def test_a_page_that_names_another_host_is_not_heard(host: str) -> None:
    with serve_pages(0, {"/status": ScrapePage("application/json", lambda: b"{}")}, "x") as port:
        address = f"http://127.0.0.1:{port}/status"
        with pytest.raises(HTTPError, match="400") as refused:
            urlopen(Request(address, headers={"Host": host}), timeout=10)
        refused.value.close()
        with urlopen(Request(address, headers={"Host": f"localhost:{port}"}), timeout=10) as answer:
            assert answer.read() == b"{}"


def test_a_client_that_never_ends_its_request_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrape_port, "_ASK_S", 0.5)
    with serve_pages(0, {}, "x") as port, create_connection(("127.0.0.1", port), timeout=30) as slow:
        drip(slow)


def test_the_end_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Event()

    class Never(Timer):
        def start(self) -> None:
            heard.set()

    monkeypatch.setattr(scrape_port, "Timer", Never)
    monkeypatch.setattr(scrape_port, "_ASK_S", 1e6)
    with ExitStack() as held:
        with serve_pages(0, {}, "x") as port:
            slow = held.enter_context(create_connection(("127.0.0.1", port), timeout=30))
            slow.sendall(b"GET /me")
            assert heard.wait(30)
        assert slow.recv(1) == b""


def drip(slow: socket) -> None:
    """Send a byte now and then, until it is hung up on."""
    slow.settimeout(0.05)
    while True:
        try:
            slow.sendall(b"x")
            if not slow.recv(1):
                return
        except TimeoutError:
            continue
        except OSError:
            return


def test_a_task_whose_port_there_is_not_says_so() -> None:
    with pytest.raises(OperatorNeeded) as told, serve_pages(65_536, {}, "metrics.port"):
        pass
    assert told.value.code == PORT_TAKEN.code


@pytest.mark.parametrize(
    ("source", "consumer", "ports"),
    [
        (9401, 9402, [9401, 9403, 9404, 9405]),  # what `wrackline init` gives
        (9401, 9403, [9401, 9402, 9404, 9405]),
        (9401, 9404, [9401, 9402, 9403, 9405]),
        (9401, 9400, [9401, 9402, 9403, 9404]),
        (9401, 0, [9401, 9402, 9403, 9404]),
        (0, 9402, [0, 0, 0, 0]),
    ],
)
def test_tasks_take_the_ports_from_the_first_on_without_the_consumers(
    source: int, consumer: int, ports: list[int]
) -> None:
    values = Values({"metrics.port": source, "consume.metrics.port": consumer}, {})
    assert [task_port(values, task) for task in range(4)] == ports
