"""The safe SCN: up to there, every change is in the log files of its thread.

    on each node   current SCN -> insert, delete, commit        the lowest of these SCNs is safe
    then           which threads are open?                      each must have been written to

A commit waits until the log writer has written all redo before it.  Which threads are open is asked last, so
that one which was opened meanwhile is not passed by.  A node that is down is not needed: its thread is closed
as soon as another node has recovered it.

The row is gone with its own commit: no row is left behind, and none is locked by a session that was lost.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol

from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.connect.meanings import archived_only, folded
from wrackline.producers.sources.oracle.connect.quoting import table_name
from wrackline.producers.sources.oracle.connect.server_errors import OBJECT_MISSING
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.mining.log_files import RedoThread
from wrackline.producers.sources.oracle.mining.mining_range import flushed_scn
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

THREAD_UNWRITTEN = define(
    "oracle.thread_unwritten",
    OperatorNeeded,
    "redo thread {threads} is open, and no session of ours writes to it, so nothing says how far it is"
    " complete",
    hint="name each node of the cluster: rac.nodes = '<host>,<host>'; the nodes: SELECT THREAD#, HOST_NAME"
    " FROM GV$INSTANCE; or mine archived logs alone: log.mining.archive.log.only.mode = true",
)

COMMITS_WAIT: Final = "ALTER SESSION SET COMMIT_WAIT = 'WAIT' COMMIT_LOGGING = 'IMMEDIATE'"
THREAD: Final = "SELECT THREAD# FROM V$INSTANCE"
CURRENT: Final = "SELECT CURRENT_SCN FROM V$DATABASE"
_TABLES: Final = "SELECT COUNT(*) FROM ALL_TABLES WHERE OWNER = :owner AND TABLE_NAME = :name"
_PARTS: Final = re.compile(r'"[^"]*"|[^."]+')
_DOING: Final = "write its redo to the log"

AskThreads = Callable[[], Sequence[RedoThread]]


class SafePoint(NamedTuple):
    """How far the log is complete; None: archived logs alone are mined, and they are complete."""

    scn: int | None
    threads: Sequence[RedoThread]


class SafeScn(Protocol):
    """Says how far the log is complete."""

    def take(self, ask_threads: AskThreads) -> SafePoint:
        """Say it now."""
        ...

    def cancel(self) -> None:
        """End the calls that are under way; any thread may ask."""
        ...

    def close(self) -> None:
        """End the sessions."""
        ...


class ArchivedAlone:
    """Writes nothing."""

    def take(self, ask_threads: AskThreads) -> SafePoint:
        """Ask for the threads."""
        return SafePoint(None, ask_threads())

    def cancel(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class LogFlush:
    """Writes to the log of each node."""

    def __init__(self, connects: Sequence[Callable[[], OracleSession]], table: TableId) -> None:
        """Take what opens a session on each node, and the table that is written to."""
        self._nodes = [_FlushedNode(connect, table) for connect in connects]

    def take(self, ask_threads: AskThreads) -> SafePoint:
        """Write on each node that has a session, and open others where that is not enough."""
        before: dict[int, int] = {}
        failed: Transient | None = None
        for opened in (True, False):
            for node in self._nodes:
                if node.opened is not opened:
                    continue
                try:
                    thread, scn = node.flush()
                except Transient as error:
                    node.close()
                    failed = error
                    continue
                if thread in before:
                    node.close()  # another node answers for it; it may be back when its thread is wanted
                before.setdefault(thread, scn)
            threads = ask_threads()
            if (safe := flushed_scn(before, threads)) is not None:
                return SafePoint(safe, threads)
        if failed is not None:
            raise failed
        missing = [thread.number for thread in threads if thread.open and thread.number not in before]
        raise THREAD_UNWRITTEN(threads=", ".join(map(str, missing)))

    def cancel(self) -> None:
        """End the calls that are under way; any thread may ask."""
        for node in self._nodes:
            node.cancel()

    def close(self) -> None:
        """End the sessions."""
        for node in self._nodes:
            node.close()


def safe_scn(connector: OracleConnector, settings: Values) -> SafeScn:
    """Make what says how far the log is complete; the first question opens the sessions."""
    if archived_only(settings):
        return ArchivedAlone()
    table = flush_table(connector, settings)
    return LogFlush([partial(connector.connect_node, node) for node in connector.nodes], table)


def flush_table(connector: OracleConnector, settings: Values) -> TableId:
    """Return the table that is written to."""
    *owner, name = map(folded, _PARTS.findall(settings.text("log.mining.flush.table.name")))
    return TableId(connector.database, owner[0] if owner else folded(connector.user), name)


class _FlushedNode:
    """One node's session."""

    def __init__(self, connect: Callable[[], OracleSession], table: TableId) -> None:
        self._connect, self._table = connect, table
        self._quoted = table_name(table)
        self._session: OracleSession | None = None
        self._thread = 0

    @property
    def opened(self) -> bool:
        return self._session is not None

    def flush(self) -> tuple[int, int]:
        """Return the thread that was written, and the SCN that was current before."""
        try:
            return self._write()
        except OperatorNeeded as error:
            if error.code != OBJECT_MISSING.code:
                raise
            self.close()  # the table was dropped since: a new session makes it again
            return self._write()

    def _write(self) -> tuple[int, int]:
        session = self._session or self._open()
        ((scn,),) = session.ask(CURRENT, "show its SCN")
        row = {"row_scn": -self._thread}  # no SCN, so that a row of another connector's is never removed
        session.execute(f"INSERT INTO {self._quoted} (LAST_SCN) VALUES (:row_scn)", _DOING, row)  # noqa: S608
        session.execute(f"DELETE FROM {self._quoted} WHERE LAST_SCN = :row_scn", _DOING, row)  # noqa: S608
        session.commit()
        return self._thread, int(scn)

    def cancel(self) -> None:
        if (session := self._session) is not None:
            session.cancel()

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _open(self) -> OracleSession:
        session = self._session = self._connect()
        try:
            session.execute(COMMITS_WAIT, "take a session's settings")
            ((thread,),) = session.ask(THREAD, "say which redo thread is its own")
            self._thread = int(thread)
            names = {"owner": self._table.schema, "name": self._table.name}
            ((found,),) = session.ask(_TABLES, "list its tables", names)
            if not found:
                session.execute(
                    f"CREATE TABLE {self._quoted} (LAST_SCN NUMBER(19))", "create the flush table"
                )
        except BaseException:
            self.close()
            raise
        return session
