"""The thread that mines a database's log, and what waits for its stream.

    mine a range, mine a range ...  ->  pieces, at most so many bytes  ->  the stream takes them

A mining blocks for as long as the server takes, and holds up nobody else here.  At the end of the log the
thread rests until the next mining is due, or somebody asks.  A reader of existing rows asks all the time
until its place comes; so minings that are only asked for keep a distance.
"""

from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from threading import Condition, Thread
from typing import Final, Protocol

from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.connect.meanings import poll_seconds
from wrackline.producers.sources.oracle.discover.facts import OracleLook
from wrackline.producers.sources.oracle.mining.log_miner import LogMiner, MiningScope, MiningSteps
from wrackline.producers.sources.oracle.mining.mined_piece import MinedPiece
from wrackline.producers.sources.oracle.mining.position import OraclePosition
from wrackline.producers.sources.oracle.mining.safe_scn import safe_scn
from wrackline.schemas.settings.settings_registry import Values

_MOST_PIECES: Final = 64
_PATIENCE_S: Final = 5.0
ASKED_S: Final = 0.1  # between two minings of which the second is only asked for


class RangeMiner(Protocol):
    """Mines range after range."""

    @property
    def behind(self) -> bool:
        """Whether more can be mined at once."""
        ...

    def mine(self) -> Generator[MinedPiece]:
        """Return the pieces of the next range; the last has its end."""
        ...

    def close(self) -> None:
        """End the sessions; the thread calls it."""
        ...


class MiningThread:
    """One database's thread."""

    def __init__(
        self, miner: RangeMiner, end: Callable[[], None], interval_s: float, most_bytes: int
    ) -> None:
        """Take `end`, which cuts the call that is under way; `most_bytes` may wait."""
        self._miner, self._end, self._interval, self._most_bytes = miner, end, interval_s, most_bytes
        self._lock = Condition()
        self._pieces: deque[MinedPiece] = deque()
        self._size = 0
        self._last: tuple[int | None, OracleLook] | None = None  # end and look that were handed out last
        self._failed: Exception | None = None
        self._stopped, self._question = False, True  # the place is reported at the beginning
        self._thread: Thread | None = None
        self._ready: Callable[[], None] = lambda: None

    def start(self, ready: Callable[[], None]) -> None:
        """Mine from here on; `ready` is called for each piece, and for an error."""
        self._ready = ready
        self._thread = Thread(target=self._run, name="redo log", daemon=True)
        self._thread.start()

    def take(self) -> MinedPiece | None:
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
        """Mine soon, and hand out a piece even if nothing is new."""
        with self._lock:
            self._question = True
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
        try:
            while not self._stopped:
                self._mine()
                if not self._miner.behind:
                    self._rest()
        except Exception as error:  # noqa: BLE001 - the stream's thread raises it
            with self._lock:
                self._failed = None if self._stopped else error
            self._ready()
        finally:
            self._miner.close()

    def _mine(self) -> None:
        """Mine a range.  A question is answered at its end: what is new since then is in the next one."""
        with self._lock:
            question, self._question = self._question, False
        with closing(self._miner.mine()) as pieces:
            for piece in pieces:
                if self._stopped:
                    return
                if piece.upto is None:
                    self._hand_out(piece)
                elif piece.rows or question or self._says_more(piece):
                    self._last = piece.upto, piece.look
                    self._hand_out(replace(piece, question=question))

    def _says_more(self, piece: MinedPiece) -> bool:
        """Whether a piece without rows has a later end, or another look at the catalogue."""
        return self._last is None or piece.upto != self._last[0] or piece.look is not self._last[1]

    def _hand_out(self, piece: MinedPiece) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._stopped or self._has_room())
            self._pieces.append(piece)
            self._size += piece.size
        self._ready()

    def _has_room(self) -> bool:
        return not self._pieces or (self._size < self._most_bytes and len(self._pieces) < _MOST_PIECES)

    def _rest(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._stopped, min(self._interval, ASKED_S))
            self._lock.wait_for(lambda: self._stopped or self._question, max(0.0, self._interval - ASKED_S))


def mining_thread(
    connector: OracleConnector,
    settings: Values,
    position: OraclePosition,
    looks: Callable[[], OracleLook],
    owners: frozenset[str],
    most_bytes: int,
) -> MiningThread:
    """Make the thread that mines behind a position; it opens its sessions by itself.

    `owners`: whose tables are mined beside those of captured tables, such as the signal table's.
    """
    destinations = settings.listed("archive.destination.name")
    miner = LogMiner(
        connector.connect_root,
        safe_scn(connector, settings),
        MiningScope(position.incarnation, connector.container, owners, destinations),
        position.oldest - 1,
        looks,
        MiningSteps.of(settings),
    )
    return MiningThread(miner, miner.cancel, poll_seconds(settings), most_bytes)
