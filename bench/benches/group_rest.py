"""How long REST takes on a worker with 200 connectors of which 20 run under load, with four clients.

Reads are those of a user interface (all connectors with their states, and each one's parts); writes pause and
stop connectors that nobody needs, each through Kafka and back.  Two peers ask the same worker only for
`GET /health`: the cost of the web server and the machine.  The second one sends a record to Kafka where the
bench writes, and waits until it is read: no write can be faster.
"""

import secrets
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import quantiles
from threading import Event, Thread
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from bench import stage
from bench.address import Address
from bench.ours.group import Group, group
from bench.peers.slot import connect
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.visible import make_topic

UNITS = {"p50_ms": "ms", "p99_ms": "ms", "writes_p99_ms": "ms", "all_p99_ms": "ms"}
FULL = Size(4000, 1)  # requests
QUICK = Size(400, 1)
CONNECTORS, RUNNING, CLIENTS = 200, 20, 4
_WARM_S: Final = 120.0  # Kafka's Java compiles itself meanwhile, on a third of a core
_A_SECOND = 10.0  # rounds of one row in each table that is captured
_AT_ONCE: Final = {"fetch.wait.max.ms": 100, "enable.partition.eof": True}
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
            make_topic(kafka, f"{prefix}-record")
            with _load(ours):
                time.sleep(_WARM_S)
                yield [
                    Contender("200 connectors", manage, (worker.url, names, rows), ours=True),
                    Contender("GET /health", health, (worker.url, rows)),
                    Contender("a record", record, (worker.url, kafka, f"{prefix}-record", rows)),
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


def record(url: str, kafka: str, topic: str, requests: int) -> Outcome:
    """Send a record where `manage` writes, and wait until it is read; else ask whether the worker lives."""
    came = [Event() for _ in range(requests)]
    over, ready = Event(), Event()

    def read() -> None:
        with closing(Consumer({"bootstrap.servers": kafka, "group.id": topic, **_AT_ONCE})) as consumer:
            consumer.assign([TopicPartition(topic, 0, 0)])
            while not over.is_set():
                message = consumer.poll(0.1)
                if message is None:
                    continue
                if message.error() is not None:
                    ready.set()
                else:
                    came[int(message.value() or b"")].set()

    producer = Producer({"bootstrap.servers": kafka, "acks": "all", "linger.ms": 0})

    def goes_and_comes(number: int) -> float:
        began = time.monotonic()
        producer.produce(topic, str(number), partition=0)
        if not came[number].wait(60):
            raise TimeoutError(topic)
        return (time.monotonic() - began) * 1000

    def any_of_them(number: int) -> tuple[bool, float]:
        writes = number % 20 == 0
        return writes, goes_and_comes(number) if writes else _ask("GET", f"{url}/health")

    reader = Thread(target=read)
    reader.start()
    ready.wait(60)
    try:
        with ThreadPoolExecutor(CLIENTS) as pool:
            took = list(pool.map(any_of_them, range(requests)))
    finally:
        over.set()
        reader.join()
    return Outcome({"writes_p99_ms": _percentile([ms for writes, ms in took if writes], 99)})


def _ask(method: str, url: str) -> float:
    """Ask, and return the milliseconds until all of the answer was there."""
    request = urllib.request.Request(url, method=method)  # noqa: S310 - ours
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - ours
        answer.read()
    return (time.monotonic() - began) * 1000


def _percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]
