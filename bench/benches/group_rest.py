"""How long REST takes on a worker with 200 connectors of which 20 run under load, with four clients.

The peer is the same worker's `GET /health`, which reads no state: the cost of the web server and the machine.
Reads are those of a user interface (all connectors with their states, and each one's parts); writes pause and
resume connectors that nobody needs, each through Kafka and back.
"""

import secrets
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread

from bench import stage
from bench.address import Address
from bench.ours.group import Group, group
from bench.peers.slot import connect
from bench.runner import Contender, Size
from bench.score import Outcome

UNITS = {"p50_ms": "ms", "p99_ms": "ms", "writes_p99_ms": "ms", "all_p99_ms": "ms"}
FULL = Size(4000, 1)  # requests
QUICK = Size(400, 1)
CONNECTORS, RUNNING, CLIENTS = 200, 20, 4
_A_SECOND = 10.0  # rounds of one row in each table that is captured
_PARTS = ("", "/status", "/config", "/tasks", "/tasks-config", "/tasks/0/status")


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Start the servers, a worker and its connectors; both contenders ask the same worker."""
    with stage.servers() as stack, tempfile.TemporaryDirectory() as folder:
        prefix = f"r{secrets.token_hex(4)}"
        at = stage.new_database(Address(stack.postgres().port, "postgres", "", "postgres"), prefix)
        kafka, registry = stack.kafka().bootstrap, stack.registry().url
        with group(Path(folder), at, kafka, registry, prefix) as ours:
            worker = ours.start()
            for number in range(CONNECTORS):
                ours.make(number, running=number < RUNNING)
            ours.until_running(worker, RUNNING)
            names = [ours.name(number) for number in range(CONNECTORS)]
            with _load(ours):
                yield [
                    Contender("200 connectors", manage, (worker.url, names, rows), ours=True),
                    Contender("GET /health", health, (worker.url, rows)),
                ]


@contextmanager
def _load(ours: Group) -> Iterator[None]:
    """Change all tables that are captured, again and again."""
    over = Event()

    def change() -> None:
        row = 0
        with connect(ours.at) as session:
            while not over.wait(1 / _A_SECOND):
                row += 1
                for number in range(RUNNING):
                    session.execute(f"insert into t{number} values ({row}, 0)")

    thread = Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def manage(url: str, names: Sequence[str], requests: int) -> Outcome:
    """Ask as a user interface does; one request in twenty writes."""
    paused = names[RUNNING:]

    def reads(number: int) -> float:
        name = names[number % len(names)]
        return _ask("GET", f"{url}/connectors/{name}{_PARTS[number % len(_PARTS)]}")

    def writes(number: int) -> float:
        return _ask("PUT", f"{url}/connectors/{paused[number % len(paused)]}/{('stop', 'pause')[number % 2]}")

    def lists(number: int) -> float:
        del number
        return _ask("GET", f"{url}/connectors?expand=status&expand=info")

    def any_of_them(number: int) -> tuple[str, float]:
        kind, ask = (("writes", writes), ("all", lists), ("reads", reads))[min(number % 20, 2)]
        return kind, ask(number // 20 if kind == "writes" else number)

    with ThreadPoolExecutor(CLIENTS) as pool:
        took = list(pool.map(any_of_them, range(requests)))
    every = [ms for _, ms in took]
    return Outcome(
        {
            "p50_ms": _percentile(every, 50),
            "p99_ms": _percentile(every, 99),
            "writes_p99_ms": _percentile([ms for kind, ms in took if kind == "writes"], 99),
            "all_p99_ms": _percentile([ms for kind, ms in took if kind == "all"], 99),
        }
    )


def health(url: str, requests: int) -> Outcome:
    """Ask whether it lives."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        took = list(pool.map(lambda _: _ask("GET", f"{url}/health"), range(requests)))
    return Outcome({"p50_ms": _percentile(took, 50), "p99_ms": _percentile(took, 99)})


def _ask(method: str, url: str) -> float:
    """Ask, and return the milliseconds until all of the answer was there."""
    request = urllib.request.Request(url, method=method)  # noqa: S310 - ours
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - ours
        answer.read()
    return (time.monotonic() - began) * 1000


def _percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]
