"""The raw limit of a binlog: read the backlog as a replica would, and drop every event undecoded.

COM_BINLOG_DUMP, which ends at the log's end  ->  packets, counted, forgotten
"""

import struct
import time
from contextlib import closing
from typing import Any, Protocol

from bench.address import Address
from bench.cost import metered
from bench.score import Outcome
from bench.stage import mysql_session
from wrackline.producers.contract.steps import Saved
from wrackline.schemas.errors import Definite, define

NAME = "drain"
_DUMP, _AND_END = 0x12, 1  # the command; its flag to end without waiting for more
_SERVER_ID = 7301
_EVENT, _END_SIZE = 0, 9
_KNOWN = (
    "set @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32', @mariadb_slave_capability = 4"
)

DRAIN_FAILED = define(
    "bench.binlog_drain_failed",
    Definite,
    "the binlog ended after {size} bytes, with a packet that begins with {kind}",
    hint="see the server's log; run the bench again with --quick",
)


def drain(metric: str, at: Address, start: Saved, changes: int) -> Outcome:
    """Read the backlog, which is the log's last part, to its end."""
    with closing(mysql_session(at)) as session:
        session.query(_KNOWN)
        talk: Any = session
        place = struct.pack("<IHI", start["offset"], _AND_END, _SERVER_ID)
        talk._execute_command(_DUMP, place + str(start["file"]).encode())  # noqa: SLF001 - it has no dump
        with metered() as meter:
            began = time.perf_counter()
            _read(talk._rfile)  # noqa: SLF001 - the same
            seconds = time.perf_counter() - began
    return Outcome({metric: changes / seconds}, meter.cost)


class _Wire(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read(wire: _Wire) -> None:
    size = 0
    while True:
        head = wire.read(4)
        length = int.from_bytes(head[:3], "little")
        body = wire.read(length)
        size += length
        if body[0] != _EVENT:
            break
    if body[0] != 0xFE or length >= _END_SIZE or size < _END_SIZE:
        raise DRAIN_FAILED(size=size, kind=body[0])
