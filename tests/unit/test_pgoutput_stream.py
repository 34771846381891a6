"""The stream's loop over libpq's buffer: what it reads at once, and what a lost connection becomes.

Only the buffer is made by hand here: when a real server's socket runs empty is not to be said.
"""

import contextlib
import socket
import struct
from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any, cast

import psycopg
import pytest
from psycopg import pq

from tests.fakes.no_watch import NoWatch
from tests.unit.test_pgoutput_log import START, begin, commit, decoder, message
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.kit.polled_stream import PolledStream, ReadState
from wrackline.producers.sources.postgres.log.position import PgPosition
from wrackline.producers.sources.postgres.stream import PgLogWire, PgStream, PgStreamTiming
from wrackline.schemas.errors import Transient

HEADER = struct.pack(">cQQq", b"w", 0, 0, 0)
MOST = 1000
KEEPALIVE = struct.pack(">cQqB", b"k", 1, 0, 0)


class Buffer:
    """A connection whose buffer holds these messages; it is broken once they are read."""

    status = pq.ConnStatus.OK

    def __init__(self, messages: Iterator[bytes]) -> None:
        self.messages, self.read, self.broken = messages, 0, False

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


def polled(wire: Any, around: Surroundings, rhythm: PgStreamTiming) -> PgStream:
    log = PgLogWire(wire, decoder(START), START, around, slot="s", rhythm=rhythm)
    return PolledStream(log, NoWatch(), around.monotonic)


def stream(wire: Any) -> PgStream:
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: WriterIds(None, 0), MOST)
    return polled(wire, around, PgStreamTiming())


def test_rows_that_are_not_captured_do_not_hold_the_stream() -> None:
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


class Silent:
    """A connection on which nothing comes but what `answers` holds."""

    status = pq.ConnStatus.OK

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.socket = self.ours.fileno()
        self.said: list[bytes] = []
        self.answers: list[bytes] = []

    def get_copy_data(self, _: int) -> tuple[int, memoryview]:
        return (1, memoryview(self.answers.pop())) if self.answers else (0, memoryview(b""))

    def consume_input(self) -> None:
        pass

    def put_copy_data(self, status: bytes) -> int:
        self.said.append(status)
        return len(status)

    def flush(self) -> int:
        return 0


def test_a_silent_server_is_asked_halfway_and_given_up_unless_it_answers() -> None:
    wire, now = Silent(), 0.0

    def tick() -> float:
        nonlocal now
        now += 0.001
        return now

    around = Surroundings(tick, lambda: 0, lambda _: WriterIds(None, 0), MOST)
    rhythm = PgStreamTiming(status_every=1e6, most_silence=60.0)
    made = polled(wire, around, rhythm)

    def listen(after: float) -> None:
        nonlocal now
        now += after
        assert made.poll(now + 0.01) is None

    def asked() -> list[int]:
        return [status[-1] for status in wire.said]

    with wire.ours, wire.theirs:
        listen(0.0)
        listen(29.0)
        assert asked() == []
        listen(1.5)
        assert asked() == [1]
        wire.answers.append(KEEPALIVE)
        listen(29.0)
        listen(31.0)
        assert asked() == [1, 1]
        wire.answers.append(KEEPALIVE)
        listen(1000.0)  # a time in which nobody listened is no silence of the server
        listen(31.0)
        listen(29.0)
        with pytest.raises(Transient, match=r"pg\.log_silent"):
            listen(1.5)
    assert asked() == [1, 1, 1]


class Busy(Silent):
    """A connection to a server that sends rows which nobody captures; all of its socket is read at once."""

    ROW = HEADER + b"I" + struct.pack(">I", 7) + b"N\0\0"

    def __init__(self) -> None:
        super().__init__()
        self.theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.ours.setblocking(False)
        self.reads = 0

    def send(self, rows: int) -> None:
        self.theirs.sendall(self.ROW * rows)

    def consume_input(self) -> None:
        self.reads += 1
        with contextlib.suppress(BlockingIOError):
            size = len(self.ours.recv(1 << 20))
            self.answers += [self.ROW] * (size // len(self.ROW))

    def get_copy_data(self, _: int) -> tuple[int, memoryview]:
        return (len(self.ROW), memoryview(self.answers.pop())) if self.answers else (0, memoryview(b""))


@pytest.fixture
def busy() -> Iterator[tuple[Busy, PgLogWire, list[float]]]:
    """A busy connection, its log, and the clock."""
    wire, now = Busy(), [0.0]
    around = Surroundings(lambda: now[0], lambda: 0, lambda _: WriterIds(None, 0))
    log = PgLogWire(cast("Any", wire), decoder(START), START, around, slot="s", rhythm=PgStreamTiming())
    with wire.ours, wire.theirs:
        yield wire, log, now


FEW, MANY = 100, 5000  # rows: less and more than what leaves a socket to fill


def test_a_log_that_is_not_busy_is_read_until_its_socket_is_empty(
    busy: tuple[Busy, PgLogWire, list[float]],
) -> None:
    wire, log, _ = busy
    for _ in range(3):
        wire.send(FEW)
        assert log.read_ahead() is ReadState.DRAINED


def test_a_busy_socket_is_left_to_fill_until_it_is_full_or_its_server_has_no_more(
    busy: tuple[Busy, PgLogWire, list[float]],
) -> None:
    wire, log, now = busy
    wire.send(MANY)
    assert log.read_ahead() is ReadState.FILLING
    reads = wire.reads
    for _ in range(3):  # more comes all the time
        wire.send(FEW)
        now[0] += 0.006
        assert log.read_ahead() is ReadState.FILLING
    assert log.read_ahead() is ReadState.FILLING, "it was looked at just now"
    assert wire.reads == reads
    now[0] += 0.006
    assert log.read_ahead() is ReadState.DRAINED
    assert wire.reads > reads


def test_a_busy_socket_is_not_left_to_fill_for_long(busy: tuple[Busy, PgLogWire, list[float]]) -> None:
    wire, log, now = busy
    wire.send(MANY)
    assert log.read_ahead() is ReadState.FILLING
    reads = wire.reads
    while wire.reads == reads:
        assert now[0] < 0.06
        now[0] += 0.006
        wire.send(FEW)
        log.read_ahead()
    assert not wire.answers
