"""From a database to a table in a lake: TPC-H's lineitem, a backlog of changes over it, then 1,000 changes/s.

Each contender gets a database of its own with the same rows.  `load_rows_per_s` runs from the start of its
processes to the commit that has all rows, `first_rows_s` to the first commit with any.  Then its processes
are frozen, a backlog is written, and `backlog_changes_per_s` runs from the thaw to the commit with the last
change.  `fresh` is how long after its own transaction was sent a change stood in a commit.  At the end rows
and a hash of all their values are compared with the database, read as each contender's documentation says:
`equal` is 1 if they are the same, `read_s` the time of that reading in a warm Spark, and `surplus_rows` are
the rows that it leaves out.  A contender that has not loaded all within the limit gets the rate that it
reached, and nothing else.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from statistics import quantiles

from bench import stage
from bench.address import Address
from bench.cost import metered
from bench.lake import session
from bench.lake_copy import Copy, Marks, Source, frozen, until_rows
from bench.lake_log import commits
from bench.ours.keeper import keeper as ours
from bench.peers import flink, iceberg_sink
from bench.peers.slot import connect
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads import lineitem

LOAD, FIRST, BACKLOG = "load_rows_per_s", "first_rows_s", "backlog_changes_per_s"
P50, P95 = "fresh_p50_s", "fresh_p95_s"
EQUAL, SURPLUS, READ = "equal", "surplus_rows", "read_s"
UNITS = {
    LOAD: "rows/s",
    FIRST: "s",
    BACKLOG: "changes/s",
    P50: "s",
    P95: "s",
    EQUAL: "1: yes",
    SURPLUS: "rows",
    READ: "s",
}
FULL = Size(1_000_000, 3)
QUICK = Size(60_000, 1)
MOST_CHANGES, MOST_PULSES = 500_000, 75_000
COUNTED_FROM = 0.2  # of the pulses: the first ones warm up
A_SECOND = 1_000
LIMIT_S = 480.0

Keeper = Callable[[Source], AbstractContextManager[Copy]]


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Make the table once; each contender gets a copy of its database."""
    with stage.servers() as stack:
        at, bootstrap, registry = stage.lineitem(stack, rows), stack.kafka().bootstrap, stack.registry().url
        given = (at, bootstrap, registry, rows)
        yield [
            Contender("wrackline, iceberg", kept, (partial(ours, "iceberg"), *given), ours=True),
            Contender("wrackline, delta", kept, (partial(ours, "delta"), *given)),
            Contender(iceberg_sink.NAME, kept, (iceberg_sink.keeper, *given)),
            Contender(flink.NAME, kept, (flink.keeper, *given)),
        ]


def kept(keeper: Keeper, base: Address, bootstrap: str, registry: str, rows: int) -> Outcome:
    """Take one contender through all of it."""
    with tempfile.TemporaryDirectory(prefix="wrackline-bench-") as name, stage.copied_database(base) as at:
        folder = Path(name)
        with metered() as meter:
            began = time.time()
            with keeper(Source(folder, at, bootstrap, registry)) as copy:
                values = dict(_measured(copy, at, rows, began))
        if P50 in values:
            values |= _compared(copy, at, folder)
        return Outcome(values, meter.cost)


def _measured(copy: Copy, at: Address, rows: int, began: float) -> Iterator[tuple[str, float]]:
    """Yield one figure after the other, while the time is enough."""
    loaded = until_rows(copy, rows, LIMIT_S)
    if loaded.rows < rows:
        yield LOAD, loaded.rows / LIMIT_S
        return
    yield LOAD, rows / (loaded.at_ms / 1000 - began)
    yield FIRST, next(one.at_ms for one in commits(copy.table) if one.rows) / 1000 - began
    marks, changes = Marks(copy), lineitem.changes_of(rows, MOST_CHANGES)
    with frozen(copy.pids):
        _write(at, rows, changes)
    thawed = time.time()
    if not marks.until(0, LIMIT_S):
        return
    yield BACKLOG, changes / (marks.seen[0] / 1000 - thawed)
    sent = _pulses(at, min(MOST_PULSES, lineitem.most_marks(rows) - 1))
    if not marks.until(max(sent), LIMIT_S):
        return
    counted = [number for number in sent if number > COUNTED_FROM * len(sent)]
    cuts = quantiles((marks.seen[number] / 1000 - sent[number] for number in counted), n=100)
    yield P50, cuts[49]
    yield P95, cuts[94]


def _write(at: Address, rows: int, changes: int) -> None:
    """Write the backlog, with a mark as its last change."""
    with connect(at) as to:
        for statements in lineitem.transactions(rows, changes):
            with to.transaction():
                for statement in statements:
                    to.execute(statement)
        to.execute(*lineitem.mark(0))


def _pulses(at: Address, count: int) -> Mapping[int, float]:
    """Mark rows at the steady rate, one a transaction; when each was sent."""
    sent = dict[int, float]()
    with connect(at) as to:
        began = time.time()
        for number in range(1, count + 1):
            ahead = began + number / A_SECOND - time.time()
            if ahead > 0:
                time.sleep(ahead)
            sent[number] = time.time()
            to.execute(*lineitem.mark(number), prepare=True)
    return sent


def _compared(copy: Copy, at: Address, folder: Path) -> dict[str, float]:
    with connect(at) as to:
        there = to.execute(lineitem.postgres_digest()).fetchone() or ()
    form = "delta" if (copy.table / "_delta_log").is_dir() else "iceberg"
    with session(str(folder), delta=True) as spark:
        spark.read.format(form).load(str(copy.table)).createOrReplaceTempView("kept")
        whole = spark.table("kept").count()
        began = time.perf_counter()
        (here,) = spark.sql(lineitem.spark_digest(copy.rows.format(table="kept"))).collect()
        taken = time.perf_counter() - began
    return {EQUAL: float(tuple(here) == tuple(there)), SURPLUS: float(whole - here[0]), READ: taken}
