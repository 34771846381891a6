"""PostgreSQL's rows to Kafka: the whole table, while nobody writes to it.

The clock runs from the first event that is produced to the last that a `read_committed` consumer
sees.  A table that a signal requests is read as fast as a first read.  `copy` only reads and
`produce` only writes: nothing can be faster.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench import stage
from bench.ours import postgres as ours
from bench.peers import copy, debezium, produce
from bench.runner import Contender, Size

METRIC = "rows_per_s"
UNITS = {METRIC: "rows/s"}
FULL = Size(1_000_000, 3)
QUICK = Size(40_000, 1)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Fill the table once; everyone reads it whole."""
    with stage.servers() as stack:
        at, bootstrap = stage.postgres(stack), stack.kafka().bootstrap
        stage.fill_postgres(at, rows)
        ours.make_signals(at)
        registry = stack.registry().url
        rival = debezium.Source("postgres", at, bootstrap)
        yield [
            Contender(ours.NAME, ours.snapshot, (METRIC, at, bootstrap, registry, rows), ours=True),
            Contender(ours.ON_REQUEST, ours.incremental, (METRIC, at, bootstrap, registry, rows)),
            Contender(debezium.NAME, debezium.snapshot, (METRIC, rival, rows)),
            Contender(copy.NAME, copy.copy, (METRIC, at, rows)),
            Contender(produce.NAME, produce.produce, (METRIC, bootstrap, rows)),
        ]
