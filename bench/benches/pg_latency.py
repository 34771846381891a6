"""From a commit in PostgreSQL to a `read_committed` consumer, at 1,000 one-row transactions a second.

Lower is better: a ratio below 1 is ours ahead.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from statistics import quantiles

from bench import stage
from bench.address import Address
from bench.cost import metered
from bench.ours import postgres as ours
from bench.peers import debezium
from bench.peers.slot import connect, held
from bench.pulse import Reader, Writer, waits_ms
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.visible import make_topic
from bench.workloads.orders import TABLE

UNITS = {"p50_ms": "ms", "p99_ms": "ms"}
FULL = Size(60_000, 3)
QUICK = Size(10_000, 1)
WARM_UP = 2_000  # changes that are not counted
INSERT = f"insert into {TABLE} values (%s, 1, 'sku', 1, 1.5, 'new', null, now(), now())"


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Both write to the same table, one after the other; Sequin publishes p50 55, p99 253."""
    with stage.servers() as stack:
        at, bootstrap, registry = stage.postgres(stack), stack.kafka().bootstrap, stack.registry().url
        rival = debezium.Source("postgres", at, bootstrap)
        yield [
            Contender(ours.NAME, latency, (at, bootstrap, registry, rows), ours=True),
            Contender(debezium.NAME, of_debezium, (rival, rows)),
        ]


def latency(at: Address, bootstrap: str, registry: str, changes: int) -> Outcome:
    """Run our task beside the writer."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    topic = f"{prefix}.{at.database}.public.{TABLE}"
    make_topic(bootstrap, topic)
    with held(at) as slot, closing(Reader(bootstrap, topic)) as reader:
        given = ours.settings(at, bootstrap, registry, prefix) | {"slot.name": slot}
        with ours.running(given) as process, metered(process.pid) as meter:
            waits = _waits(at, reader, changes, ours.attended(process))
    return Outcome(waits, meter.cost)


def of_debezium(source: debezium.Source, changes: int) -> Outcome:
    """Run Debezium beside the writer."""
    with (
        debezium.following(source) as (topic, connect),
        closing(Reader(source.bootstrap, topic, id_of=lambda key: int(json.loads(key)["id"]))) as reader,
        metered(connect.pid) as meter,
    ):
        waits = _waits(source.at, reader, changes, debezium.attended(connect))
    return Outcome(waits, meter.cost)


def _waits(at: Address, reader: Reader, changes: int, check: Callable[[float], None]) -> Mapping[str, float]:
    """Write at a steady rate and note when each id becomes visible."""
    with connect(at) as session:
        session.execute(INSERT.replace("%s", f"(select coalesce(max(id), 0) + 1 from {TABLE})"))
    reader.read(lambda: bool(reader.seen), check)  # a task's start is not latency of its stream
    writer = Writer(at, TABLE, INSERT, changes + WARM_UP)
    writer.start()
    reader.read(lambda: len(reader.seen) > changes + WARM_UP, check)
    writer.end()
    first = min(writer.sent) + WARM_UP
    counted = {key: moment for key, moment in writer.sent.items() if key >= first}
    cuts = quantiles(waits_ms(counted, reader.seen), n=100)
    return {"p50_ms": cuts[49], "p99_ms": cuts[98]}
