"""Which maps of columns are due.  Pure, but for a lock.

In: the columns of tables whenever a half learns them, on any thread, and the maps that the board has.
Out: a record of each map that differs from the table's newest one, and the end of those that are forgotten.
A record that may not have arrived is due again.
"""

from collections.abc import Callable
from threading import Lock

from wrackline.control.runtime.board.board_changes import Record
from wrackline.schemas.kafka.board_records import BoardKey, Half
from wrackline.schemas.kafka.column_maps import ColumnMap, MapLog


class MapChanges:
    """Remembers which maps the board has."""

    def __init__(self, pipeline: str, half: Half, now_ms: Callable[[], int]) -> None:
        self._half, self._now_ms = BoardKey(pipeline, half), now_ms
        self._lock = Lock()
        self._last: dict[str, ColumnMap] = {}
        self._learned: list[tuple[str, int, ColumnMap]] = []
        self._log = MapLog()
        self._unsure: dict[bytes, bytes | None] = {}  # records that have not arrived yet
        self._again = False

    def knows(self, table: str, columns: ColumnMap) -> None:
        """Take how a table's columns go from now on; any thread may call it, also with what is known."""
        with self._lock:
            if self._last.get(table) != columns:
                self._last[table] = columns
                self._learned.append((table, self._now_ms(), columns))

    def recorded(self, log: MapLog) -> None:
        """Take the maps that the board has of earlier processes."""
        self._log = log

    def due(self) -> list[Record]:
        """Return the records to write now."""
        with self._lock:
            learned, self._learned = self._learned, []
        made: dict[bytes, bytes | None] = {}
        for table, at_ms, columns in learned:
            made |= self._record(table, at_ms, columns)
        self._unsure |= made
        if self._again:
            self._again, made = False, self._unsure
        return list(made.items())

    def arrived(self, key: bytes) -> None:
        """Take that Kafka has a record."""
        self._unsure.pop(key, None)

    def lost(self) -> None:
        """Take that something may not have been written."""
        self._again = True

    def _record(self, table: str, at_ms: int, columns: ColumnMap) -> dict[bytes, bytes | None]:
        value, known = columns.encode(), self._log.of(table)
        if known and known[-1].value == value:
            return {}
        since = max(at_ms, known[-1].since_ms + 1) if known else at_ms
        forgotten = self._log.take(table, since, value)
        key = self._half._replace(table=table, since_ms=since).encode()
        return {key: value} | {
            self._half._replace(table=name, since_ms=old).encode(): None for name, old in forgotten
        }
