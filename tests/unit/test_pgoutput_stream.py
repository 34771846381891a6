"""The stream's loop over libpq's buffer: what it reads at once, and what a lost connection becomes.

Only the buffer is made by hand here: when a real server's socket runs empty is not to be said.
"""

import struct
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import psycopg
import pytest
from psycopg import pq

from tests.unit.test_pgoutput_log import START, begin, commit, decoder, message
from wrackline.producers.plugin import Surroundings, WriterIds
from wrackline.producers.sources.postgres.position import PgPosition
from wrackline.producers.sources.postgres.stream import PgStream
from wrackline.schemas.errors import Transient

HEADER = struct.pack(">cQQq", b"w", 0, 0, 0)
MOST = 1000


class Copied:
    status = pq.ExecStatus.COPY_BOTH


class Buffer:
    """A connection whose buffer holds these messages; it is broken once they are read."""

    status, nonblocking = pq.ConnStatus.OK, 0

    def __init__(self, messages: Iterator[bytes]) -> None:
        self.messages, self.read, self.broken = messages, 0, False

    def exec_(self, command: bytes) -> Copied:
        del command
        return Copied()

    def get_copy_data(self, _: int) -> tuple[int, memoryview]:
        one = HEADER + next(self.messages)
        self.read += len(one)
        assert self.read < 10 * MOST, "it reads without end"
        return len(one), memoryview(one)

    def put_copy_data(self, status: bytes) -> int:
        return len(status)

    def flush(self) -> int:
        if self.broken:
            raise psycopg.OperationalError("flushing failed: the connection is closed")
        return 0


def stream(wire: Any) -> PgStream:
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: WriterIds(None, 0), MOST)
    return PgStream(wire, decoder(START), START, around, slot="s", publication="p", status_every=10.0)


def test_rows_that_nobody_captures_do_not_hold_the_stream() -> None:
    rows = repeat(b"I" + struct.pack(">I", 7) + b"N\0\0")
    wire = Buffer(chain([begin(200)], rows))
    made = stream(wire)
    assert made.poll(-1.0) is not None  # the Begin
    assert made.poll(-1.0) is None
    assert wire.read < 4 * MOST


@pytest.mark.parametrize("one", [begin(200), message(150, transactional=False)], ids=["empty", "message"])
def test_steps_without_rows_do_not_grow_without_end(one: bytes) -> None:
    wire = Buffer(chain.from_iterable(repeat((one, commit(200)) if one[:1] == b"B" else (one,))))
    batch = stream(wire).poll(-1.0)
    assert batch is not None
    assert wire.read < 2 * MOST


def test_a_confirmation_to_a_lost_connection_is_tried_again() -> None:
    wire = Buffer(iter(()))
    made = stream(wire)
    wire.broken = True
    with pytest.raises(Transient, match=r"pg\.log_ended"):
        made.confirm(PgPosition(1, 300, 0, 300))
    with pytest.raises(Transient):
        made.keep_alive()
