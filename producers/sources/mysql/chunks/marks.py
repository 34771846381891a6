"""Marks that are found again in the binlog, and the gate before a chunk's SELECT.

    signal   a row in the signal table comes back
    fence    nothing is written; the log has passed the place that was read after the SELECT

MySQL: what a SELECT shows was in the binlog before, because an engine commits after the log is written.  So
the log's end after the SELECT is the fence.  `gtid_executed` is not: a group's GTIDs enter it after the group
is visible (`process_commit_stage_queue` in its source), and a fence without them would release rows before
their events.  Where the stream reads from another server, places say nothing, and only the set can be used.

MariaDB: a consistent snapshot knows its own place (`binlog_snapshot_file`, `_position`), so a chunk that was
read in a snapshot carries its own fence, and needs no other.

Log order is not visibility order: the dump thread may send a transaction that no SELECT shows yet.  So the
gate asks which streamed transactions this server would not show: on MySQL those that are not in
`gtid_executed`, on MariaDB those behind the place of a snapshot that is taken for this look.  MySQL without
GTIDs can't answer: there a mark is a row of ours, committed behind all that is before it
(`binlog_order_commits`).

A transaction that was logged before the stream's start, and is not visible yet, would be neither in the
stream nor in a SELECT.  So the gate also asks for it, at a connection's first look: for the start's set, or
its place.

For transactions that were streamed before this start, only names are known.  On MariaDB, where a name says
nothing about the order, they all end before the log's end at this connection's first look.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.contract.steps import Commit, Passing, Signal
from wrackline.producers.sources.mysql.connect.connect import is_mariadb, version_of
from wrackline.producers.sources.mysql.connect.quoting import table_name
from wrackline.producers.sources.mysql.connect.server_errors import translate_errors
from wrackline.producers.sources.mysql.connect.server_facts import facts_of
from wrackline.producers.sources.mysql.connect.statement_rows import Connection
from wrackline.producers.sources.mysql.events.gtids import AnyGtids, MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.log.position import MySqlPosition, file_number
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.kafka import signals
from wrackline.schemas.tables.table import TableId

FENCE_WITHOUT_GTIDS = define(
    "mysql.fence_without_gtids",
    OperatorNeeded,
    "the server does not show which transactions a SELECT sees, because they have no GTIDs"
    " (gtid_mode={mode})",
    hint="as an administrator, in this order on every server: SET PERSIST enforce_gtid_consistency = ON;"
    " SET PERSIST gtid_mode = OFF_PERMISSIVE; SET PERSIST gtid_mode = ON_PERMISSIVE; SET PERSIST gtid_mode"
    ' = ON; or use rows as watermarks: incremental.snapshot.watermarking.strategy = "insert_insert" and'
    " signal.data.collection = '<database>.<table>', without read.only",
)
NO_BINLOG = define(
    "mysql.no_binlog",
    OperatorNeeded,
    "the server ({version}) writes no binary log",
    hint="start it with log_bin and binlog_format=ROW; see: wrackline check <pipeline.toml>",
)

_BEFORE_8_2 = (8, 2)
_PLACE = re.compile(r".*\.[0-9]+:[0-9]+")  # the name of a transaction without a GTID
SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"


FileAndOffset: TypeAlias = tuple[str, int]  # a file's name, and an offset in it


class LogOffset(NamedTuple):
    """Where an event ends in a server's own log."""

    file: int
    offset: int


@dataclass(frozen=True, slots=True)
class MySqlFence:
    """A place in one server's log; everything that was visible when it was read ends before it."""

    name: str
    place: LogOffset
    server: str = ""  # the server of the log; "": the log that the stream reads
    gtids: AnyGtids | None = None  # what the server had executed, or logged, at that time

    def passed(self, step: Passing) -> bool:
        """Whether the log has reached this place."""
        at = step.position
        if not isinstance(at, MySqlPosition) or at.done:
            return False
        if at.history is not None and self.server not in {"", at.history.server}:
            return _has(at.gtids, self.gtids)
        return (at.file, at.offset) >= self.place


@dataclass(frozen=True, slots=True)
class MySqlSignalMark:
    """A row of the signal table with this id."""

    name: str
    row_id: str

    def passed(self, step: Passing) -> bool:
        """Whether this is the row."""
        return isinstance(step, Signal) and step.id == self.row_id


class MySqlMarks:
    """Sets marks of one kind on the connection that reads the chunks."""

    def __init__(
        self,
        connection: Connection,
        kind: MarkKind,
        *,
        signal_table: TableId | None = None,
        now_ms: Callable[[], int],
        start: Callable[[], MySqlPosition | None],
    ) -> None:
        """Take `start`: where the stream was last opened, None before the first stream."""
        self._connection, self._kind, self._table, self._now_ms = connection, kind, signal_table, now_ms
        self._start = start
        self._shown: MySqlPosition | None = None  # all before it is visible
        self._end: LogOffset | None = None
        self._server = ""

    @property
    def kind(self) -> MarkKind:
        """How these marks are made."""
        return self._kind

    def set(self, name: str, edge: Edge) -> MySqlFence | MySqlSignalMark:
        """Set a mark for this moment."""
        with translate_errors(self._connection, "set a mark in its log", self._table, "INSERT"):
            if self._kind is MarkKind.FENCE:
                return self._fence(name)
            return self._signal(name, edge)

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Return the commits that a SELECT would not see yet; all before the stream's start count as one."""
        start = self._start()
        if start is None or start is self._shown:
            return self._hidden(streamed) if streamed else ()
        before = Commit(str(start.gtids or ""), start, 0)
        hidden = self._hidden([*(commit for commit in streamed if commit != before), before])
        if before not in hidden:
            self._shown = start
        return hidden

    def _hidden(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        with translate_errors(self._connection, "say which transactions it shows"):
            if is_mariadb(self._connection):
                return self._behind_a_snapshot(streamed)
            executed = self._executed()
        if executed is None:
            return ()
        return [commit for commit in streamed if not is_visible(commit, executed)]

    def at(self, name: str, place: LogOffset) -> MySqlFence:
        """Return the mark of a MariaDB read that has just ended, and that showed this place.

        What it showed was logged before; so for the stream of another server, it contains the logged set.
        """
        ((logged,),) = query_rows(self._connection, "SELECT @@global.gtid_binlog_pos")
        return MySqlFence(name, place, self._identity(), MariaDbGtids.parse(str(logged)))

    def _fence(self, name: str) -> MySqlFence:
        if is_mariadb(self._connection):
            return self.at(name, offset_of(self._snapshot()))
        place = log_end(self._connection)
        return MySqlFence(name, place, self._identity(), self._executed())

    def _identity(self) -> str:
        """Return which server this is."""
        if not self._server:
            self._server = facts_of(self._connection).identity
        return self._server

    def _behind_a_snapshot(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Return the commits that a snapshot does not show now; by name if in another server's log."""
        met, told = self._first_end(), self._snapshot()
        place, server = offset_of(told), self._identity()
        hidden = [commit for commit in streamed if not _of_another(commit, server)]
        hidden = [commit for commit in hidden if not _before(commit, place, met)]
        others = [commit for commit in streamed if _of_another(commit, server)]
        if not others:
            return hidden
        ((text,),) = query_rows(self._connection, "SELECT BINLOG_GTID_POS(%s, %s)", *told)
        shown = MariaDbGtids.parse(str(text or ""))
        return [*hidden, *(one for one in others if not shown.contains(MariaDbGtids.parse(one.transaction)))]

    def _first_end(self) -> LogOffset:
        """Return where the log ended at the first call."""
        if self._end is None:
            self._end = log_end(self._connection)
        return self._end

    def _snapshot(self) -> FileAndOffset:
        query_rows(self._connection, SNAPSHOT)
        told = snapshot_name_and_offset(self._connection)
        query_rows(self._connection, "COMMIT")
        return told

    def _executed(self) -> MySqlGtids | None:
        """Return what a SELECT certainly shows; None where only rows of ours can show it."""
        ((mode, executed),) = query_rows(
            self._connection, "SELECT @@global.gtid_mode, @@global.gtid_executed"
        )
        if mode == "ON":
            return MySqlGtids.parse(str(executed))
        if self._kind is MarkKind.FENCE:
            raise FENCE_WITHOUT_GTIDS(mode=mode)
        return None

    def _signal(self, name: str, edge: Edge) -> MySqlSignalMark:
        if self._table is None:
            raise ValueError("marks by signal need signal.data.collection")
        at = datetime.fromtimestamp(self._now_ms() / 1000, UTC).isoformat().replace("+00:00", "Z")
        row = signals.window_row(
            signals.WindowEdge(edge.value), name, at=at, request=name, table=str(self._table)
        )
        insert = f"INSERT INTO {table_name(self._table)} (id, type, data) VALUES (%s, %s, %s)"  # noqa: S608
        query_rows(self._connection, insert, row.id, row.type, row.data)
        return MySqlSignalMark(name, row.id)


def _before(commit: Commit, place: LogOffset, met: LogOffset) -> bool:
    """Whether a transaction ended before a place; for a half-streamed transaction, only its begin is known.

    A transaction that was streamed before this start has no place, and ended before `met`.
    """
    at = commit.position
    if not isinstance(at, MySqlPosition):
        return met <= place
    here = (at.file, at.offset)
    return here < place if at.done else here <= place


def _of_another(commit: Commit, server: str) -> bool:
    """Whether a transaction's place is in another server's log, or not yet known in this server's log."""
    at = commit.position
    if not isinstance(at, MySqlPosition):
        return False
    return not at.file if at.history is None else at.history.server != server


def _has(gtids: AnyGtids | None, others: AnyGtids | None) -> bool:
    """Whether one set contains all of another; False for sets of two kinds."""
    if isinstance(gtids, MySqlGtids) and isinstance(others, MySqlGtids):
        return gtids.contains(others)
    return isinstance(gtids, MariaDbGtids) and isinstance(others, MariaDbGtids) and gtids.contains(others)


def is_visible(commit: Commit, executed: MySqlGtids) -> bool:
    """Whether a SELECT shows a transaction; if it has no GTID, it does, because GTIDs are on since."""
    name = commit.transaction
    return _PLACE.fullmatch(name) is not None or executed.contains(MySqlGtids.parse(name))


def snapshot_offset(connection: Connection) -> LogOffset:
    """Return the place of the transaction's consistent snapshot in MariaDB's log."""
    return offset_of(snapshot_name_and_offset(connection))


def snapshot_name_and_offset(connection: Connection) -> FileAndOffset:
    """Return the same as MariaDB writes it."""
    told = {
        str(row[0]).lower(): row[1] for row in query_rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'")
    }
    if not told.get("binlog_snapshot_file"):
        raise NO_BINLOG(version=version_of(connection))
    return str(told["binlog_snapshot_file"]), int(told["binlog_snapshot_position"])


def offset_of(told: FileAndOffset) -> LogOffset:
    """Return a place from its file's name and offset."""
    return LogOffset(file_number(told[0]), told[1])


def log_end(connection: Connection) -> LogOffset:
    """Return where the server's log ends; all that a SELECT showed before ends there or earlier."""
    version = tuple(int(part) for part in version_of(connection).split("-")[0].split(".")[:2])
    old = is_mariadb(connection) or version < _BEFORE_8_2
    with translate_errors(connection, "say where its log ends", right="REPLICATION CLIENT"):
        found = query_rows(connection, "SHOW MASTER STATUS" if old else "SHOW BINARY LOG STATUS")
    if not found:
        raise NO_BINLOG(version=version_of(connection))
    return offset_of((str(found[0][0]), int(found[0][1])))


def end_mark(connection: Connection) -> MySqlFence:
    """Mark where the server's log ends; what it has executed by then finds this place in another's log."""
    place, facts = log_end(connection), facts_of(connection)
    gtids: AnyGtids | None = None
    if is_mariadb(connection):
        ((logged,),) = query_rows(connection, "SELECT @@global.gtid_binlog_pos")
        gtids = MariaDbGtids.parse(str(logged))
    else:
        ((mode, executed),) = query_rows(connection, "SELECT @@global.gtid_mode, @@global.gtid_executed")
        gtids = MySqlGtids.parse(str(executed)) if mode == "ON" else None
    return MySqlFence("end", place, facts.identity, gtids)


def query_rows(connection: Connection, statement: str, *given: object) -> list[tuple[Any, ...]]:
    """Run a statement that is answered at once; return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, given or None)
        return list(cursor.fetchall())
