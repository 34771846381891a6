"""What readers must see first is saved with every position: rows may be asked for only after a restart."""

import orjson

from tests.fakes.place import Place
from tests.unit.producers.test_set_aside import TABLE, AskedSource, opened
from wrackline.producers.contract.snapshot_requests import SnapshotRequest
from wrackline.producers.contract.steps import Batch, Begin, Commit
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.schemas.kafka.offsets_records import canonical_json


def streamed(lane: PartitionRun, first: int, count: int) -> Publication:
    for number in range(first, first + count):
        name = str(number)
        lane.existing.feed(Batch((Begin(name, 0), Commit(name, Place(1, number), 0)), 0))
    made = lane.cutter.take(10.0)
    assert made is not None
    return made


def test_it_is_saved_while_nothing_is_read_and_waited_for_after_a_crash() -> None:
    lane = opened(AskedSource(TABLE), {TABLE: canonical_json({})})
    made = streamed(lane, 7, 2)
    assert not lane.existing._machine.reading
    beside = made.beside
    assert beside is not None
    assert orjson.loads(beside) == {"unproven": ["7", "8"]}

    machine = opened(AskedSource(TABLE), {TABLE: canonical_json({})}, beside).existing._machine
    machine.request(SnapshotRequest("asked", (TABLE,)))
    (work, *_) = machine.work(0.0)
    assert [commit.transaction for commit in work.streamed] == ["7", "8"]
