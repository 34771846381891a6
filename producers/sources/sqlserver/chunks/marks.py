"""Marks that are found again in the change tables.  Pure, with the statements that set them.

    signal   a row in the signal table, which is captured itself, comes back
    fence    nothing is written: the log has passed the place of a savepoint that was made after the SELECT

A savepoint writes a record of its own into the log.  Whatever a SELECT saw before was committed before, so
its commit lies below that record.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.contract.steps import Commit, Passing, Signal
from wrackline.producers.sources.sqlserver.connect.quoting import literal, table_name
from wrackline.producers.sources.sqlserver.log.lsn import Lsn, lsn_of_number
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.producers.sources.sqlserver.rows.answers import TableAnswer, python_rows
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.kafka.signals import SignalRow, WindowEdge, window_row
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

NO_PLACE = define(
    "sqlserver.no_place",
    OperatorNeeded,
    "the server does not show the place of our own transaction in its log",
    hint="as sysadmin: USE master; GRANT VIEW SERVER STATE TO <login>; on Azure SQL Database: GRANT VIEW"
    " DATABASE STATE TO <user>; or use rows as watermarks: signal.data.collection ="
    " '<database>.<schema>.<table>', captured like any table. A secondary may show none: read from the"
    " primary",
)

_FENCE = 'incremental.snapshot.watermarking.strategy = "fence"'
MARKS_WRITE = define(
    "sqlserver.marks_write",
    OperatorNeeded,
    "nothing may be written, but incremental.snapshot.watermarking.strategy {strategy} writes to the"
    " database",
    hint=f"set {_FENCE}, or remove read.only and driver.applicationIntent",
)
MARKS_UNSAID = define(
    "sqlserver.marks_unsaid",
    OperatorNeeded,
    "incremental.snapshot.watermarking.strategy is {strategy}, but the server's log contains no messages",
    hint=f"set {_FENCE}, or remove the line",
)
MARKS_NOWHERE = define(
    "sqlserver.marks_nowhere",
    OperatorNeeded,
    "incremental.snapshot.watermarking.strategy {strategy} writes to a signal table, but none is named",
    hint=f"name it: signal.data.collection = '<database>.<schema>.<table>'; or write nothing: {_FENCE}",
)

# On the connection of the SELECT, in the database of its table.
PLACE_SQL: Final = (
    "SAVE TRANSACTION wrackline; SELECT database_transaction_most_recent_savepoint_lsn"
    " FROM sys.dm_tran_database_transactions WHERE database_id = DB_ID() AND transaction_id ="
    " CURRENT_TRANSACTION_ID();"
)
FENCE_SQL: Final = f"BEGIN TRANSACTION; {PLACE_SQL} ROLLBACK TRANSACTION;"


@dataclass(frozen=True, slots=True)
class SqlServerFence:
    """A place in the log; what was visible when it was read is committed below it."""

    name: str
    lsn: Lsn

    def passed(self, step: Passing) -> bool:
        """Whether every commit up to here is out."""
        return isinstance(step.position, SqlServerPosition) and step.position.passed >= self.lsn


@dataclass(frozen=True, slots=True)
class SqlServerSignalMark:
    """A row of the signal table with this id."""

    name: str
    row_id: str

    def passed(self, step: Passing) -> bool:
        """Whether this is the row."""
        return isinstance(step, Signal) and step.id == self.row_id


def signal_sql(table: TableId, row: SignalRow, *, delete: bool) -> str:
    """Write a mark's row; `delete`: and remove it, because the change table has it anyway."""
    values = ", ".join(map(literal, (row.id, row.type, row.data)))
    insert = f"INSERT INTO {table_name(table)} (id, type, data) VALUES ({values});"  # noqa: S608 - literals
    return f"{insert} DELETE FROM {table_name(table)} WHERE id = {literal(row.id)};" if delete else insert  # noqa: S608


@dataclass(frozen=True, slots=True)
class MarkSettings:
    """How marks are made: by rows of a table, or by places."""

    kind: MarkKind
    table: TableId | None = None
    deletes: bool = False  # whether a mark's row is removed again


def mark_settings(settings: Values, table: TableId | None) -> MarkSettings:
    """Return what the settings say; without a strategy rows, if there is a table for them.

    A place is passed only when the capture job reports one behind it: on a quiet database after minutes.
    """
    strategy = settings["incremental.snapshot.watermarking.strategy"]
    read_only = settings.flag("read.only") or settings.text("driver.applicationIntent") == "ReadOnly"
    if strategy == "message":
        raise MARKS_UNSAID(strategy=strategy)
    if strategy == "fence" or (strategy is None and (table is None or read_only)):
        return MarkSettings(MarkKind.FENCE)
    if read_only:
        raise MARKS_WRITE(strategy=strategy)
    if table is None:
        raise MARKS_NOWHERE(strategy=strategy)
    return MarkSettings(MarkKind.SIGNAL, table, strategy != "insert_insert")


class MarkSession(Protocol):
    """The connection that reads the chunks."""

    def answers(self, sql: str, doing: str) -> Sequence[TableAnswer]:
        """Run a batch, and return its results."""
        ...

    def execute(self, sql: str, doing: str) -> int | None:
        """Execute a batch."""
        ...


class SqlServerMarks:
    """Sets marks of one kind on the connection that reads the chunks.

    A SELECT waits for the writers of its rows (`READCOMMITTEDLOCK`), so whatever the log has shown is visible
    to it.  A read of versions does not wait; the capture job reads a commit from the log only later.
    """

    def __init__(self, session: MarkSession, settings: "MarkSettings", now_ms: Callable[[], int]) -> None:
        self._session, self._settings, self._now_ms = session, settings, now_ms

    @property
    def kind(self) -> MarkKind:
        """How these marks are made."""
        return self._settings.kind

    def set(self, name: str, edge: Edge) -> SqlServerFence | SqlServerSignalMark:
        """Set a mark for this moment."""
        table = self._settings.table
        if self.kind is MarkKind.FENCE or table is None:
            return SqlServerFence(name, savepoint_lsn(self._session))
        at = datetime.fromtimestamp(self._now_ms() / 1000, UTC).isoformat().replace("+00:00", "Z")
        row = window_row(WindowEdge(edge.value), name, at=at, request=name, table=str(table))
        sql = signal_sql(table, row, delete=self._settings.deletes)
        self._session.execute(sql, "set a mark in its log")
        return SqlServerSignalMark(name, row.id)

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Return nothing: each streamed commit is visible, or its rows are waited for."""
        del streamed
        return ()


def savepoint_lsn(session: MarkSession) -> Lsn:
    """Return a place of the log that is above all that a SELECT showed before."""
    return place_in(session.answers(FENCE_SQL, "say where its log is"))


def place_in(answers: Sequence[TableAnswer]) -> Lsn:
    """Return a savepoint's place, which is in the last answer."""
    for (number,) in python_rows(answers[-1]):
        if number is not None:
            return lsn_of_number(int(number))
    raise NO_PLACE()  # noqa: RSE102 - a code makes the error
