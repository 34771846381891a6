"""Reads of rows: as of which SCN, what ends them early, and what an error of the server means to them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from tests.unit.producers.oracle.dictionary_views import DictionaryViews
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Edge, MarkKind, Surroundings, WriterIds
from wrackline.producers.sources.oracle.chunks.chunks import OracleReader, OracleReadSession, chunk_reader
from wrackline.producers.sources.oracle.chunks.fence import CURRENT_SCN, OracleFence, OracleMarks
from wrackline.producers.sources.oracle.chunks.whole import OracleReadScns, OracleWholeReader
from wrackline.producers.sources.oracle.connect.driver import Binds, Fields
from wrackline.producers.sources.oracle.connect.server_errors import COLUMN_MISSING, ROWS_GONE
from wrackline.producers.sources.oracle.connect.session import NO_BINDS
from wrackline.producers.sources.oracle.discover.catalogue import OracleCatalogue
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at
from wrackline.producers.sources.oracle.rows.source_record import OracleSourceLabels
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.seq import snapshot_prefix
from wrackline.schemas.tables.table import TableId

ORDERS = TableId("DB", "SHOP", "ORDERS")
WANTED = ChunkRequest(ORDERS, ("ID",))
INTEGER = {"DATA_PRECISION": 9, "DATA_SCALE": 0}
TEXT = {"DATA_TYPE": "VARCHAR2", "CHAR_LENGTH": 20, "DATA_LENGTH": 80}
LABELS = OracleSourceLabels("1", "shop")


class RowSession(DictionaryViews):
    """A session that has some rows, and an SCN that rises with each question."""

    def __init__(self, *rows: Fields) -> None:
        super().__init__()
        self.rows, self.scn, self.step = list(rows), 100, 1
        self.reads: list[tuple[str, Binds, int]] = []  # the statements about rows, their binds, their batches
        self.fails: WracklineError | None = None
        self.closed, self.cancelled, self.open = False, 0, 0
        self.table("ORDERS", 70, ID={"NULLABLE": "N", **INTEGER}, NAME=TEXT)
        self.key("ORDERS", "ID")

    def ask(self, sql: str, doing: str, binds: Binds = NO_BINDS) -> list[Fields]:
        """Answer a question."""
        if sql == CURRENT_SCN:
            self.scn += self.step
            return [(self.scn,)]
        if '"SHOP"' in sql:
            return [row for rows in self.stream(sql, doing, binds) for row in rows]
        return super().ask(sql, doing, binds)

    def stream(
        self, sql: str, doing: str, binds: Binds = NO_BINDS, *, at_once: int = 2
    ) -> Iterator[Sequence[Fields]]:
        """Return the rows, whatever is asked."""
        assert doing
        self.reads.append((sql, binds, at_once))
        if self.fails is not None:
            raise self.fails
        self.open += 1
        try:
            for first in range(0, len(self.rows), 2):
                yield self.rows[first : first + 2]
        finally:
            self.open -= 1

    def cancel(self) -> None:
        """Note it."""
        self.cancelled += 1

    def close(self) -> None:
        """Note it."""
        self.closed = True


def around(*, seconds: float = 0.0) -> Surroundings:
    now = [0.0]

    def clock() -> float:
        now[0] += seconds
        return now[0]

    return Surroundings(clock, lambda: 0, lambda _: WriterIds(1, 2))


def reading(session: RowSession, **rules: tuple[str, ...]) -> OracleReadSession:
    shapes = OracleShapes(ColumnRules.of({name.replace("_", "."): rule for name, rule in rules.items()}))
    return OracleReadSession(
        session.session, OracleCatalogue(session.session, "DB", shapes), OracleMarks(session.session)
    )


def whole_reader(session: RowSession, scns: OracleReadScns | None = None) -> OracleWholeReader:
    return OracleWholeReader(lambda: reading(session), LABELS, around(), scns or OracleReadScns())


def reader(session: RowSession, *, seconds: float = 0.0, **rules: tuple[str, ...]) -> OracleReader:
    return chunk_reader(
        lambda: reading(session, **rules), LABELS, around(seconds=seconds), whole_reader(session)
    )


def test_a_chunk_is_read_as_of_the_scn_that_is_its_mark() -> None:
    session = RowSession(("1", "a"), ("2", None), ("3", "c"))
    chunk = reader(session).read(WANTED)
    (part,) = chunk.slices
    assert (len(part.rows), part.upto, chunk.complete) == (3, ("3",), True)
    assert chunk.mark == OracleFence(f"read {ORDERS}", 101)
    assert [binds for _, binds, _ in session.reads] == [{"s": 101}]
    assert "AS OF SCN :s" in session.reads[0][0]


@pytest.mark.parametrize("gone", [False, True])
def test_a_chunk_is_read_again_as_of_a_newer_scn_if_the_table_was_altered_meanwhile(*, gone: bool) -> None:
    session = RowSession(("1", "a"))
    stream = session.stream

    def altered(
        sql: str, doing: str, binds: Binds = NO_BINDS, *, at_once: int = 2
    ) -> Iterator[Sequence[Fields]]:
        yield from stream(sql, doing, binds, at_once=at_once)
        if len(session.reads) == 1:
            session.change("ALL_TAB_COLS", "COLUMN_NAME = 'NAME'", COLUMN_NAME="OTHER")
            session.change("ALL_OBJECTS", "OBJECT_ID = 70", LAST_DDL_TIME="2026-02-02 00:00:00")
            if gone:
                raise COLUMN_MISSING(doing=doing, number=904)

    session.stream = altered  # type: ignore[method-assign]
    chunk = reader(session).read(WANTED)
    assert [column.name for column in chunk.shape.columns] == ["ID", "OTHER"]
    assert chunk.mark == OracleFence(f"read {ORDERS}", 102)


def test_a_row_that_is_released_has_the_place_of_its_release() -> None:
    chunk = reader(RowSession(("1", "a"))).read(WANTED)
    place = OraclePosition(3, last_at(500))
    tail = chunk.tail(place, ts_ms=0, snapshot="incremental", chunk="c")
    assert place.row_seq() == snapshot_prefix(3, bytes.fromhex("00000000000001f5" + "00" * 12))
    assert place.row_seq() in tail
    assert b"500" in tail


@pytest.mark.parametrize(
    ("request_", "seconds", "count"),
    [
        (replace(WANTED, most_rows=2), 0.0, 2),
        (replace(WANTED, most_bytes=1), 0.0, 1),
        (replace(WANTED, most_seconds=1.0), 2.0, 2),
    ],
)
def test_a_chunk_that_ends_early_leaves_nothing_open(
    request_: ChunkRequest, seconds: float, count: int
) -> None:
    session = RowSession(*((str(number), "a") for number in range(1, 7)))
    if request_.most_rows == count:
        session.rows = session.rows[:count]  # as the statement's limit has it
    chunk = reader(session, seconds=seconds).read(request_)
    assert sum(len(part.rows) for part in chunk.slices) == count
    assert chunk.slices[-1].upto == (str(count),)
    assert not chunk.complete
    assert session.open == 0


def test_large_objects_come_in_small_batches() -> None:
    session = RowSession()
    reader(session).read(WANTED)
    session.put(
        "ALL_TAB_COLS", TABLE_NAME="ORDERS", COLUMN_NAME="DOC", INTERNAL_COLUMN_ID=3, DATA_TYPE="CLOB"
    )
    reader(session).read(WANTED)
    assert [at_once for _, _, at_once in session.reads] == [1000, 20]


def test_a_column_that_is_not_published_is_not_read() -> None:
    session = RowSession(("1",))
    chunk = reader(session, column_exclude_list=("SHOP.ORDERS.NAME",)).read(WANTED)
    assert len(chunk.slices[0].rows) == 1
    assert '"NAME"' not in session.reads[0][0]


def test_a_hidden_column_orders_no_rows() -> None:
    hiding = reader(RowSession(), column_exclude_list=("SHOP.ORDERS.NAME",))
    with pytest.raises(OperatorNeeded) as caught:
        hiding.read(replace(WANTED, key=("NAME",)))
    assert caught.value.code == "oracle.key_hidden"


def test_a_key_column_that_goes_while_it_is_read_is_said_to_be_gone() -> None:
    session = RowSession()
    session.fails = COLUMN_MISSING(doing="read", number=904)
    for ask in (reader(session).last_key, reader(session).read):
        with pytest.raises(WracklineError) as caught:
            ask(WANTED)
        expected = "snapshot.key_gone" if ask.__name__ == "last_key" else "oracle.column_missing"
        assert caught.value.code == expected
    with pytest.raises(Transient) as gone:
        reader(session).read(replace(WANTED, key=("ID", "GONE")))
    assert gone.value.code == "snapshot.key_gone"


def test_a_reader_that_was_given_up_begins_nothing_and_cancels_what_runs() -> None:
    session = RowSession(("1", "a"))
    given = reader(session)
    given.give_up()
    assert session.cancelled == 1
    for ask in (given.read, given.last_key):
        with pytest.raises(Transient) as caught:
            ask(WANTED)
        assert caught.value.code == "oracle.server_lost"
    assert session.reads == []
    given.close()
    assert given.closed


def test_a_table_is_cut_by_a_sample_of_its_keys() -> None:
    session = RowSession(*((str(number),) for number in range(8)))
    assert reader(session).cuts(WANTED, 4) == (), "nothing is known of its size"
    session.change("ALL_TABLES", "TRUE", NUM_ROWS=49_999)
    assert reader(session).cuts(WANTED, 4) == ()
    session.change("ALL_TABLES", "TRUE", NUM_ROWS=1_000_000)
    assert reader(session).cuts(WANTED, 4) == [("2",), ("4",), ("6",)]
    assert "SAMPLE BLOCK (2.000000)" in session.reads[0][0]
    session.rows = [("1",), ("1",)]
    assert reader(session).cuts(WANTED, 4) == [("1",)], "one key cuts once"
    session.rows = []
    assert reader(session).cuts(WANTED, 4) == []


def test_how_many_rows_a_table_has_is_a_guess_and_of_a_part_it_is_unknown() -> None:
    session = RowSession()
    session.change("ALL_TABLES", "TRUE", NUM_ROWS=7)
    assert reader(session).expected(WANTED) == 7
    assert reader(session).expected(replace(WANTED, after=("1",))) is None
    assert reader(session).expected(replace(WANTED, condition="id = 1")) is None


def test_rows_of_one_chosen_key_are_noticed() -> None:
    session = RowSession(("1", "a"), ("1", "b"))
    doubled = reader(session, message_key_columns=()).queries
    assert doubled.count_doubled_keys(ORDERS, ("ID",)) == 0
    session.unique("ORDERS", "MAY_BE_NULL", "NAME")
    assert doubled.count_doubled_keys(ORDERS, ("NAME",)) is None
    assert doubled.rows_at(WANTED, doubled.describe(ORDERS), ("1",)) == 2


def test_marks_are_fences_at_the_scn_of_now() -> None:
    session = RowSession()
    marks = reader(session).marks
    assert marks.kind is MarkKind.FENCE
    assert marks.set("a", Edge.CLOSE) == OracleFence("a", 101)
    assert marks.set("b", Edge.OPEN) == OracleFence("b", 102)
    assert marks.unseen([]) == ()


def test_pieces_of_a_whole_read_are_of_one_statement() -> None:
    session = RowSession(*((str(number), "a") for number in range(5)))
    read = reader(session).whole(ORDERS)
    pieces = [read.next(ChunkRequest(ORDERS, (), most_rows=3)) for _ in range(3)]
    assert [sum(len(part.rows) for part in piece.slices) for piece in pieces] == [3, 2, 0]
    assert [piece.piece and piece.piece.before for piece in pieces] == [0, 3, 5]
    assert [piece.complete for piece in pieces] == [False, True, True]
    assert {piece.mark for piece in pieces} == {OracleFence(f"read {ORDERS}", 101)}
    assert [binds for _, binds, _ in session.reads] == [{"s": 101}]
    read.close()
    assert session.closed


def test_rows_of_a_whole_read_are_behind_the_commits_that_they_show_wherever_they_are_released() -> None:
    session = RowSession(("1", "a"))
    chunk = reader(session).whole(ORDERS).next(ChunkRequest(ORDERS, ()))
    tail = chunk.tail(OraclePosition(3, last_at(500)), ts_ms=0, snapshot="true", chunk="c")
    assert OraclePosition(3, last_at(101)).row_seq() in tail
    assert OraclePosition(3, last_at(500)).row_seq() not in tail


def test_two_whole_reads_of_a_source_are_never_as_of_one_scn() -> None:
    session, scns = RowSession(), OracleReadScns()
    whole_reader(session, scns)(ORDERS)
    session.step = 0
    with pytest.raises(Transient) as caught:
        whole_reader(session, scns)(ORDERS)
    assert caught.value.code == "oracle.scn_stands"
    assert session.closed


def test_a_whole_read_that_was_given_up_or_altered_away_ends() -> None:
    session = RowSession(*((str(number), "a") for number in range(5)))
    read = reader(session).whole(ORDERS)
    read.next(ChunkRequest(ORDERS, (), most_rows=2))
    read.give_up()
    with pytest.raises(Transient):
        read.next(ChunkRequest(ORDERS, (), most_rows=2))
    read.close()
    read.close()
    assert (session.cancelled, session.open) == (1, 0)
    for error in (COLUMN_MISSING(doing="read", number=904), ROWS_GONE(doing="read", reason="ORA-01466")):
        session.fails = error
        with pytest.raises(Transient) as caught:
            reader(session).whole(ORDERS)
        assert caught.value.code == "oracle.rows_gone"
