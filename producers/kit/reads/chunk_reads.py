"""Chunks of existing rows, for every source that has a SELECT.

    request  -->  describe, read, describe again: the same shape?  -->  Chunk
                              '------- no: once more -------'

The source answers the questions of `RowQueries` on a connection of its own.  What all sources have in common
is here: the shape of a chunk is the table's while it was read, no column that orders rows is hidden, and keys
that message.key.columns chose identify rows.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from threading import Event
from typing import Final, Generic, Protocol, TypeVar

from wrackline.producers.contract.row_chunks import (
    Bound,
    Chunk,
    ChunkRequest,
    Mark,
    Slice,
    TailOf,
    duplicate_key_error,
    see_that_keys_differ,
)
from wrackline.producers.contract.source_plugin import Marks, Surroundings, WholeRead
from wrackline.producers.kit.reads.row_tail import RowOrigin, RowTail
from wrackline.schemas.errors import ErrorCode
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.tables.table import KeyKind, TableId

WORTH_PARTS: Final = 50_000  # rows from which a table is read in parts: fewer are about one chunk

M = TypeVar("M", bound=Marks)
M_co = TypeVar("M_co", bound=Marks, covariant=True)


class ColumnGoneError(Exception):
    """The server does not know a column of the statement; `refusal` is raised if the table still has it."""

    def __init__(self, refusal: Exception) -> None:
        super().__init__()
        self.refusal = refusal


class ReadDeadline:
    """Whether a read has had its time: from its first row on, because before that there is no progress."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._until: float | None = None

    def passed(self, rows: int) -> bool:
        """Look at the clock, if there are rows."""
        if not rows:
            return False
        if self._until is None:
            self._until = self._clock() + self._seconds
        return self._clock() >= self._until


class GivenUp(Event):
    """The event that ends a read: it also cancels the statement that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.cancel: Callable[[], None] = lambda: None

    def set(self) -> None:
        """End what is under way; any thread may call."""
        super().set()
        self.cancel()


class RowQueries(Protocol[M_co]):
    """The queries about rows to a server, on one connection after another of a reader's own."""

    @property
    def marks(self) -> M_co:
        """The marks of the same connection."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        ...

    def asking(self, action: str, table: TableId) -> AbstractContextManager[None]:
        """Turn the server's errors into ours; `action` follows "the server did not"."""
        ...

    def describe(self, table: TableId) -> Projection:
        """Return the table's shape now."""
        ...

    def hold(self, table: TableId) -> AbstractContextManager[Callable[[], Mark | None]]:
        """Read in a transaction of its own; afterwards return the mark of a read that knows its place."""
        ...

    def read(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        """Read with one statement: the slices, and whether the range holds no more; or ColumnGoneError."""
        ...

    def last_key(self, request: ChunkRequest, shape: Projection) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        ...

    def cuts(self, request: ChunkRequest, shape: Projection, parts: int) -> Sequence[Bound]:
        """Return keys that cut the range into parts; none if it has fewer rows than `WORTH_PARTS`."""
        ...

    def expected(self, request: ChunkRequest) -> int | None:
        """Estimate how many rows there are."""
        ...

    def rows_at(self, request: ChunkRequest, shape: Projection, bound: Bound) -> int:
        """Count the rows of one key, up to two."""
        ...

    def count_doubled_keys(self, table: TableId, key: Sequence[str]) -> int | None:
        """Count keys of several rows, 0 if an index makes them unique; None if that takes too long."""
        ...

    def origin(self, table: TableId) -> RowOrigin:
        """Return where the table's rows come from."""
        ...

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        ...

    def close(self) -> None:
        """End the connection, and what the server still does for it."""
        ...


class ChunkReads(Generic[M]):
    """Reads chunks on one connection after another; none is shared."""

    def __init__(
        self, queries: RowQueries[M], around: Surroundings, given_up: Event, hidden: ErrorCode
    ) -> None:
        """Take the queries, the event that ends them, and the error for a hidden column in the key."""
        self.queries, self._around, self._given_up, self._hidden = queries, around, given_up, hidden

    @property
    def marks(self) -> M:
        """The marks of the same connection."""
        return self.queries.marks

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self.queries.closed

    def last_key(self, request: ChunkRequest) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        with self.queries.asking(f"find the last key of {request.table}", request.table):
            shape = self._described(request)
            if request.whole and shape.table.key_kind is KeyKind.CUSTOM:
                count = self.queries.count_doubled_keys(request.table, shape.table.key)
                if count:
                    raise duplicate_key_error(request.table, shape.table.key, count)
            return self.queries.last_key(request, shape)

    def cuts(self, request: ChunkRequest, parts: int) -> Sequence[Bound]:
        """Return keys that cut the range into parts; no keys for a small table."""
        with self.queries.asking(f"cut {request.table} into parts", request.table):
            return self.queries.cuts(request, self._described(request), parts)

    def expected(self, request: ChunkRequest) -> int | None:
        """Estimate how many rows the range and the condition hold."""
        with self.queries.asking(f"estimate the rows of {request.table}", request.table):
            return self.queries.expected(request)

    def read(self, request: ChunkRequest) -> Chunk:
        """Read with one statement; if the shape changed meanwhile, read again."""
        with self.queries.asking(read_action(request.table), request.table):
            shape = self._described(request)
            while True:
                late = ReadDeadline(self._around.monotonic, request.most_seconds)
                with self.queries.hold(request.table) as mark:
                    read = self._read_with(request, shape, late)
                    now = self._described(request)
                if now == shape:
                    break
                shape = now
            if isinstance(read, ColumnGoneError):
                raise read.refusal
            slices, complete = read
            see_that_keys_differ(shape.table, slices, partial(self.queries.rows_at, request, shape))
            tail = RowTail(self.queries.origin(request.table))
            return Chunk(shape.table, slices, complete, tail, mark())

    def void(self, table: TableId) -> TailOf:
        """Return what makes a `t` event of our own."""
        with self.queries.asking(f"describe {table}", table):
            shape = self.queries.describe(table)
        return RowTail(self.queries.origin(table)).void(self._around.register(shape.table).value)

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        with self.queries.asking(read_action(table), table):
            return self.queries.whole(table)

    def give_up(self) -> None:
        """Make what is under way end soon, with an error; any thread may call."""
        self._given_up.set()

    def close(self) -> None:
        """End the connection, and what the server still does for it."""
        self.queries.close()

    def _read_with(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool] | ColumnGoneError:
        try:
            return self.queries.read(request, shape, late)
        except ColumnGoneError as gone:
            return gone

    def _described(self, request: ChunkRequest) -> Projection:
        """Look up the shape; columns that order rows must not be hidden, because a bound is saved."""
        shape = self.queries.describe(request.table)
        for column, action in zip(shape.source.columns, shape.actions, strict=True):
            if column.name in request.key and action is not Plain.KEEP:
                raise self._hidden(table=f"{request.table.schema}.{request.table.name}", column=column.name)
        return shape


def read_action(table: TableId) -> str:
    """Return what the server did not do, for an error."""
    return f"read a chunk of {table}"
