"""Marks that are found again in PostgreSQL's log, and the gate before a chunk's SELECT.

    signal    a row in the signal table comes back
    message   a logical message in a transaction of its own comes back
    fence     nothing is written; the log has passed the place that was read after the SELECT

Log order is not visibility order: a transaction is in the log when its commit record is, but other
sessions see it a moment later (much later where it waits for a synchronous standby).  So the gate asks
which streamed transactions this server would not show yet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from psycopg import sql

from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.contract.steps import Commit, Message, Passing, Signal
from wrackline.producers.sources.postgres.connect.connect import Connection, as_the_user
from wrackline.producers.sources.postgres.connect.server_errors import translate_errors
from wrackline.producers.sources.postgres.log.position import PgPosition, lsn_number
from wrackline.schemas.kafka import signals
from wrackline.schemas.tables.table import TableId

PREFIX = "wrackline.mark"
_HEADERS = (24, 40)  # bytes of a page's header, and of the first header of a file
_XIDS = 1 << 32  # the log carries a transaction's low 32 bits, a snapshot all 64


@dataclass(frozen=True, slots=True)
class PgFence:
    """A place in the log; everything that was visible when it was read ends before it."""

    name: str
    lsn: int

    def passed(self, step: Passing) -> bool:
        """Whether the log has reached this place."""
        return (
            isinstance(step.position, PgPosition)
            and step.position.done == 0
            and step.position.lsn >= self.lsn
        )


@dataclass(frozen=True, slots=True)
class PgMessageMark:
    """A logical message with this content."""

    name: str

    def passed(self, step: Passing) -> bool:
        """Whether this is the message."""
        return isinstance(step, Message) and step.prefix == PREFIX and step.content == self.name.encode()


@dataclass(frozen=True, slots=True)
class PgSignalMark:
    """A row of the signal table with this id."""

    name: str
    row_id: str

    def passed(self, step: Passing) -> bool:
        """Whether this is the row."""
        return isinstance(step, Signal) and step.id == self.row_id


class PgMarks:
    """Sets marks of one kind on the connection that reads the chunks."""

    def __init__(
        self,
        connection: Connection,
        kind: MarkKind,
        *,
        signal_table: TableId | None = None,
        writes: bool = True,
        now_ms: Callable[[], int],
    ) -> None:
        self._connection, self._kind, self._table, self._now_ms = connection, kind, signal_table, now_ms
        self._writes = writes

    @property
    def kind(self) -> MarkKind:
        """How these marks are made."""
        return self._kind

    def set(self, name: str, edge: Edge) -> PgFence | PgMessageMark | PgSignalMark:
        """Set a mark for this moment."""
        with translate_errors(self._connection, "set a mark in its log", self._table, "INSERT"):
            if self._kind is MarkKind.FENCE:
                return self._fence(name)
            if self._kind is MarkKind.MESSAGE:
                self._connection.execute("SELECT pg_logical_emit_message(true, %s, %s)", [PREFIX, name])
                return PgMessageMark(name)
            return self._signal(name, edge)

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Return the transactions that a SELECT would not see yet."""
        with translate_errors(self._connection, "say which transactions it shows"):
            ((text,),) = self._connection.execute("SELECT pg_current_snapshot()::text")
        lowest, next_one, running = str(text).split(":")
        xmin, xmax = int(lowest), int(next_one)
        going = {int(xid) for xid in running.split(",") if xid}
        waiting = []
        for commit in streamed:
            xid = full_xid(int(commit.transaction), xmax)
            if xid >= xmax or (xid >= xmin and xid in going):
                waiting.append(commit)
        return waiting

    def _fence(self, name: str) -> PgFence:
        """Read the log's place; a primary is made to flush up to it, or the log passes it late."""
        fence, flushed = log_end(self._connection, name)
        if self._writes and flushed < fence.lsn:
            self._connection.execute("SELECT pg_logical_emit_message(true, %s, '')", [f"{PREFIX}.push"])
        return fence

    def _signal(self, name: str, edge: Edge) -> PgSignalMark:
        if self._table is None:
            raise ValueError("marks by signal need signal.data.collection")
        at = datetime.fromtimestamp(self._now_ms() / 1000, UTC).isoformat().replace("+00:00", "Z")
        row = signals.window_row(
            signals.WindowEdge(edge.value), name, at=at, request=name, table=str(self._table)
        )
        insert = sql.SQL("INSERT INTO {} (id, type, data) VALUES (%s, %s, %s)").format(
            sql.Identifier(self._table.schema, self._table.name)
        )
        with self._connection.transaction():
            as_the_user(self._connection)
            self._connection.execute(insert, [row.id, row.type, row.data])
        return PgSignalMark(name, row.id)


def log_end(connection: Connection, name: str) -> tuple[PgFence, int]:
    """Mark the log's end, with what no server has flushed yet; and return up to where this one has.

    A SELECT may show a transaction that is not flushed (`synchronous_commit = off`).
    """
    ((standby,),) = connection.execute("SELECT pg_is_in_recovery()")
    if standby:
        ((place,),) = connection.execute("SELECT pg_last_wal_replay_lsn()::text")
        return PgFence(name, lsn_number(str(place))), lsn_number(str(place))
    ((place, flushed, page),) = connection.execute(
        "SELECT pg_current_wal_insert_lsn()::text, pg_current_wal_flush_lsn()::text,"
        " current_setting('wal_block_size')::int"
    )
    return PgFence(name, last_end(lsn_number(str(place)), int(str(page)))), lsn_number(str(flushed))


def last_end(lsn: int, page: int) -> int:
    """Return where the last record ends, from the place where the next record begins.

    On a new page this place is behind the page's header, which the server writes only with a record.
    """
    return lsn - lsn % page if lsn % page in _HEADERS else lsn


def full_xid(low: int, xmax: int) -> int:
    """Return the 64-bit id with these low 32 bits that is within half a turn of `xmax`."""
    xid = xmax - xmax % _XIDS + low
    if xid > xmax + _XIDS // 2:
        return xid - _XIDS
    if xid < xmax - _XIDS // 2:
        return xid + _XIDS
    return xid
