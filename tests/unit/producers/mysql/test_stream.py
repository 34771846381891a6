"""What a stream hands out when: a transaction that is still on its way waits for its end, not for ever."""

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer

import pytest

from tests.fakes.no_watch import NoWatch
from tests.fixtures.written_log import WrittenLog
from tests.unit.producers.mysql.test_decode import decoder, rows
from tests.unit.producers.mysql.test_packets import wire_of
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.contract.steps import Batch, Step
from wrackline.producers.kit.polled_stream import LONGEST_READ_S, PolledStream
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.stream import MySqlLogWire, MySqlStream, StreamServices
from wrackline.schemas.errors import Transient

SOON, LATE = 0.05, 20.0  # seconds


class Wire:
    """A stream, and the server's end of it."""

    def __init__(self, log: WrittenLog, stream: MySqlStream, theirs: socket.socket) -> None:
        self._events, self.stream, self._theirs = log.sent(), stream, theirs
        self._packets = wire_of(self._events)

    def send(self, until: bytes) -> None:
        """Send all before the event that has this text; all, where none has it."""
        before = next((n for n, event in enumerate(self._events) if until in event), len(self._events))
        whole = wire_of(self._events[:before])
        self._theirs.sendall(whole)
        self._events, self._packets = self._events[before:], self._packets[len(whole) :]

    def rest(self) -> None:
        """Send what is left, as the same packets that it was among."""
        self._theirs.sendall(self._packets)

    def poll(self, seconds: float) -> Sequence[Step] | None:
        """What it hands out."""
        batch: Batch | None = self.stream.poll(time.monotonic() + seconds)
        return None if batch is None else batch.steps


@contextmanager
def opened(log: WrittenLog, clock: Callable[[], float] = time.monotonic) -> Iterator[Wire]:
    ours, theirs = socket.socketpair()
    around = Surroundings(clock, lambda: 0, lambda _: WriterIds(1, 2))
    beside = StreamServices(end=lambda: None, part=lambda _: pytest.fail("none"), metadata=lambda: "FULL")
    packets = Packets(ours, ours.close, user="'me'", most=1 << 20)
    wire = MySqlLogWire(packets, decoder(log), around, most_silence=LATE, beside=beside)
    stream = PolledStream(wire, NoWatch(), around.monotonic)
    with ours, theirs:
        yield Wire(log, stream, theirs)
        stream.close()


def taken_back() -> WrittenLog:
    log = WrittenLog("mariadb")
    log.inserted(1, "t", 1)
    log.begin(2)
    log.insert("t", 2)
    log.query("ROLLBACK")
    return log


def test_rows_that_are_taken_back_a_moment_later_are_never_handed_out() -> None:
    with opened(taken_back()) as wire:
        wire.send(b"ROLLBACK")
        assert wire.poll(0.0) is None
        later = Timer(SOON, wire.rest)
        later.start()
        found = wire.poll(LATE)
        later.join()
    assert found is not None
    assert rows(found) == [(1, 0)]


def test_what_has_come_is_handed_out_if_no_end_comes_as_long_as_may_be_waited() -> None:
    with opened(taken_back()) as wire:
        wire.send(b"ROLLBACK")
        tries = (wire.poll(SOON) for _ in range(100))  # a deadline may be over before there is a look at it
        found = next(steps for steps in tries if steps is not None)
    assert rows(found) == [(1, 0), (2, 0)]


def test_a_socket_that_does_not_close_leaves_no_dump_on_the_server() -> None:
    def refuse() -> None:
        raise OSError("no end")

    ended: list[str] = []
    ours, theirs = socket.socketpair()
    around = Surroundings(time.monotonic, lambda: 0, lambda _: WriterIds(1, 2))
    beside = StreamServices(lambda: ended.append("dump"), lambda _: pytest.fail("none"), lambda: "FULL")
    with ours, theirs:
        packets = Packets(ours, refuse, user="'me'", most=1 << 20)
        wire = MySqlLogWire(packets, decoder(taken_back()), around, most_silence=LATE, beside=beside)
        with pytest.raises(OSError, match="no end"):
            wire.close()
    assert ended == ["dump"]


def test_a_server_that_sends_nothing_is_given_up() -> None:
    now = 0.0

    def tick() -> float:
        nonlocal now
        now += 0.001
        return now

    with opened(taken_back(), tick) as wire:
        assert wire.stream.poll(now + 0.01) is None
        now += LATE
        wire.rest()
        assert wire.stream.poll(now + 0.01) is not None
        assert wire.stream.poll(now + 0.01) is None, "it has sent something since"
        now += LATE
        with pytest.raises(Transient, match=r"mysql\.log_silent"):
            wire.stream.poll(now + 0.01)


def test_a_read_ends_in_time_however_much_there_is() -> None:
    """The first changes of ten thousand tables take minutes; a commit waits for the read that runs."""
    now = 0.0

    def slow() -> float:
        nonlocal now
        now += LONGEST_READ_S / 10
        return now

    log = WrittenLog("mariadb")
    for number in range(1, 31):
        log.inserted(number, "t", number)
    with opened(log, slow) as wire:
        wire.rest()
        found = [one for _ in range(60) if (one := wire.stream.poll(slow() + SOON)) is not None]
    counts = [len(rows(batch.steps)) for batch in found]
    assert sum(counts) == 30
    assert max(counts) < 10, "each event takes a tenth of the longest read"
