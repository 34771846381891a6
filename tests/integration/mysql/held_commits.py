"""A transaction that is in the log and that no SELECT shows, for as long as a test wants.

A semi-synchronous server waits for a replica between writing its log and committing in its engines
(`AFTER_SYNC`), and there is none.  A reader of the log, as we are, is sent the transaction meanwhile.
"""

import re
import threading
import time
from collections.abc import Callable

from tests.integration.mysql.log_files import ask, is_mariadb, log_events
from wrackline.producers.sources.mysql.connect.statement_rows import Connection

_PATIENCE = 20.0
_NAME = re.compile(r"GTID_NEXT= '([^']+)'|GTID (\d+-\d+-\d+)")
_PLUGIN = "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"


class HeldCommits:
    """One server's; one transaction at a time, and nobody else can commit while it is held."""

    def __init__(self, connect: Callable[[], Connection], log_status: str) -> None:
        """Take how to connect, with the database chosen, and how the server is asked for its log's end."""
        self._connect, self._log_status = connect, log_status
        self._told, self._session = connect(), connect()
        self._name = f"rpl_semi_sync_{'master' if is_mariadb(self._told) else 'source'}"
        self._committing: threading.Thread | None = None

    def commit(self, changes: Callable[[Connection], object]) -> str:
        """Commit changes, up to where they are logged; return what the log calls them."""
        self._begin()
        file, place, *_ = ask(self._told, self._log_status)[0]
        self._session.autocommit(False)
        changes(self._session)
        self._committing = threading.Thread(target=self._session.commit)
        self._committing.start()
        end = time.monotonic() + _PATIENCE
        while True:
            events = log_events(self._told, file, place)
            if any(event[2] == "Xid" for event in events):
                break
            assert time.monotonic() < end, "it is not logged"
        assert self._committing.is_alive(), "the server did not wait"
        [name] = [found for event in events if (found := _NAME.search(str(event[5])))]
        return str(name[1] or name[2])

    def show(self) -> None:
        """Let it be visible."""
        ask(self._told, f"SET GLOBAL {self._name}_enabled = OFF")
        assert self._committing is not None
        self._committing.join(_PATIENCE)
        assert not self._committing.is_alive()
        self._committing = None

    def close(self) -> None:
        """Leave the server as it was."""
        if self._committing is not None:
            self.show()
        for connection in (self._session, self._told):
            connection.close()

    def _begin(self) -> None:
        if not ask(self._told, f"SHOW GLOBAL VARIABLES LIKE '{self._name}_enabled'"):
            ask(self._told, _PLUGIN)
        ask(self._told, f"SET GLOBAL {self._name}_timeout = 60000")
        ask(self._told, f"SET GLOBAL {self._name}_wait_point = 'AFTER_SYNC'")
        ask(self._told, f"SET GLOBAL {self._name}_enabled = ON")
