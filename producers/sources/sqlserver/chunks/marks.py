"""Marks that are found again in the change tables.  Pure, with the statements that set them.

    signal   a row in the signal table, which is captured itself, comes back
    fence    nothing is written: the log has passed the place of a savepoint that was made after the SELECT

A savepoint writes a record of its own into the log.  Whatever a SELECT saw before was committed before, so
its commit lies below that record.
"""

from dataclasses import dataclass
from typing import Final

from wrackline.producers.contract.steps import Passing, Signal
from wrackline.producers.sources.sqlserver.connect.quoting import literal, table_name
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition
from wrackline.schemas.kafka.signals import SignalRow
from wrackline.schemas.tables.table import TableId

# On the connection of the SELECT, in the database of its table.
FENCE_SQL: Final = (
    "BEGIN TRANSACTION; SAVE TRANSACTION wrackline; SELECT database_transaction_most_recent_savepoint_lsn"
    " FROM sys.dm_tran_database_transactions WHERE database_id = DB_ID() AND transaction_id ="
    " CURRENT_TRANSACTION_ID(); ROLLBACK TRANSACTION;"
)


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

    def passed(self, step: Passing) -> bool:
        """Whether this is the row."""
        return isinstance(step, Signal) and step.id == self.name


def signal_sql(table: TableId, row: SignalRow, *, delete: bool) -> str:
    """Write a mark's row; `delete`: and remove it, because the change table has it anyway."""
    values = ", ".join(map(literal, (row.id, row.type, row.data)))
    insert = f"INSERT INTO {table_name(table)} (id, type, data) VALUES ({values});"  # noqa: S608 - literals
    return f"{insert} DELETE FROM {table_name(table)} WHERE id = {literal(row.id)};" if delete else insert  # noqa: S608
