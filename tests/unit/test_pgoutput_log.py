"""The log's messages into steps: what is handed out again after a resume, and what is given up for good."""

import struct
from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.fixtures.pgoutput import insert
from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Fault,
    Message,
    Position,
    Progress,
    RowChange,
    Rows,
    Shape,
    Step,
    Truncate,
    UnfitRow,
)
from wrackline.producers.sources.postgres.decode import PgDecoder
from wrackline.producers.sources.postgres.discover.facts import PgRegisteredShape, PgTableFacts
from wrackline.producers.sources.postgres.follow.table_tracker import PgTableTracker
from wrackline.producers.sources.postgres.log.position import PgPosition
from wrackline.producers.sources.postgres.rows.messages import Relation
from wrackline.producers.sources.postgres.rows.source_record import PgSourceLabels
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.events.frame import avro_text
from wrackline.schemas.events.projection import Projection, project_all
from wrackline.schemas.settings.filters import OnUnfit
from wrackline.schemas.tables.seq import ORDINAL_MAX
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

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


def decoder(
    start: PgPosition,
    *,
    counted: bool = False,
    errors: Iterable[WracklineError] = (),
    shape: Projection | None = None,
    has_trigger: bool = False,
) -> PgDecoder:
    left = list(errors)

    class Explained:
        def writers(self, _: Relation, _behind: int | None) -> PgRegisteredShape:
            if left:
                raise left.pop(0)
            return PgRegisteredShape(shape or project_all(TABLE), 1, 2)

        def genuine(self, _: bytes) -> bool:
            return has_trigger

        def revision(self, facts: PgTableFacts) -> tuple[PgTableFacts, TableSchema]:
            return facts, TABLE

    roll = PgTableTracker({TABLE.id}.__contains__, [TABLE.id])
    return PgDecoder(start, PgSourceLabels("1", "s", "d", counted), roll, Explained())


def read(made: PgDecoder, *messages: bytes) -> list[Step]:
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


def test_a_log_that_does_not_move_says_its_place_once() -> None:
    made = decoder(START)
    for _ in range(3):
        made.progress(START.lsn)
    assert read(made) == [Progress(START)]
    made.progress(START.lsn)
    assert read(made) == []
    behind = decoder(START)  # a server may begin to decode before the place that it was asked for
    behind.progress(START.lsn - 1)
    assert read(behind) == []
    behind.progress(START.lsn)
    assert read(behind) == [Progress(START)]
    inside = decoder(PgPosition(1, 200, 1, 100))  # the rest of its transaction comes first
    inside.progress(200)
    assert read(inside) == []


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
    assert (begun.transaction, begun.id) == ("7", "7:200")
    events = [row[3] for row in rows(steps)] + [step.value for step in steps if isinstance(step, Truncate)]
    assert [value.count(avro_text(begun.id)) for value in events] == [1, 1]


def test_a_drop_is_a_report_of_the_log_so_that_the_catalogue_is_looked_at() -> None:
    """What the server's transactions see may have been asked just before it, for another database."""
    made = decoder(START, has_trigger=True)
    before, wakes = made._roll.reports.moment, made._roll.reports.wakes
    said = b"1 {}"
    ddl = b"M" + struct.pack(">BQ", True, 150) + b"wrackline.ddl\0" + struct.pack(">I", len(said)) + said
    assert read(made, begin(200), ddl, commit(200))
    assert made._roll.reports.wakes > wakes
    assert made._roll.reports.moment.news > before.news


def test_a_message_before_a_resume_is_not_handed_out_again() -> None:
    said = message(150, transactional=True)
    log = [begin(200), RELATION, said, row(1), said, row(2), commit(200)]
    assert len([s for s in read(decoder(START), *log) if isinstance(s, Message)]) == 2
    again = read(decoder(PgPosition(1, 200, 2, 100)), *log)
    assert [type(s) for s in again] == [Begin, Shape, Message, Rows, Commit]


def test_a_transaction_is_resumed_after_each_change_and_after_each_message() -> None:
    """T-P05."""
    said = message(150, transactional=True)
    log = [begin(200), RELATION, said, said, row(1), said, TRUNCATE, row(2), said, commit(200)]
    told = [s for s in read(decoder(START), *log) if isinstance(s, Rows | Message | Truncate)]
    assert [type(s) for s in told] == [Message, Message, Rows, Message, Truncate, Rows, Message]
    for number, step in enumerate(told):
        place = at(step.upto if isinstance(step, Rows | Truncate) else step.position)
        assert place.done == number + 1
        rest = [s for s in read(decoder(place), *log) if isinstance(s, Rows | Message | Truncate)]
        assert rest == told[number + 1 :]


def test_the_place_of_a_message_alone_is_the_end_of_its_record() -> None:
    """T-P05; a commit may begin there, and must be later than the message."""
    first, at_an_end = message(150, transactional=False), message(210, transactional=False)
    made = decoder(START)
    (said,) = read(made, first)
    assert isinstance(said, Message)
    assert at(said.position) == replace(START, lsn=150, resume=150)
    assert at(said.position).resume == 150, "what begins there is sent again"
    steps = read(made, begin(150), RELATION, row(1), commit(150), at_an_end)
    assert [at(step.upto) > at(said.position) for step in steps if isinstance(step, Rows)] == [True]
    assert isinstance(steps[-1], Message)
    assert read(decoder(at(steps[-1].position)), at_an_end) == []
    again = read(decoder(at(said.position)), first, begin(150), RELATION, row(1), commit(150))
    assert [type(step) for step in again] == [Begin, Shape, Rows, Commit]


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


def test_inv_4_a_row_that_is_set_aside_lies_between_the_rows_before_it_and_those_behind_it() -> None:
    """A reader that resumes before it comes to it again; one that resumes behind it does not."""
    bad = insert([b"x"], OID)
    log = [begin(200), RELATION, row(1), row(2), bad, row(3), commit(200)]
    shape = replace(project_all(TABLE), on_unfit=(OnUnfit.LETTER,))
    steps = read(decoder(START, shape=shape), *log)
    assert [type(step) for step in steps] == [Begin, Shape, Rows, UnfitRow, Rows, Rows, Commit]
    places = [at(step.upto).done for step in steps if isinstance(step, Rows | UnfitRow)]
    assert places == [2, 3, 3, 4]
    assert len(rows(steps)) == 3
    for done, letters in ((2, 1), (3, 0)):
        again = read(decoder(PgPosition(1, 200, done, 100), shape=shape), *log)
        assert sum(isinstance(step, UnfitRow) for step in again) == letters
        assert rows(again) == rows(steps)[2:]


def test_an_unknown_shape_sets_the_table_aside_for_good() -> None:
    made = decoder(START, errors=[NOT_KNOWN()])
    steps = read(made, begin(200), RELATION, row(1), RELATION, row(2), commit(200))
    assert [s.error.code for s in steps if isinstance(s, Fault)] == ["test.not_known"]
    assert rows(steps) == []


def test_a_transient_error_is_not_the_table_s_fault() -> None:
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
