"""A request for more keys than one read takes."""

import pytest

from tests.unit.producers.snapshot.desk import ID, Desk
from tests.unit.producers.snapshot.shop import TABLE
from wrackline.producers.contract.snapshot_requests import Purpose, SnapshotRequest
from wrackline.producers.snapshot import jobs
from wrackline.producers.snapshot.table_state import Job, TableState
from wrackline.producers.snapshot.work_items import KeySpan, Plan, Read, SnapshotLimits
from wrackline.schemas.kafka.receipts import RequestState


def wanted(count: int) -> tuple[tuple[str], ...]:
    return tuple((str(number),) for number in range(count))


@pytest.mark.parametrize("count", [1, 999, 1_000, 1_001, 1_999, 2_000, 2_001, 3_500])
def test_every_key_is_in_one_range_and_none_is_in_two(count: int) -> None:
    job = Job("ask", Purpose.REQUESTED, keys=wanted(count))
    planned = jobs.take_plan(TableState(shape=TABLE, jobs=(job,)), job, ("id",), [KeySpan(None, ("0",))])
    (made,) = planned.jobs
    spans = [one.span for one in made.ranges]
    assert [key for span in spans for key in span.only] == list(wanted(count))
    assert all(len(span.only) <= jobs.MOST_KEYS for span in spans)


def test_all_of_them_are_read_before_the_request_has_succeeded() -> None:
    desk = Desk(limits=SnapshotLimits(readers=1))
    keys = wanted(2_500)
    desk.machine.request(SnapshotRequest("many", (ID,), keys=keys))
    read: list[tuple[str | None, ...]] = []
    for _ in range(10):
        for work in desk.work():
            if isinstance(work, Plan):
                desk.machine.planned(work.ticket, ("id",), [KeySpan(None, ("0",))])
            elif isinstance(work, Read):
                assert desk.state_of("many") is RequestState.RUNNING
                read += work.request.only
                desk.arrive(work, {})
        desk.transaction()
        assert desk.out() == []
    assert read == list(keys)
    assert desk.state_of("many") is RequestState.SUCCEEDED
