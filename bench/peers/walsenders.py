"""Bare readers of many databases' logs: a walsender each, and a process that only listens.

with followed(ats, prefix) as (seconds, hear):  hear(enough)

It decodes nothing and writes nowhere.  What it costs, here and at the server, is what the server's protocol
costs everybody: PostgreSQL shows the log of a database only to a connection of its own.
"""

import select
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Final

from psycopg import pq

from bench.address import Address
from bench.peers.slot import PUBLICATION

AT_ONCE: Final = 8  # connections that are opened at the same time, as our own tasks do
_STATUS_S: Final = 10.0
_WAIT_MS: Final = 250  # a look whether it is enough; a row comes at once
_INSERT_AT: Final = 25  # in the server's message: 'w', two places and a time come first
_TEXT_AT: Final = _INSERT_AT + 9  # 'I', the table's number, 'N', the number of columns, 't'

Hear = Callable[[Callable[[], bool]], None]


class Listener:
    """All connections, and when the row with an id came."""

    def __init__(self) -> None:
        self.seen: dict[int, float] = {}
        self._wires: dict[int, pq.abc.PGconn] = {}
        self._places: dict[int, int] = {}
        self._poll = select.poll()
        self._status_due = 0.0

    def add(self, wire: pq.abc.PGconn) -> None:
        """Listen to one more."""
        self._wires[wire.socket], self._places[wire.socket] = wire, 0
        self._poll.register(wire.socket, select.POLLIN)

    def hear(self, enough: Callable[[], bool]) -> None:
        """Read until it is enough."""
        while not enough():
            for number, _ in self._poll.poll(_WAIT_MS):
                self._read(number)
            if time.monotonic() >= self._status_due:
                self._status_due = time.monotonic() + _STATUS_S
                for number in self._wires:
                    self._tell(number)

    def _read(self, number: int) -> None:
        wire = self._wires[number]
        wire.consume_input()
        while (found := wire.get_copy_data(1))[0] > 0:
            data = bytes(found[1])
            if data[:1] == b"k":
                self._places[number], _, asks = struct.unpack_from(">QqB", data, 1)
                if asks:
                    self._tell(number)
            elif data[_INSERT_AT : _INSERT_AT + 1] == b"I":
                (size,) = struct.unpack_from(">I", data, _TEXT_AT)
                self.seen[int(data[_TEXT_AT + 4 : _TEXT_AT + 4 + size])] = time.perf_counter()

    def _tell(self, number: int) -> None:
        place, wire = self._places[number], self._wires[number]
        wire.put_copy_data(struct.pack(">cQQQqB", b"r", place, place, place, 0, 0))
        wire.flush()


@contextmanager
def followed(ats: Sequence[Address], prefix: str) -> Iterator[Listener]:
    """Follow all of these until the block ends; their slots go with the connections."""
    listener = Listener()
    named: Mapping[str, Address] = {f"{prefix}_{number}": at for number, at in enumerate(ats)}
    with ExitStack() as opened:
        with ThreadPoolExecutor(AT_ONCE) as each:
            for wire in each.map(_begin, named.values(), named.keys()):
                opened.callback(wire.finish)
                listener.add(wire)
        yield listener


def _begin(at: Address, slot: str) -> pq.abc.PGconn:
    wire = pq.PGconn.connect(
        f"host=127.0.0.1 port={at.port} user={at.user} dbname={at.database} replication=database"
        f" application_name={slot.rpartition('_')[0]}".encode()
    )
    wire.exec_(f"CREATE_REPLICATION_SLOT {slot} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT".encode())
    options = f"proto_version '1', publication_names '{PUBLICATION}'"
    answer = wire.exec_(f"START_REPLICATION SLOT {slot} LOGICAL 0/0 ({options})".encode())
    if answer.status != pq.ExecStatus.COPY_BOTH:
        raise OSError(wire.get_error_message())
    wire.nonblocking = 1
    return wire
