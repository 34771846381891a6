"""Which tables are read first when readers are few, and which are asked at all."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.unit.producers.snapshot.desk import OTHER, Desk, partial
from tests.unit.producers.snapshot.shop import TABLE, key_of
from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.contract.snapshot_requests import Purpose, SnapshotRequest
from wrackline.producers.contract.steps import Found
from wrackline.producers.cutting.table_fault import FaultReason
from wrackline.producers.snapshot.snapshot_table import SnapshotTable
from wrackline.producers.snapshot.table_state import Job, MissingRow, TableState
from wrackline.producers.snapshot.window import WindowStage
from wrackline.producers.snapshot.work_index import WorkIndex
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, SnapshotLimits, Work
from wrackline.schemas.tables.table import TableId

ID = TABLE.id
THIRD = TableId("d", "public", "third")
SPANS: Sequence[KeySpan] = (KeySpan(None, ("3",)), KeySpan(("3",), ("6",)))


def table_of(work: Sequence[Work]) -> TableId:
    """Whose work the one reader was given."""
    (one,) = work
    assert isinstance(one, Plan | Read)
    return one.table if isinstance(one, Plan) else one.request.table


def test_what_is_asked_for_goes_before_a_refresh_and_that_before_first_reads() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, chunk_rows=3, slice_rows=2))
    desk.machine.request(SnapshotRequest("first", (ID,), Purpose.INITIAL))
    desk.machine.request(SnapshotRequest("refresh", (OTHER.id,), Purpose.REFRESH))
    desk.machine.request(SnapshotRequest("asked", (THIRD,)))
    order = []
    for _ in range(3):
        (plan,) = desk.work()
        assert isinstance(plan, Plan)
        order.append(plan.table)
        desk.machine.planned(plan.ticket, ("id",), ())  # empty: it is over at once
        desk.transaction()
    assert order == [THIRD, OTHER.id, ID]


def test_a_first_read_under_way_lets_a_request_in_between_its_chunks() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, chunk_rows=3, slice_rows=2))
    desk.ask(SnapshotRequest("first", (ID,), Purpose.INITIAL), *SPANS)
    under_way = desk.read()
    desk.machine.request(SnapshotRequest("asked", (OTHER.id,)))
    desk.arrive(under_way)
    assert table_of(desk.work()) == OTHER.id


def test_a_row_that_lacks_a_part_goes_before_all() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1, chunk_rows=3, slice_rows=2))
    desk.step(Found(TABLE, frozenset()))
    desk.machine.request(SnapshotRequest("asked", (OTHER.id,)))
    create = (1, "c", *partial(5, 2)[2:])
    desk.transaction(create)
    (read,) = desk.work()
    assert isinstance(read, Read)
    bound: Bound = ("5",)
    assert (read.request.table, read.request.only) == (ID, (bound,))


WHY = FaultReason("test.why", "it was so", "")
MISSING = {key_of(5): MissingRow(("5",), 1)}
JOB = Job("first", Purpose.INITIAL)


def known(state: TableState, table: TableId = ID) -> SnapshotTable:
    """A table by itself; what it asks of others comes to nothing."""
    return SnapshotTable(
        table,
        state,
        SnapshotLimits(),
        bound_of=lambda *_: None,
        changed=lambda *_: None,
        held_up=lambda *_: None,
        new_id=lambda: "own",
    )


def test_a_missing_row_goes_before_its_own_table_s_read_and_those_of_others() -> None:
    roster = WorkIndex()
    asked = known(TableState(jobs=(replace(JOB, purpose=Purpose.REQUESTED),)), OTHER.id)
    lacking = known(TableState(jobs=(JOB,), missing=MISSING))
    roster.note(asked)
    roster.note(lacking)
    assert list(roster.most_urgent_first()) == [lacking, asked]
    lacking.change(replace(lacking.state, missing={}))
    roster.note(lacking)
    assert list(roster.most_urgent_first()) == [asked, lacking]


def test_a_table_that_wants_nothing_is_not_asked() -> None:
    roster = WorkIndex()
    table = known(TableState(jobs=(JOB,)))
    roster.note(table)
    assert (list(roster.most_urgent_first()), list(roster.wanting)) == ([table], [ID])
    table.change(TableState())
    roster.note(table)
    assert (list(roster.most_urgent_first()), list(roster.wanting)) == ([], [])


@pytest.mark.parametrize(
    ("after", "opened"),
    [
        (TableState(jobs=(JOB,)), [ID]),
        (TableState(), []),
        (TableState(set_aside=WHY, missing=MISSING), []),  # it has not been asked for
    ],
)
def test_the_stream_is_opened_again_for_a_table_that_wants_something(
    after: TableState, opened: list[TableId]
) -> None:
    roster = WorkIndex()
    table = known(TableState(set_aside=WHY))
    table.change(after)
    roster.note(table)
    assert list(roster.unstreamed) == opened


def test_a_table_gets_the_log_s_rows_only_while_it_watches_for_them() -> None:
    roster = WorkIndex()
    table = known(TableState(missing=MISSING))
    table.refs = {7, 8}
    roster.note(table)
    assert roster.watching == {7: table, 8: table}
    table.change(TableState())
    roster.note(table)
    assert roster.watching == {}


def test_the_chunks_under_way_are_known_with_the_range_that_each_is_of_and_the_rows_that_are_held() -> None:
    desk = Desk()
    assert desk.machine.work_index.reads() == []
    desk.ask(SnapshotRequest("asked", (ID,)), *SPANS)
    first, second = desk.work()
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    desk.arrive(first, {1: (1, 1, "a"), 2: (2, 2, "b")}, mark=1)
    reads = {read.ticket: (read.number, read.stage, read.rows) for read in desk.machine.work_index.reads()}
    assert reads[first.ticket] == (0, WindowStage.WAITING, 2)
    assert reads[second.ticket] == (1, WindowStage.READING, 0)
    desk.transaction()
    assert {read.stage for read in desk.machine.work_index.reads() if read.number == 0} == {WindowStage.OPEN}
    desk.arrive(second, {4: (4, 4, "d")})
    desk.finish()
    assert desk.machine.work_index.reads() == [], "nothing is left once its job is done"
