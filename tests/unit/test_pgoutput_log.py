"""The log's messages into steps: what is handed out again after a resume, and what is given up for good."""

import struct
from collections.abc import Iterable

import pytest

from tests.fixtures.pgoutput import insert
from wrackline.producers.changes import (
    Batch,
    Begin,
    Commit,
    Fault,
    Message,
    Position,
    RowChange,
    Rows,
    Shape,
    Step,
    Truncate,
)
from wrackline.producers.sources.postgres.decode import Decoder, Writers
from wrackline.producers.sources.postgres.facts import TableFacts
from wrackline.producers.sources.postgres.messages import Relation
from wrackline.producers.sources.postgres.origin import Labels
from wrackline.producers.sources.postgres.position import PgPosition
from wrackline.producers.sources.postgres.roll import Roll
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.frame import avro_text
from wrackline.schemas.projection import everything
from wrackline.schemas.seq import ORDINAL_MAX
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import ColumnType, Kind

OID = 16384
TABLE = TableSchema(
    TableId("d", "public", "t"),
    (Column("id", 1, ColumnType(Kind.INT32, "integer"), nullable=False),),
    ("id",),
    KeyKind.PRIMARY,
)
OUT_OF_REACH = define("test.out_of_reach", Transient, "nobody answers", hint="wait")
NOT_KNOWN = define("test.not_known", OperatorNeeded, "nobody knows it", hint="say it")

RELATION = b"R" + struct.pack(">I", OID) + b"public\0t\0d\0\1" + b"\1id\0" + struct.pack(">Ii", 23, -1)
TRUNCATE = b"T" + struct.pack(">IBI", 1, 0, OID)


def begin(lsn: int) -> bytes:
    return b"B" + struct.pack(">QqI", lsn, 0, 7)


def commit(lsn: int) -> bytes:
    return b"C" + struct.pack(">xQQq", lsn, lsn + 10, 0)


def message(lsn: int, *, transactional: bool) -> bytes:
    return b"M" + struct.pack(">BQ", transactional, lsn) + b"p\0" + struct.pack(">I", 2) + b"hi"


def row(number: int) -> bytes:
    return insert([b"%d" % number], OID)


def decoder(start: PgPosition, *, counted: bool = False, errors: Iterable[WracklineError] = ()) -> Decoder:
    left = list(errors)

    class Explained:
        def writers(self, _: Relation, _behind: int | None) -> Writers:
            if left:
                raise left.pop(0)
            return Writers(everything(TABLE), 1, 2)

        def told(self, facts: TableFacts) -> tuple[TableFacts, TableSchema]:
            return facts, TABLE

    roll = Roll({TABLE.id}.__contains__, [TABLE.id])
    return Decoder(start, Labels("1", "s", "d", counted), roll, Explained())


def read(made: Decoder, *messages: bytes) -> list[Step]:
    for one in messages:
        made.feed(one, 0)
    batch = made.take()
    return list(batch.steps) if isinstance(batch, Batch) else []


def rows(steps: Iterable[Step]) -> list[RowChange]:
    return [row for step in steps if isinstance(step, Rows) for row in step.rows]


def at(position: Position) -> PgPosition:
    assert isinstance(position, PgPosition)
    return position


START = PgPosition(1, 100, 0, 100)


def test_a_resume_inside_a_transaction_hands_out_the_rest_byte_for_byte() -> None:
    log = [begin(200), RELATION, row(1), TRUNCATE, row(2), row(3), commit(200)]
    whole = read(decoder(START, counted=True), *log)
    rest = read(decoder(PgPosition(1, 200, 1, 100), counted=True), *log)
    assert rows(rest) == rows(whole)[1:]
    assert [s.value for s in rest if isinstance(s, Truncate)] == [
        s.value for s in whole if isinstance(s, Truncate)
    ]


def test_what_is_handed_out_at_once_is_bounded_and_says_how_large_its_rows_may_be() -> None:
    made, log = decoder(START), [RELATION]
    for number in range(1500):
        log += [begin(200 + 20 * number), row(number), commit(200 + 20 * number)]
    for one in log:
        made.feed(one, 0)
    size, batches = made.size, []
    while (batch := made.take()) is not None:
        batches.append(batch)
    assert [len(batch.steps) for batch in batches] == [2000, 2000, 501]
    assert [batch.size for batch in batches] == [size] * 3, "a row too large is looked for by it"
    assert len(rows(step for batch in batches for step in batch.steps)) == 1500
    assert (made.size, made.full) == (0, False)


def test_begin_names_its_transaction_as_its_events_do_and_as_the_server_does() -> None:
    steps = read(decoder(START, counted=True), begin(200), RELATION, row(1), TRUNCATE, commit(200))
    (begun,) = [step for step in steps if isinstance(step, Begin)]
    assert (begun.transaction, begun.id) == ("7", "7:0/C8")
    events = [row[3] for row in rows(steps)] + [step.value for step in steps if isinstance(step, Truncate)]
    assert [value.count(avro_text(begun.id)) for value in events] == [1, 1]


def test_a_message_before_a_resume_is_not_handed_out_again() -> None:
    said = message(150, transactional=True)
    log = [begin(200), RELATION, said, row(1), said, row(2), commit(200)]
    assert len([s for s in read(decoder(START), *log) if isinstance(s, Message)]) == 2
    again = read(decoder(PgPosition(1, 200, 2, 100)), *log)
    assert [type(s) for s in again] == [Begin, Shape, Message, Rows, Commit]


def test_a_transaction_is_resumed_after_each_change_and_after_each_message() -> None:
    said = message(150, transactional=True)
    log = [begin(200), RELATION, said, said, row(1), said, TRUNCATE, row(2), said, commit(200)]
    told = [s for s in read(decoder(START), *log) if isinstance(s, Rows | Message | Truncate)]
    assert [type(s) for s in told] == [Message, Message, Rows, Message, Truncate, Rows, Message]
    for number, step in enumerate(told):
        place = at(step.upto if isinstance(step, Rows | Truncate) else step.position)
        assert place.done == number + 1
        rest = [s for s in read(decoder(place), *log) if isinstance(s, Rows | Message | Truncate)]
        assert rest == told[number + 1 :]


def test_a_message_that_stands_alone_is_behind_its_own_place() -> None:
    first, at_an_end = message(100, transactional=False), message(210, transactional=False)
    made = decoder(START)
    (said,) = read(made, first)
    assert isinstance(said, Message)
    assert at(said.position) > START
    assert at(said.position).resume > 100  # where the server would send it again
    steps = read(made, begin(200), commit(200), at_an_end)
    assert isinstance(steps[-1], Message)
    assert read(decoder(at(steps[-1].position)), at_an_end) == []


def test_the_saved_transaction_need_not_be_the_first_that_comes() -> None:
    made = decoder(PgPosition(1, 200, 1, 100))
    steps = read(made, begin(150), commit(150), begin(200), RELATION, row(1), row(2), commit(200))
    assert [s.first for s in steps if isinstance(s, Begin)] == [0, 1]
    assert len(rows(steps)) == 1


def test_a_table_that_was_given_up_does_not_come_back_with_its_next_relation_message() -> None:
    made = decoder(START)
    bad = insert([b"x"], OID)
    steps = read(made, begin(200), RELATION, bad, RELATION, row(2), commit(200), begin(300), RELATION, row(3))
    assert [s.table for s in steps if isinstance(s, Fault)] == [TABLE.id]
    assert rows(steps) == []


def test_inv_4_rows_before_one_at_fault_end_before_it_so_that_a_resume_finds_it_again() -> None:
    bad = insert([b"x"], OID)
    log = [begin(200), RELATION, row(1), row(2), bad, row(3), commit(200)]
    steps = read(decoder(START), *log)
    assert [type(step) for step in steps] == [Begin, Shape, Rows, Fault, Commit]
    [cut] = [at(step.upto) for step in steps if isinstance(step, Rows)]
    assert cut.done == 2
    again = read(decoder(cut), *log)
    assert [step.table for step in again if isinstance(step, Fault)] == [TABLE.id]
    assert rows(again) == []


def test_a_shape_that_is_not_told_gives_the_table_up_for_good() -> None:
    made = decoder(START, errors=[NOT_KNOWN()])
    steps = read(made, begin(200), RELATION, row(1), RELATION, row(2), commit(200))
    assert [s.error.code for s in steps if isinstance(s, Fault)] == ["test.not_known"]
    assert rows(steps) == []


def test_what_mends_itself_is_no_tables_fault() -> None:
    made = decoder(START, errors=[OUT_OF_REACH()])
    with pytest.raises(Transient):
        read(made, begin(200), RELATION)


def test_an_ordinal_without_room_in_seq_ends_the_stream_before_it_is_handed_out() -> None:
    made = decoder(START)
    made.feed(begin(200), 0)
    made.feed(RELATION, 0)
    made._stretch.ordinal = ORDINAL_MAX  # four thousand million rows take too long
    made.feed(row(1), 0)
    assert len(rows(read(made))) == 1
    made.feed(row(2), 0)
    with pytest.raises(WracklineError, match="ordinal"):
        made.take()
