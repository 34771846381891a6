"""Chunks of existing rows: one SELECT between two keys, as of an SCN; its cells go through the log's encoder.

    SCN s of this moment  ->  SELECT ... AS OF SCN s  ->  Chunk, whose mark is s

Nothing is locked or written, and nothing stays open: a chunk is what was committed up to `s`.  The server
finds older versions of rows in its undo.  If they are gone, or the table was altered within the last seconds,
the chunk is read again, as of a newer SCN.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Final, TypeAlias, cast

from wrackline.producers.contract.row_chunks import KEY_GONE, Bound, ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Surroundings, WholeRead, WriterIds
from wrackline.producers.contract.steps import Position
from wrackline.producers.kit.reads.chunk_reads import (
    WORTH_PARTS,
    ChunkReads,
    ColumnGoneError,
    GivenUp,
    ReadDeadline,
)
from wrackline.producers.sources.oracle.chunks import chunk_sql
from wrackline.producers.sources.oracle.chunks.fence import OracleFence, OracleMarks, current_scn
from wrackline.producers.sources.oracle.chunks.key_values import OracleKeyColumn, text_of
from wrackline.producers.sources.oracle.chunks.slicing import OracleSlicing
from wrackline.producers.sources.oracle.connect.driver import Fields
from wrackline.producers.sources.oracle.connect.server_errors import COLUMN_MISSING, SERVER_LOST
from wrackline.producers.sources.oracle.connect.session import AT_ONCE, OracleSession
from wrackline.producers.sources.oracle.discover.catalogue import OracleCatalogue
from wrackline.producers.sources.oracle.discover.facts import OracleTableFacts, OracleType
from wrackline.producers.sources.oracle.discover.types import may_lack
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at
from wrackline.producers.sources.oracle.rows.rows import OracleRowDecoder
from wrackline.producers.sources.oracle.rows.source_record import OracleSourceLabels, source_record
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.tables.table import TableId

KEY_HIDDEN = define(
    "oracle.key_hidden",
    OperatorNeeded,
    "the rows of {table} can't be read in the order of {column}, because a chunk's bounds are saved in"
    " Kafka and the settings hide this column",
    hint="order the snapshot by columns that are not hidden: surrogate-key in its request; or make such"
    " columns the key: message.key.columns = '{table}:<columns>'",
)

_LARGE_AT_ONCE: Final = 20  # rows of one round trip, if they may have large objects
_SAMPLED: Final = 20_000  # rows, from which a table is cut into parts
_NO_REF: Final = 0  # the ref of a table in changes: a chunk's rows have none

OracleReader: TypeAlias = ChunkReads[OracleMarks]
BeginWhole: TypeAlias = Callable[[TableId], WholeRead]


@dataclass(frozen=True, slots=True)
class OracleReadSession:
    """A reader's own session in the database of its tables, and the parts that use it."""

    session: OracleSession
    catalogue: OracleCatalogue
    marks: OracleMarks


@dataclass(frozen=True, slots=True)
class OracleRowOrigin:
    """Where rows of a table come from; the rows of a read at an SCN of its own have that place."""

    labels: OracleSourceLabels
    table: TableId
    scn: int | None = None

    def __call__(self, released_at: Position, *, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
        """Return the `source` record, and the beginning of the seq."""
        if not isinstance(released_at, OraclePosition):
            raise TypeError("a chunk is released at a position of its own source")
        at = released_at
        if self.scn is not None:
            at = OraclePosition(released_at.epoch, last_at(self.scn))
        source = source_record(self.labels, self.table, at.place.scn, ts_ms=ts_ms, snapshot=snapshot)
        return source, at.row_seq()


class OracleRowQueries:
    """Asks about rows over a session of its own."""

    def __init__(
        self,
        session: OracleReadSession,
        labels: OracleSourceLabels,
        around: Surroundings,
        begin_whole: BeginWhole,
        given_up: Event,
    ) -> None:
        self.session, self._labels, self._around = session, labels, around
        self._begin_whole, self._given_up = begin_whole, given_up
        self._scn = 0

    @property
    def marks(self) -> OracleMarks:
        """The marks of the same session."""
        return self.session.marks

    @property
    def closed(self) -> bool:
        """Whether the session has ended."""
        return self.session.session.closed

    @contextmanager
    def asking(self, action: str, table: TableId) -> Iterator[None]:
        """Begin nothing for a read that was given up; the session's errors are ours already."""
        del table
        if self._given_up.is_set():
            raise SERVER_LOST(doing=action, reason="it was given up")
        yield

    def describe(self, table: TableId) -> Projection:
        """Return the table's current shape."""
        return self.session.catalogue.describe(table)

    @contextmanager
    def hold(self, table: TableId) -> Iterator[Callable[[], OracleFence]]:
        """Read as of this moment."""
        scn = self._scn = current_scn(self.session.session, f"say where {table} is read")
        yield lambda: OracleFence(f"read {table}", scn)

    def read(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        """Read the slices, and whether the range holds no more."""
        facts = self.session.catalogue.described(request.table)
        types = self.session.catalogue.shapes.types(facts, shape)
        sql = chunk_sql.rows(request, shape, types, key_columns(facts))
        taking = chunk_slicing(request, shape, types, self._around.register(shape.table))
        stream = self.session.session.stream(
            sql, f"read a chunk of {request.table}", {"s": self._scn}, at_once=rows_at_once(types)
        )
        try:
            with closing(cast("Generator[Sequence[Fields], None, None]", stream)) as batches:
                for rows in batches:
                    if taking.fill(rows) < len(rows) or taking.full or late.passed(taking.count):
                        return taking.end(), False
        except OperatorNeeded as error:
            if error.code == COLUMN_MISSING.code:
                raise ColumnGoneError(error) from None
            raise
        return taking.end(), taking.count < request.most_rows

    def last_key(self, request: ChunkRequest, shape: Projection) -> Bound | None:
        """Return the greatest key of the range, None when it holds no row."""
        sql = chunk_sql.one_key(request, shape, self._columns(request), descending=True)
        return next(iter(self._keys(request, sql, f"find the last key of {request.table}")), None)

    def cuts(self, request: ChunkRequest, shape: Projection, parts: int) -> Sequence[Bound]:
        """Return the last key of each part of a sample, except the last part; some blocks are read."""
        rows = self.session.catalogue.rows(request.table) or 0
        if rows < WORTH_PARTS:
            return ()
        sql = chunk_sql.sampled_keys(request, shape, self._columns(request), 100 * _SAMPLED / rows)
        found = self._keys(request, sql, f"cut {request.table} into parts")
        ends = (found[len(found) * part // parts] for part in range(1, parts) if found)
        return list(dict.fromkeys(ends))

    def expected(self, request: ChunkRequest) -> int | None:
        """Estimate the rows of a whole table by its statistics; of a part nothing is known."""
        return self.session.catalogue.rows(request.table) if request.whole else None

    def rows_at(self, request: ChunkRequest, shape: Projection, bound: Bound) -> int:
        """Count the rows of one key, up to two."""
        del shape
        sql = chunk_sql.one_of(request, self._columns(request), bound, most=2)
        return len(self.session.session.ask(sql, f"look for a key of {request.table}"))

    def count_doubled_keys(self, table: TableId, key: Sequence[str]) -> int | None:
        """Return 0 if an index makes the key unique, else None: each chunk finds keys of several rows."""
        return 0 if is_proven_unique(self.session.catalogue.described(table), key) else None

    def origin(self, table: TableId) -> OracleRowOrigin:
        """Return where the table's rows come from."""
        return OracleRowOrigin(self._labels, table)

    def whole(self, table: TableId) -> WholeRead:
        """Begin to read a table without a key."""
        return self._begin_whole(table)

    def close(self) -> None:
        """End the session."""
        self.session.session.close()

    def _columns(self, request: ChunkRequest) -> dict[str, OracleKeyColumn]:
        return key_columns(self.session.catalogue.described(request.table))

    def _keys(self, request: ChunkRequest, sql: str, doing: str) -> list[Bound]:
        try:
            found = self.session.session.ask(sql, doing)
        except OperatorNeeded as error:
            if error.code == COLUMN_MISSING.code:
                raise KEY_GONE(table=request.table, column=request.key[0]) from None
            raise
        return [tuple(map(text_of, row)) for row in found]


def chunk_reader(
    begin: Callable[[], OracleReadSession],
    labels: OracleSourceLabels,
    around: Surroundings,
    begin_whole: BeginWhole,
) -> OracleReader:
    """Open a reader from functions that connect, and that begin a read without a key."""
    given_up = GivenUp()
    queries = OracleRowQueries(begin(), labels, around, begin_whole, given_up)
    given_up.cancel = queries.session.session.cancel
    return ChunkReads(queries, around, given_up, KEY_HIDDEN)


def chunk_slicing(
    request: ChunkRequest, shape: Projection, types: Sequence[OracleType], ids: WriterIds
) -> OracleSlicing:
    """Make what takes the rows of a SELECT of a table's published columns."""
    decoder = OracleRowDecoder(_NO_REF, shape, types, ids.key or 0, ids.value)
    pairs = zip(shape.source.columns, shape.actions, strict=True)
    names = [column.name for column, action in pairs if action is not Plain.DROP]
    places = [names.index(name) for name in request.key]

    def bound_of(row: Fields) -> Bound:
        return tuple(text_of(row[place]) for place in places)

    return OracleSlicing(decoder.read, bound_of, request)


def rows_at_once(types: Sequence[OracleType]) -> int:
    """Return how many rows come with one round trip: a large object comes with its row."""
    return _LARGE_AT_ONCE if any(map(may_lack, types)) else AT_ONCE


def key_columns(facts: OracleTableFacts) -> dict[str, OracleKeyColumn]:
    """Return a table's columns as bounds are compared with them."""
    return {
        column.name: OracleKeyColumn(column.name, column.type, column.nullable)
        for column in facts.columns
        if not column.virtual and not column.hidden
    }


def is_proven_unique(facts: OracleTableFacts, key: Sequence[str]) -> bool:
    """Whether a unique index over some of these columns, which are never null, proves it."""
    sure = {column.name for column in facts.columns if column.name in key and not column.nullable}
    return any(sure.issuperset(index) for index in (facts.primary, *facts.unique) if index)
