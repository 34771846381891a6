"""Moments that are found again in the binlog, and the gate before a chunk's SELECT.

    signal   a row in the signal table comes back
    fence    nothing is written; the log has passed the place that was read after the SELECT

MySQL: what a SELECT shows was in the binlog before, for an engine commits after the log is written.  So the
log's end behind the SELECT is the fence.  `gtid_executed` is not: a group's GTIDs enter it after the group
is visible (`process_commit_stage_queue` of its source), and a fence without them would let rows out before
their events.  Where the stream reads from another server, places say nothing, and the set is all there is.

MariaDB: a consistent snapshot knows its own place (`binlog_snapshot_file`, `_position`), so a chunk that was
read in one carries its fence itself, and asks for none.

Log order is not visibility order: the dump thread may send a transaction that no SELECT shows yet.  So the
gate asks which streamed transactions this server would not show: on MySQL what is not in `gtid_executed`, on
MariaDB what lies behind the place of a snapshot that is taken for the look.  MySQL without GTIDs can't be
asked: there a mark is a row of ours, committed behind all that is before it (`binlog_order_commits`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from wrackline.producers.changes import Commit, Passing, Signal
from wrackline.producers.plugin import Edge, MarkKind
from wrackline.producers.sources.mysql.gtids import MySqlGtids
from wrackline.producers.sources.mysql.names import table_name
from wrackline.producers.sources.mysql.position import MySqlPosition, file_number
from wrackline.producers.sources.mysql.server_errors import asking
from wrackline.producers.sources.mysql.statement_rows import Connection
from wrackline.schemas import signals
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.table import TableId

FENCE_WITHOUT_GTIDS = define(
    "mysql.fence_without_gtids",
    OperatorNeeded,
    "the server does not tell which transactions a SELECT shows, for they have no GTIDs (gtid_mode={mode})",
    hint="as an administrator, in this order on every server: SET PERSIST enforce_gtid_consistency = ON;"
    " SET PERSIST gtid_mode = OFF_PERMISSIVE; SET PERSIST gtid_mode = ON_PERMISSIVE; SET PERSIST gtid_mode ="
    " ON; or let marks be rows: signal.data.collection=<database>.<table> without read.only",
)
NO_BINLOG = define(
    "mysql.no_binlog",
    OperatorNeeded,
    "the server ({version}) writes no binary log",
    hint="start it with log_bin and binlog_format=ROW; see: wrackline check <pipeline.toml>",
)

_BEFORE_8_2 = (8, 2)
SNAPSHOT = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"


class Place(NamedTuple):
    """Where an event ends in a server's own log."""

    file: int
    offset: int


@dataclass(frozen=True, slots=True)
class Fence:
    """A place in one server's log; everything that was visible when it was read ends before it."""

    name: str
    place: Place
    server: str = ""  # whose log it is; "": that which the stream reads
    gtids: MySqlGtids | None = None  # what it had executed then

    def passed(self, step: Passing) -> bool:
        """Whether the log is there."""
        at = step.position
        if not isinstance(at, MySqlPosition) or at.done:
            return False
        if at.history is not None and self.server not in {"", at.history.server}:
            return (
                isinstance(at.gtids, MySqlGtids) and self.gtids is not None and at.gtids.contains(self.gtids)
            )
        return (at.file, at.offset) >= self.place


@dataclass(frozen=True, slots=True)
class Signalled:
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
    ) -> None:
        self._connection, self._kind, self._table, self._now_ms = connection, kind, signal_table, now_ms

    @property
    def kind(self) -> MarkKind:
        """How these marks are made."""
        return self._kind

    def set(self, name: str, edge: Edge) -> Fence | Signalled:
        """Make this moment findable."""
        with asking(self._connection, "set a mark in its log", self._table, "INSERT"):
            if self._kind is MarkKind.FENCE:
                return self._fence(name)
            return self._signal(name, edge)

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Which of these transactions a SELECT would not see yet."""
        if not streamed:
            return ()
        with asking(self._connection, "say which transactions it shows"):
            if is_mariadb(self._connection):
                place = self._snapshot_place()
                return [commit for commit in streamed if not _before(commit, place)]
            executed = self._executed()
        if executed is None:
            return ()
        return [commit for commit in streamed if not executed.contains(MySqlGtids.parse(commit.transaction))]

    def _fence(self, name: str) -> Fence:
        if is_mariadb(self._connection):
            return Fence(name, self._snapshot_place())
        place = log_end(self._connection)
        executed = self._executed()
        ((server,),) = asked(self._connection, "SELECT @@server_uuid")
        return Fence(name, place, str(server), executed)

    def _snapshot_place(self) -> Place:
        asked(self._connection, SNAPSHOT)
        place = snapshot_place(self._connection)
        asked(self._connection, "COMMIT")
        return place

    def _executed(self) -> MySqlGtids | None:
        """Return what a SELECT shows for certain; None where only rows of ours can tell."""
        ((mode, executed),) = asked(self._connection, "SELECT @@global.gtid_mode, @@global.gtid_executed")
        if mode == "ON":
            return MySqlGtids.parse(str(executed))
        if self._kind is MarkKind.FENCE:
            raise FENCE_WITHOUT_GTIDS(mode=mode)
        return None

    def _signal(self, name: str, edge: Edge) -> Signalled:
        if self._table is None:
            raise ValueError("marks by signal need signal.data.collection")
        at = datetime.fromtimestamp(self._now_ms() / 1000, UTC).isoformat().replace("+00:00", "Z")
        row = signals.window_row(signals.Edge(edge.value), name, at=at, request=name, table=str(self._table))
        insert = f"INSERT INTO {table_name(self._table)} (id, type, data) VALUES (%s, %s, %s)"  # noqa: S608
        asked(self._connection, insert, row.id, row.type, row.data)
        return Signalled(name, row.id)


def _before(commit: Commit, place: Place) -> bool:
    """Whether a transaction ended before a place; of one the stream is amid, where it begins is known."""
    at = commit.position
    if not isinstance(at, MySqlPosition):
        raise TypeError("a commit has a position of its own source")
    here = (at.file, at.offset)
    return here < place if at.done else here <= place


def version_of(connection: Connection) -> str:
    """Return what the server called itself when it was met."""
    return str(connection.server_version)  # type: ignore[attr-defined] # the driver's types leave it out


def is_mariadb(connection: Connection) -> bool:
    """Whether the server is MariaDB, which says so in its version."""
    return "mariadb" in version_of(connection).lower()


def snapshot_place(connection: Connection) -> Place:
    """Return where the transaction's consistent snapshot stands in MariaDB's log."""
    told = {str(row[0]).lower(): row[1] for row in asked(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'")}
    if not told.get("binlog_snapshot_file"):
        raise NO_BINLOG(version=version_of(connection))
    return Place(file_number(str(told["binlog_snapshot_file"])), int(told["binlog_snapshot_position"]))


def log_end(connection: Connection) -> Place:
    """Return where MySQL's log ends; what any SELECT showed before ends there or earlier."""
    version = tuple(int(part) for part in version_of(connection).split("-")[0].split(".")[:2])
    with asking(connection, "say where its log ends", right="REPLICATION CLIENT"):
        found = asked(connection, "SHOW MASTER STATUS" if version < _BEFORE_8_2 else "SHOW BINARY LOG STATUS")
    if not found:
        raise NO_BINLOG(version=version_of(connection))
    return Place(file_number(str(found[0][0])), int(found[0][1]))


def asked(connection: Connection, statement: str, *given: object) -> list[tuple[Any, ...]]:
    """Run what is answered at once; return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, given or None)
        return list(cursor.fetchall())
