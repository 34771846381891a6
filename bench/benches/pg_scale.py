"""How the cost of PostgreSQL's log grows: with row width, transaction size, tables, partitions and tasks.

Each contender is one point of a curve.  A backlog waits in a slot between two marks, which are rows of a
table of their own; the clock runs from the first mark's record to the moment when a `read_committed` consumer
sees the second one.  The topics are there; `first_s` is the time until a change of each table, which precedes
the first mark, is published, with its schema: from the start of the process.
`rows` is the number of changes in the curves of tables, partitions and tasks.
"""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench import stage
from bench.address import Address
from bench.cost import Cost, metered
from bench.ours import postgres as ours
from bench.peers.slot import PUBLICATION, connect, copied, held
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.visible import make_topic, watch
from bench.workloads import wide

CHANGES, BYTES, FIRST = "changes_per_s", "mb_per_s", "first_s"
UNITS = {CHANGES: "changes/s", BYTES: "MB/s of rows", FIRST: "s"}
_QUIET_S = 1_200.0
FULL = Size(400_000, 1)
QUICK = Size(4_000, 1)
MARKS = "marks"
_MARK = f"insert into {MARKS} default values"
_VOLUME = 256 * 10**6  # bytes of rows, at most, of a point of the curve of widths
_AT_ONCE = 500  # topics made in one request


class Point(NamedTuple):
    """One point of a curve."""

    changes: int
    width: int = 100  # bytes of a row
    in_one: int = 1_000  # rows of a transaction
    tables: int = 1
    partitions: int = 1
    tasks: int = 1


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Share the servers; every point has a database of its own."""
    with stage.servers() as stack:
        at = Address(stack.postgres().port, "postgres", "", "postgres")
        args = (at, stack.kafka().bootstrap, stack.registry().url)
        yield [Contender(name, measure, (*args, tuple(point))) for name, point in points(rows).items()]


def points(rows: int) -> dict[str, Point]:
    """Name the points of all curves."""
    widths = {f"width {width:,} B": width for width in (100, 1_000, 10_000, 1_000_000)}
    sizes = {1: rows // 4, 10: rows, 1_000: rows, 100_000: rows, 5_000_000: rows * 25 // 2}
    return {
        **{
            name: Point(min(rows, _VOLUME // width), width, in_one=min(1_000, 10**7 // width))
            for name, width in widths.items()
        },
        **{f"transactions of {size:,} rows": Point(count, in_one=size) for size, count in sizes.items()},
        **{f"{tables:,} tables": Point(rows, tables=tables) for tables in (10, 100, 1_000, 3_000)},
        **{f"{number} partitions": Point(rows, partitions=number) for number in (4, 16, 64)},
        **{f"{number} tasks": Point(rows, tasks=number) for number in (2, 4)},
    }


def measure(at: Address, bootstrap: str, registry: str, asked: tuple[int, ...]) -> Outcome:
    """Write the backlog of a point, then let its tasks read it."""
    point = Point(*asked)
    prefix = f"scale{secrets.token_hex(4)}"
    own = stage.new_database(at, prefix)
    with connect(at._replace(database="postgres")) as server:
        try:
            return _measured(own, bootstrap, registry, prefix, point)
        finally:
            server.execute(f"drop database {prefix} with (force)".encode())


def _measured(at: Address, bootstrap: str, registry: str, prefix: str, point: Point) -> Outcome:
    names = wide.names(point.tables)
    with connect(at) as session:
        session.execute(f"create table {MARKS} (id bigserial primary key)".encode())
        wide.make(session, names)
        session.execute(f"create publication {PUBLICATION} for all tables".encode())
    with held(at) as backlog:
        with connect(at) as session:
            wide.write(session, names, len(names), point.width, point.in_one)
            session.execute(_MARK.encode())
            wide.write(session, names, point.changes, point.width, point.in_one)
            session.execute(_MARK.encode())
        prefixes = [f"{prefix}n{task}" for task in range(point.tasks)]
        for one in prefixes:
            start = f"{one}.{at.database}.public."
            make_topic(bootstrap, start + MARKS)
            _make_topics(bootstrap, [start + name for name in names], point.partitions)
        taken, first, cost = _read(at, bootstrap, registry, backlog, prefixes)
    changes = point.changes * point.tasks
    values = {CHANGES: changes / taken, BYTES: changes * point.width / taken / 1e6, FIRST: first}
    return Outcome(values, cost)


def _read(
    at: Address, bootstrap: str, registry: str, backlog: str, prefixes: Sequence[str]
) -> tuple[float, float, Cost]:
    """Return how long the slowest of the tasks took, when it began after its start, and what all cost."""
    with ExitStack() as stack:
        reading = []
        for prefix in prefixes:
            watched = stack.enter_context(watch(bootstrap, f"{prefix}.{at.database}.public.{MARKS}"))
            given = ours.settings(at, bootstrap, registry, prefix) | {
                "slot.name": stack.enter_context(copied(at, backlog)),
                "table.include.list": "public\\..*",
            }
            process = stack.enter_context(ours.running(given))
            reading.append((watched, process, stack.enter_context(metered(process.pid))))
        started = time.time()
        seen = [
            watched.until(2, lambda process=process: ours.attended(process)(0.0), _QUIET_S)  # type: ignore[misc]  # bound at once
            for watched, process, _ in reading
        ]
        meters = [meter for *_, meter in reading]
        stack.close()
    costs = [meter.cost for meter in meters]
    slowest = max(seen, key=lambda one: one.seconds)
    return (
        slowest.seconds,
        slowest.began - started,
        Cost(sum(cost.cpu_s for cost in costs), sum(cost.peak_mb for cost in costs)),
    )


def _make_topics(bootstrap: str, topics: Sequence[str], partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    for first in range(0, len(topics), _AT_ONCE):
        wanted = [NewTopic(topic, partitions, 1) for topic in topics[first : first + _AT_ONCE]]
        for made in admin.create_topics(wanted, request_timeout=120).values():
            made.result(120)
