"""MariaDB's and MySQL's log to Kafka: a backlog of inserts and updates in the binlog.

The clock runs from the first event that is produced to the last that a `read_committed` consumer
sees; `produce` only writes: what no reader can beat.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench import stage
from bench.peers import debezium, produce
from bench.runner import Contender, Size

METRIC = "rows_per_s"
UNITS = {METRIC: "rows/s"}
FULL = Size(1_000_000, 3)
QUICK = Size(40_000, 1)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Note where the log stands, write the backlog once; everyone reads it from there."""
    with stage.servers() as stack:
        bootstrap = stack.kafka().bootstrap
        rivals = []
        for kind, at in stage.binlog_servers(stack):
            rival = debezium.Source(kind, at, bootstrap)
            start = debezium.binlog_start(rival)
            stage.change_mysql(at, rows)
            rivals.append(
                Contender(debezium.name_of(kind), debezium.binlog_stream, (METRIC, rival, start, rows))
            )
        yield [*rivals, Contender(produce.NAME, produce.produce, (METRIC, bootstrap, rows))]
