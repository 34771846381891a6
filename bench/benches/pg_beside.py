"""The log's latency while a large table is read, at 1,000 one-row transactions a second.

The changes belong to another table with its own topic, so the consumer that measures has little to
read; the rows go through the same loop, producer and broker.  Only changes sent between the first and the
last row that is read count, without the first changes, because a broker that has just started adds latency
that is not the log's.  Lower is better, except for the rows.
"""

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from statistics import quantiles

from confluent_kafka import Consumer, TopicPartition

from bench import stage
from bench.address import Address
from bench.cost import metered
from bench.ours import postgres as ours
from bench.peers.slot import PUBLICATION, connect, held
from bench.pulse import Reader, Writer, waits_ms
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.visible import make_topic
from bench.workloads.orders import TABLE

UNITS = {"p50_ms": "ms", "p99_ms": "ms", "rows_per_s": "rows/s"}
FULL = Size(2_000_000, 3)
QUICK = Size(600_000, 1)
PULSES = "pulses"
INSERT = f"insert into {PULSES} values (%s)"
LOOK_EVERY_S = 0.05
WARM_UP = 2_000  # changes that are not counted


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Debezium reads its log only after the initial snapshot, so it is not a peer here."""
    with stage.servers() as stack:
        at, bootstrap, registry = stage.postgres(stack), stack.kafka().bootstrap, stack.registry().url
        stage.fill_postgres(at, rows)
        with connect(at) as session:
            session.execute(f"create table {PULSES} (id bigint primary key)")
            session.execute(f"alter publication {PUBLICATION} add table {PULSES}")
        yield [Contender(ours.NAME, beside, (at, bootstrap, registry, rows), ours=True)]


def beside(at: Address, bootstrap: str, registry: str, rows: int) -> Outcome:
    """Read the table while changes of another one come at a steady rate."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    large, small = (f"{prefix}.{at.database}.public.{table}" for table in (TABLE, PULSES))
    make_topic(bootstrap, large)
    make_topic(bootstrap, small)
    given = ours.settings(at, bootstrap, registry, prefix) | {
        "snapshot.mode": "initial",
        "snapshot.include.collection.list": f"public.{TABLE}",
        "table.include.list": f"public.{TABLE},public.{PULSES}",
    }
    with held(at) as slot, closing(Reader(bootstrap, small)) as reader:
        writer, growth = Writer(at, PULSES, INSERT), _Growth(bootstrap, large, rows)
        with ours.running(given | {"slot.name": slot}) as process, metered(process.pid) as meter:
            check = ours.attended(process)
            writer.start()
            growth.start()
            reader.read(lambda: not growth.is_alive(), check)
            writer.end()
            reader.read(lambda: reader.seen.keys() >= writer.sent.keys(), check)
    meanwhile = [key for key, moment in writer.sent.items() if growth.began <= moment <= growth.ended]
    counted = {key: writer.sent[key] for key in meanwhile[WARM_UP:]}
    cuts = quantiles(waits_ms(counted, reader.seen), n=100)
    rate = rows / (growth.ended - growth.began)
    return Outcome({"p50_ms": cuts[49], "p99_ms": cuts[98], "rows_per_s": rate}, meter.cost)


class _Growth(threading.Thread):
    """Sees when a topic's one partition begins to grow, and when it has this many records."""

    def __init__(self, bootstrap: str, topic: str, rows: int) -> None:
        super().__init__(daemon=True)
        self.began = self.ended = 0.0
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench-growth"})
        self._partition, self._rows = TopicPartition(topic, 0), rows

    def run(self) -> None:
        """Look until all are there."""
        with closing(self._consumer):
            while not self.ended:
                _, end = self._consumer.get_watermark_offsets(self._partition, timeout=30)
                now = time.perf_counter()
                if end > 0 and not self.began:
                    self.began = now
                if end >= self._rows:
                    self.ended = now
                time.sleep(LOOK_EVERY_S)
