"""A table without a key, read whole at one place of the log, in pieces of one SELECT.

    one connection   locks the table | savepoint: its place C |          | gives the lock back
    another                                    its first read takes a snapshot | SELECT: piece, piece ...

While the table is locked, no session has an open change of it: so what was committed below C is in the
snapshot, and the rest is not.  The lock lasts for some milliseconds; it waits for open changes of this table,
and while it waits, new writers wait too.  An ALTER before the rows are read ends the read, because the
snapshot does not show the table as it was.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, cast

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.kit.reads.chunk_reads import GivenUp, ReadDeadline, read_action
from wrackline.producers.kit.reads.row_tail import RowTail
from wrackline.producers.kit.reads.whole_rows import WholeRows
from wrackline.producers.sources.sqlserver.chunks import chunk_sql
from wrackline.producers.sources.sqlserver.chunks.chunks import (
    AT_ONCE,
    SqlServerReadSession,
    SqlServerRowOrigin,
    chunk_slicing,
    packed_rows,
    readable_shape,
)
from wrackline.producers.sources.sqlserver.chunks.marks import PLACE_SQL, SqlServerFence, place_in
from wrackline.producers.sources.sqlserver.connect.quoting import identifier, table_name
from wrackline.producers.sources.sqlserver.connect.server_errors import SERVER_LOST
from wrackline.producers.sources.sqlserver.rows.source_record import SqlServerSourceLabels
from wrackline.producers.sources.sqlserver.wire.session import StatementCancelledError, TdsSession
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

NO_VERSIONS = define(
    "sqlserver.no_key_without_versions",
    OperatorNeeded,
    "{table} has no key, so its rows must all be read at one position of the log, and the database keeps no"
    " versions of rows",
    hint="as db_owner: ALTER DATABASE {database} SET ALLOW_SNAPSHOT_ISOLATION ON; or give the table a primary"
    " key or a unique index over NOT NULL columns; or name columns that identify its rows:"
    " message.key.columns",
)
NO_LOCK = define(
    "sqlserver.no_key_on_secondary",
    OperatorNeeded,
    "{table} has no key, so its rows must all be read at one position of the log, which needs a lock that a"
    " secondary does not give",
    hint="read from the primary; or give the table a primary key or a unique index over NOT NULL columns",
)

_SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRANSACTION; SELECT TOP (1) 1 FROM {};"
_LOCK: Final = "BEGIN TRANSACTION; SELECT TOP (1) 1 FROM {} WITH (TABLOCK, HOLDLOCK); " + PLACE_SQL  # noqa: S608 - a quoted name


@dataclass(frozen=True, slots=True)
class SqlServerWholeReader:
    """How to begin such a read in one database."""

    begin: Callable[[], SqlServerReadSession]
    labels: SqlServerSourceLabels
    around: Surroundings
    versions: Callable[[], bool]  # whether the database keeps versions of rows
    reads_only: bool  # whether it is a secondary

    def __call__(self, table: TableId) -> WholeRows:
        """Begin a read."""
        if self.reads_only:
            raise NO_LOCK(table=table)
        if not self.versions():
            raise NO_VERSIONS(table=table, database=identifier(table.database))
        reading = self.begin()
        try:
            return self._begin_read(reading, table)
        except BaseException:
            reading.session.close()
            raise

    def _begin_read(self, reading: SqlServerReadSession, table: TableId) -> WholeRows:
        action, name = read_action(table), table_name(table)
        locking = self.begin()
        try:
            place = place_in(locking.session.answers(_LOCK.format(name), action))
            reading.session.execute(_SNAPSHOT.format(name), action)
            shape = readable_shape(locking.catalogue, table)  # it can't change while the table is locked
            locking.session.execute("ROLLBACK TRANSACTION;", action)
        finally:
            locking.session.close()
        ids = self.around.register(shape.table)
        mark, tail = (
            SqlServerFence(f"read {table}", place),
            RowTail(SqlServerRowOrigin(self.labels, table, place)),
        )
        statement = SqlServerWholeSelect(reading.session, shape, ids)
        return WholeRows(statement, shape.table, mark, tail, ids.value, self.around.monotonic)


class SqlServerWholeSelect:
    """The rows of a SELECT over a snapshot."""

    def __init__(self, session: TdsSession, shape: Projection, ids: WriterIds) -> None:
        self._session, self._shape, self._ids = session, shape, ids
        self.given_up = GivenUp()
        self.given_up.cancel = session.cancel
        sql = chunk_sql.all_rows(shape)
        stream = session.stream(sql, AT_ONCE, read_action(shape.table.id))
        self._batches = cast("Generator[TdsBatch, None, None]", stream)
        self._batch: TdsBatch | None = None
        self._rows: list[bytes] = []  # of the batch that were not taken

    def take(self, request: ChunkRequest, late: ReadDeadline) -> tuple[tuple[Slice, ...], int, bool]:
        """Take the next rows."""
        try:
            return self._take(request, late)
        except StatementCancelledError:
            doing = read_action(self._shape.table.id)
            raise SERVER_LOST(doing=doing, reason="it was given up") from None

    def close(self) -> None:
        """End the transaction with its connection."""
        self._session.close()
        with suppress(WracklineError, StatementCancelledError):
            self._batches.close()

    def _take(self, request: ChunkRequest, late: ReadDeadline) -> tuple[tuple[Slice, ...], int, bool]:
        if self._batch is None:
            self._batch = next(self._batches, None)
            if self._batch is None:
                return (), 0, True
            self._rows = packed_rows(self._batch)
        types = [column.type for column in self._batch.columns]
        taking = chunk_slicing(request, self._shape, self._ids, types, _no_bound)
        while not taking.full and taking.count < request.most_rows:
            if not self._rows:
                batch = next(self._batches, None)
                if batch is None:
                    return taking.end(), taking.count, True
                self._rows = packed_rows(batch)
            taken = taking.fill(self._rows[: request.most_rows - taking.count])
            self._rows = self._rows[taken:]
            if late.passed(taking.count):
                break
        return taking.end(), taking.count, False


def _no_bound(_: bytes) -> Bound:
    return ()
