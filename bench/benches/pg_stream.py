"""PostgreSQL's log to Kafka: a backlog of inserts and updates that waits in a slot.

The clock runs from the first event that is produced to the last that a `read_committed` consumer
sees; `pg_recvlogical` (C) and `drain` (Python) read the same slot and drop it, `produce` only writes: no
reader can be faster than the faster of the first two, nor than the last.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench import stage
from bench.ours import postgres as ours
from bench.peers import debezium, drain, produce, recvlogical
from bench.peers.slot import held
from bench.runner import Contender, Size

METRIC = "changes_per_s"
UNITS = {METRIC: "changes/s"}
FULL = Size(1_000_000, 3)
QUICK = Size(40_000, 1)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Write the backlog once; everyone reads a copy of the slot."""
    with stage.servers() as stack:
        at, bootstrap = stage.postgres(stack), stack.kafka().bootstrap
        with held(at) as backlog:
            stage.change_postgres(at, rows)
            rival = debezium.Source("postgres", at, bootstrap)
            registry = stack.registry().url
            reader = recvlogical.program()
            limits = [
                Contender(drain.NAME, drain.drain, (METRIC, at, backlog, rows)),
                Contender(produce.NAME, produce.produce, (METRIC, bootstrap, rows)),
            ]
            if reader is not None:
                args = (METRIC, at, reader, backlog, rows)
                limits.insert(0, Contender(recvlogical.NAME, recvlogical.receive, args))
            yield [
                Contender(
                    ours.NAME, ours.stream, (METRIC, at, bootstrap, registry, backlog, rows), ours=True
                ),
                Contender(debezium.NAME, debezium.postgres_stream, (METRIC, rival, backlog, rows)),
                *limits,
            ]
