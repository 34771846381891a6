"""Whose rows are read first when readers are few."""

from collections.abc import Sequence

from tests.unit.producers.snapshot.desk import OTHER, Desk, partial
from tests.unit.producers.snapshot.shop import TABLE
from wrackline.producers.changes import Found
from wrackline.producers.chunks import Bound
from wrackline.producers.snapshot.requests import Purpose, Snapshot
from wrackline.producers.snapshot.work import Limits, Plan, Read, Span, Work
from wrackline.schemas.table import TableId

ID = TABLE.id
THIRD = TableId("d", "public", "third")
SPANS: Sequence[Span] = (Span(None, ("3",)), Span(("3",), ("6",)))


def table_of(work: Sequence[Work]) -> TableId:
    """Whose work the one reader was given."""
    (one,) = work
    assert isinstance(one, Plan | Read)
    return one.table if isinstance(one, Plan) else one.request.table


def test_what_is_asked_for_goes_before_a_refresh_and_that_before_first_reads() -> None:
    desk = Desk(limits=Limits(readers=1, chunk_rows=3, slice_rows=2))
    desk.machine.request(Snapshot("first", (ID,), Purpose.INITIAL))
    desk.machine.request(Snapshot("refresh", (OTHER.id,), Purpose.REFRESH))
    desk.machine.request(Snapshot("asked", (THIRD,)))
    order = []
    for _ in range(3):
        (plan,) = desk.work()
        assert isinstance(plan, Plan)
        order.append(plan.table)
        desk.machine.planned(plan.ticket, ("id",), ())  # empty: it is over at once
        desk.transaction()
    assert order == [THIRD, OTHER.id, ID]


def test_a_first_read_under_way_lets_a_request_in_between_its_chunks() -> None:
    desk = Desk(limits=Limits(readers=1, chunk_rows=3, slice_rows=2))
    desk.ask(Snapshot("first", (ID,), Purpose.INITIAL), *SPANS)
    under_way = desk.read()
    desk.machine.request(Snapshot("asked", (OTHER.id,)))
    desk.arrive(under_way)
    assert table_of(desk.work()) == OTHER.id


def test_a_row_that_lacks_a_part_goes_before_all() -> None:
    desk = Desk(limits=Limits(readers=1, chunk_rows=3, slice_rows=2))
    desk.step(Found(TABLE, frozenset()))
    desk.machine.request(Snapshot("asked", (OTHER.id,)))
    create = (1, "c", *partial(5, 2)[2:])
    desk.transaction(create)
    (read,) = desk.work()
    assert isinstance(read, Read)
    bound: Bound = ("5",)
    assert (read.request.table, read.request.only) == (ID, (bound,))
