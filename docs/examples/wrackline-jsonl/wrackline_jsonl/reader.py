"""Existing rows: the journal's own changes, replayed to its end; and marks, which are places of the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
from wrackline.producers.contract.steps import Commit, Passing, Progress
from wrackline.producers.kit.reads.row_tail import RowTail
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.language.conditions import And, Comparison, Condition, Or, parse
from wrackline.schemas.tables.table import TableId, TableSchema
from wrackline_jsonl.events import TableEvents
from wrackline_jsonl.journal import Journal, Place, Row

NO_TABLE = define(
    "journal.no_table",
    OperatorNeeded,
    "the journal has no table {table}",
    hint="let the application append its columns, or leave it out: table.exclude.list = '{table}'",
)
NO_TEST = define(
    "journal.no_test",
    OperatorNeeded,
    "the journal's reader knows only comparisons, AND and OR",
    hint="write the condition with =, <>, <, <=, > and >=",
)
_TESTS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True, slots=True)
class JournalMark:
    """The end of the journal at some moment."""

    name: str
    at: int

    def passed(self, step: Passing) -> bool:
        """Whether the log has come so far, and is not inside a transaction."""
        if not isinstance(step, Commit | Progress) or not isinstance(step.position, Place):
            return False
        return step.position >= Place(self.at)


class JournalMarks:
    """Marks that write nothing."""

    kind = MarkKind.FENCE

    def __init__(self, journal: Journal) -> None:
        """Ask nothing yet."""
        self._journal = journal

    def set(self, name: str, edge: Edge) -> Mark:
        """Mark the end of the journal."""
        del edge
        return JournalMark(name, self._journal.end())

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Nothing: what is in the file is seen by every reader of it."""
        del streamed
        return ()


class JournalReader:
    """Reads rows in the order of their keys."""

    def __init__(self, journal: Journal, server: str, around: Surroundings) -> None:
        """Open nothing yet."""
        self._journal, self._server, self._around = journal, server, around
        self.marks = JournalMarks(journal)

    def last_key(self, request: ChunkRequest) -> Bound | None:
        """Return the greatest key of a range."""
        rows = self._select(request)
        return _bound(request, rows[-1]) if rows else None

    def cuts(self, request: ChunkRequest, parts: int) -> Sequence[Bound]:
        """Return keys that cut a range into parts of one size."""
        rows = self._select(request)
        return [_bound(request, rows[len(rows) * n // parts]) for n in range(1, parts) if rows]

    def expected(self, request: ChunkRequest) -> int | None:
        """Count."""
        return len(self._select(request))

    def read(self, request: ChunkRequest) -> Chunk:
        """Read a chunk: as many rows as its limits allow."""
        rows, events = self._select(request), self._events(request.table)
        chosen: list[tuple[Row, ChunkRow]] = []
        size = 0
        for row in rows[: request.most_rows]:
            if size >= request.most_bytes:
                break
            chosen.append((row, (events.key(row), events.head(None, row))))
            size += _size(chosen[-1][1])
        slices = tuple(_slices(request, chosen))
        return Chunk(events.table, slices, len(chosen) == len(rows), self._tail(events))

    def void(self, table: TableId) -> TailOf:
        """Make the truncate that voids what a copy has."""
        events = self._events(table)
        return RowTail(_Origin(events), "t", events.head(None, None))

    def give_up(self) -> None:
        """Nothing to do: a read takes no longer than the file does."""

    def close(self) -> None:
        """Nothing is open."""

    def _tail(self, events: TableEvents) -> TailOf:
        return RowTail(_Origin(events))

    def _events(self, table: TableId) -> TableEvents:
        shape = shape_of(self._journal, table)
        return TableEvents(self._server, shape, self._around.register(shape))

    def _select(self, request: ChunkRequest) -> list[Row]:
        shape = shape_of(self._journal, request.table)
        for name in request.key:
            if name not in {column.name for column in shape.columns}:
                raise KEY_GONE(table=request.table, column=name)
        after, upto = (
            None if one is None else _typed(shape, request, one) for one in (request.after, request.upto)
        )
        only = {_typed(shape, request, one) for one in request.only}
        condition = parse(request.condition) if request.condition else None
        found = [
            (key, row)
            for row in self._journal.tables().rows[request.table.name].values()
            for key in [tuple(row.get(name) for name in request.key)]
            if (not only or key in only) and (condition is None or _fits(condition, row))
        ]
        return [
            row
            for key, row in sorted(found, key=lambda one: one[0])
            if (after is None or key > after) and (upto is None or key <= upto)
        ]


@dataclass(frozen=True, slots=True)
class _Origin:
    events: TableEvents

    def __call__(self, released_at: Any, *, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
        return self.events.released(released_at, ts_ms, snapshot)


def shape_of(journal: Journal, table: TableId) -> TableSchema:
    """Return a table's shape now."""
    found = journal.tables().shapes.get(table.name)
    if found is None or found.id != table:
        raise NO_TABLE(table=table)
    return found


def _slices(request: ChunkRequest, rows: Sequence[tuple[Row, ChunkRow]]) -> Iterator[Slice]:
    held: list[ChunkRow] = []
    size = 0
    for place, (row, written) in enumerate(rows, start=1):
        held.append(written)
        size += _size(written)
        if len(held) == request.slice_rows or size >= request.slice_bytes or place == len(rows):
            yield Slice(tuple(held), _bound(request, row), size)
            held, size = [], 0


def _size(row: ChunkRow) -> int:
    return len(row[0] or b"") + len(row[1])


def _bound(request: ChunkRequest, row: Row) -> Bound:
    return tuple(str(row[name]) for name in request.key)


def _typed(shape: TableSchema, request: ChunkRequest, bound: Bound) -> tuple[Any, ...]:
    kinds = [shape.column(name).type.source for name in request.key]
    return tuple(
        int(text) if kind.startswith("int") else text
        for kind, text in zip(kinds, bound, strict=True)
        if text is not None
    )


def _fits(condition: Condition, row: Row) -> bool:
    match condition:
        case And(parts):
            return all(_fits(part, row) for part in parts)
        case Or(parts):
            return any(_fits(part, row) for part in parts)
        case Comparison(column, operator, literal):
            value: Any = row.get(column.name)
            return value is not None and bool(_TESTS[operator](value, literal))
        case _:
            refused = NO_TEST()
            raise refused
