"""What the databases of a task share while existing rows are read: its readers, and the bytes of its windows.

    take --fewer than `most` have a turn--> a connection, one work after another --> give
      '--> waits, in the order of asking ------^

A reader has a connection only while it has a turn.  A read that waits for a lock has its turn all that time,
and must not hold up the other databases: when each turn has been at the same work for long, a database that
has none gets one more.  So readers exceed `most` by at most one a database, and only while they wait.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Final

from wrackline.schemas.tables.table import SourcePartition

LONG_S: Final = 3.0  # a chunk takes less (`SnapshotLimits.chunk_seconds`), unless it waits for something
_LOOK_S: Final = 0.2  # between two looks whether there is still anybody to read for, and at the others


@dataclass(slots=True, eq=False)
class ReaderTurn:
    """One reader's; `since` is when it began, `working` when its work did, None while it has none."""

    whose: SourcePartition
    since: float = 0.0
    working: float | None = None
    granted: Event = field(default_factory=Event)


class ReaderTurns:
    """Who may read; readers' threads call it."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most, self._clock, self._lock = most, clock, Lock()
        self._waiting: list[ReaderTurn] = []
        self._held: list[ReaderTurn] = []

    @property
    def wanted(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiting)

    def take(self, whose: SourcePartition, is_over: Callable[[], bool]) -> ReaderTurn | None:
        """Wait for a turn; None once nobody waits for this reader any more."""
        turn = ReaderTurn(whose)
        with self._lock:
            self._waiting.append(turn)
            self._grant()
        while not turn.granted.wait(_LOOK_S):
            with self._lock:
                if is_over() and turn in self._waiting:
                    self._waiting.remove(turn)
                    return None
                self._grant()
        return turn

    def give(self, turn: ReaderTurn) -> None:
        """Give a turn back."""
        with self._lock:
            self._held.remove(turn)
            self._grant()

    def _grant(self) -> None:
        now = self._clock()
        while self._waiting and len(self._held) < self._most:
            self._hold(self._waiting[0], now)
        if all(one.working is not None and now - one.working > LONG_S for one in self._held):
            having = {one.whose for one in self._held}
            first = next((one for one in self._waiting if one.whose not in having), None)
            if first is not None:
                self._hold(first, now)

    def _hold(self, turn: ReaderTurn, now: float) -> None:
        self._waiting.remove(turn)
        self._held.append(turn)
        turn.since = turn.working = now
        turn.granted.set()


class WindowBytes:
    """How much the windows of each database hold; the task's thread calls it, and the end of an opening."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[SourcePartition, int] = {}
        self._all = 0

    def beside(self, whose: SourcePartition, held: int) -> int:
        """Take what one database's windows hold; return what those of the others do."""
        with self._lock:
            self._all += held - self._held.get(whose, 0)
            self._held[whose] = held
            return self._all - held
