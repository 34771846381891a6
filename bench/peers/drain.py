"""The raw limit of a PostgreSQL log: read a slot's backlog and drop every message undecoded.

START_REPLICATION pgoutput  ->  bytes, counted by their first letter, forgotten
"""

import struct
import time

from psycopg import pq
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn

from bench.address import Address
from bench.cost import metered
from bench.peers.slot import PUBLICATION, copied
from bench.score import Outcome
from wrackline.schemas.errors import Definite, define

NAME = "drain"
QUIET_LIMIT_S = 60.0
CHANGES = frozenset(b"IUD")
LETTER_AT = 25  # after `w` and three 8-byte numbers
REPLY_AT = 17  # after `k` and two 8-byte numbers
STILL_HERE = struct.pack(">cqqqqb", b"r", 0, 0, 0, 0, 0)  # confirms nothing

DRAIN_FAILED = define(
    "bench.drain_failed",
    Definite,
    "the slot's stream ended after {seen} of {expected} changes: {reason}",
    hint="see the server's log; run the bench again with --quick",
)


def drain(metric: str, at: Address, backlog: str, changes: int) -> Outcome:
    """Read a copy of the backlog to its last change."""
    with copied(at, backlog) as slot:
        stream = _start(at, slot, changes)
        try:
            with metered() as meter:
                seconds = _read(stream, changes)
        finally:
            stream.finish()
    return Outcome({metric: changes / seconds}, meter.cost)


def _start(at: Address, slot: str, changes: int) -> PGconn:
    where = f"host=127.0.0.1 port={at.port} user={at.user} dbname={at.database} replication=database"
    stream = pq.PGconn.connect(f"{where} password={at.password}".encode() if at.password else where.encode())
    if stream.status != ConnStatus.OK:
        raise DRAIN_FAILED(seen=0, expected=changes, reason=stream.get_error_message())
    options = f"proto_version '1', publication_names '{PUBLICATION}'"
    answer = stream.exec_(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ({options})".encode())
    if answer.status != ExecStatus.COPY_BOTH:
        raise DRAIN_FAILED(seen=0, expected=changes, reason=answer.get_error_message())
    return stream


def _read(stream: PGconn, changes: int) -> float:
    seen = seen_before = 0
    began = 0.0
    while seen < changes:
        size, message = stream.get_copy_data(0)
        if size < 0:
            raise DRAIN_FAILED(seen=seen, expected=changes, reason=stream.get_error_message())
        began = began or time.perf_counter()
        if message[0] == ord("w"):
            seen += message[LETTER_AT] in CHANGES
            continue
        if seen == seen_before and time.perf_counter() - began > QUIET_LIMIT_S:
            raise DRAIN_FAILED(seen=seen, expected=changes, reason="the slot holds no more")
        seen_before = seen
        if message[REPLY_AT]:
            stream.put_copy_data(STILL_HERE)
            stream.flush()
    return time.perf_counter() - began
