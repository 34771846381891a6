"""The redo log of one database, as the wire of a polled stream.

read      pieces that the mining thread has made -> decoder, until the batch is full or none is left
confirm   not to the server: it keeps its log as long as its administrator says
silence   a round trip that is not answered is an error of its connection, in the mining thread
ask       mine now, and report the place
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from wrackline.producers.contract.steps import Batch, Position
from wrackline.producers.kit.polled_stream import LONGEST_READ_S, PolledStream, ReadState, SilenceWatch
from wrackline.producers.kit.wakeup import Wakeup
from wrackline.producers.sources.oracle.decode import OracleDecoder
from wrackline.producers.sources.oracle.discover.catalogue_looks import CatalogueLooks
from wrackline.producers.sources.oracle.mining.mining_thread import MiningThread

OracleStream: TypeAlias = PolledStream[None]

_LONG_S: Final = 3600.0


class OracleLogWire:
    """A thread that mines, and the decoder of what it finds."""

    longest_wait = _LONG_S

    def __init__(
        self,
        thread: MiningThread,
        looks: CatalogueLooks,
        decoder: OracleDecoder,
        clock: Callable[[], float],
    ) -> None:
        """Take a thread that has not begun, and what it looks at the catalogue with."""
        self._thread, self._looks, self._decoder, self._clock = thread, looks, decoder, clock
        self.silence = SilenceWatch(clock, float("inf"))
        self._bell = Wakeup()
        thread.start(self._bell.set)

    def fileno(self) -> int:
        """Return what rings for each piece."""
        return self._bell.fileno()

    def read_ahead(self) -> ReadState:
        """Decode pieces until a batch is full, none is left, or it has taken long: few rows may be ours."""
        self._bell.clear()
        end = self._clock() + LONGEST_READ_S
        while not self._decoder.full and self._clock() < end:
            if self._decoder.advance():
                continue
            piece = self._thread.take()
            if piece is None:
                return ReadState.DRAINED
            self._decoder.feed(piece)
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
        """Do nothing: the server keeps its log for a time, and no reader holds it back."""

    def keep_alive(self) -> None:
        """Do nothing: the server needs no answer."""

    def ask(self) -> None:
        """Report the log's place."""
        self._thread.ask()

    def close(self) -> None:
        """End the thread and its connections, and give the files of large transactions up."""
        self._thread.stop()
        self._looks.cancel()
        self._thread.close()
        self._looks.close()
        self._bell.close()
        self._decoder.close()
