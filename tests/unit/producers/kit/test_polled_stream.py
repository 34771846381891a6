"""The one loop of every polled stream, over a wire and a watch that are lists of answers."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Timer

import pytest

from tests.fakes.place import Place
from wrackline.producers.contract.steps import Batch, Position, Progress
from wrackline.producers.kit.polled_stream import PolledStream, ReadState, SilenceWatch

BATCH = Batch((Progress(Place(1, 7)),), 0)
SOON, LATE = 0.05, 20.0  # seconds
NOW = -1.0  # before: a deadline that is over


class SilentError(Exception):
    """A wire gives its server up."""


@dataclass
class Answers:
    """A wire: how its reads end, and which batches it has; the last answers are given again and again."""

    ours: socket.socket
    period: float = LATE
    longest_wait: float = LATE
    reads: list[ReadState] = field(default_factory=lambda: [ReadState.DRAINED])
    batches: list[Batch | None] = field(default_factory=lambda: [None])
    patience: int = 1  # how many periods the server may be silent
    asked: list[str] = field(default_factory=list)
    pictures: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.silence = SilenceWatch(time.monotonic, self.period)

    def fileno(self) -> int:
        return self.ours.fileno()

    def read_ahead(self) -> ReadState:
        self.asked.append("read")
        return self.reads.pop(0) if len(self.reads) > 1 else self.reads[0]

    def passed(self, picture: int) -> bool:
        return picture <= 7

    def look(self, picture: int) -> None:
        self.pictures.append(picture)

    def take(self) -> Batch | None:
        self.asked.append("take")
        return self.batches.pop(0) if len(self.batches) > 1 else self.batches[0]

    def mind_silence(self, periods: int) -> None:
        self.asked.append(f"silence {periods}")
        if periods >= self.patience:
            raise SilentError

    def confirm(self, position: Position) -> None:
        self.asked.append(f"confirm {position}")

    def keep_alive(self) -> None:
        self.asked.append("keep alive")

    def ask(self) -> None:
        self.asked.append("ask")

    def close(self) -> None:
        self.asked.append("close")


@dataclass
class Pictures:
    """A watch that has these pictures."""

    waiting: list[int] = field(default_factory=list)
    ready: Callable[[], None] = lambda: None
    ended: list[str] = field(default_factory=list)

    def start(self, ready: Callable[[], None]) -> None:
        self.ready = ready

    def take(self, passed: Callable[[int], bool]) -> int | None:
        return self.waiting.pop(0) if self.waiting and passed(self.waiting[0]) else None

    def stop(self) -> None:
        self.ended.append("stop")

    def close(self) -> None:
        self.ended.append("close")


@dataclass
class Bench:
    wire: Answers
    watch: Pictures
    stream: PolledStream[int]
    theirs: socket.socket

    def poll(self, seconds: float) -> Batch | None:
        return self.stream.poll(time.monotonic() + seconds)

    def set_clock(self, *times: float) -> None:
        """Let these be the times at which it looks at the clock."""
        self.stream._clock = partial(next, iter(times))

    @contextmanager
    def soon(self, act: Callable[[], object]) -> Iterator[None]:
        """Do this while the stream waits."""
        timer = Timer(SOON, act)
        timer.start()
        yield
        timer.join()


@pytest.fixture
def bench() -> Iterator[Bench]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire, watch = Answers(ours), Pictures()
        made = Bench(wire, watch, PolledStream(wire, watch, time.monotonic), theirs)
        yield made
        made.stream.close()


def test_what_is_there_comes_without_a_wait(bench: Bench) -> None:
    assert bench.stream.state is ReadState.MORE
    bench.wire.batches = [BATCH]
    assert bench.poll(NOW) is BATCH
    assert bench.poll(LATE) is BATCH


def test_a_poll_does_not_wait_if_its_deadline_is_over(bench: Bench) -> None:
    assert bench.poll(NOW) is None
    assert bench.wire.asked.count("read") == 1


def test_a_read_that_stopped_at_its_limit_is_continued_at_once(bench: Bench) -> None:
    bench.wire.reads, bench.wire.batches = [ReadState.MORE], [None, None, BATCH]
    assert bench.poll(LATE) is BATCH
    assert bench.wire.asked.count("read") == 3


def test_a_drained_wire_is_read_again_when_something_comes(bench: Bench) -> None:
    bench.wire.batches = [None, BATCH]
    with bench.soon(lambda: bench.theirs.send(b"!")):
        assert bench.poll(LATE) is BATCH
    assert bench.wire.asked.count("read") == 2, "it must wait, not look again and again"


def test_a_server_that_wants_to_hear_is_not_forgotten_in_a_wait(bench: Bench) -> None:
    bench.wire.longest_wait, bench.wire.batches = SOON, [None, None, BATCH]
    assert bench.poll(LATE) is BATCH
    assert bench.wire.asked == ["read", "take", "keep alive"] * 3


@pytest.mark.parametrize("state", [ReadState.DRAINED, ReadState.HELD, ReadState.FILLING])
def test_a_wake_ends_a_wait_once(bench: Bench, state: ReadState) -> None:
    bench.wire.reads = [state]
    begun = time.monotonic()
    with bench.soon(bench.stream.wake):
        assert bench.poll(LATE) is None
    bench.stream.wake()
    assert bench.poll(LATE) is None
    assert time.monotonic() - begun < LATE
    begun = time.monotonic()
    assert bench.poll(SOON) is None
    assert time.monotonic() - begun >= SOON, "a wake that was heard ends no other wait"


def test_a_message_that_is_held_is_tried_again_without_news_from_the_server(bench: Bench) -> None:
    bench.theirs.send(b"!")  # it is not listened to
    bench.wire.reads, bench.wire.batches = [ReadState.HELD] * 2 + [ReadState.MORE], [None, None, BATCH]
    begun = time.monotonic()
    assert bench.poll(LATE) is BATCH
    assert time.monotonic() - begun >= 2 * 0.02
    assert bench.stream.state is ReadState.MORE


def test_a_socket_that_is_left_to_fill_is_not_listened_to(bench: Bench) -> None:
    bench.theirs.send(b"!")
    bench.wire.reads, bench.wire.batches = [ReadState.FILLING] * 2 + [ReadState.MORE], [None, None, BATCH]
    begun = time.monotonic()
    assert bench.poll(LATE) is BATCH
    assert time.monotonic() - begun >= 2 * 0.005
    assert bench.wire.asked.count("read") == 3


def test_a_wire_that_waits_for_the_catalogue_is_not_silent(bench: Bench) -> None:
    bench.wire.silence = SilenceWatch(time.monotonic, 0.0)
    bench.wire.reads, bench.wire.batches = [ReadState.HELD], [None, None, None, BATCH]
    assert bench.poll(LATE) is BATCH


def test_half_a_transaction_stays_until_the_rest_has_come(bench: Bench) -> None:
    bench.wire.reads, bench.wire.batches = [ReadState.AMID, ReadState.DRAINED], [BATCH]
    with bench.soon(lambda: bench.theirs.send(b"!")):
        assert bench.poll(LATE) is BATCH
    assert bench.wire.asked == ["read", "keep alive", "read", "take", "keep alive"]


def test_half_a_transaction_comes_when_the_wait_was_in_vain(bench: Bench) -> None:
    bench.wire.reads, bench.wire.batches = [ReadState.AMID], [BATCH]
    assert bench.poll(NOW) is None, "nobody has waited"
    assert bench.poll(SOON) is BATCH


def test_a_deadline_is_over_when_it_is_there(bench: Bench) -> None:
    bench.wire.reads, bench.wire.batches = [ReadState.AMID], [BATCH]
    bench.set_clock(5.0, 5.0)
    assert bench.stream.poll(5.0) is None, "nobody has waited"
    bench.set_clock(4.0, 5.0)
    assert bench.stream.poll(5.0) is BATCH
    bench.wire.longest_wait = 0.0
    bench.wire.asked.clear()
    bench.set_clock(4.0, 4.5, 5.0)
    assert bench.stream.poll(5.0) is BATCH
    assert bench.wire.asked == ["read", "keep alive", "read", "take", "keep alive"]
    bench.wire.reads, bench.wire.batches = [ReadState.DRAINED], [None]
    bench.set_clock(4.0, 5.0)
    assert bench.stream.poll(5.0) is None


def test_a_transaction_that_fills_the_batch_comes_before_its_end(bench: Bench) -> None:
    bench.wire.reads, bench.wire.batches = [ReadState.MORE], [BATCH]
    assert bench.poll(NOW) is BATCH


def test_a_picture_is_seen_before_the_batch_is_taken_and_not_before_the_log_passed_it(bench: Bench) -> None:
    bench.watch.waiting = [7, 8]
    bench.poll(NOW)
    bench.poll(NOW)
    assert (bench.wire.pictures, bench.watch.waiting) == ([7], [8])


def test_a_picture_ends_a_wait(bench: Bench) -> None:
    begun = time.monotonic()
    with bench.soon(bench.watch.ready):
        assert bench.poll(LATE) is None
    assert time.monotonic() - begun < LATE


def test_a_silent_server_is_minded_in_each_period_until_it_is_given_up(bench: Bench) -> None:
    bench.wire.silence, bench.wire.patience = SilenceWatch(time.monotonic, SOON), 2
    bench.wire.longest_wait = SOON / 5
    with pytest.raises(SilentError):
        bench.poll(LATE)
    assert [one for one in bench.wire.asked if one.startswith("silence")] == ["silence 1", "silence 2"]


def test_a_byte_ends_the_silence_though_no_message_is_whole(bench: Bench) -> None:
    now = 0.0
    bench.wire.silence = SilenceWatch(lambda: now, 10.0)
    bench.theirs.send(b"!")
    assert bench.poll(SOON) is None
    bench.wire.ours.recv(1)
    now = 11.0
    assert bench.poll(SOON) is None


def test_the_rest_is_the_wires(bench: Bench) -> None:
    bench.stream.confirm(Place(1, 7))
    bench.stream.keep_alive()
    bench.stream.ask()
    assert bench.wire.asked == [f"confirm {Place(1, 7)}", "keep alive", "ask"]


def test_a_stream_is_closed_once(bench: Bench) -> None:
    bench.stream.close()
    bench.stream.close()
    bench.stream.wake()
    assert (bench.wire.asked, bench.watch.ended) == (["close"], ["close"])
    assert bench.stream._wakeup.fileno() < 0, "its sockets are closed too"


def test_a_stream_that_is_dropped_leaves_no_watch() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        watch = Pictures()
        PolledStream(Answers(ours), watch, time.monotonic)
    assert watch.ended == ["stop"]


def test_silence_is_counted_in_periods_from_the_first_look_after_something_came() -> None:
    now = 0.0
    silence = SilenceWatch(lambda: now, 10.0)

    def after(seconds: float) -> int:
        nonlocal now
        now += seconds
        return silence.ended()

    assert [after(1000.0), after(9.0), after(1.0), after(9.0), after(1.5), after(10.0)] == [0, 0, 1, 0, 2, 3]
    silence.hear()
    assert [after(1000.0), after(9.0), after(1.0)] == [0, 0, 1]
