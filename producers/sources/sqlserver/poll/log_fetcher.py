"""The thread that polls a database, and what waits for its stream.

    read, read, read ...  ->  pieces, at most so many bytes  ->  the stream takes them, on the task's thread

So a database that answers slowly, or that waits for a lock, holds up nobody else.  When nothing is new, the
thread waits until the next poll is due, or somebody asks.  A reader of existing rows asks all the time until
its mark comes, on a quiet database for minutes; so polls that are only asked for keep a distance.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from threading import Condition, Thread
from typing import Final, Protocol

from wrackline.producers.sources.sqlserver.poll.round_reader import LogPiece

_MOST_PIECES: Final = 64
_PATIENCE_S: Final = 5.0
ASKED_S: Final = 0.1  # between two polls of which the second is only asked for


class PieceReader(Protocol):
    """Reads the log piece by piece."""

    def read(self) -> LogPiece:
        """Make one round trip."""
        ...


class PollPace(Protocol):
    """How long a database without news rests."""

    def begin(self, hear: Callable[[], None]) -> None:
        """Take what is called when something may be new."""
        ...

    def rest_s(self, most_s: float | None) -> float:
        """Return the time to the next poll.

        `most_s`: after so long something is to be looked at; None: the last poll has seen nothing.
        """
        ...

    def end(self, hear: Callable[[], None]) -> None:
        """Call it no more."""
        ...


class SteadyPace:
    """Nobody tells of news."""

    def __init__(self, interval_s: float) -> None:
        self._interval = interval_s

    def begin(self, hear: Callable[[], None]) -> None:
        """Do nothing."""

    def rest_s(self, most_s: float | None) -> float:
        """Return the time to the next poll."""
        del most_s
        return self._interval

    def end(self, hear: Callable[[], None]) -> None:
        """Do nothing."""


class LogFetcher:
    """One database's thread."""

    def __init__(self, reader: PieceReader, end: Callable[[], None], pace: PollPace, most_bytes: int) -> None:
        """Take `end`, which cuts a round trip that is under way; `most_bytes` may wait."""
        self._reader, self._end, self._pace, self._most_bytes = reader, end, pace, most_bytes
        self._lock = Condition()
        self._pieces: deque[LogPiece] = deque()
        self._size = 0
        self._failed: Exception | None = None
        self._stopped, self._question = False, True  # the place is reported at the beginning
        self._news = False
        self._thread: Thread | None = None
        self._ready: Callable[[], None] = lambda: None

    def start(self, ready: Callable[[], None]) -> None:
        """Read from here on; `ready` is called for each piece, and for an error."""
        self._ready = ready
        self._thread = Thread(target=self._run, name="change tables", daemon=True)
        self._thread.start()

    def take(self) -> LogPiece | None:
        """Return the next piece; raise what the thread ended with, once nothing is left before it."""
        with self._lock:
            if self._pieces:
                piece = self._pieces.popleft()
                self._size -= piece.size
                self._lock.notify_all()
                return piece
            if self._failed is not None:
                raise self._failed
            return None

    def ask(self) -> None:
        """Poll soon, and hand out a piece even if nothing is new."""
        with self._lock:
            self._question = True
            self._lock.notify_all()

    def hear(self) -> None:
        """Poll now, because something may be new."""
        with self._lock:
            self._news = True
            self._lock.notify_all()

    def stop(self) -> None:
        """Let it end, without waiting."""
        with self._lock:
            self._stopped = True
            self._lock.notify_all()

    def close(self) -> None:
        """End it."""
        self.stop()
        self._end()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        known: object = None
        self._pace.begin(self.hear)
        try:
            while not self._stopped:
                self._news = False  # before the poll: what comes meanwhile is polled for again
                question, self._question = self._question, False
                piece = self._reader.read()
                if piece.parts or piece.lost or question or piece.following is not known:
                    known = piece.following
                    self._hand_out(replace(piece, question=question))
                self._rest(piece)
        except Exception as error:  # noqa: BLE001 - the stream's thread raises it
            self._fail(error)
        finally:
            self._pace.end(self.hear)
            self._end()

    def _fail(self, error: Exception) -> None:
        with self._lock:
            self._failed = None if self._stopped else error
        self._ready()

    def _hand_out(self, piece: LogPiece) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._stopped or self._has_room())
            self._pieces.append(piece)
            self._size += piece.size
        self._ready()

    def _has_room(self) -> bool:
        return not self._pieces or (self._size < self._most_bytes and len(self._pieces) < _MOST_PIECES)

    def _rest(self, piece: LogPiece) -> None:
        if piece.quiet:
            rest_s = self._pace.rest_s(piece.rest_s)
            with self._lock:
                self._lock.wait_for(lambda: self._stopped or self._news, min(rest_s, ASKED_S))
                self._lock.wait_for(
                    lambda: self._stopped or self._news or self._question, max(0.0, rest_s - ASKED_S)
                )
