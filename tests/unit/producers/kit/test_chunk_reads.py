"""Reads over a server that is a list of answers: what the kit promises, whatever the server is."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from threading import Event
from typing import NoReturn

import pytest

from tests.fakes.place import Place
from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, Slice
from wrackline.producers.contract.source_plugin import Edge, MarkKind, Surroundings, WriterIds
from wrackline.producers.contract.steps import Commit, Passing, Position
from wrackline.producers.kit.reads.chunk_reads import ChunkReads, ColumnGoneError, ReadDeadline
from wrackline.producers.kit.reads.row_tail import RowTail
from wrackline.producers.kit.reads.whole_rows import WholeRows
from wrackline.schemas.errors import ErrorCode, OperatorNeeded
from wrackline.schemas.events.frame import Frame, no_row
from wrackline.schemas.events.projection import Plain, Projection, project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = TableId("shop", "dbo", "t")
HIDDEN = ErrorCode("x.hidden", OperatorNeeded, "{table} {column}", "", frozenset({"table", "column"}))
COLUMNS = tuple(Column(name, place, ColumnType(Kind.INT32, "int")) for place, name in enumerate("ab"))
OLD = project_all(TableSchema(TABLE, COLUMNS, ("a",), KeyKind.PRIMARY))
NEW = project_all(replace(OLD.table, columns=(*COLUMNS, Column("c", 2, COLUMNS[0].type))))
CHOSEN = project_all(replace(OLD.table, key_kind=KeyKind.CUSTOM))
ROWS = (Slice([(b"1", b"one"), (b"2", b"two")], ("2",), 8),)
REQUEST = ChunkRequest(TABLE, ("a",))
HERE = Place(1, 7)


@dataclass(frozen=True)
class Fence:
    name: str

    def passed(self, step: Passing) -> bool:
        return bool(step)


class Marks:
    kind = MarkKind.FENCE

    def set(self, name: str, edge: Edge) -> Fence:
        return Fence(f"{name} {edge}")

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        return streamed[:0]


def origin(released_at: Position, *, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
    return f"{released_at} {ts_ms} {snapshot}".encode(), b"\x01\x02"


@dataclass
class Answers:
    """A server's answers, one after another; what is asked is written down."""

    shapes: list[Projection]
    reads: list[tuple[tuple[Slice, ...], bool] | ColumnGoneError] = field(default_factory=list)
    doubled: int | None = 0
    same: int = 1
    asked: list[str] = field(default_factory=list)
    marks: Marks = field(default_factory=Marks)
    closed: bool = False

    def asking(self, action: str, table: TableId) -> AbstractContextManager[None]:
        self.asked.append(action.removesuffix(f" of {table}"))
        return nullcontext()

    def describe(self, table: TableId) -> Projection:
        assert table == TABLE
        return self.shapes.pop(0) if len(self.shapes) > 1 else self.shapes[0]

    @contextmanager
    def hold(self, table: TableId) -> Iterator[Callable[[], Fence | None]]:
        self.asked.append("hold")
        yield lambda: Fence(f"read {table}")
        self.asked.append("let go")

    def read(
        self, request: ChunkRequest, shape: Projection, late: ReadDeadline
    ) -> tuple[tuple[Slice, ...], bool]:
        assert not late.passed(0)
        self.asked.append(f"{request.key[0]} of {len(shape.table.columns)}")
        answer = self.reads.pop(0)
        if isinstance(answer, ColumnGoneError):
            raise answer
        return answer

    def last_key(self, request: ChunkRequest, shape: Projection) -> Bound | None:
        return (str(len(shape.table.columns)),) if request.key else None

    def cuts(self, request: ChunkRequest, shape: Projection, parts: int) -> Sequence[Bound]:
        return [(str(part),) for part in range(parts)] if request.key and shape.plain else []

    def expected(self, request: ChunkRequest) -> int | None:
        return request.most_rows

    def rows_at(self, request: ChunkRequest, shape: Projection, bound: Bound) -> int:
        assert (request, shape.table.id, bound) == (REQUEST, TABLE, ("2",))
        return self.same

    def count_doubled_keys(self, table: TableId, key: Sequence[str]) -> int | None:
        assert (table, tuple(key)) == (TABLE, ("a",))
        return self.doubled

    def origin(self, table: TableId) -> Callable[..., tuple[bytes, bytes]]:
        assert table == TABLE
        return origin

    def whole(self, table: TableId) -> NoReturn:
        raise HIDDEN(table=table, column="none")

    def close(self) -> None:
        self.closed = True


def reads(answers: Answers) -> ChunkReads[Marks]:
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: WriterIds(1, 2))
    return ChunkReads(answers, around, Event(), HIDDEN)


def test_a_chunk_has_the_shape_that_the_table_has_while_it_is_held() -> None:
    answers = Answers([OLD], [(ROWS, True)])
    chunk = reads(answers).read(REQUEST)
    assert (chunk.shape, chunk.slices, chunk.complete, chunk.mark) == (
        OLD.table,
        ROWS,
        True,
        Fence(f"read {TABLE}"),
    )
    assert answers.asked == ["read a chunk", "hold", "a of 2", "let go"]


def test_a_table_that_is_altered_meanwhile_is_read_again_in_its_new_shape() -> None:
    gone = ColumnGoneError(ValueError("no such column"))
    answers = Answers([OLD, NEW], [(ROWS, True), (ROWS, False)])
    assert not reads(answers).read(REQUEST).complete
    assert [asked for asked in answers.asked if " of " in asked] == ["a of 2", "a of 3"]
    assert reads(Answers([OLD, NEW], [gone, (ROWS, True)])).read(REQUEST).shape == NEW.table


def test_a_column_that_the_server_denies_and_the_table_has_is_the_servers_refusal() -> None:
    answers = Answers([OLD], [ColumnGoneError(ValueError("no such column"))])
    with pytest.raises(ValueError, match="no such column"):
        reads(answers).read(REQUEST)
    assert answers.asked[-1] == "let go"


def test_a_hidden_column_orders_no_rows() -> None:
    hidden = Projection(OLD.table, OLD.table, (Plain.DROP, Plain.KEEP))
    for ask in ("read", "last_key"):
        with pytest.raises(OperatorNeeded, match=r"dbo\.t a"):
            getattr(reads(Answers([hidden])), ask)(REQUEST)
    with pytest.raises(OperatorNeeded, match=r"dbo\.t a"):
        reads(Answers([hidden])).cuts(REQUEST, 2)
    shown = Answers([hidden], [(ROWS, True)])
    assert reads(shown).last_key(replace(REQUEST, key=("b",))) == ("2",)
    # a column is hidden while its rows are read
    with pytest.raises(OperatorNeeded, match=r"dbo\.t a"):
        reads(Answers([OLD, hidden], [(ROWS, True)])).read(REQUEST)


def test_a_chosen_key_that_does_not_identify_rows_is_refused() -> None:
    with pytest.raises(OperatorNeeded, match="3 keys have"):
        reads(Answers([CHOSEN], doubled=3)).last_key(REQUEST)
    for answer in (0, None):
        assert reads(Answers([CHOSEN], doubled=answer)).last_key(REQUEST) == ("2",)
    assert reads(Answers([CHOSEN], doubled=3)).last_key(replace(REQUEST, after=("1",))) == ("2",)
    assert reads(Answers([OLD], doubled=3)).last_key(REQUEST) == ("2",)
    with pytest.raises(OperatorNeeded, match="at least one key has"):
        reads(Answers([CHOSEN], [(ROWS, True)], same=2)).read(REQUEST)
    assert reads(Answers([CHOSEN], [(ROWS, True)])).read(REQUEST).complete


def test_what_else_is_asked_passes_the_servers_answers_on() -> None:
    answers = Answers([OLD])
    made = reads(answers)
    assert made.cuts(REQUEST, 2) == [("0",), ("1",)]
    assert made.expected(REQUEST) == REQUEST.most_rows
    with pytest.raises(OperatorNeeded, match="none"):
        made.whole(TABLE)
    made.close()
    assert (made.closed, made.marks) == (True, answers.marks)
    assert answers.asked == [f"cut {TABLE} into parts", "estimate the rows", "read a chunk"]


def test_giving_up_ends_the_server_s_query() -> None:
    given_up = Event()
    around = Surroundings(lambda: 0.0, lambda: 0, lambda _: WriterIds(1, 2))
    ChunkReads(Answers([OLD]), around, given_up, HIDDEN).give_up()
    assert given_up.is_set()


def test_a_tail_says_where_its_rows_come_from() -> None:
    void = reads(Answers([OLD])).void(TABLE)
    source, prefix = origin(HERE, ts_ms=5, snapshot="true")
    tail = Frame(source, prefix, ts_ms=5, chunk="c").tail("t")
    assert void(HERE, ts_ms=5, snapshot="true", chunk="c") == no_row(2) + tail


def test_a_read_has_its_time_from_its_first_row_on() -> None:
    now = 10.0
    late = ReadDeadline(lambda: now, 2.0)
    assert not late.passed(0)
    now = 50.0
    assert not late.passed(1)
    now = 52.0
    assert late.passed(2)


@dataclass
class Statement:
    """A statement whose rows are numbers."""

    left: int
    given_up: Event = field(default_factory=Event)
    closed: bool = False

    def take(self, request: ChunkRequest, late: ReadDeadline) -> tuple[tuple[Slice, ...], int, bool]:
        assert not late.passed(0)
        count = min(self.left, request.most_rows)
        self.left -= count
        return (Slice([(None, b"row")] * count, (), 3 * count),), count, not self.left

    def close(self) -> None:
        self.closed = True


def test_pieces_of_a_whole_read_are_numbered_through_and_have_one_place() -> None:
    statement = Statement(7)
    rows = WholeRows(statement, OLD.table, Fence("here"), RowTail(origin), 2, lambda: 0.0)
    chunks = [rows.next(ChunkRequest(TABLE, (), most_rows=3)) for _ in range(3)]
    assert [chunk.complete for chunk in chunks] == [False, False, True]
    assert [chunk.piece.before for chunk in chunks if chunk.piece] == [0, 3, 6]
    assert {chunk.mark for chunk in chunks} == {Fence("here")}
    assert chunks[0].piece is not None
    void = chunks[0].piece.void(HERE, ts_ms=1, snapshot="true", chunk="c")
    assert void == RowTail(origin).void(2)(HERE, ts_ms=1, snapshot="true", chunk="c")
    rows.give_up()
    rows.close()
    assert statement.given_up.is_set()
    assert statement.closed
