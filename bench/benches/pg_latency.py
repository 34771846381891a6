"""From a commit in PostgreSQL to a `read_committed` consumer, at 1,000 one-row transactions a second.

The clock of each change starts before its INSERT is sent, so the commit itself is in the figure.
Lower is better: a ratio below 1 is ours ahead.
"""

import secrets
import struct
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import quantiles

from confluent_kafka import Consumer, KafkaException, TopicPartition

from bench import stage
from bench.address import Address
from bench.cost import metered
from bench.ours import postgres as ours
from bench.peers.slot import connect, held
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.visible import make_topic
from bench.workloads.orders import TABLE

UNITS = {"p50_ms": "ms", "p99_ms": "ms"}
FULL = Size(60_000, 3)
QUICK = Size(10_000, 1)
EVERY_S = 0.001
WARM_UP = 2_000  # changes that are not counted
QUIET_LIMIT_S = 60.0
KEY_AT = 5  # behind the wire format's head stands the id as Avro's long


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Debezium's poll interval alone is 50 ms, so it is no peer here; Sequin publishes p50 55, p99 253."""
    with stage.servers() as stack:
        at, bootstrap, registry = stage.postgres(stack), stack.kafka().bootstrap, stack.registry().url
        yield [Contender(ours.NAME, latency, (at, bootstrap, registry, rows), ours=True)]


def latency(at: Address, bootstrap: str, registry: str, changes: int) -> Outcome:
    """Write at a steady rate and note when each id becomes visible."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    topic = f"{prefix}.{at.database}.public.{TABLE}"
    make_topic(bootstrap, topic)
    sent: dict[int, float] = {}
    with held(at) as slot:
        given = ours.settings(at, bootstrap, registry, prefix) | {"slot.name": slot}
        _insert_one(at)
        with ours.running(given) as process, metered(process.pid) as meter:
            writer = threading.Thread(target=_write, args=(at, changes + WARM_UP, sent))
            seen = _read(bootstrap, topic, changes + WARM_UP, writer, process)
            writer.join()
    first = min(sent) + WARM_UP
    waits = sorted(1000 * (seen[key] - sent[key]) for key in seen if key >= first)
    cuts = quantiles(waits, n=100)
    return Outcome({"p50_ms": cuts[49], "p99_ms": cuts[98]}, meter.cost)


def _insert_one(at: Address) -> None:
    with connect(at) as session:
        session.execute(
            f"insert into {TABLE} select coalesce(max(id), 0) + 1, 1, 'sku', 1, 1.5, 'new', null,"
            f" now(), now() from {TABLE}"
        )


def _write(at: Address, changes: int, sent: dict[int, float]) -> None:
    insert = f"insert into {TABLE} values (%s, 1, 'sku', 1, 1.5, 'new', null, now(), now())"
    with connect(at) as session:
        row = session.execute(f"select coalesce(max(id), 0) from {TABLE}").fetchone()
        base = int(row[0]) + 1 if row else 1
        began = time.perf_counter()
        for number in range(changes):
            ahead = began + number * EVERY_S - time.perf_counter()
            if ahead > 0:
                time.sleep(ahead)
            sent[base + number] = time.perf_counter()
            session.execute(insert, [base + number], prepare=True)


def _read(
    bootstrap: str, topic: str, changes: int, writer: threading.Thread, process: subprocess.Popen[str]
) -> dict[int, float]:
    """Read every event as soon as it is visible; the writer starts when the reader stands."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "bench-latency",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 5,
        "fetch.queue.backoff.ms": 1,
    }
    consumer = Consumer(settings)
    seen: dict[int, float] = {}
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        _wait_until_it_streams(consumer, process)
        writer.start()
        quiet_since = time.monotonic()
        while len(seen) < changes:
            for message in consumer.consume(100, 0.001):
                if (error := message.error()) is not None:
                    raise KafkaException(error)
                seen[_long(message.key() or b"", KEY_AT)] = time.perf_counter()
                quiet_since = time.monotonic()
            if process.poll() is not None or time.monotonic() - quiet_since > QUIET_LIMIT_S:
                raise ours.TASK_ENDED(code=process.returncode)
    finally:
        consumer.close()
    return seen


def _wait_until_it_streams(consumer: Consumer, process: subprocess.Popen[str]) -> None:
    """Return with the first event: a task's start is no latency of its stream."""
    deadline = time.monotonic() + QUIET_LIMIT_S
    while (message := consumer.poll(0.1)) is None or message.error() is not None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise ours.TASK_ENDED(code=process.returncode)


def _long(data: bytes, at: int) -> int:
    """Read Avro's zigzag."""
    value = shift = 0
    for byte in struct.unpack_from(f"{len(data) - at}B", data, at):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return value >> 1 ^ -(value & 1)
