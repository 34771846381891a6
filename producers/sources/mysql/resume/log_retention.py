"""How long the server still keeps the log that we need: for gauges and operators, never on a row's path.

    the position that Kafka has, the log's files, the server's settings  ->  LogState

A server deletes its oldest files by age or by size, regardless of readers.  A file's age counts from its last
write, which is when the next file was begun, as that file itself says; the newest is never deleted.  What we
need begins with the file of our place, or with an older file that has the rows of a prepared XA transaction.
(A file that is being read is spared; so these figures show what an interruption would cost.)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.sources.mysql.connect.connect import query_dicts
from wrackline.producers.sources.mysql.connect.server_facts import MySqlServerFacts
from wrackline.producers.sources.mysql.log.position import MySqlPosition, file_number


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The log's files by their numbers, as far as they are needed, each with its size."""

    sizes: Mapping[int, int]
    old_for_s: float | None = None  # since the last write to the oldest needed file; None: it is the newest

    @property
    def newest(self) -> int:
        """The file that is being written."""
        return max(self.sizes)


class LogRetention:
    """Looks repeatedly at one server's log."""

    def __init__(self, begun: Callable[[str], int]) -> None:
        """Take a function that returns when a file was begun, in seconds; it is called once for each file."""
        self._begin_time = begun
        self._known_time: tuple[str, int] = ("", 0)
        self._seen: tuple[int, int] | None = None  # the newest file at the last look, and its size
        self._written = 0

    def look(
        self, connection: "Connection[Any]", facts: MySqlServerFacts, position: MySqlPosition
    ) -> LogState | None:
        """Return the log's figures; None where the place is in another server's log."""
        if position.history is None or position.history.server != facts.identity:
            return None
        return self.state_of(self._files(connection, facts, position), facts, position)

    def state_of(self, files: LogFiles, facts: MySqlServerFacts, position: MySqlPosition) -> LogState:
        """Return what these files mean for a stream that continues at this position."""
        needed, limit, kept = oldest_file(position), facts.log_limit, facts.log_kept_s
        ahead = sum(size for number, size in files.sizes.items() if number >= position.file)
        whole = sum(size for number, size in files.sizes.items() if number >= needed)
        return LogState(
            name="binary log",
            held_by=None,
            end=self._end(files),
            behind=max(0, ahead - position.offset),
            retained=None,
            spare=max(0, limit[1] - whole) if limit else None,
            status=None,
            kept_s=kept or None,
            expires_s=None if files.old_for_s is None or not kept else max(0.0, kept - files.old_for_s),
        )

    def _end(self, files: LogFiles) -> int:
        """Count the written bytes; the rest of a file that ended between two looks may be missing."""
        newest = files.newest
        if self._seen is None:
            self._written = sum(files.sizes.values())
        else:
            number, size = self._seen
            self._written += sum(one for other, one in files.sizes.items() if other > number)
            self._written += max(0, files.sizes.get(number, size) - size)
        self._seen = newest, files.sizes[newest]
        return self._written

    def _files(
        self, connection: "Connection[Any]", facts: MySqlServerFacts, position: MySqlPosition
    ) -> LogFiles:
        """List all files only where more than the newest matters, because the server opens each of them."""
        [end] = query_dicts(connection, facts.log_status)
        newest, needed = file_number(str(end["File"])), oldest_file(position)
        if needed >= newest and not facts.log_limit:
            return LogFiles({newest: int(end["Position"])})
        listed = query_dicts(connection, "SHOW BINARY LOGS")
        names = {file_number(str(row["Log_name"])): str(row["Log_name"]) for row in listed}
        sizes = {file_number(str(row["Log_name"])): int(row["File_size"]) for row in listed}
        later = [number for number in names if number > needed]
        if not later or not facts.log_kept_s:
            return LogFiles(sizes)
        [clock] = query_dicts(connection, "SELECT UNIX_TIMESTAMP() AS now")
        return LogFiles(sizes, int(clock["now"]) - self._begin_time_of(names[min(later)]))

    def _begin_time_of(self, file: str) -> int:
        if self._known_time[0] != file:
            self._known_time = file, self._begin_time(file)
        return self._known_time[1]


def oldest_file(position: MySqlPosition) -> int:
    """Return the number of the oldest file that a stream from this position needs."""
    parts = (part.file for part in position.prepared.values() if part.file)
    return min([position.file, *map(file_number, parts)])
