"""The change tables of one database, as the wire of a polled stream.

read      pieces that the fetcher's thread has read -> decoder, until the batch is full or none is left
confirm   not to the server: its cleanup job decides how long changes are kept
silence   a poll that is not answered is an error of its connection, in the fetcher's thread
ask       poll now, and report the place
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from wrackline.producers.contract.steps import Batch, Position
from wrackline.producers.kit.polled_stream import PolledStream, ReadState, SilenceWatch
from wrackline.producers.kit.wakeup import Wakeup
from wrackline.producers.sources.sqlserver.decode import SqlServerDecoder
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.poll.log_fetcher import LogFetcher

SqlServerStream: TypeAlias = PolledStream[None]

_LONG_S: Final = 3600.0


class SqlServerLogWire:
    """A thread that polls, and the decoder of what it reads."""

    longest_wait = _LONG_S

    def __init__(
        self,
        fetcher: LogFetcher,
        decoder: SqlServerDecoder,
        clock: Callable[[], float],
        confirm: Callable[[Lsn], None],
    ) -> None:
        """Take a fetcher that has not begun, and what hears how far Kafka has come."""
        self._fetcher, self._decoder, self._confirm = fetcher, decoder, confirm
        self.silence = SilenceWatch(clock, float("inf"))
        self._bell = Wakeup()
        fetcher.start(self._bell.set)

    def fileno(self) -> int:
        """Return what rings for each piece."""
        return self._bell.fileno()

    def read_ahead(self) -> ReadState:
        """Decode pieces until a batch is full or none is left."""
        self._bell.clear()
        while not self._decoder.full:
            piece = self._fetcher.take()
            if piece is None:
                return ReadState.DRAINED
            self._decoder.feed(piece)
            if piece.question:
                self._decoder.say()
        return ReadState.MORE

    def passed(self, picture: None) -> bool:
        """Say yes: there are no pictures."""
        del picture
        return True

    def look(self, picture: None) -> None:
        """Do nothing."""

    def take(self) -> Batch | None:
        """Hand out the steps so far."""
        return self._decoder.take()

    def mind_silence(self, periods: int) -> None:
        """Do nothing."""

    def confirm(self, position: Position) -> None:
        """Note how far Kafka has come: an old capture instance may then be dropped."""
        if isinstance(position, SqlServerPosition):
            self._confirm(position.passed)

    def keep_alive(self) -> None:
        """Do nothing: the server needs no answer."""

    def ask(self) -> None:
        """Report the log's place."""
        self._fetcher.ask()

    def close(self) -> None:
        """End the thread and its connection."""
        self._fetcher.close()
        self._bell.close()
