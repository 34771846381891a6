"""A table without a key, read whole as of one SCN, in pieces of one SELECT.

    SCN s of this moment  ->  SELECT ... AS OF SCN s: piece, piece, piece ...

The rows are those of the commits up to `s`, and their seq is behind all of these and before all others.  No
two reads of a source are as of one SCN, or the rows of the later one would not be newer.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import cast

from wrackline.producers.contract.row_chunks import ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.kit.reads.chunk_reads import GivenUp, ReadDeadline, read_action
from wrackline.producers.kit.reads.row_tail import RowTail
from wrackline.producers.kit.reads.whole_rows import WholeRows
from wrackline.producers.sources.oracle.chunks import chunk_sql
from wrackline.producers.sources.oracle.chunks.chunks import (
    OracleReadSession,
    OracleRowOrigin,
    chunk_slicing,
    rows_at_once,
)
from wrackline.producers.sources.oracle.chunks.fence import OracleFence, current_scn
from wrackline.producers.sources.oracle.connect.driver import Fields
from wrackline.producers.sources.oracle.connect.server_errors import COLUMN_MISSING, ROWS_GONE, SERVER_LOST
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.rows.source_record import OracleSourceLabels
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId

SCN_STANDS = define(
    "oracle.scn_stands",
    Transient,
    "{table} has no key, so it is read as of an SCN of its own, and the database has no newer one than {scn}",
    hint="it is retried automatically; a standby has no newer one until its primary sends redo",
)


class OracleReadScns:
    """The SCNs of whole reads, of one source; any thread may ask."""

    def __init__(self) -> None:
        self._lock, self._last = Lock(), 0

    def next(self, session: OracleSession, table: TableId) -> int:
        """Return the SCN of this moment, above that of each earlier read."""
        with self._lock:
            scn = current_scn(session, read_action(table))
            if scn <= self._last:
                raise SCN_STANDS(table=table, scn=self._last)
            self._last = scn
        return scn


@dataclass(frozen=True, slots=True)
class OracleWholeReader:
    """How to begin such a read; `scns` is one of a source."""

    begin: Callable[[], OracleReadSession]
    labels: OracleSourceLabels
    around: Surroundings
    scns: OracleReadScns

    def __call__(self, table: TableId) -> WholeRows:
        """Begin a read."""
        reading = self.begin()
        try:
            return self._begin_read(reading, table)
        except BaseException:
            reading.session.close()
            raise

    def _begin_read(self, reading: OracleReadSession, table: TableId) -> WholeRows:
        catalogue = reading.catalogue
        scn = self.scns.next(reading.session, table)
        shape = catalogue.describe(table)
        types = catalogue.shapes.types(catalogue.described(table), shape)
        ids = self.around.register(shape.table)
        mark = OracleFence(f"read {table}", scn)
        tail = RowTail(OracleRowOrigin(self.labels, table, scn))
        statement = OracleWholeSelect(reading.session, shape, types, ids, scn)
        return WholeRows(statement, shape.table, mark, tail, ids.value, self.around.monotonic)


class OracleWholeSelect:
    """The rows of a SELECT as of an SCN."""

    def __init__(
        self,
        session: OracleSession,
        shape: Projection,
        types: Sequence[OracleType],
        ids: WriterIds,
        scn: int,
    ) -> None:
        self._session, self._shape, self._types, self._ids = session, shape, types, ids
        self.given_up = GivenUp()
        self.given_up.cancel = session.cancel
        self._doing = read_action(shape.table.id)
        sql = chunk_sql.all_rows(shape, types)
        stream = session.stream(sql, self._doing, {"s": scn}, at_once=rows_at_once(types))
        self._batches = cast("Generator[Sequence[Fields], None, None]", stream)
        self._rows: Sequence[Fields] = self._begun()  # of a batch, those that were not taken

    def take(self, request: ChunkRequest, late: ReadDeadline) -> tuple[tuple[Slice, ...], int, bool]:
        """Take the next rows."""
        if self.given_up.is_set():
            raise SERVER_LOST(doing=self._doing, reason="it was given up")
        taking = chunk_slicing(request, self._shape, self._types, self._ids)
        while not taking.full and taking.count < request.most_rows:
            if not self._rows:
                rows = next(self._batches, None)
                if rows is None:
                    return taking.end(), taking.count, True
                self._rows = rows
            taken = taking.fill(self._rows[: request.most_rows - taking.count])
            self._rows = self._rows[taken:]
            if late.passed(taking.count):
                break
        return taking.end(), taking.count, False

    def close(self) -> None:
        """End the statement with its session."""
        self._session.close()
        with suppress(WracklineError):
            self._batches.close()

    def _begun(self) -> Sequence[Fields]:
        """Let the server begin, while the table is as it was described."""
        try:
            return next(self._batches, ())
        except OperatorNeeded as error:
            if error.code == COLUMN_MISSING.code:
                raise ROWS_GONE(doing=self._doing, reason="the table was altered") from None
            raise
