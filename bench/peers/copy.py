"""The raw limit of a PostgreSQL table: COPY it and drop it, row by row as a reader gets it.

COPY orders TO STDOUT  ->  lines, counted, forgotten
"""

import time

from psycopg import pq

from bench.address import Address
from bench.cost import metered
from bench.peers.slot import connect
from bench.score import Outcome
from bench.workloads.orders import TABLE
from wrackline.schemas.errors import Definite, define

NAME = "copy"

COPY_FAILED = define(
    "bench.copy_failed",
    Definite,
    "the table was copied with {seen} of {expected} rows: {reason}",
    hint="see the server's log; run the bench again with --quick",
)


def copy(metric: str, at: Address, rows: int) -> Outcome:
    """Read the table once, in the order in which it lies."""
    with connect(at) as session:
        wire = session.pgconn
        with metered() as meter:
            began = time.perf_counter()
            seen = _read(wire)
            seconds = time.perf_counter() - began
        if seen != rows:
            raise COPY_FAILED(seen=seen, expected=rows, reason=wire.get_error_message())
    return Outcome({metric: rows / seconds}, meter.cost)


def _read(wire: pq.abc.PGconn) -> int:
    if wire.exec_(f"COPY {TABLE} TO STDOUT".encode()).status != pq.ExecStatus.COPY_OUT:
        return 0
    seen = 0
    while wire.get_copy_data(0)[0] > 0:
        seen += 1
    while wire.get_result() is not None:
        pass
    return seen
