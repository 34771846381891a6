"""A source of any number of partitions over the fake database: the verified fake of the source contract.

The suite that real sources pass runs against it, so what is tested with it holds for them.  It marks
its log in any of the three ways, and its readers see what is visible, which is not always what was logged.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from tests.fakes.database import Database, SignalLogged, key_of
from tests.fakes.place import Place
from tests.fakes.stream import GONE, FakeStream
from tests.fakes.whole import FakeWhole
from tests.fakes.wire import TableWriter
from wrackline.producers.contract.optional_parts import LogState
from wrackline.producers.contract.row_chunks import (
    KEY_GONE,
    Bound,
    Chunk,
    ChunkRequest,
    ChunkRow,
    Mark,
    Slice,
    TailOf,
)
from wrackline.producers.contract.source_plugin import Edge, MarkKind, Surroundings
from wrackline.producers.contract.steps import Commit, Message, Passing, Position, Progress, Saved, Signal
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.language.findings import ColumnSupport, Finding, Severity, Support
from wrackline.schemas.tables.seq import snapshot_prefix
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema
from wrackline.schemas.tables.types import Kind
from wrackline.testing.sources.source_world import Said, Values

NO_TABLE = define("test.fake_no_table", OperatorNeeded, "there is no table {table}", hint="create it")

PREFIX = "wrackline"
CONDITION = re.compile(r"(\w+) = '(\w*)'")


@dataclass(frozen=True)
class SignalMark:
    name: str
    id: str

    def passed(self, step: Passing) -> bool:
        return isinstance(step, Signal) and step.id == self.id


@dataclass(frozen=True)
class MessageMark:
    name: str
    content: bytes

    def passed(self, step: Passing) -> bool:
        return isinstance(step, Message) and (step.prefix, step.content) == (PREFIX, self.content)


@dataclass(frozen=True)
class FenceMark:
    name: str
    lsn: int

    def passed(self, step: Passing) -> bool:
        if not isinstance(step, Commit | Progress):
            return False  # inside a transaction: its rows are still coming
        return isinstance(step.position, Place) and step.position.lsn >= self.lsn


class FakeMarks:
    """All three kinds; which one is a setting."""

    def __init__(self, database: Database, kind: MarkKind) -> None:
        self.kind = kind
        self._database = database

    def set(self, name: str, edge: Edge) -> Mark:
        identity = f"{name}-{edge.value}"
        if self.kind is MarkKind.SIGNAL:
            self._database.commit(SignalLogged(identity, f"snapshot-window-{edge.value}", "{}"))
            return SignalMark(name, identity)
        if self.kind is MarkKind.MESSAGE:
            self._database.commit(Said(PREFIX, identity.encode()))
            return MessageMark(name, identity.encode())
        return FenceMark(name, self._database.end)

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        return [commit for commit in streamed if commit.transaction in self._database.hidden]


class FakeReader:
    """Reads what is visible, in key order."""

    whole_of: Callable[..., FakeWhole] = FakeWhole

    def __init__(self, database: Database, kind: MarkKind, around: Surroundings) -> None:
        self._database, self._around = database, around
        self.marks = FakeMarks(database, kind)

    def last_key(self, request: ChunkRequest) -> Bound | None:
        rows = self._select(request)
        return self._bound(request, rows[-1]) if rows else None

    def cuts(self, request: ChunkRequest, parts: int) -> Sequence[Bound]:
        rows = self._select(request)
        return [self._bound(request, rows[len(rows) * n // parts]) for n in range(1, parts) if rows]

    def expected(self, request: ChunkRequest) -> int | None:
        return len(self._select(request))

    def read(self, request: ChunkRequest) -> Chunk:
        rows = self._select(request)
        writer = self._writer()
        taken, size = [], 0
        for row in rows[: request.most_rows]:
            if size < request.most_bytes:
                taken.append(row)
                size += len(writer.key(row) or b"") + len(writer.head(None, row))
        complete = len(taken) == len(rows)
        slices = tuple(self._slices(request, taken, writer))
        return Chunk(self._database.shape, slices, complete, _tail(writer, "r"))

    def void(self, table: TableId) -> TailOf:
        if table != self._database.shape.id:
            raise NO_TABLE(table=table)
        writer = self._writer()
        return _tail(writer, "t", writer.head(None, None))

    def whole(self, table: TableId) -> FakeWhole:
        if table != self._database.shape.id:
            raise NO_TABLE(table=table)
        return self.whole_of(self._database, self._writer(), _tail, FenceMark)

    def give_up(self) -> None:
        """The fake's server answers at once."""

    def close(self) -> None:
        pass

    def _writer(self) -> TableWriter:
        return TableWriter(self._database.shape, self._around.register(self._database.shape))

    def _slices(self, request: ChunkRequest, rows: Sequence[Values], writer: TableWriter) -> Sequence[Slice]:
        slices: list[Slice] = []
        held: list[ChunkRow] = []
        size = 0
        for place, row in enumerate(rows, start=1):
            key, head = writer.key(row), writer.head(None, row)
            held.append((key, head))
            size += len(key or b"") + len(head)
            if len(held) == request.slice_rows or size >= request.slice_bytes or place == len(rows):
                slices.append(Slice(tuple(held), self._bound(request, row), size))
                held, size = [], 0
        return slices

    def _select(self, request: ChunkRequest) -> list[Values]:
        shape = self._database.shape
        if request.table != shape.id:
            raise NO_TABLE(table=request.table)
        for name in request.key:
            if all(column.name != name for column in shape.columns):
                raise KEY_GONE(table=request.table, column=name)
        after, upto = (None if b is None else self._typed(request, b) for b in (request.after, request.upto))
        only = {self._typed(request, bound) for bound in request.only}
        wanted = CONDITION.fullmatch(request.condition) if request.condition else None

        def fits(row: Values) -> bool:
            key = tuple(row[name] for name in request.key)
            if only and key not in only:
                return False
            if wanted and row[wanted[1]] != wanted[2]:
                return False
            return self._within(key, after, upto)

        return sorted(filter(fits, self._database.visible()), key=lambda row: key_of(shape, row))

    @staticmethod
    def _within(
        key: tuple[object, ...], after: tuple[object, ...] | None, upto: tuple[object, ...] | None
    ) -> bool:
        return (after is None or key > after) and (upto is None or key <= upto)

    def _typed(self, request: ChunkRequest, bound: Bound) -> tuple[object, ...]:
        """Read a key as the database writes it."""
        columns = [self._database.shape.column(name) for name in request.key]
        return tuple(
            int(text) if text is not None and column.type.kind is Kind.INT32 else text
            for column, text in zip(columns, bound, strict=True)
        )

    @staticmethod
    def _bound(request: ChunkRequest, row: Values) -> Bound:
        return tuple(str(row[name]) for name in request.key)


def _tail(writer: TableWriter, op: str, head: bytes = b"") -> TailOf:
    def tail(released_at: Position, *, ts_ms: int, snapshot: str, chunk: str) -> bytes:
        assert isinstance(released_at, Place)
        prefix = snapshot_prefix(released_at.epoch, released_at.lsn.to_bytes(8, "big"))
        frame = writer.frame(prefix, happened_ms=ts_ms, ts_ms=ts_ms, snapshot=snapshot, chunk=chunk)
        return head + frame.tail(op)

    return tail


class FakeSource:
    """A server with some databases."""

    stream_of: Callable[..., FakeStream] = FakeStream
    reader_of: Callable[..., FakeReader] = FakeReader

    def __init__(
        self, databases: dict[SourcePartition, Database], kind: MarkKind, around: Surroundings
    ) -> None:
        self._databases, self._kind, self._around = databases, kind, around
        self._streams: list[FakeStream] = []

    def partitions(self) -> Sequence[SourcePartition]:
        return tuple(self._databases)

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        return (self._databases[partition].shape.id,)

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        shape = self._databases[partition].shape
        if table != shape.id:
            raise NO_TABLE(table=table)
        return shape

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> FakeStream:
        del fresh  # all that is listed is in this log, from whatever list
        tables = [table for table in tables if table not in aside]
        database = self._databases[partition]
        start = Place(0, database.end) if saved is None else Place.parse(saved)
        if database.told is not None and start < database.told:
            raise GONE(database=partition.database)
        made = self.stream_of(database, frozenset(tables), start, self._around)
        self._streams.append(made)
        return made

    def reader(self, partition: SourcePartition) -> FakeReader:
        return self.reader_of(self._databases[partition], self._kind, self._around)

    def log_end(self, partition: SourcePartition) -> Mark:
        return FenceMark("end", self._databases[partition].end)

    @property
    def survey_s(self) -> float:
        return 1.0

    def log_ends(self) -> Mapping[SourcePartition, Mark]:
        return {partition: self.log_end(partition) for partition in self._databases}

    def log_states(self) -> Mapping[SourcePartition, LogState | None]:
        return dict.fromkeys(self._databases)

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        there = self.tables(partition)
        return [
            Finding(
                id="test.fake_no_table",
                name="table not found",
                description=f"{table} is not there",
                suggestion=f"CREATE TABLE {table} (…)",
                impact="nothing of it is copied",
                severity=Severity.ERROR,
                table=table,
            )
            for table in tables
            if table not in there
        ]

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        return [
            ColumnSupport(table, column.name, column.type.source, Support.YES)
            for column in self.describe(partition, table).columns
        ]

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
