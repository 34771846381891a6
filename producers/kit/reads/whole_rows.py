"""All rows of a table without a key, in pieces of one statement at one place of the log.

The source begins the statement; a piece is as many of its rows as a request allows.  The rows have no key, so
they are numbered as they come.
"""

from collections.abc import Callable
from threading import Event
from typing import Protocol

from wrackline.producers.contract.row_chunks import Chunk, ChunkRequest, Mark, Piece, Slice
from wrackline.producers.kit.reads.chunk_reads import ReadDeadline
from wrackline.producers.kit.reads.row_tail import RowTail
from wrackline.schemas.tables.table import TableSchema


class OpenStatement(Protocol):
    """A statement that has begun to return rows; if nobody takes them, the server waits."""

    def take(self, request: ChunkRequest, late: ReadDeadline) -> tuple[tuple[Slice, ...], int, bool]:
        """Take the next rows: return their slices, their number, and whether they were the last."""
        ...

    @property
    def given_up(self) -> Event:
        """The event that another thread sets so that it ends soon, with an error."""
        ...

    def close(self) -> None:
        """End the transaction with its connection; twice is harmless."""
        ...


class WholeRows:
    """One open read."""

    def __init__(
        self,
        statement: OpenStatement,
        shape: TableSchema,
        mark: Mark,
        tail: RowTail,
        value_id: int,
        clock: Callable[[], float],
    ) -> None:
        """Take the place of the statement's snapshot as a mark, and what makes the rows' tails there."""
        self.statement, self._shape, self._mark = statement, shape, mark
        self._tail, self._void, self._clock = tail, tail.void(value_id), clock
        self._before = 0

    def next(self, request: ChunkRequest) -> Chunk:
        """Take the next rows."""
        late = ReadDeadline(self._clock, request.most_seconds)
        slices, count, complete = self.statement.take(request, late)
        piece = Piece(self._before, self._void)
        self._before += count
        return Chunk(self._shape, slices, complete, self._tail, self._mark, piece)

    def give_up(self) -> None:
        """Make what is under way end soon."""
        self.statement.given_up.set()

    def close(self) -> None:
        """Close what is open."""
        self.statement.close()
