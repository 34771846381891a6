"""How the cost of a lake grows: with a table's rows, a topic's partitions, and the number of tables.

Each contender is one point of a curve.  `merge_s` and `recent_s` are those of `lake-merge`, at a size of the
table; `events_per_s` is that of `decode`, at a number of partitions.  `first_s` is the time until all of the
tables, each with a row, are in the lake, from the start of the processes; `change_s` the time until all have
their next row.  Iceberg, two cores; `rows` is the size of the largest table.
"""

import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import stage
from bench.address import Address
from bench.benches import decode, lake_merge
from bench.late import commits
from bench.ours.pipeline import Pipeline, Wanted, running
from bench.peers.slot import PUBLICATION, connect, held
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads import wide
from bench.workloads.envelopes import TOPIC
from wrackline.schemas.errors import Definite, define

FIRST, CHANGE = "first_s", "change_s"
UNITS = {
    lake_merge.MERGE: "s",
    lake_merge.RECENT: "s",
    decode.METRIC: "events/s",
    FIRST: "s",
    CHANGE: "s",
}
FULL = Size(100_000_000, 1)
QUICK = Size(100_000, 1)
_EVENTS_A_ROW = 250  # of the largest table there is an event for this many
_PATIENCE_S = 1_200.0

STILL_MISSING = define(
    "bench.still_missing",
    Definite,
    "after {seconds} s {missing} of {tables} tables had not all of their rows",
    hint="run the bench again with --quick",
)


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Share the servers; every point has a folder, a topic or a database of its own."""
    events = max(10_000, rows // _EVENTS_A_ROW)
    with stage.servers() as stack, tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        bootstrap = stack.kafka().bootstrap
        at = Address(stack.postgres().port, "postgres", "", "postgres")
        counts = (lake_merge.RANDOM, lake_merge.NEAR)
        yield [
            *(
                Contender(f"{size:,} rows", lake_merge.ours, (folder, size, counts, lake_merge.Way.EITHER))
                for size in (rows // 100, rows // 10, rows)
            ),
            *(
                Contender(f"{number} partitions", partitions, (bootstrap, events, number))
                for number in (1, 4, 16, 64)
            ),
            *(
                Contender(f"{number} tables", tables, (at, bootstrap, stack.registry().url, number))
                for number in (10, 100)
            ),
        ]


def partitions(bootstrap: str, events: int, number: int) -> Outcome:
    """Read a backlog that so many partitions share."""
    topic = f"{TOPIC}-{number}"
    decode.publish(bootstrap, topic, events, number)
    return Outcome({decode.METRIC: decode.alone(bootstrap, topic, events).values[decode.METRIC]})


def tables(at: Address, bootstrap: str, registry: str, number: int) -> Outcome:
    """Load so many tables of one row, then insert another row into each."""
    prefix = f"scale{secrets.token_hex(4)}"
    at = stage.new_database(at, prefix)
    names = wide.names(number)
    with connect(at) as session:
        wide.make(session, names)
        wide.write(session, names, number, 100, number)
        session.execute(f"create publication {PUBLICATION} for all tables".encode())
    topics = {name: f"{prefix}.{at.database}.public.{name}" for name in names}
    with tempfile.TemporaryDirectory() as folder, held(at) as slot:
        began = time.perf_counter()
        with running(
            Path(folder), at, bootstrap, registry, Wanted(prefix, slot, "wide_.*", "initial")
        ) as ours:
            reached = _until(ours, topics, {})
            loaded = time.perf_counter()
            with connect(at) as session:
                wide.write(session, names, number, 100, number)
            _until(ours, topics, reached)
            changed = time.perf_counter()
    return Outcome({FIRST: loaded - began, CHANGE: changed - loaded})


def _until(pipeline: Pipeline, topics: Mapping[str, str], behind: Mapping[str, int]) -> dict[str, int]:
    """Wait until each table has reached a later offset of its topic than this; return the offsets."""
    missing, reached, deadline = dict(topics), dict[str, int](), time.monotonic() + _PATIENCE_S
    while missing:
        if time.monotonic() > deadline:
            raise STILL_MISSING(seconds=_PATIENCE_S, missing=len(missing), tables=len(topics))
        pipeline.check()
        time.sleep(0.5)
        for table, topic in list(missing.items()):
            made = commits(pipeline.table(table), topic)
            if not made or made[-1].upto <= behind.get(table, 0):
                break  # the others can wait: all of them are needed
            reached[table] = made[-1].upto
            del missing[table]
    return reached
