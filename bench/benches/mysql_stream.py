"""MariaDB's and MySQL's log to Kafka: a backlog of inserts and updates in the binlog.

The clock runs from the first event that is produced to the last that a `read_committed` consumer
sees; `drain` reads the same log and drops it, `produce` only writes: no reader can be faster.
`decode` is only our stream.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench import stage
from bench.ours import mysql as ours
from bench.ours import mysql_alone
from bench.peers import binlog, debezium, produce
from bench.runner import Contender, Size

METRIC = "rows_per_s"
UNITS = {METRIC: "rows/s"}
FULL = Size(1_000_000, 3)
QUICK = Size(40_000, 1)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Note the log's position, write the backlog once; everyone reads it from there."""
    with stage.servers() as stack:
        bootstrap, registry = stack.kafka().bootstrap, stack.registry().url
        rivals: list[Contender] = []
        for kind, at in stage.binlog_servers(stack):
            rival = debezium.Source(kind, at, bootstrap)
            start, source = debezium.binlog_start(rival), ours.Source(kind, at, bootstrap, registry)
            begun = ours.log_end(at)
            stage.change_mysql(at, rows)
            rivals += [
                Contender(
                    ours.name_of(kind), ours.stream, (METRIC, source, begun, rows), ours=kind == "mariadb"
                ),
                Contender(debezium.name_of(kind), debezium.binlog_stream, (METRIC, rival, start, rows)),
                Contender(ours.name_of(kind, "decode"), mysql_alone.decode, (METRIC, source, begun, rows)),
                Contender(ours.name_of(kind, binlog.NAME), binlog.drain, (METRIC, at, begun, rows)),
            ]
        yield [*rivals, Contender(produce.NAME, produce.produce, (METRIC, bootstrap, rows))]
