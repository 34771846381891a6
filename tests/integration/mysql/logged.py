"""What a server's log holds, as the server lists it: the transactions of the tests' writers and places.

The writers' statements stand in the log beside their rows (`binlog_rows_query_log_events`; MariaDB does so
anyway).
"""

import re
from dataclasses import dataclass

from tests.integration.mysql.log_files import ask, log_events
from tests.integration.mysql.rows_world import World
from wrackline.producers.contract.steps import Commit
from wrackline.producers.sources.mysql.chunks.marks import LogOffset
from wrackline.producers.sources.mysql.connect.statement_rows import Connection
from wrackline.producers.sources.mysql.log.position import MySqlPosition, file_number

_NUMBER = re.compile(r"/\* row (\d+) \*/")
_GTID = re.compile(r"[0-9a-f-]{36}:\d+")


@dataclass(frozen=True)
class Logged:
    """A transaction of a writer's."""

    row: int
    begin: LogOffset
    end: LogOffset
    gtid: str

    @property
    def commit(self) -> Commit:
        """It as a stream would hand it out."""
        return Commit(self.gtid, MySqlPosition(0, *self.end), 0)


class Log:
    """Reads a server's log from now on."""

    def __init__(self, world: World, connection: Connection) -> None:
        self._connection = connection
        status = "SHOW MASTER STATUS" if world.mariadb else "SHOW BINARY LOG STATUS"
        (self._file, self._offset), *_ = [row[:2] for row in ask(connection, status)]
        self._begin, self._row, self._gtid = self._offset, 0, ""

    def more(self) -> list[Logged]:
        """What came since the last call, as far as a reader of the log would be sent it."""
        found: list[Logged] = []
        while True:
            rows = log_events(self._connection, self._file, self._offset)
            rotated = None
            for _, at, kind, _, end, info in rows:
                if kind in {"Gtid", "Anonymous_Gtid"}:
                    self._begin, self._row = at, 0
                    self._gtid = (_GTID.search(str(info)) or [""])[0]
                elif told := _NUMBER.search(str(info)):
                    self._row = int(told[1])
                elif kind == "Xid" and self._row:
                    number = file_number(self._file)
                    found.append(
                        Logged(self._row, LogOffset(number, self._begin), LogOffset(number, end), self._gtid)
                    )
                elif kind == "Rotate":
                    rotated = str(info).split(";")[0]
                self._offset = end
            if rotated is None:
                return found
            self._file, self._offset = rotated, 4
