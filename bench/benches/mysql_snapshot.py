"""MariaDB's and MySQL's rows to Kafka: the whole table, while nobody writes to it.

The clock runs from the first event that is produced to the last that a `read_committed` consumer
sees; `codec` makes events' heads of rows in memory, `produce` only writes: no pipeline can be faster.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench import stage
from bench.ours import mysql as ours
from bench.ours import mysql_alone
from bench.peers import debezium, produce
from bench.runner import Contender, Size

METRIC = "rows_per_s"
UNITS = {METRIC: "rows/s"}
FULL = Size(1_000_000, 3)
QUICK = Size(40_000, 1)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Fill the table once; everyone reads it whole."""
    with stage.servers() as stack:
        bootstrap, registry = stack.kafka().bootstrap, stack.registry().url
        rivals: list[Contender] = []
        for kind, at in stage.binlog_servers(stack):
            stage.fill_mysql(at, rows)
            rival = debezium.Source(kind, at, bootstrap)
            source = ours.Source(kind, at, bootstrap, registry)
            rivals += [
                Contender(ours.name_of(kind), ours.snapshot, (METRIC, source, rows), ours=kind == "mariadb"),
                Contender(debezium.name_of(kind), debezium.snapshot, (METRIC, rival, rows)),
                Contender(ours.name_of(kind, "codec"), mysql_alone.codec, (METRIC, source, rows)),
            ]
        yield [*rivals, Contender(produce.NAME, produce.produce, (METRIC, bootstrap, rows))]
