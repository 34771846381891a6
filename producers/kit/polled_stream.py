"""The stream of a source's log: polled, and nothing waits for the server but `poll`, until its deadline.

    read ahead  ->  look at the catalogue  ->  take a batch  ->  keep alive  ->  wait for the wire or a wake
        '----------------------------------------------------------------------------------'

Instead of `poll`, its caller may wait for several streams at once: `begin_wait`, one wait, `end_wait`, and
then a `poll` that does not wait.

The wire reads all that its socket holds in one call, so the log's messages cost nothing here.  How that read
ended decides what follows (`ReadState`):

    MORE     no wait: the read stopped at its limit
    DRAINED  wait until the server sends something
    AMID     the same, but no batch is taken until the rest has come, as long as `poll` may wait
    HELD     do not listen, because more would not help: read again in a moment
    FILLING  the same, because the server still has much to send: it sends to a full socket in large pieces,
             and to an empty socket message by message, which costs it three times as much
"""

from collections.abc import Callable, Collection
from enum import Enum, auto
from types import MappingProxyType
from typing import Final, Generic, Protocol, TypeVar
from weakref import finalize

from wrackline.producers.contract.optional_parts import StreamWait
from wrackline.producers.contract.steps import Batch, Position
from wrackline.producers.kit.readable import readable
from wrackline.producers.kit.wakeup import Wakeup

_AGAIN_S: Final = 0.02  # between two tries to explain a message that is held
_FILLS_S: Final = 0.005  # between two looks whether the socket had its time to fill
LONGEST_READ_S: Final = 0.25  # of a read: a commit that has ended waits for it to be confirmed

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)
P_contra = TypeVar("P_contra", contravariant=True)


class ReadState(Enum):
    """How a wire's read ended."""

    MORE = auto()  # the batch is full, or enough was read
    DRAINED = auto()  # the socket is empty
    AMID = auto()  # the socket is empty inside a transaction whose rest follows at once
    HELD = auto()  # the next message can't be decoded yet
    FILLING = auto()  # the socket was full a moment ago, and is left to fill again


_PAUSES: Final = MappingProxyType({ReadState.HELD: _AGAIN_S, ReadState.FILLING: _FILLS_S})


class SilenceWatch:
    """How long nothing has arrived, in periods; it begins with the first wait after something came."""

    def __init__(self, clock: Callable[[], float], period: float) -> None:
        self._clock, self.period = clock, period
        self._since: float | None = None  # the current period began here
        self._ended = 0

    def hear(self) -> None:
        """Note that something has arrived."""
        self._since = None

    def ended(self) -> int:
        """Return the number of the period that has just ended, from 1 on; 0 if none has."""
        now = self._clock()
        if self._since is None:
            self._since, self._ended = now, 0
        elif now - self._since >= self.period:
            self._since, self._ended = now, self._ended + 1
            return self._ended
        return 0


class CatalogueWatch(Protocol[P_co]):
    """Pictures of the catalogue, one at a time; `CataloguePoller` is one."""

    def start(self, ready: Callable[[], None]) -> None:
        """Take pictures from here on; `ready` is called for each."""
        ...

    def take(self, passed: Callable[[P_co], bool]) -> P_co | None:
        """Return the picture that waits, if the log has passed it."""
        ...

    def stop(self) -> None:
        """Let it end, without waiting."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class LogWire(Protocol[P_contra]):
    """A log that has begun on a socket, and the decoder of what comes from there."""

    longest_wait: float  # seconds until `keep_alive` and the silence want a look
    silence: SilenceWatch  # `read_ahead` reports to it what has arrived

    def fileno(self) -> int:
        """Return the socket to wait for."""
        ...

    def read_ahead(self) -> ReadState:
        """Decode what the socket holds, within a limit, without waiting."""
        ...

    def passed(self, picture: P_contra) -> bool:
        """Whether the log has passed all that a picture shows."""
        ...

    def look(self, picture: P_contra) -> None:
        """Add to the steps what such a picture shows."""
        ...

    def take(self) -> Batch | None:
        """Hand out the steps so far."""
        ...

    def mind_silence(self, periods: int) -> None:
        """Ask a server that was silent for so many periods, or give it up with an error."""
        ...

    def confirm(self, position: Position) -> None:
        """Report to the server what it may drop."""
        ...

    def keep_alive(self) -> None:
        """Send what the server wants to hear, if it is due."""
        ...

    def ask(self) -> None:
        """Make the server report its place."""
        ...

    def close(self) -> None:
        """Give the log back; called once."""
        ...


class WireThreadWatch:
    """Looks at no catalogue, because a wire's thread brings it; ends that thread if the stream is dropped."""

    def __init__(self, stop: Callable[[], None]) -> None:
        """Take what lets the thread end, without waiting."""
        self._stop = stop

    def start(self, ready: Callable[[], None]) -> None:
        """Do nothing."""

    def take(self, passed: Callable[[None], bool]) -> None:
        """Return nothing."""

    def stop(self) -> None:
        """Let the thread end, without waiting."""
        self._stop()

    def close(self) -> None:
        """Do nothing: the wire ends the thread."""


class PolledStream(Generic[P]):
    """One source partition's log."""

    def __init__(self, wire: LogWire[P], watch: CatalogueWatch[P], clock: Callable[[], float]) -> None:
        """Take a log that has begun, and look at its catalogue from here on."""
        self._wire, self._watch, self._clock = wire, watch, clock
        self.state = ReadState.MORE  # how the last read ended
        self._closed = False
        self._has_waited = False  # its caller has, since the last poll
        self._wakeup = Wakeup()
        watch.start(self._wakeup.set)
        finalize(self, watch.stop)  # a stream that is dropped without a close must not leave its watch

    def poll(self, deadline: float) -> Batch | None:
        """Return the available batch; wait for it at most until the deadline."""
        wire = self._wire
        has_waited, self._has_waited = self._has_waited, False
        may_wait = has_waited or self._clock() < deadline
        while True:
            self.state = wire.read_ahead()
            if (picture := self._watch.take(wire.passed)) is not None:
                wire.look(picture)
            left = deadline - self._clock()
            waited = may_wait and left <= 0
            batch = wire.take() if waited or self.state is not ReadState.AMID else None
            wire.keep_alive()
            if batch is not None or left <= 0:
                if has_waited:
                    self._mind_silence()
                return batch
            if self.state is not ReadState.MORE and self._is_woken(left):
                return None

    def wake(self) -> None:
        """End a wait in `poll`, so that its caller looks elsewhere."""
        self._wakeup.set()

    def begin_wait(self) -> StreamWait:
        """Return what ends a wait for this stream."""
        self._has_waited = True
        if self.state is ReadState.DRAINED or self.state is ReadState.AMID:
            return StreamWait((self._wakeup.fileno(), self._wire.fileno()), self._wire.longest_wait)
        return StreamWait((self._wakeup.fileno(),), _PAUSES.get(self.state, 0.0))

    def end_wait(self, files: Collection[int]) -> None:
        """Note who rang."""
        if self._wakeup.fileno() in files:
            self._wakeup.clear()
        if self._wire.fileno() in files:
            self._wire.silence.hear()  # also for an incomplete message

    def confirm(self, position: Position) -> None:
        """Confirm the log up to here, so that the server may remove it."""
        self._wire.confirm(position)

    def keep_alive(self) -> None:
        """Send what is due to the server, without reading."""
        self._wire.keep_alive()

    def ask(self) -> None:
        """Make the server report its place."""
        self._wire.ask()

    def close(self) -> None:
        """Give the log back; twice is harmless."""
        if not self._closed:
            self._closed = True
            self._watch.close()
            self._wakeup.close()
            self._wire.close()

    def _is_woken(self, left: float) -> bool:
        """Wait for the wire or a wake; return whether `wake` was called."""
        wakeup, wire = self._wakeup.fileno(), self._wire
        if self.state in _PAUSES:
            heard = readable([wakeup], min(left, _PAUSES[self.state]))
        else:
            self._mind_silence()
            socket = wire.fileno()
            heard = readable([socket, wakeup], min(left, wire.longest_wait))
            if socket in heard:
                wire.silence.hear()  # also for an incomplete message
        if wakeup in heard:
            self._wakeup.clear()
        return wakeup in heard

    def _mind_silence(self) -> None:
        if periods := self._wire.silence.ended():
            self._wire.mind_silence(periods)
